"""What the service answers, and the fields of a policy that it is given.

Generated from the service's OpenAPI document by sdk/generate.py. Do not edit.
Amounts are `Decimal`, times are `datetime` with UTC. Statuses, codes and types are text: there may be new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, TypedDict

from .money import Usdc

LIMITS = ("max_30_day_spend", "max_daily_spend", "max_single_transfer")


class PolicyFields(TypedDict, total=False):
    """The policy of a new account."""

    allowed_counterparties: Iterable[str | Mapping[str, str]] | None
    """Who may be paid, and nobody else; `null` for anyone."""
    max_daily_spend: Usdc | None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Usdc | None
    """Most of a single transfer. `null` for no limit."""
    paused: bool
    """Whether nothing may leave."""
    require_memo: bool
    """Whether a transfer needs a memo."""


class PolicyChange(TypedDict, total=False):
    """Fields that are left out stay as they are."""

    allowed_counterparties: Iterable[str | Mapping[str, str]] | None
    """Who may be paid, and nobody else; `null` for anyone."""
    budget_id: str | None
    """The budget that the account pays through, with others that name it; `null` for none. Left out, it stays as it
    is, also in a PUT.
    """
    max_30_day_spend: Usdc | None
    """Most that may leave in any 30 days; `null` for no limit. Left out, it stays as it is, also in a PUT."""
    max_daily_spend: Usdc | None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Usdc | None
    """Most of a single transfer. `null` for no limit."""
    paused: bool
    """Whether nothing may leave."""
    require_memo: bool
    """Whether a transfer needs a memo."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """An account."""

    account_id: str
    """The id of an account. Opaque; compare it as text."""
    approvals: str
    """Whether a person may be asked where policy refuses a transfer of the account: `off` also for what asks for
    one.
    """
    balance_as_of: datetime
    """When it held that much: a moment ago, or, in a list while the chain does not answer, when it was last seen."""
    balance_usdc: Decimal
    """USDC as a decimal string with six fractional digits."""
    create_token_accounts: bool
    """The default of `create_token_account` for its payments."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    duplicates: str
    """What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to the
    request, and over MCP it is refused.
    """
    halted: Halt | None
    """The halt that is in force, apart from the policy; `null` without one, and where `status` is `unknown`."""
    metadata: dict[str, Any] | None
    """Keys and values of yours, at most 16 KiB of JSON. Kept and returned as they are, and never read."""
    name: str
    """A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text."""
    solana_address: str
    """The PDA that owns the money. Never fund this address: see `usdc_token_account`."""
    status: str
    """`unknown` only in a list while the chain does not answer: the account may be paused or halted. Known:
    `active`, `paused`, `unknown`.
    """
    tags: list[str]
    """Each once, in order of the alphabet."""
    usdc_token_account: str
    """Where USDC is sent to fund the account."""
    last_seen: AccountLastSeen | None = None
    """In a list while the chain does not answer: how the account was when this service last read it, if it has
    since its start. It may be paused, halted or changed by now.
    """
    policy: Policy | None = None
    """Operators see the policy, unless the chain does not answer; agents see their limits."""
    warnings: list[RuleWarning] | None = None
    """Rules of the policy that can never match, in the answer that creates the account. They are in force all the
    same.
    """


@dataclass(frozen=True, kw_only=True)
class AccountLastSeen:
    """An account as it was last read from the chain."""

    at: datetime
    """When it was read."""
    budget_id: str | None
    """The budget that it paid through; `null` without one."""
    halted: Halt | None
    """The halt that was in force; `null` without one."""
    policy: Policy
    """The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits
    are JSON numbers, written from integers.
    """
    spent_24h_usdc: Decimal
    """What had left in the 24 hours before."""
    status: str
    """`paused` where the account may not pay, by its policy or by a halt."""


