"""Arguments under their old names, for one release."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def warn_renamed(old: str, new: str, stacklevel: int) -> None:
    """Warns the caller of the function that took an old name; `stacklevel` counts from that function."""
    message = f"`{old}` is deprecated and ends with the next release: use `{new}`"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)


def renamed(**news: str) -> Callable[[F], F]:
    """Lets a function take arguments under old names too, with a warning: `@renamed(old="new")`. Types know the new ones."""

    def current(given: dict[str, Any]) -> dict[str, Any]:
        for old, new in news.items():
            if old in given:
                if new in given:
                    raise TypeError(f"give {new}, or `{old}`, which is its old name, not both")
                # Of `current` and of the function that calls it.
                warn_renamed(old, new, 3)
                given[new] = given.pop(old)
        return given

    def decorate(function: F) -> F:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def takes_both_awaited(*args: Any, **given: Any) -> Any:
                return await function(*args, **current(given))

            return cast(F, takes_both_awaited)

        @functools.wraps(function)
        def takes_both(*args: Any, **given: Any) -> Any:
            return function(*args, **current(given))

        return cast(F, takes_both)

    return decorate
