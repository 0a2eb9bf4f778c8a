# Made from _async_client.py by sdk/generate.py. Do not edit.
"""The sync client: an agent that pays, or an operator that keeps accounts."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from . import types
from ._answers import Unreadable, error_of, read, text_of_time
from ._call import (
    BULK_BYTES_MAX,
    Answer,
    Call,
    Payment,
    Reads,
    base_of,
    given_fields,
    nothing,
    own_account,
    page_of,
    payee_of,
    payment_with,
    policy_body,
    purchase_with,
    transfer_with,
)
from ._http_sync import HttpTransport, SystemClock
from ._renamed import renamed
from ._retry import ATTEMPT_SECONDS, is_asked_again, pause
from .errors import ApiError, TooManyRequests, Unreachable
from .events import Event, MessageReader, event_of, event_of_body
from .money import Usdc, amount_text, usdc_text
from .transport import (
    ANSWER_BYTES_MAX,
    Clock,
    Stream,
    Transport,
    Request,
    Response,
    Unanswered,
    Untrusted,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

# A comment comes every 15 s.
STREAM_SILENCE_SECONDS = 45.0


class Purser:
    """An agent's account, or with an operator's API key all accounts of the operator.

    `url` is the service's address (default: `PURSER_URL`), `key` an API key (default: `PURSER_AGENT_KEY`; see `operator`).
    `account` is the account that pays (default: `PURSER_ACCOUNT`, else the one that the agent key opens). A call gives up
    `deadline` seconds after it began.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        account: str | None = None,
        deadline: float = 120.0,
        transport: Transport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._base = base_of(url or _setting("PURSER_URL"))
        self._key = key or _setting("PURSER_AGENT_KEY")
        self._account = account or os.environ.get("PURSER_ACCOUNT") or None
        self._deadline = deadline
        self._transport: Transport = transport or HttpTransport()
        self._clock: Clock = clock or SystemClock()
        self.transfers = Transfers(self)
        self.history = History(self)
        self.accounts = Accounts(self)
        self.policy = Policies(self)
        self.keys = Keys(self)
        self.halts = Halts(self)
        self.events = Events(self)
        self.webhooks = Webhooks(self)

    @classmethod
    def operator(
        cls,
        url: str | None = None,
        key: str | None = None,
        *,
        account: str | None = None,
        deadline: float = 120.0,
        transport: Transport | None = None,
        clock: Clock | None = None,
    ) -> Purser:
        """The same with `PURSER_OPERATOR_KEY`."""
        key = key or _setting("PURSER_OPERATOR_KEY")
        return cls(url, key, account=account, deadline=deadline, transport=transport, clock=clock)

    def __enter__(self) -> Purser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the transport. The own one keeps nothing open."""
        self._transport.close()

    @renamed(name="idempotency_key", usdc="amount_usdc")
    def pay(
        self,
        *,
        to: str | None = None,
        wallet: str | None = None,
        idempotency_key: str,
        amount_usdc: Usdc | None = None,
        micro_usdc: int | None = None,
        memo: str | None = None,
        account: str | None = None,
        duplicate_of: str | None = None,
        approval: str | None = None,
        create_token_account: bool | None = None,
    ) -> Payment:
        """Pays once per `idempotency_key`, and returns when the chain has settled the payment.

        `to` is an account's id or the address of a USDC token account; in its place, `wallet` is the address of a wallet, whose
        USDC token account is paid. `idempotency_key` has at most 128 characters: a retry
        with the same one within 24 hours returns the first payment, and nothing is paid twice. After 24 hours it can pay
        again. Begin it with the account's id or another prefix: all accounts of an operator share their idempotency keys.
        `duplicate_of` is the payment that this one repeats on purpose, where the account refuses what looks like a duplicate.
        With `approval="request"`, a payment that the policy refuses may wait for a person: it then comes back at once with
        `status` `pending_approval` and the `approval_url` for that person. Call again with the same idempotency key to see
        how it ended. With `create_token_account=True`, the service may create the USDC token account of a wallet that has none: it
        pays the rent, which belongs to the payee from then on.
        """
        if not idempotency_key:
            raise ValueError("a payment needs an idempotency_key: each one is paid once")
        payee, amount = payee_of(to, wallet), amount_text(amount_usdc, micro_usdc)
        body = {"from": account or self.account_id(), "to": payee, "amount": amount}
        body |= given_fields(
            idempotency_key=idempotency_key,
            memo=memo,
            duplicate_of=duplicate_of,
            approval=approval,
            create_token_account=create_token_account,
        )
        call = Call("POST", "/transfers", body=body, is_awaited=True)
        answer = self._answer(call, payment_with(idempotency_key))
        return Payment.of(answer.value, answer.replayed)

    @renamed(usdc="amount_usdc")
    def preview(
        self,
        *,
        to: str | None = None,
        wallet: str | None = None,
        amount_usdc: Usdc | None = None,
        micro_usdc: int | None = None,
        memo: str | None = None,
        account: str | None = None,
        create_token_account: bool | None = None,
    ) -> types.Preview:
        """How each rule would judge a payment now. Nothing happens."""
        payee, amount = payee_of(to, wallet), amount_text(amount_usdc, micro_usdc)
        body = {"from": account or self.account_id(), "to": payee, "amount": amount}
        call = Call("POST", "/transfers/preview", body=body | given_fields(memo=memo, create_token_account=create_token_account))
        return self._read(types.Preview, call)

    @renamed(name="idempotency_key")
    def buy(
        self,
        url: str,
        *,
        max_usdc: Usdc,
        idempotency_key: str,
        method: str = "GET",
        body: str | None = None,
        memo: str | None = None,
        account: str | None = None,
    ) -> types.X402Payment:
        """Buys what a server sells by x402 for at most `max_usdc`, once per `idempotency_key`."""
        if not idempotency_key:
            raise ValueError("a purchase needs an idempotency_key: each one is paid once")
        sent = {"from": account or self.account_id(), "url": url, "max_amount": usdc_text(max_usdc, "max_usdc")}
        sent |= given_fields(idempotency_key=idempotency_key, method=method, body=body, memo=memo)
        call = Call("POST", "/x402/payments", body=sent, is_awaited=True)
        return self._ask(call, purchase_with(idempotency_key))

    def account_id(self) -> str:
        """The account that pays: given, set by `PURSER_ACCOUNT`, or the one that the agent key opens."""
        if self._account is None:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_account", "arguments": {}}}
            found = self._ask(Call("POST", self._base.removesuffix("/v1") + "/mcp", body=call), own_account)
            if found is None:
                raise ValueError("this API key opens no account by itself: say which one pays, account=...")
            self._account = found
        return self._account

    def account(self) -> types.Account:
        """The account that pays."""
        return self.accounts.get(self.account_id())

    def balance(self) -> types.Balance:
        return self.accounts.balance(self.account_id())

    def limits(self) -> types.Limits:
        """Each limit, how much of it is used, and when it frees."""
        return self.accounts.limits(self.account_id())

    def _read(self, kind: type[T], call: Call) -> T:
        return self._ask(call, lambda json: read(kind, json))

    def _ask(self, call: Call, reads: Reads[T]) -> T:
        return (self._answer(call, reads)).value

    def _answer(self, call: Call, reads: Reads[T]) -> Answer[T]:
        """Asks until the service gives an answer that lasts, or the deadline has passed. What anyone else answers is no answer."""
        began = self._clock.now()
        attempts = 0
        accepted: Answer[T] | None = None
        while True:
            attempts += 1
            left = began + self._deadline - self._clock.now()
            problem: Exception
            retry_after = None
            try:
                response = self._transport.send(self._request(call, min(ATTEMPT_SECONDS, max(left, 1.0))))
                if 200 <= response.status < 300:
                    answer = Answer.of(response, reads)
                    if not (call.is_awaited and answer.is_in_flight):
                        return answer.after(accepted)
                    accepted = answer.after(accepted)
                    problem = Unreachable("it was accepted and is in flight")
                else:
                    error = error_of(response)
                    if not is_asked_again(error):
                        raise error
                    problem, retry_after = error, error.retry_after
            except Untrusted as failure:
                raise self._gives_up(failure, accepted, attempts) from failure
            except Unanswered as failure:
                problem = failure
            except Unreadable as failure:
                problem, retry_after = failure, failure.retry_after
            wait = pause(attempts, retry_after, self._clock.random())
            if self._clock.now() - began + wait > self._deadline:
                raise self._gives_up(problem, accepted, attempts) from problem
            self._clock.sleep(wait)

    def _gives_up(self, problem: Exception, accepted: Answer[Any] | None, attempts: int) -> Exception:
        if isinstance(problem, TooManyRequests) and accepted is None:
            return problem
        transfer_id = accepted.transfer_id if accepted else None
        if transfer_id is None and isinstance(problem, ApiError):
            transfer_id = problem.transfer_id
        tried = f"no final answer in {self._deadline:g} s and {attempts} attempts"
        message = f"{tried}: {problem}. Retry with the same idempotency key"
        return Unreachable(message, problem, transfer_id)

    def _request(self, call: Call, timeout: float, headers: Mapping[str, str] | None = None) -> Request:
        sent = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", **call.headers, **(headers or {})}
        body = None
        if call.body is not None:
            sent["Content-Type"] = "application/json"
            body = json.dumps(call.body, ensure_ascii=False).encode()
        url = call.path if urlsplit(call.path).scheme else self._base + call.path
        query = urlencode([(name, text) for name, text in call.query.items() if text is not None])
        url += f"?{query}" if query else ""
        return Request(call.method, url, sent, body, timeout, call.answer_bytes_max)

    def _pages(
        self, reads_one: Reads[T], path: str, query: Mapping[str, str | None]
    ) -> Generator[T, None]:
        """Everything that is listed, page by page."""
        cursor: str | None = None
        while True:
            call = Call("GET", path, query={"limit": "100", **query, "cursor": cursor})
            page, cursor = self._ask(call, page_of(reads_one))
            for one in page:
                yield one
            if cursor is None:
                return

    def _listed(self, kind: type[T], path: str, **query: str | None) -> Generator[T, None]:
        return self._pages(lambda json: read(kind, json), path, query)


class Transfers:
    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    def get(self, transfer_id: str) -> types.Transfer:
        """A transfer in any state."""
        return self._purser._ask(Call("GET", f"/transfers/{quote(transfer_id)}"), transfer_with(transfer_id))

    @renamed(name="idempotency_key")
    def list(
        self,
        *,
        account: str | None = None,
        status: str | None = None,
        idempotency_key: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Iterator[types.Transfer]:
        """Newest first."""
        return self._purser._listed(
            types.Transfer,
            "/transfers",
            account_id=account,
            status=status,
            idempotency_key=idempotency_key,
            since=text_of_time(since),
            until=text_of_time(until),
        )


class History:
    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    def list(
        self,
        account: str | None = None,
        *,
        status: str | None = None,
        type: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Generator[types.Entry, None]:
        """What happened to the account's money, latest first. `since` and `until` are times of `visible_at`."""
        account = account or self._purser.account_id()
        entries = self._purser._listed(
            types.Entry,
            f"/accounts/{quote(account)}/transactions",
            status=status,
            type=type,
            since=text_of_time(since),
            until=text_of_time(until),
        )
        for entry in entries:
            yield entry

    def follow(
        self,
        account: str | None = None,
        *,
        since: datetime | str | None = None,
        every: float = 2.0,
    ) -> Generator[types.Entry, None]:
        """Everything that happened, oldest first, and then what happens, without end.

        To go on after a stop, keep `visible_at` of the last entry that you worked on and give it as `since`: nothing is left out.
        An entry can come again under its `id` when the chain took back a fork. While the service does not answer, it waits.
        """
        while True:
            try:
                new = [entry for entry in self.list(account, since=since)]
            except (TooManyRequests, Unreachable):
                new = []
            for entry in reversed(new):
                yield entry
                since = entry.visible_at
            self._purser._clock.sleep(every * (0.75 + self._purser._clock.random() / 2))