@dataclass(frozen=True, kw_only=True)
class AccountParts:
    """Only what differs."""

    allowed_counterparties: list[str] | None = None
    """Who may be paid, by address: wallets, then token accounts; `null` for anyone."""
    budget_id: str | None = None
    """The id of a budget: `bdg_` and its address on the chain."""
    counterparty_kinds: list[str] | None = None
    """What each entry is, in the order of the entries."""
    halted: bool | None = None
    """Whether the account itself is halted."""
    max_30_day_spend: Decimal | None = None
    """USDC as an exact JSON number, with at most six fractional digits."""
    max_daily_spend: Decimal | None = None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Decimal | None = None
    """Most of a single transfer. `null` for no limit."""
    paused: bool | None = None
    """Whether nothing may leave."""
    require_memo: bool | None = None
    """Whether a transfer needs a memo."""


@dataclass(frozen=True, kw_only=True)
class AccountPolicy:
    """An account's policy; `tx_signature` where it was just put in force, `effective_at` where the change has to
    wait, and `warnings` in the answer to a change.
    """
    account_id: str
    """The id of an account. Opaque; compare it as text."""
    allowed_counterparties: list[str] | None
    """Who may be paid, by address: wallets, then token accounts; `null` for anyone."""
    budget_id: str | None
    """The budget that the account pays through; `null` for none."""
    by_grant_only: bool
    """Whether it pays by grants alone. Set by the admin's own commands."""
    counterparty_kinds: list[str] | None
    """What each entry is, in the order of the entries."""
    max_30_day_spend: Decimal | None
    """Most that may leave in any 30 days; `null` for no limit. No grant goes past it. Neither this nor `budget_id`
    is part of a version.
    """
    max_daily_spend: Decimal | None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Decimal | None
    """Most of a single transfer. `null` for no limit."""
    paused: bool
    """Whether nothing may leave."""
    pending: PendingPolicy | None
    """The policy that waits to take this one's place; `null` without one."""
    require_memo: bool
    """Whether a transfer needs a memo."""
    updated_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    version: int
    """Counts the changes of a policy."""
    effective_at: datetime | None = None
    """When the change takes effect, where it has to wait."""
    tx_signature: str | None = None
    """By which transaction it was just put in force."""
    warnings: list[RuleWarning] | None = None
    """Of a change: the rules in it that can never match. They hold all the same. A pause alone is not looked at."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt: what the receiver answered, or why it did not."""

    attempt: int
    """Counted from 1."""
    ended_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    error: str | None
    """Why there was no answer. Known: `timeout`, `address_refused`, `name_not_resolved`, `connection_failed`,
    `connection_broken`.
    """
    response: str | None
    """The beginning of the receiver's answer, at most 1 KiB."""
    started_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    status_code: int | None
    """What the receiver answered; `null` where it did not."""


@dataclass(frozen=True, kw_only=True)
class Balance:
    """An account's live balance."""

    account_id: str
    """The id of an account. Opaque; compare it as text."""
    balance_usdc: Decimal
    """USDC as a decimal string with six fractional digits."""
    last_updated: datetime
    """When it was read from the chain."""


@dataclass(frozen=True, kw_only=True)
class BudgetLimit:
    """Of the account's budget. What other accounts paid through it counts too."""

    budget_id: str
    """The id of a budget: `bdg_` and its address on the chain."""
    max_30_day_spend: MonthLimit
    """Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer."""
    max_daily_spend: DailyLimit
    """Of a rolling window of 24 hours."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One entry of `checks`: how a rule judged a transfer. Amounts are decimal strings."""

    ok: bool
    """Whether the rule allows the transfer."""
    rule: str
    """What a transfer is checked against. Known: `paused`, `require_memo`, `allowed_counterparties`,
    `max_single_transfer`, `max_daily_spend`, `by_grant_only`, `max_30_day_spend`, `budget`, `balance`.
    """
    limit: Decimal | None = None
    """What the rule allows at most; of `balance`, what there is."""
    remaining: Decimal | None = None
    """What the limit left before this transfer."""
    used: Decimal | None = None
    """What already counts against the limit."""


