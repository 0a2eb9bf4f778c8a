"""What goes wrong, by what there is to do about it.

| Class | What to do |
|---|---|
| `PolicyRefused` | change the payment or have the policy changed, then pay with a new idempotency key |
| `InsufficientFunds` | fund the account, then retry with the same idempotency key |
| `Duplicate` | the idempotency key is another payment's: use a new one for a new payment |
| `Conflict` | something changed in between, or it looks like another payment (`likely_duplicate`): look, then decide |
| `TooManyRequests` | retry with the same idempotency key after `retry_after` seconds |
| `Unreachable` | the outcome is unknown: retry with the same idempotency key |
| `ApiError` | any other error of the service: decide by `code` |
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from .types import Check


class PurserError(Exception):
    """Any error of this package."""


class ApiError(PurserError):
    """The service answered with an error. Decide by `code`; there may be codes that this version does not know."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        request_id: str | None = None,
        param: str | None = None,
        transfer_id: str | None = None,
        transfer_status: str | None = None,
        retryable: bool | None = None,
        retry_at: datetime | None = None,
        retry_after: float | None = None,
        approvable: bool = False,
        checks: Sequence[Check] = (),
    ) -> None:
        super().__init__(f"{code}: {message}" + (f" ({request_id})" if request_id else ""))
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id
        self.param = param
        self.transfer_id = transfer_id
        self.transfer_status = transfer_status
        self.retryable = retryable
        self.retry_at = retry_at
        self.retry_after = retry_after
        self.approvable = approvable
        """A person can approve it: the same again with `approval="request"`, under the same idempotency key."""
        self.checks = tuple(checks)


class Refused(ApiError):
    """Nothing was paid: the account's rules or its balance do not allow it."""

    @property
    def max_now(self) -> Decimal | None:
        """Most that could be paid now to this recipient: zero if a rule without an amount refuses, `None` if unknown."""
        if any(not check.ok and check.remaining is None and check.rule != "balance" for check in self.checks):
            return Decimal(0)
        return min((check.remaining for check in self.checks if check.remaining is not None), default=None)


class PolicyRefused(Refused):
    """The account's policy refuses, or the account is paused or halted.

    A new attempt needs a new idempotency key. If it is `approvable`, a person may be asked under the same one.
    """


class InsufficientFunds(Refused):
    """Every rule allows it, but the account holds too little, or the issuer of USDC froze it.

    You can retry with the same idempotency key.
    """


class Conflict(ApiError):
    """It conflicts with an earlier request or change."""


class Duplicate(Conflict):
    """The idempotency key was used within 24 hours for another payment or request.

    `transfer_id` is that payment, if it is the account's.
    """


class TooManyRequests(ApiError):
    """Too many requests, pending payments or refusals, for longer than this call may wait."""


class Unreachable(PurserError):
    """The outcome is unknown: no final answer came within the deadline. Retry with the same idempotency key."""

    def __init__(self, message: str, last: Exception | None = None, transfer_id: str | None = None) -> None:
        super().__init__(message)
        self.last = last
        """What the last attempt ran into."""
        self.transfer_id = transfer_id
        """The payment, if the service accepted it and it was in flight."""