class Accounts:
    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    @renamed(once="idempotency_key")
    def create(
        self,
        name: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        **policy: Unpack[types.PolicyFields],
    ) -> types.Account:
        """Creates an account with this policy. A retry with the same `idempotency_key` within 24 hours returns the first one."""
        body = {"name": name, "policy": policy_body(types.PolicyFields, policy)}
        body |= given_fields(metadata=metadata, tags=tags)
        return self._purser._read(types.Account, Call.once("/accounts", body, idempotency_key))

    def get(self, account: str) -> types.Account:
        return self._purser._read(types.Account, Call("GET", f"/accounts/{quote(account)}"))

    def list(self, *, status: str | None = None, tag: str | None = None) -> Iterator[types.Account]:
        """Newest first."""
        return self._purser._listed(types.Account, "/accounts", status=status, tag=tag)

    def update(
        self,
        account: str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        duplicates: str | None = None,
        approvals: str | None = None,
        create_token_accounts: bool | None = None,
    ) -> types.Account:
        """Changes what is given; tags as a whole, metadata field by field: `None` as a value removes its field."""
        change = given_fields(
            name=name,
            metadata=metadata,
            tags=tags,
            duplicates=duplicates,
            approvals=approvals,
            create_token_accounts=create_token_accounts,
        )
        call = Call("PATCH", f"/accounts/{quote(account)}", body=change)
        return self._purser._read(types.Account, call)

    def balance(self, account: str) -> types.Balance:
        """Live, from the chain."""
        return self._purser._read(types.Balance, Call("GET", f"/accounts/{quote(account)}/balance"))

    def limits(self, account: str) -> types.Limits:
        return self._purser._read(types.Limits, Call("GET", f"/accounts/{quote(account)}/limits"))