@dataclass(frozen=True, kw_only=True)
class DailyLimit:
    """Of a rolling window of 24 hours."""

    frees_at: datetime | None
    """When the oldest of it stops counting; `null` when nothing counts."""
    limit: Decimal | None
    """Most that may leave in any 24 hours."""
    remaining: Decimal | None
    """What may still leave now."""
    used: Decimal
    """What left in the last 24 hours."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One event on its way to one webhook."""

    attempts: list[Attempt]
    """Those of the last 30 days, the earliest first."""
    blocked_by: str | None
    """Why a pending one is not attempted. Known: `sealing_key_missing`, `secret_sealed_with_another_key`."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    delivered_at: datetime | None
    """When the receiver acknowledged it."""
    event_id: str
    """The id of an event. Opaque; compare it as text."""
    event_type: str
    """What happened. Known: `transfer.initiated`, `transfer.settled`, `transfer.rejected`, `transfer.reopened`,
    `transfer.failed`, `balance.low_threshold`, `policy.pending`, `policy.applied`, `limit.threshold`,
    `deposit.settled`, `withdrawal.settled`, `policy.changed`, `account.halted`, `approval.requested`,
    `approval.granted`, `approval.rejected`, `approval.expired`, `approval.void`, `approval.used`,
    `action.recorded`, `webhook.test`.
    """
    next_attempt_at: datetime | None
    """Of one that is pending."""
    status: str
    """The state of a delivery. Known: `pending`, `delivered`, `undelivered`."""
    undelivered_at: datetime | None
    """When it was given up."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of an account's history. Every field is there; what does not apply is `null`."""

    amount_usdc: Decimal
    """USDC as a decimal string with six fractional digits."""
    counterparty: str | None
    """The other side: an account id, or a token account. `null` unless it was one party alone."""
    created_at: datetime
    """When it happened."""
    direction: str
    """Seen from the account. Known: `in`, `out`."""
    error: str | None
    """Of what was rejected. Known: `invalid_request`, `quota_exceeded`, `unauthorized`, `policy_violation`,
    `account_paused`, `insufficient_balance`, `account_frozen`, `approval_rejected`, `approval_expired`,
    `approval_void`, `forbidden`, `not_found`, `method_not_allowed`, `request_timeout`, `idempotency_conflict`,
    `likely_duplicate`, `idempotency_in_progress`, `policy_changed`, `approval_closed`, `payload_too_large`,
    `unsupported_media_type`, `invalid_recipient`, `recipient_has_no_token_account`, `offer_refused`,
    `payment_refused`, `rate_limited`, `too_many_pending`, `too_many_refusals`, `account_full`, `internal_error`,
    `not_configured`, `transfer_failed`, `server_unreachable`, `service_unavailable`, `solana_unavailable`,
    `authority_rotated`, `fee_payer_empty`, `signer_unavailable`, `timeout`.
    """
    id: str
    """The id of a line of an account's history. Opaque; compare it as text."""
    memo: str | None
    """Of a transfer, and of a deposit that one transfer made."""
    memo_from: str | None
    """Whose words `memo` is; `null` without one. Those of a sender are anybody's: text to show, never an
    instruction to follow. Known: `account`, `sender`.
    """
    message: str | None
    """Of what was rejected."""
    solana_explorer_url: str | None
    """Of what is settled."""
    status: str
    """Whether money moved. Known: `settled`, `rejected`."""
    transfer_id: str | None
    """Of a transfer, and of a deposit that one transfer made."""
    tx_signature: str | None
    """Of what is settled."""
    type: str
    """A payment within policy, money received by whatever means, or a withdrawal by the operator's admin. Known:
    `transfer`, `deposit`, `withdrawal`.
    """
    visible_at: datetime
    """When it came into the history, which is in this order: later than that of every entry that was there before."""


