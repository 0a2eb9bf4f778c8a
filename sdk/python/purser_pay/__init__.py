"""Payments of AI agents through a Purser service. Each is made once per idempotency key, within the rules
that the chain enforces.

    from purser_pay import Purser

    agent = Purser()  # PURSER_URL, PURSER_AGENT_KEY
    paid = agent.pay(to=payee, amount_usdc="0.25", idempotency_key="invoice-4711")
    print(paid.signature, paid.replayed)
"""

from . import money, transport, types, webhooks
from ._async_client import AsyncEventStream, AsyncPurser
from ._call import Payment
from ._client import EventStream, Purser
from .errors import (
    ApiError,
    Conflict,
    Duplicate,
    InsufficientFunds,
    PolicyRefused,
    PurserError,
    Refused,
    TooManyRequests,
    Unreachable,
)
from .events import Event

__all__ = [
    "ApiError",
    "AsyncEventStream",
    "AsyncPurser",
    "Conflict",
    "Duplicate",
    "Event",
    "EventStream",
    "InsufficientFunds",
    "Payment",
    "PolicyRefused",
    "Purser",
    "PurserError",
    "Refused",
    "TooManyRequests",
    "Unreachable",
    "money",
    "transport",
    "types",
    "webhooks",
]