class Policies:
    """An account's policy: what leaves the account, by rules that the chain enforces."""

    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    def get(self, account: str) -> types.AccountPolicy:
        return self._asks("GET", account, None, None)

    def update(
        self,
        account: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        **change: Unpack[types.PolicyChange],
    ) -> types.AccountPolicy:
        """Changes what is given; `None` takes a limit away. With `version`, only that version is changed.

        Where the operator has a delay, what loosens the policy waits: `effective_at` of the answer says until when.
        """
        body = policy_body(types.PolicyChange, change) | given_fields(reason=reason)
        return self._asks("PATCH", account, body, version)

    def replace(
        self,
        account: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        **policy: Unpack[types.PolicyFields],
    ) -> types.AccountPolicy:
        """Replaces the whole policy: what is left out is no limit."""
        # `paused` alone would change nothing else.
        body = {"max_single_transfer": None, "paused": False} | policy_body(types.PolicyFields, policy)
        return self._asks("PUT", account, body | given_fields(reason=reason), version)

    def pause(self, account: str) -> types.AccountPolicy:
        """Nothing leaves the account from now on. The rest of the policy stays."""
        return self._asks("PUT", account, {"paused": True}, None)

    def unpause(self, account: str) -> types.AccountPolicy:
        return self._asks("PATCH", account, {"paused": False}, None)

    @renamed(once="idempotency_key")
    def change_many(
        self,
        accounts: Mapping[str, Any],
        *,
        reason: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **change: Unpack[types.PolicyChange],
    ) -> types.ManyChanged:
        """Changes the policy of each of these accounts: `{"tag": "eu"}`, `{"ids": [...]}`, `{"all": True}`.

        A dry run shows before and after; its versions, given back as
        `{"versions": {...}}`, change exactly what was shown. With the same `idempotency_key`, it is done once.
        """
        policy = policy_body(types.PolicyChange, change) | given_fields(reason=reason)
        body = {"accounts": accounts, "policy": policy, "dry_run": dry_run}
        call = Call.once("/bulk/policy", body, idempotency_key, BULK_BYTES_MAX)
        return self._purser._read(types.ManyChanged, call)

    def drop_pending(self, account: str) -> types.AccountPolicy:
        """Drops the policy that waits."""
        call = Call("DELETE", f"/accounts/{quote(account)}/policy/pending")
        return self._purser._read(types.AccountPolicy, call)

    def versions(self, account: str) -> Iterator[types.PolicySet]:
        """Every version, newest first."""
        return self._purser._listed(types.PolicySet, f"/accounts/{quote(account)}/policy/versions")

    def _asks(
        self, method: str, account: str, body: Mapping[str, Any] | None, version: int | None
    ) -> types.AccountPolicy:
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        call = Call(method, f"/accounts/{quote(account)}/policy", body=body, headers=headers)
        return self._purser._read(types.AccountPolicy, call)