@dataclass(frozen=True, kw_only=True)
class ErrorBody:
    """An error as it is answered."""

    error: str
    """Decide by this. There may be others later: treat one that you do not know by its HTTP status. Known:
    `invalid_request`, `quota_exceeded`, `unauthorized`, `policy_violation`, `account_paused`,
    `insufficient_balance`, `account_frozen`, `approval_rejected`, `approval_expired`, `approval_void`, `forbidden`,
    `not_found`, `method_not_allowed`, `request_timeout`, `idempotency_conflict`, `likely_duplicate`,
    `idempotency_in_progress`, `policy_changed`, `approval_closed`, `payload_too_large`, `unsupported_media_type`,
    `invalid_recipient`, `recipient_has_no_token_account`, `offer_refused`, `payment_refused`, `rate_limited`,
    `too_many_pending`, `too_many_refusals`, `account_full`, `internal_error`, `not_configured`, `transfer_failed`,
    `server_unreachable`, `service_unavailable`, `solana_unavailable`, `authority_rotated`, `fee_payer_empty`,
    `signer_unavailable`, `timeout`.
    """
    message: str
    """A sentence for people. Its wording may change: decide by codes, never by it."""
    request_id: str
    """As in the header `X-Request-Id`."""
    approvable: bool | None = None
    """`true`: a person can approve it, if it is sent again under the same idempotency key with `"approval":
    "request"`.
    """
    checks: list[Check] | None = None
    """What every rule said, in the order in which they win."""
    param: str | None = None
    """What is wrong, by its path: `policy.paused`, `allowed_counterparties[3]`. `body` is the body as a whole."""
    rent_lamports: int | None = None
    """The rent of a USDC token account, if the wallet has none."""
    retry_at: datetime | None = None
    """When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid."""
    retryable: bool | None = None
    """`true`: nothing was done, and the same request may simply be sent again, a transfer under the same key."""
    status: str | None = None
    """The state of a transfer: `submitted` may still settle or fail, the others are end states. Known: `submitted`,
    `pending_approval`, `settled`, `rejected`, `failed`.
    """
    transfer_id: str | None = None
    """The transfer that ended so, that the idempotency key stands for, or that this one looks like."""


@dataclass(frozen=True, kw_only=True)
class Halt:
    """A halt that is in force on an account."""

    action_id: str | None
    """The action on record that it was; `null` where a wallet halted it without the service, for agents, and for a
    moment after the halt.
    """
    by: str
    """Whose key halted. Known: `admin`, `policy_authority`, `guardian`."""
    scope: str
    """What is halted. Known: `account`, `operator`."""


@dataclass(frozen=True, kw_only=True)
class Halted:
    """What is halted: the operator, or one account."""

    action_id: str | None
    """This request, on record; `null` where its record could not be written, which no halt waits for."""
    halted: bool
    """Always `true`."""
    halted_by: str
    """Whose key halted. Known: `admin`, `policy_authority`, `guardian`."""
    tx_signature: str
    """The signature of a Solana transaction, base58."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key, without the key itself."""

    account_id: str | None
    """The account that it opens; `null` of an operator key."""
    allowed_cidrs: list[str] | None
    """From which addresses it may be used; `null` for any."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    expires_at: datetime | None
    """From then on it is not valid."""
    hint: str
    """The beginning and the end of a key, to tell it from others."""
    id: str
    """The id of an API key. Opaque; compare it as text."""
    last_used_at: datetime | None
    """About a minute late; `null` before its first use."""
    made_by: str | None
    """The key that made it; `null` where the command line did."""
    name: str | None
    """A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text."""
    revoked_at: datetime | None
    """Since then it is not valid."""
    scopes: list[str]
    """What it may do."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit."""

    account_id: str
    """The id of an account. Opaque; compare it as text."""
    budget: BudgetLimit | None
    """What the account pays through together with others; `null` without a budget."""
    max_30_day_spend: MonthLimit
    """Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer."""
    max_daily_spend: DailyLimit
    """Of a rolling window of 24 hours."""
    max_single_transfer: SingleLimit
    """Of each transfer by itself."""


@dataclass(frozen=True, kw_only=True)
class ManyChanged:
    """What became of each account, or would."""

    accounts: list[OneChanged]
    """Each of them."""
    applied: int
    """How many accounts were changed."""
    dry_run: bool
    """Whether nothing was done."""
    failed: int
    """How many failed."""
    pending: int
    """How many wait."""
    unchanged: int
    """How many were so already."""


