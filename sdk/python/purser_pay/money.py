"""Money is text, `Decimal`, or a whole number of micro-USDC. Never a float."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Union

from ._renamed import renamed

MICROS_PER_USDC = 1_000_000

Usdc = Union[str, Decimal]
"""An amount of USDC with at most six fractional digits: `"0.25"` or `Decimal("0.25")`."""

_FORM = re.compile(r"[0-9]+(\.[0-9]{1,6})?", re.ASCII)


def usdc_text(amount: Usdc, what: str = "amount_usdc") -> str:
    """The amount as the service reads it."""
    # What programs without types hand over.
    given: object = amount
    if isinstance(given, float):
        raise TypeError(f'{what} is a float, which cannot hold most amounts exactly: write it as text, {what}="0.25"')
    if isinstance(given, int):
        raise TypeError(f'{what} is a whole number, of which nobody knows the unit: write {what}="5", or micro_usdc=5000000')
    if not isinstance(given, (str, Decimal)):
        raise TypeError(f"{what} is text or a Decimal, not {type(given).__name__}")
    text = format(given, "f") if isinstance(given, Decimal) else given
    if not _FORM.fullmatch(text):
        raise ValueError(f"{what} is an amount of USDC with at most six fractional digits, not {text!r}")
    return text


def amount_text(amount_usdc: Usdc | None, micro_usdc: int | None) -> str:
    """The amount of a payment, given in one of the two ways."""
    if (amount_usdc is None) == (micro_usdc is None):
        raise TypeError("give the amount as amount_usdc or as micro_usdc")
    if amount_usdc is not None:
        text = usdc_text(amount_usdc)
    else:
        micros: object = micro_usdc
        if isinstance(micros, bool) or not isinstance(micros, int):
            raise TypeError("micro_usdc is a whole number of micro-USDC: 250000 is 0.25 USDC")
        text = usdc_of_micros(micros)
    if Decimal(text) <= 0:
        raise ValueError("an amount is at least 0.000001 USDC")
    return text


def usdc_of_micros(micros: int) -> str:
    """A whole number of micro-USDC as USDC."""
    if micros < 0:
        raise ValueError("an amount is at least 0.000001 USDC")
    whole, rest = divmod(micros, MICROS_PER_USDC)
    return f"{whole}.{rest:06d}"


@renamed(usdc="amount_usdc")
def micros_of_usdc(amount_usdc: Usdc) -> int:
    """An amount as a whole number of micro-USDC."""
    whole, _, rest = usdc_text(amount_usdc).partition(".")
    return int(whole) * MICROS_PER_USDC + int(rest.ljust(6, "0"))
