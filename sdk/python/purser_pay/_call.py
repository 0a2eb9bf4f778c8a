"""What both clients ask and are answered."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Union

from ._answers import Unreadable, json_of
from .money import Usdc, usdc_text
from .transport import Response
from .types import Transfer


class Unset(Enum):
    """What is left as it is, where `None` takes it away."""

    UNSET = "unset"


UNSET = Unset.UNSET


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

    @staticmethod
    def once(path: str, body: Mapping[str, Any] | None, name: str | None) -> Call:
        """A POST that is done once under its name, however often it is asked for."""
        return Call("POST", path, body=body, headers={"Idempotency-Key": name or f"sdk-{uuid.uuid4()}"})


@dataclass(frozen=True)
class Answer:
    json: dict[str, Any]
    replayed: bool
    is_accepted: bool = False
    """Answered with 202."""

    @staticmethod
    def of(response: Response) -> Answer:
        if response.status == 204:
            return Answer({}, False)
        read = json_of(response.body)
        if response.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Unreadable("the answer is not the service's")
        return Answer(read, response.headers.get("idempotent-replayed") == "true", response.status == 202)

    @property
    def is_in_flight(self) -> bool:
        """It goes on by itself. What waits for a person does not."""
        return self.is_accepted and self.json.get("status") != "pending_approval"

    @property
    def transfer_id(self) -> str | None:
        """Of a payment, or of a purchase."""
        transfer = self.json.get("transfer") or self.json
        return transfer.get("transfer_id") if isinstance(transfer, dict) else None

    def after(self, accepted: Answer | None) -> Answer:
        """What this call asked for while it was in flight is no replay."""
        return self if accepted is None else replace(self, replayed=accepted.replayed)


@dataclass(frozen=True, kw_only=True)
class Payment:
    """A payment that is settled on the chain, or that waits for a person: then `status` is `pending_approval`."""

    transfer_id: str
    name: str
    account: str
    """The account that paid."""
    to: str
    usdc: Decimal
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
    """Whether an earlier request under this name made it. A request of the same call whose answer was lost counts as one."""

    @staticmethod
    def of(transfer: Transfer, replayed: bool) -> Payment:
        return Payment(
            transfer_id=transfer.transfer_id,
            name=transfer.idempotency_key,
            account=transfer.from_,
            to=transfer.to,
            usdc=transfer.amount_usdc,
            memo=transfer.memo,
            signature=transfer.tx_signature,
            explorer_url=transfer.solana_explorer_url,
            settled_at=transfer.settled_at,
            status=transfer.status,
            approval_url=transfer.approval_url,
            approval_expires_at=transfer.approval_expires_at,
            replayed=replayed,
        )


def base_of(url: str) -> str:
    """The service's address, with the version that this package speaks."""
    url = url.rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def given_fields(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def changed_policy(
    max_single_transfer: Usdc | None | Unset,
    max_daily_spend: Usdc | None | Unset,
    allowed_counterparties: Iterable[str | Mapping[str, str]] | None | Unset,
    require_memo: bool | Unset,
    paused: bool | Unset,
) -> dict[str, Any]:
    """The fields of a policy that are given. Limits are text, so that they stay exact."""
    fields: dict[str, Any] = {"require_memo": require_memo, "paused": paused}
    for name, limit in (("max_single_transfer", max_single_transfer), ("max_daily_spend", max_daily_spend)):
        fields[name] = limit if limit is None or isinstance(limit, Unset) else usdc_text(limit, name)
    allowed = allowed_counterparties
    fields["allowed_counterparties"] = allowed if allowed is None or isinstance(allowed, Unset) else [*allowed]
    return {name: value for name, value in fields.items() if not isinstance(value, Unset)}


def changed_bounds(max_30_day_spend: Usdc | None | Unset, budget_id: str | None | Unset) -> dict[str, Any]:
    """What binds an account beside its policy, as far as it is given."""
    cap = max_30_day_spend
    if not (cap is None or isinstance(cap, Unset)):
        cap = usdc_text(cap, "max_30_day_spend")
    fields: dict[str, Any] = {"max_30_day_spend": cap, "budget_id": budget_id}
    return {name: value for name, value in fields.items() if not isinstance(value, Unset)}