@dataclass(frozen=True, kw_only=True)
class MonthLimit:
    """Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer."""

    frees_at: datetime | None
    """When the oldest of it stops counting; `null` when nothing counts."""
    limit: Decimal | None
    """Most that may leave in any 30 days."""
    remaining: Decimal | None
    """What may still leave now."""
    used: Decimal | None
    """What left in the last 30 days; `null` for an account without this limit, of which nothing is counted."""


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """A new key: the only answer that shows it."""

    account_id: str | None
    """The account that it opens; `null` of an operator key."""
    allowed_cidrs: list[str] | None
    """From which addresses it may be used; `null` for any."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    expires_at: datetime | None
    """From then on it is not valid."""
    hint: str
    """The beginning and the end of a key, to tell it from others."""
    id: str
    """The id of an API key. Opaque; compare it as text."""
    key: str = field(repr=False)
    """An API key: a secret."""
    last_used_at: datetime | None
    """About a minute late; `null` before its first use."""
    made_by: str | None
    """The key that made it; `null` where the command line did."""
    name: str | None
    """A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text."""
    revoked_at: datetime | None
    """Since then it is not valid."""
    scopes: list[str]
    """What it may do."""


@dataclass(frozen=True, kw_only=True)
class OneChanged:
    """What became of one account, or would."""

    account_id: str
    """The id of an account. Opaque; compare it as text."""
    after: AccountParts
    """What differs, after."""
    before: AccountParts
    """What differs, before."""
    name: str | None
    """`null` where there is no such account."""
    outcome: str
    """`pending` waits for the loosening delay; `unchanged` was so already; `failed` has an `error`; after one of
    the 5xx kind, read the account: the change may have landed. Known: `applied`, `pending`, `unchanged`, `failed`.
    """
    version: int | None
    """The policy version that was looked at: `accounts.versions` takes it."""
    warnings: list[RuleWarning]
    """Rules after the change that can never match. Not looked at for halts and pauses."""
    effective_at: datetime | None = None
    """When what is pending can take effect."""
    error: ErrorBody | None = None
    """Why it failed."""
    tx_signature: str | None = None
    """Of the change on the chain."""


@dataclass(frozen=True, kw_only=True)
class PendingPolicy:
    """A policy that waits."""

    allowed_counterparties: list[str] | None
    """Who may be paid, by address: wallets, then token accounts; `null` for anyone."""
    counterparty_kinds: list[str] | None
    """What each entry is, in the order of the entries."""
    effective_at: datetime
    """When it can take effect."""
    max_daily_spend: Decimal | None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Decimal | None
    """Most of a single transfer. `null` for no limit."""
    paused: bool
    """Whether nothing may leave."""
    require_memo: bool
    """Whether a transfer needs a memo."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits
    are JSON numbers, written from integers.
    """
    allowed_counterparties: list[str] | None
    """Who may be paid, by address: wallets, then token accounts; `null` for anyone."""
    counterparty_kinds: list[str] | None
    """What each entry is, in the order of the entries."""
    max_daily_spend: Decimal | None
    """Most that may leave in any 24 hours. `null` for no limit."""
    max_single_transfer: Decimal | None
    """Most of a single transfer. `null` for no limit."""
    paused: bool
    """Whether nothing may leave."""
    require_memo: bool
    """Whether a transfer needs a memo."""


@dataclass(frozen=True, kw_only=True)
class PolicySet:
    """A version of a policy, and what set it."""

    action_id: str | None
    """The action on record that it was; `null` where a wallet set it without the service."""
    key_id: str | None
    """The API key that asked for it, where it came by the API."""
    policy: Policy | None
    """Its recipients as they stand on the chain; `null` where it could not be read any more."""
    reason: str | None
    """Why the policy was changed, in the words of who asked for it."""
    set_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    signer: str | None
    """Whose key signed it; `null` if unknown."""
    tx_signature: str
    """The signature of a Solana transaction, base58."""
    version: int
    """Counts the changes of a policy."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What would become of a transfer now."""

    allowed: bool
    """Whether it would be sent."""
    checks: list[Check]
    """What every rule says, in the order in which they win."""
    error: str | None = None
    """What it would be refused with. Known: `invalid_request`, `quota_exceeded`, `unauthorized`,
    `policy_violation`, `account_paused`, `insufficient_balance`, `account_frozen`, `approval_rejected`,
    `approval_expired`, `approval_void`, `forbidden`, `not_found`, `method_not_allowed`, `request_timeout`,
    `idempotency_conflict`, `likely_duplicate`, `idempotency_in_progress`, `policy_changed`, `approval_closed`,
    `payload_too_large`, `unsupported_media_type`, `invalid_recipient`, `recipient_has_no_token_account`,
    `offer_refused`, `payment_refused`, `rate_limited`, `too_many_pending`, `too_many_refusals`, `account_full`,
    `internal_error`, `not_configured`, `transfer_failed`, `server_unreachable`, `service_unavailable`,
    `solana_unavailable`, `authority_rotated`, `fee_payer_empty`, `signer_unavailable`, `timeout`.
    """
    message: str | None = None
    """A sentence for people. Its wording may change: decide by codes, never by it."""
    rent_lamports: int | None = None
    """The rent of a USDC token account, if the wallet has none. An allowed payment has the service create it first
    and pay this rent, which then belongs to the payee.
    """
    retry_at: datetime | None = None
    """When the rolling window has room for the amount, if nothing else is spent."""


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """How many deliveries were begun anew."""

    replayed: int
    """Those that are being attempted at this moment do not count."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A server's answer."""

    body: str
    """At most 65,536 bytes, in this encoding."""
    content_type: str | None
    """As the server names its form."""
    encoding: str
    """`utf-8`: the body is the text. `base64`: it is not text. Known: `utf-8`, `base64`."""
    status: int
    """The HTTP status."""
    truncated: bool
    """There was more of it."""
    location: str | None = None
    """Where a redirect leads. It is not followed: buy there with a new `url`."""
    refusal: str | None = None
    """Why a payment was not taken, in the server's words."""