class Keys:
    """API keys of agents, each for one account."""

    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    @renamed(once="idempotency_key")
    def create(
        self,
        account: str,
        *,
        name: str | None = None,
        expires_at: datetime | str | None = None,
        allowed_cidrs: Sequence[str] | None = None,
        scopes: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> types.NewKey:
        """Creates an API key. Its text is shown only in this answer."""
        body = given_fields(
            name=name, expires_at=text_of_time(expires_at), allowed_cidrs=allowed_cidrs, scopes=scopes
        )
        call = Call.once(f"/accounts/{quote(account)}/keys", body, idempotency_key)
        return self._purser._read(types.NewKey, call)

    def list(self, account: str) -> Iterator[types.Key]:
        return self._purser._listed(types.Key, f"/accounts/{quote(account)}/keys")

    def revoke(self, key_id: str) -> None:
        """Revokes an API key. `self` is the one that this client uses."""
        self._purser._ask(Call("DELETE", f"/keys/{quote(key_id)}"), nothing)


class Halts:
    """The stop beside the policy. Only the operator's admin ends it, with its own wallet."""

    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    def account(self, account: str) -> types.Halted:
        """Stops one account at once."""
        call = Call.once(f"/accounts/{quote(account)}/halt", None, None)
        return self._purser._read(types.Halted, call)

    @renamed(once="idempotency_key")
    def many(
        self, accounts: Mapping[str, Any], *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> types.ManyChanged:
        """Stops each of these accounts; see `policy.change_many`."""
        body = {"accounts": accounts, "dry_run": dry_run}
        call = Call.once("/bulk/halt", body, idempotency_key, BULK_BYTES_MAX)
        return self._purser._read(types.ManyChanged, call)

    def operator(self) -> types.Halted:
        """Stops every account of the operator at once."""
        return self._purser._read(types.Halted, Call.once("/halt", None, None))


class Events:
    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    def get(self, event_id: str) -> Event:
        return self._purser._ask(Call("GET", f"/events/{quote(event_id)}"), event_of)

    def list(self, *, type: str | None = None, account: str | None = None) -> Generator[Event, None]:
        """Newest first."""
        for event in self._purser._pages(event_of, "/events", {"type": type, "account_id": account}):
            yield event

    def stream(
        self, *, types: Iterable[str] = (), account: str | None = None, after: str | None = None
    ) -> EventStream:
        """Events as they happen. See `EventStream`."""
        query = {"type": ",".join(types) or None, "account_id": account}
        return EventStream(self._purser, query, after)

    def position(self) -> str:
        """Where a stream stands that begins now: read what there is, then stream `after` it, and nothing falls in between."""
        stream = EventStream(self._purser, {}, None)
        with closing(stream._messages()) as messages:
            for _ in messages:
                if stream.position:
                    return stream.position
        raise Unreachable("the stream ended before it began")


class EventStream:
    """Events as they happen, without end. Lost connections are opened anew where they ended.

    `position` is where it stands. To go on after a stop, keep it each time you have worked on an event, and give it as `after`:
    nothing is left out. Without `after` the stream begins now.
    """

    def __init__(self, purser: Purser, query: Mapping[str, str | None], after: str | None) -> None:
        self._purser = purser
        self._query = query
        self.position = after

    def __iter__(self) -> Generator[Event, None]:
        with closing(self._messages()) as messages:
            for event in messages:
                if event is not None:
                    yield event

    def _messages(self) -> Generator[Event | None, None]:
        """Every message, over as many connections as it takes; `None` for the one that says where the stream begins."""
        clock = self._purser._clock
        failures = 0
        while True:
            retry_after: float | None = None
            try:
                with closing(self._connection()) as messages:
                    for event in messages:
                        failures = 0
                        yield event
            except Untrusted as failure:
                raise Unreachable(str(failure), failure) from failure
            except Unanswered:
                pass
            except Unreadable as failure:
                retry_after = failure.retry_after
            except ApiError as error:
                if not is_asked_again(error):
                    raise
                retry_after = error.retry_after
            failures += 1
            clock.sleep(pause(failures, retry_after, clock.random()))

    def _connection(self) -> Generator[Event | None, None]:
        """The messages of one connection. What cannot be read ends it, and is asked for again."""
        headers = {"Accept": "text/event-stream"}
        if self.position:
            headers["Last-Event-ID"] = self.position
        call = Call("GET", "/events", query=self._query)
        request = self._purser._request(call, STREAM_SILENCE_SECONDS, headers)
        stream = self._purser._transport.open(request)
        try:
            if stream.response.status != 200:
                raise error_of(self._refusal(stream))
            reader = MessageReader()
            for chunk in stream.chunks():
                for message in reader.feed(chunk):
                    event = event_of_body(message.data.encode()) if message.data else None
                    self.position = message.id or self.position
                    yield event
        finally:
            stream.close()

    def _refusal(self, stream: Stream) -> Response:
        until = self._purser._clock.now() + STREAM_SILENCE_SECONDS
        body = bytearray()
        for chunk in stream.chunks():
            body += chunk
            if len(body) > ANSWER_BYTES_MAX or self._purser._clock.now() > until:
                raise Unreadable("the answer is too long")
        return Response(stream.response.status, stream.response.headers, bytes(body))


class Webhooks:
    """Where events are delivered. `purser_pay.webhooks.verify` verifies what arrives."""

    def __init__(self, purser: Purser) -> None:
        self._purser = purser

    @renamed(once="idempotency_key")
    def create(
        self,
        url: str,
        events: Sequence[str],
        *,
        accounts: Sequence[str] | None = None,
        low_balance_threshold_usdc: Usdc | None = None,
        idempotency_key: str | None = None,
    ) -> types.WebhookWithSecret:
        """Registers an endpoint. The answer's secret is shown this once."""
        threshold = low_balance_threshold_usdc and usdc_text(low_balance_threshold_usdc, "low_balance_threshold_usdc")
        body = {"url": url, "events": [*events]}
        body |= given_fields(account_ids=accounts and [*accounts], low_balance_threshold_usdc=threshold)
        return self._purser._read(types.WebhookWithSecret, Call.once("/webhooks", body, idempotency_key))

    def get(self, webhook_id: str) -> types.Webhook:
        return self._purser._read(types.Webhook, Call("GET", f"/webhooks/{quote(webhook_id)}"))

    def list(self) -> Iterator[types.Webhook]:
        return self._purser._listed(types.Webhook, "/webhooks")

    def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        accounts: Sequence[str] | None = None,
        status: str | None = None,
    ) -> types.Webhook:
        """Changes what is given. `status` is `enabled` or `disabled`; no `accounts` at all (`[]`) means every account."""
        body = given_fields(url=url, events=events, account_ids=accounts, status=status)
        call = Call("PATCH", f"/webhooks/{quote(webhook_id)}", body=body)
        return self._purser._read(types.Webhook, call)

    def delete(self, webhook_id: str) -> None:
        self._purser._ask(Call("DELETE", f"/webhooks/{quote(webhook_id)}"), nothing)

    @renamed(once="idempotency_key")
    def rotate_secret(
        self, webhook_id: str, *, idempotency_key: str | None = None
    ) -> types.WebhookWithSecret:
        """Creates a new secret. The one before it signs too for 24 hours."""
        call = Call.once(f"/webhooks/{quote(webhook_id)}/rotate_secret", None, idempotency_key)
        return self._purser._read(types.WebhookWithSecret, call)

    def test(self, webhook_id: str) -> Event:
        """Sends a `webhook.test` event to this webhook alone."""
        return self._purser._ask(Call.once(f"/webhooks/{quote(webhook_id)}/test", None, None), event_of)

    def deliveries(self, webhook_id: str, *, status: str | None = None) -> Iterator[types.Delivery]:
        return self._purser._listed(types.Delivery, f"/webhooks/{quote(webhook_id)}/deliveries", status=status)

    def replay(
        self,
        webhook_id: str,
        *,
        event_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        status: str | None = None,
    ) -> types.Replayed:
        """Delivers one event again, or what was not delivered in a period."""
        period = {"since": text_of_time(since), "until": text_of_time(until)}
        body = given_fields(event_id=event_id, status=status, **period)
        call = Call.once(f"/webhooks/{quote(webhook_id)}/replay", body, None)
        return self._purser._read(types.Replayed, call)


def _setting(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ValueError(f"{name} is not set, and nothing was given in its place")
    return value
