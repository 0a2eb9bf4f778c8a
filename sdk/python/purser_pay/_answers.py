"""Reads answers: JSON into the types of `types`, errors into exceptions."""

from __future__ import annotations

import email.utils
import json
import re
import time
import types as builtin_types
import typing
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from .errors import ApiError, Conflict, Duplicate, InsufficientFunds, PolicyRefused, TooManyRequests
from .transport import Response
from .types import ErrorBody

T = TypeVar("T")

_USDC = re.compile(r"[0-9]{1,20}(\.[0-9]{1,6})?", re.ASCII)

REFUSALS: dict[str, type[ApiError]] = {
    "policy_violation": PolicyRefused,
    "account_paused": PolicyRefused,
    "insufficient_balance": InsufficientFunds,
    "account_frozen": InsufficientFunds,
    "idempotency_conflict": Duplicate,
}


class Unreadable(Exception):
    """An answer that is not what the service answers: somebody on the way wrote it. It says nothing of what was asked for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def json_of(body: bytes) -> dict[str, Any]:
    """An object whose fractions are exact."""
    try:
        read = json.loads(body, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Unreadable("the answer is not JSON") from error
    if not isinstance(read, dict):
        raise Unreadable("the answer is not an object")
    return read


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def read(kind: type[T], value: Any) -> T:
    """The value as this type. Fields that the type does not know are left out."""
    if not isinstance(value, dict):
        raise Unreadable(f"a {kind.__name__} is an object")
    known: dict[str, Any] = {}
    for name, spelled, annotation, needed in _fields(kind):
        if name in value:
            known[spelled] = _converted(annotation, value[name])
        elif needed:
            raise Unreadable(f"{kind.__name__} has no {name}")
    return kind(**known)


_KNOWN_FIELDS: dict[Any, list[tuple[str, str, Any, bool]]] = {}


def _fields(kind: Any) -> list[tuple[str, str, Any, bool]]:
    """Of each field its name in JSON, its name here, its type, and whether it is always there."""
    if kind not in _KNOWN_FIELDS:
        hints = typing.get_type_hints(kind)
        _KNOWN_FIELDS[kind] = [
            (field.name.rstrip("_"), field.name, hints[field.name], field.default is MISSING) for field in fields(kind)
        ]
    return _KNOWN_FIELDS[kind]


def _converted(annotation: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, builtin_types.UnionType):
        if value is None:
            return None
        (annotation,) = [one for one in arguments if one is not type(None)]
        return _converted(annotation, value)
    if origin is list:
        if not isinstance(value, list):
            raise Unreadable("a list was to be there")
        return [_converted(arguments[0], one) for one in value]
    if origin is dict:
        if not isinstance(value, dict):
            raise Unreadable("an object was to be there")
        return _as_written(value)
    if annotation is Decimal:
        if isinstance(value, bool) or not (isinstance(value, (str, int, Decimal)) and _USDC.fullmatch(str(value))):
            raise Unreadable("an amount was to be there")
        return Decimal(str(value))
    if annotation is datetime:
        return time_of(value)
    if is_dataclass(annotation) and isinstance(annotation, type):
        return read(annotation, value)
    if annotation in (str, int, bool) and type(value) is not annotation:
        raise Unreadable(f"a value of type {annotation.__name__} was to be there")
    return value


def _as_written(value: Any) -> Any:
    """What is yours, such as metadata, with the numbers that Python reads by default."""
    if isinstance(value, dict):
        return {name: _as_written(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_written(one) for one in value]
    return float(value) if isinstance(value, Decimal) else value


def time_of(text: object) -> datetime:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Unreadable("a time with an offset was to be there")
    return moment


def text_of_time(moment: datetime | str | None) -> str | None:
    """A time as the service reads it."""
    if moment is None or isinstance(moment, str):
        return moment
    if moment.tzinfo is None:
        raise ValueError("a time needs a time zone: datetime.now(timezone.utc)")
    return moment.isoformat()


def error_of(response: Response) -> ApiError:
    """The service's error. Raises `Unreadable` for what a proxy before it answered."""
    retry_after = _retry_after(response.headers.get("retry-after"))
    try:
        if not is_json(response):
            raise Unreadable("the answer is not JSON")
        said = read(ErrorBody, json_of(response.body))
    except Unreadable as error:
        begins = response.body[:100].decode("utf-8", "replace")
        raise Unreadable(f"{response.status}, not by the service: {begins!r}", retry_after) from error
    kind = REFUSALS.get(said.error) or {409: Conflict, 429: TooManyRequests}.get(response.status) or ApiError
    return kind(
        response.status,
        said.error,
        said.message,
        request_id=said.request_id,
        param=said.param,
        transfer_id=said.transfer_id,
        transfer_status=said.status,
        retryable=said.retryable,
        retry_at=said.retry_at,
        retry_after=retry_after,
        approvable=said.approvable or False,
        checks=said.checks or [],
    )


def is_json(response: Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0]
    return kind.strip().lower() == "application/json"


def _retry_after(text: str | None) -> float | None:
    """Seconds, or a date."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, LookupError, ArithmeticError, OSError):
        return None