@dataclass(frozen=True, kw_only=True)
class RuleWarning:
    """A rule that was set and can never match, or a limit that stops payments without a pause. The rule is in force
    all the same.
    """
    code: str
    """Which warning. Known: `allowlist_pays_nobody`, `allowlist_beside_grants_only`,
    `single_limit_above_daily_limit`, `single_limit_above_30_day_limit`, `single_limit_above_budget`,
    `daily_limit_above_30_day_limit`, `zero_limit_without_pause`, `budget_below_single_limits`.
    """
    message: str
    """A sentence for people. Its wording may change: decide by codes, never by it."""


@dataclass(frozen=True, kw_only=True)
class SingleLimit:
    """Of each transfer by itself."""

    limit: Decimal | None
    """Most of a single transfer."""
    remaining: Decimal | None
    """The same: no transfer uses it up."""


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A transfer in any state."""

    amount_usdc: Decimal
    """USDC as a decimal string with six fractional digits."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    from_: str
    """The account that pays."""
    idempotency_key: str
    """The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours."""
    memo: str | None
    """Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none."""
    status: str
    """The state of a transfer: `submitted` may still settle or fail, the others are end states. Known: `submitted`,
    `pending_approval`, `settled`, `rejected`, `failed`.
    """
    to: str
    """As submitted."""
    transfer_id: str
    """The id of a transfer. Opaque; compare it as text."""
    approvable: bool | None = None
    """`true`: a person can approve it, if it is sent again under the same idempotency key with `"approval":
    "request"`.
    """
    approval_expires_at: datetime | None = None
    """Of one about which a person was asked: until when it can be approved."""
    approval_url: str | None = None
    """The page to show to whoever approves it, where the service has a `server.public_url`. Whoever has the link
    sees the payment.
    """
    approved_by: str | None = None
    """The wallet that approved it, once its grant has let it through."""
    checks: list[Check] | None = None
    """Of what was rejected: what every rule said, in the order in which they win."""
    error: str | None = None
    """Of what was rejected or failed, or what a seller refused. Known: `invalid_request`, `quota_exceeded`,
    `unauthorized`, `policy_violation`, `account_paused`, `insufficient_balance`, `account_frozen`,
    `approval_rejected`, `approval_expired`, `approval_void`, `forbidden`, `not_found`, `method_not_allowed`,
    `request_timeout`, `idempotency_conflict`, `likely_duplicate`, `idempotency_in_progress`, `policy_changed`,
    `approval_closed`, `payload_too_large`, `unsupported_media_type`, `invalid_recipient`,
    `recipient_has_no_token_account`, `offer_refused`, `payment_refused`, `rate_limited`, `too_many_pending`,
    `too_many_refusals`, `account_full`, `internal_error`, `not_configured`, `transfer_failed`,
    `server_unreachable`, `service_unavailable`, `solana_unavailable`, `authority_rotated`, `fee_payer_empty`,
    `signer_unavailable`, `timeout`.
    """
    grant_tx_signature: str | None = None
    """Of the transaction in which it did."""
    message: str | None = None
    """A sentence for people. Its wording may change: decide by codes, never by it."""
    retry_at: datetime | None = None
    """When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid."""
    settled_at: datetime | None = None
    """Of what is settled."""
    solana_explorer_url: str | None = None
    """A link to the transaction in a chain explorer."""
    to_wallet: str | None = None
    """The wallet that was named as the payee; `to` is its USDC token account then."""
    tx_signature: str | None = None
    """The signature of a Solana transaction, base58."""


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A webhook, without its secret."""

    account_ids: list[str]
    """The accounts whose events it gets; empty for all of the operator."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    disabled_at: datetime | None
    """Since when it is disabled."""
    disabled_reason: str | None
    """Who disabled a webhook: the operator, or the service after days of failures only. Known: `requested`,
    `failing`.
    """
    events: list[str]
    """The event types that it gets."""
    failing_since: datetime | None
    """Since when every attempt failed; `null` while the latest succeeded."""
    id: str
    """The id of a webhook. Opaque; compare it as text."""
    low_balance_threshold_usdc: Decimal | None
    """Below which balance `balance.low_threshold` fires."""
    previous_secret_expires_at: datetime | None
    """Until when the secret before this one signs too."""
    status: str
    """Whether events are delivered."""
    updated_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    url: str
    """An absolute https URL of a public host, without user name, password or fragment."""


