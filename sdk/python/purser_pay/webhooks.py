"""Verifies what is posted to your URL. Whoever knows the URL can post to it: work on nothing that is not verified."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ._answers import Unreadable
from .errors import PurserError
from .events import Event, event_of_body

TOLERANCE_SECONDS = 300.0


class Headers(Protocol):
    """Any framework's headers, or a dict."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


class NotVerified(PurserError):
    """The delivery is not signed by one of these secrets, or is too old. Answer 401."""


def verify(
    body: bytes,
    headers: Headers,
    secret: str | Sequence[str],
    *,
    tolerance_seconds: float | None = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Event:
    """The event, if the delivery is signed. `body` is the raw body, byte by byte.

    Every delivery has two signatures. `webhook-signature` covers the time as well, so a recorded delivery cannot be sent to you
    again later: it is demanded unless `tolerance_seconds` is `None`; then `X-Service-Signature` alone will do. During a rotation
    either secret will do, and several may be given.
    """
    if not isinstance(body, bytes):
        raise TypeError("verify the raw body, as bytes: JSON that was parsed and written again has another signature")
    given = _lower(headers)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise ValueError("the webhook's secret is empty")
    stamped = _is_stamped(body, given, secrets)
    if tolerance_seconds is not None:
        if not stamped:
            raise NotVerified("webhook-signature is missing or not by this secret")
        moment = given.get("webhook-timestamp", "")
        age = (time.time() if now is None else now) - float(moment if moment.isdecimal() else "nan")
        if not abs(age) <= tolerance_seconds:
            raise NotVerified("the delivery is too old, or a clock is wrong")
    elif not stamped and not _is_signed(body, given, secrets):
        raise NotVerified("neither signature is by this secret")
    try:
        return event_of_body(body)
    except Unreadable as error:
        raise NotVerified(str(error)) from error


def _lower(headers: Headers) -> dict[str, str]:
    """Names in lower case; of several values the first."""
    lower = {}
    for name, value in headers.items():
        one = value[0] if isinstance(value, (list, tuple)) and value else value
        lower[str(name).lower()] = one.decode("latin-1") if isinstance(one, bytes) else str(one)
    return lower


def _is_stamped(body: bytes, given: Mapping[str, str], secrets: Sequence[str]) -> bool:
    """Standard Webhooks: HMAC-SHA256 over id, time and body."""
    signed = f"{given.get('webhook-id', '')}.{given.get('webhook-timestamp', '')}.".encode("latin-1", "replace") + body
    shown = [one[3:] for one in given.get("webhook-signature", "").split(" ") if one.startswith("v1,")]
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    expected = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in keys]
    return _has_common(expected, shown)


def _is_signed(body: bytes, given: Mapping[str, str], secrets: Sequence[str]) -> bool:
    """Lower-case hex of HMAC-SHA256 over the body, by the whole secret; by the one before it too for a day."""
    names = ("x-service-signature", "x-service-signature-previous")
    shown = [given[name] for name in names if name in given]
    expected = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest() for secret in secrets]
    return _has_common(expected, shown)


def _has_common(expected: Sequence[str], shown: Sequence[str]) -> bool:
    """In constant time for each pair."""
    pairs = [(one.encode(), other.encode("utf-8", "replace")) for one in expected for other in shown]
    return any([hmac.compare_digest(one, other) for one, other in pairs])
