"""What both clients ask and are answered."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar, Union

from ._answers import Unreadable, is_json, json_of, read
from ._renamed import warn_renamed
from .money import Usdc, usdc_text
from .transport import ANSWER_BYTES_MAX, Response
from .types import LIMITS, PolicyChange, PolicyFields, Transfer, X402Payment

T = TypeVar("T")


# A bulk change of 1,000 accounts shows two policies of each.
BULK_BYTES_MAX = 48 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    """Below the service's address, or a whole URL."""
    query: Mapping[str, Union[str, None]] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_awaited: bool = False
    """Whether 202 says that it is in flight, so that it is asked for again until it has ended."""
    answer_bytes_max: int = ANSWER_BYTES_MAX

    @staticmethod
    def once(
        path: str, body: Mapping[str, Any] | None, idempotency_key: str | None, answer_bytes_max: int = ANSWER_BYTES_MAX
    ) -> Call:
        """A POST that takes effect once per idempotency key, of its own unless one is given."""
        headers = {"Idempotency-Key": idempotency_key or f"sdk-{uuid.uuid4()}"}
        return Call("POST", path, body=body, headers=headers, answer_bytes_max=answer_bytes_max)


Reads = Callable[[Any], T]
"""Reads the JSON of an answer, `None` if it has no body. Raises `Unreadable` if it is not the answer to this call."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    value: T
    replayed: bool
    is_in_flight: bool
    """It goes on by itself. What waits for a person does not."""

    @staticmethod
    def of(response: Response, reads: Reads[T]) -> Answer[T]:
        json = None
        if response.status != 204:
            if not is_json(response):
                raise Unreadable("the answer is not JSON")
            json = json_of(response.body)
        try:
            value = reads(json)
        except RecursionError as error:
            raise Unreadable("the answer is nested too deeply") from error
        status = (json or {}).get("status", "submitted" if response.status == 202 else "settled")
        replayed = response.headers.get("idempotent-replayed") == "true"
        return Answer(value, replayed, status not in ("settled", "pending_approval"))

    @property
    def transfer_id(self) -> str | None:
        """Of a payment, or of a purchase."""
        transfer = self.value.transfer if isinstance(self.value, X402Payment) else self.value
        return transfer.transfer_id if isinstance(transfer, Transfer) else None

    def after(self, accepted: Answer[T] | None) -> Answer[T]:
        """What this call asked for while it was in flight is no replay."""
        return self if accepted is None else replace(self, replayed=accepted.replayed)


def payment_with(idempotency_key: str) -> Reads[Transfer]:
    def reads(json: Any) -> Transfer:
        transfer = read(Transfer, json)
        if transfer.idempotency_key != idempotency_key:
            raise Unreadable("the answer is about another payment")
        return transfer

    return reads


def purchase_with(idempotency_key: str) -> Reads[X402Payment]:
    def reads(json: Any) -> X402Payment:
        bought = read(X402Payment, json)
        if bought.transfer is not None and bought.transfer.idempotency_key != idempotency_key:
            raise Unreadable("the answer is about another purchase")
        return bought

    return reads


def transfer_with(transfer_id: str) -> Reads[Transfer]:
    def reads(json: Any) -> Transfer:
        transfer = read(Transfer, json)
        if transfer.transfer_id != transfer_id:
            raise Unreadable("the answer is about another transfer")
        return transfer

    return reads


def page_of(reads_one: Reads[T]) -> Reads[tuple[list[T], str | None]]:
    """A part of a list, and the cursor of the next one."""

    def reads(json: Any) -> tuple[list[T], str | None]:
        fields = json if isinstance(json, dict) else {}
        data, cursor, has_more = fields.get("data"), fields.get("cursor"), fields.get("has_more")
        if not isinstance(data, list) or not isinstance(has_more, bool) or (has_more and not isinstance(cursor, str)):
            raise Unreadable("this is no page of a list")
        return [reads_one(one) for one in data], cursor if has_more else None

    return reads


def own_account(json: Any) -> str | None:
    """The account that the API key opens, from the MCP tool `get_account`; `None` if it opens none by itself."""
    fields = json if isinstance(json, dict) else {}
    result = fields.get("result")
    said = result.get("structuredContent") if isinstance(result, dict) else None
    if fields.get("jsonrpc") != "2.0" or not isinstance(said, dict):
        raise Unreadable("the answer is not of MCP")
    found = said.get("account_id")
    return found if isinstance(found, str) else None


def nothing(json: Any) -> None:
    if json is not None:
        raise Unreadable("an answer without a body was to come")


@dataclass(frozen=True, kw_only=True)
class Payment:
    """A payment that is settled on the chain, or that waits for a person: then `status` is `pending_approval`."""

    transfer_id: str
    idempotency_key: str
    account: str
    """The account that paid."""
    to: str
    to_wallet: str | None
    """The wallet that was named as the payee; `to` is its USDC token account then."""
    amount_usdc: Decimal
    memo: str | None
    signature: str | None
    """Of the transaction on the chain."""
    explorer_url: str | None
    settled_at: datetime | None
    status: str
    approval_url: str | None
    """The page for whoever approves it, if a person was asked."""
    approval_expires_at: datetime | None
    replayed: bool
    """Whether an earlier request with this idempotency key made it. An earlier attempt of the same call, whose answer was
    lost, counts as one."""

    @staticmethod
    def of(transfer: Transfer, replayed: bool) -> Payment:
        return Payment(
            transfer_id=transfer.transfer_id,
            idempotency_key=transfer.idempotency_key,
            account=transfer.from_,
            to=transfer.to,
            to_wallet=transfer.to_wallet,
            amount_usdc=transfer.amount_usdc,
            memo=transfer.memo,
            signature=transfer.tx_signature,
            explorer_url=transfer.solana_explorer_url,
            settled_at=transfer.settled_at,
            status=transfer.status,
            approval_url=transfer.approval_url,
            approval_expires_at=transfer.approval_expires_at,
            replayed=replayed,
        )

    @property
    def name(self) -> str:
        """The old name of `idempotency_key`."""
        warn_renamed("name", "idempotency_key", 2)
        return self.idempotency_key

    @property
    def usdc(self) -> Decimal:
        """The old name of `amount_usdc`."""
        warn_renamed("usdc", "amount_usdc", 2)
        return self.amount_usdc


def base_of(url: str) -> str:
    """The service's address, with the version that this package speaks."""
    url = url.rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def payee_of(to: str | None, wallet: str | None) -> str | dict[str, str]:
    """Who is paid, as a request names it."""
    if to is not None and wallet is None:
        return to
    if wallet is not None and to is None:
        return {"wallet": wallet}
    raise ValueError("say who is paid: to=... or wallet=...")


def given_fields(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def policy_body(known: type[PolicyFields] | type[PolicyChange], policy: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields of a policy as they are sent. Limits are text, so that they stay exact."""
    for name in policy.keys() - known.__annotations__.keys():
        raise TypeError(f"a policy has no field {name!r} here")
    exact = {name: usdc_text(policy[name], name) for name in LIMITS if policy.get(name) is not None}
    lists = {name: [*value] for name, value in policy.items() if isinstance(value, Iterable) and not isinstance(value, str)}
    return {**policy, **exact, **lists}