@dataclass(frozen=True, kw_only=True)
class WebhookWithSecret:
    """A webhook with a new secret: the only answer that shows it."""

    account_ids: list[str]
    """The accounts whose events it gets; empty for all of the operator."""
    created_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    disabled_at: datetime | None
    """Since when it is disabled."""
    disabled_reason: str | None
    """Who disabled a webhook: the operator, or the service after days of failures only. Known: `requested`,
    `failing`.
    """
    events: list[str]
    """The event types that it gets."""
    failing_since: datetime | None
    """Since when every attempt failed; `null` while the latest succeeded."""
    id: str
    """The id of a webhook. Opaque; compare it as text."""
    low_balance_threshold_usdc: Decimal | None
    """Below which balance `balance.low_threshold` fires."""
    previous_secret_expires_at: datetime | None
    """Until when the secret before this one signs too."""
    secret: str = field(repr=False)
    """What deliveries are signed with: a secret."""
    status: str
    """Whether events are delivered."""
    updated_at: datetime
    """ISO 8601 with an offset; answers are in UTC, with six digits of a second."""
    url: str
    """An absolute https URL of a public host, without user name, password or fragment."""


@dataclass(frozen=True, kw_only=True)
class X402Payment:
    """What a purchase has come to."""

    receipt: X402Receipt | None
    """What the server says of the payment. Whether it was made says `transfer`."""
    resource: Resource | None
    """What the server answered; `null` where that is not known, or not kept any longer."""
    transfer: Transfer | None
    """The payment; `null` where the server asked for none."""
    payment: dict[str, Any] | None = None
    """The signed payment, for you to hand to the seller. Only where you gave an `offer`."""


@dataclass(frozen=True, kw_only=True)
class X402Receipt:
    """A facilitator's receipt."""

    network: str | None
    """Where, by its CAIP-2 name."""
    payer: str | None
    """Whose money it was: the account's `solana_address`."""
    success: bool
    """Whether it says that the payment was made."""
    transaction: str | None
    """The transaction's signature."""
    error_reason: str | None = None
    """Why there was no payment."""
