"""What the client does about answers, with a transport that answers from a script and a clock that does not wait."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from purser_pay import (
    ApiError,
    AsyncPurser,
    Conflict,
    Duplicate,
    InsufficientFunds,
    PolicyRefused,
    Purser,
    TooManyRequests,
    Unreachable,
)
from purser_pay.transport import Request, Response, Unanswered

SETTLED = {
    "transfer_id": "txn_1", "status": "settled", "from": "acct_1", "to": "acct_2", "amount_usdc": "0.250000", "memo": None,
    "idempotency_key": "invoice", "tx_signature": "sig", "created_at": "2026-01-31T12:00:00.000000Z",
    "settled_at": "2026-01-31T12:00:01.000000Z",
}  # fmt: skip
SUBMITTED = {**SETTLED, "status": "submitted", "tx_signature": "sig"}
CHECKS = [
    {"rule": "paused", "ok": True},
    {"rule": "max_single_transfer", "ok": True, "limit": "25.000000", "used": "0.000000", "remaining": "25.000000"},
    {"rule": "max_daily_spend", "ok": False, "limit": "50.000000", "used": "44.000000", "remaining": "6.000000"},
    {"rule": "balance", "ok": True, "limit": "80.000000", "used": "0.000000", "remaining": "80.000000"},
]


def answer(status: int, body: Any, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"content-type": "application/json", **named}, json.dumps(body).encode())


def error(status: int, code: str, *, retry_after: str | None = None, **fields: Any) -> Response:
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return answer(status, {"error": code, "message": "So it is.", "request_id": "req_1", **fields}, **headers)


class Script:
    """Answers one after the other, and the last one for ever."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.piece = 3

    def send(self, request: Request) -> Response:
        self.asked.append(request)
        one = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(one, Exception):
            raise one
        return one

    def open(self, request: Request) -> "Pieces":
        return Pieces(self.send(request), self.piece)

    def close(self) -> None:
        pass

    def bodies(self) -> list[Any]:
        return [json.loads(request.body or b"null") for request in self.asked]


class Pieces:
    """A stream whose pieces are three bytes long by default, so that they are cut anywhere."""

    def __init__(self, response: Response, length: int) -> None:
        self.response = response
        self.length = length

    def chunks(self) -> Iterator[bytes]:
        body = self.response.body
        for at in range(0, len(body), self.length):
            yield body[at : at + self.length]

    def close(self) -> None:
        pass


class Clock:
    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def random(self) -> float:
        return 0.5

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def agent(*answers: Response | Exception, deadline: float = 120.0) -> tuple[Purser, Script, Clock]:
    script, clock = Script(*answers), Clock()
    purser = Purser("http://purser.test", "psr_ag_1", account="acct_1", transport=script, clock=clock, deadline=deadline)
    return purser, script, clock


def pays(purser: Purser) -> Any:
    return purser.pay(to="acct_2", amount_usdc="0.25", idempotency_key="invoice")


class Paying(unittest.TestCase):
    def test_payment_is_answered_with_its_signature(self) -> None:
        purser, script, _ = agent(answer(200, SETTLED))
        paid = pays(purser)
        self.assertEqual((paid.signature, paid.replayed), ("sig", False))
        self.assertEqual((paid.amount_usdc, paid.idempotency_key), (Decimal("0.25"), "invoice"))
        self.assertEqual(script.asked[0].url, "http://purser.test/v1/transfers")
        self.assertEqual(script.asked[0].headers["Authorization"], "Bearer psr_ag_1")
        sent = {"from": "acct_1", "to": "acct_2", "amount": "0.25", "idempotency_key": "invoice"}
        self.assertEqual(script.bodies(), [sent])

    def test_wallet_is_named_as_one(self) -> None:
        purser, script, _ = agent(answer(200, {**SETTLED, "to": "Tok", "to_wallet": "Wal"}))
        paid = purser.pay(
            wallet="Wal", amount_usdc="0.25", idempotency_key="invoice", create_token_account=True
        )
        self.assertIs(script.bodies()[0]["create_token_account"], True)
        self.assertEqual((paid.to, paid.to_wallet), ("Tok", "Wal"))
        self.assertEqual(script.bodies()[0]["to"], {"wallet": "Wal"})
        payees: list[dict[str, Any]] = [{}, {"to": "acct_2", "wallet": "Wal"}]
        for payee in payees:
            with self.assertRaises(ValueError):
                purser.pay(**payee, amount_usdc="0.25", idempotency_key="invoice")
            with self.assertRaises(ValueError):
                purser.preview(**payee, amount_usdc="0.25")
        self.assertEqual(len(script.asked), 1)

    def test_every_retry_has_the_same_body(self) -> None:
        troubles: list[Response | Exception] = [
            Unanswered("cut"), error(429, "rate_limited", retry_after="2"), error(503, "solana_unavailable", retryable=False),
            error(500, "internal_error"), Response(504, {}, b"<html>gateway</html>"), Response(200, {}, b"<html>"),
            answer(200, SETTLED)
        ]  # fmt: skip
        purser, script, clock = agent(*troubles)
        self.assertEqual(pays(purser).signature, "sig")
        self.assertEqual(len(script.asked), len(troubles))
        self.assertEqual(len({request.body for request in script.asked}), 1)
        self.assertGreaterEqual(clock.slept[1], 2)
        self.assertEqual(sorted(clock.slept[2:]), clock.slept[2:], "each pause is longer than the one before")

    def test_payment_in_flight_is_waited_for_and_is_no_replay(self) -> None:
        replayed = answer(200, SETTLED, idempotent_replayed="true")
        purser, script, _ = agent(answer(202, SUBMITTED), answer(202, SUBMITTED, idempotent_replayed="true"), replayed)
        self.assertFalse(pays(purser).replayed)
        self.assertEqual(len({request.body for request in script.asked}), 1)
        purser, _, _ = agent(replayed)
        self.assertTrue(pays(purser).replayed)

    def test_payment_that_waits_for_a_person_is_not_waited_for(self) -> None:
        waits = {**SETTLED, "status": "pending_approval", "approval_url": "https://pay.test/approve/x"}
        purser, script, _ = agent(Unanswered("cut"), answer(202, waits))
        asked = purser.pay(to="acct_2", amount_usdc="0.25", idempotency_key="invoice", approval="request")
        self.assertEqual((asked.status, asked.approval_url), ("pending_approval", "https://pay.test/approve/x"))
        self.assertEqual([body["approval"] for body in script.bodies()], ["request", "request"])

    def test_deadline_names_the_payment_that_is_in_flight(self) -> None:
        purser, _, clock = agent(answer(202, SUBMITTED))
        with self.assertRaises(Unreachable) as raised:
            pays(purser)
        self.assertEqual(raised.exception.transfer_id, "txn_1")
        self.assertLessEqual(clock.time, 120)

    def test_wait_beyond_the_deadline_is_not_begun(self) -> None:
        purser, script, clock = agent(error(429, "too_many_refusals", retry_after="3600"))
        with self.assertRaises(TooManyRequests) as raised:
            pays(purser)
        self.assertEqual((raised.exception.retry_after, len(script.asked), clock.slept), (3600, 1, []))

    def test_no_answer_within_the_deadline_is_unreachable(self) -> None:
        purser, script, clock = agent(Unanswered("refused"), deadline=10)
        with self.assertRaises(Unreachable) as raised:
            pays(purser)
        self.assertIn("refused", str(raised.exception))
        self.assertTrue(3 < len(script.asked) and clock.time <= 10)

    def test_refusals_say_what_could_be_paid_now(self) -> None:
        noon = "2026-01-31T12:00:00.000000Z"
        purser, script, _ = agent(error(402, "policy_violation", checks=CHECKS, retry_at=noon, transfer_id="txn_1"))
        with self.assertRaises(PolicyRefused) as raised:
            pays(purser)
        refused = raised.exception
        self.assertEqual((refused.max_now, refused.code, len(refused.checks)), (Decimal(6), "policy_violation", 4))
        self.assertEqual(refused.retry_at and refused.retry_at.isoformat(), "2026-01-31T12:00:00+00:00")
        self.assertEqual(len(script.asked), 1, "a refusal is not asked for again")
        self.assertFalse(refused.approvable)
        with self.assertRaises(PolicyRefused) as askable:
            pays(agent(error(402, "policy_violation", checks=CHECKS, approvable=True))[0])
        self.assertTrue(askable.exception.approvable)

        paused = [{"rule": "paused", "ok": False}, *CHECKS[1:]]
        with self.assertRaises(PolicyRefused) as raised:
            pays(agent(error(402, "account_paused", checks=paused))[0])
        self.assertEqual(raised.exception.max_now, 0)
        with self.assertRaises(InsufficientFunds) as poor:
            pays(agent(error(402, "insufficient_balance", checks=[{"rule": "balance", "ok": False}]))[0])
        self.assertIsNone(poor.exception.max_now)

    def test_conflicts_are_told_apart(self) -> None:
        with self.assertRaises(Duplicate) as raised:
            pays(agent(error(409, "idempotency_conflict", transfer_id="txn_0"))[0])
        self.assertEqual(raised.exception.transfer_id, "txn_0")
        purser, script, _ = agent(error(409, "likely_duplicate", transfer_id="txn_0"), answer(200, SETTLED))
        with self.assertRaises(Conflict) as like:
            purser.pay(to="acct_2", amount_usdc="0.25", idempotency_key="invoice")
        purser.pay(to="acct_2", amount_usdc="0.25", idempotency_key="invoice", duplicate_of=like.exception.transfer_id)
        self.assertEqual([body.get("duplicate_of") for body in script.bodies()], [None, "txn_0"])
        purser, script, _ = agent(error(409, "policy_changed", retryable=False))
        with self.assertRaises(Conflict):
            purser.policy.update("acct_1", max_daily_spend="5", max_30_day_spend="50", budget_id=None, version=7)
        self.assertEqual(script.asked[0].headers["If-Match"], '"7"')
        self.assertEqual(script.bodies(), [{"max_daily_spend": "5", "max_30_day_spend": "50", "budget_id": None}])

    def test_policy_is_sent_as_it_is_given(self) -> None:
        purser, script, _ = agent(*[error(400, "invalid_request")] * 2)
        for change in ({"paused": True}, {"max_daily_spend": None, "allowed_counterparties": (one for one in ["acct_2"])}):
            with self.assertRaises(ApiError):
                purser.policy.replace("acct_1", **change)
        # A field that the service would refuse, or that somebody spelled in another way, changes nothing.
        for wrong in ({"max_daily": "5"}, {"budget_id": None}, {"max_single_transfer": 0.5}):
            with self.assertRaises(TypeError):
                purser.policy.replace("acct_1", **wrong)
        whole = {"max_single_transfer": None, "paused": False}
        sent = [whole | {"paused": True}, whole | {"max_daily_spend": None, "allowed_counterparties": ["acct_2"]}]
        self.assertEqual(script.bodies(), sent)

    def test_money_is_never_a_float(self) -> None:
        purser, script, _ = agent(answer(200, SETTLED))
        wrong: list[Any] = [0.25, 1, True, Decimal("0.0000001"), "1e3", "-1", "", "0", None]
        for amount in wrong:
            with self.assertRaises((TypeError, ValueError)):
                purser.pay(to="acct_2", amount_usdc=amount, idempotency_key="invoice")
        for micros in (0, -1, True, 2.0):
            with self.assertRaises((TypeError, ValueError)):
                purser.pay(to="acct_2", micro_usdc=micros, idempotency_key="invoice")  # type: ignore[arg-type]
        self.assertEqual(script.asked, [])
        with self.assertRaisesRegex(TypeError, "float"):
            purser.pay(to="acct_2", amount_usdc=0.1, idempotency_key="invoice")  # type: ignore[arg-type]
        purser.pay(to="acct_2", micro_usdc=1, idempotency_key="invoice")
        purser.pay(to="acct_2", amount_usdc=Decimal("1E+1"), idempotency_key="invoice")
        self.assertEqual([body["amount"] for body in script.bodies()], ["0.000001", "10"])

    def test_payment_needs_an_idempotency_key(self) -> None:
        purser, _, _ = agent(answer(200, SETTLED))
        with self.assertRaises(TypeError):
            purser.pay(to="acct_2", amount_usdc="1")  # type: ignore[call-arg]
        with self.assertRaises(ValueError):
            purser.pay(to="acct_2", amount_usdc="1", idempotency_key="")

    def test_words_and_fields_that_are_new_are_read(self) -> None:
        purser, _, _ = agent(answer(200, {**SETTLED, "status": "taken_back", "new": {"field": 1}}))
        self.assertEqual(purser.transfers.get("txn_1").status, "taken_back")

    def test_limits_of_a_policy_are_exact(self) -> None:
        policy = {
            "account_id": "acct_1", "updated_at": "2026-01-31T12:00:00Z", "version": 7, "pending": None, "paused": False,
            "allowed_counterparties": None, "counterparty_kinds": None, "require_memo": False, "max_daily_spend": None,
            "max_30_day_spend": None, "budget_id": None, "by_grant_only": False,
        }  # fmt: skip
        body = json.dumps(policy)[:-1] + ', "max_single_transfer": 12345678901234.567891}'
        purser, _, _ = agent(Response(200, {"content-type": "application/json"}, body.encode()))
        self.assertEqual(purser.policy.get("acct_1").max_single_transfer, Decimal("12345678901234.567891"))

    def test_lists_turn_their_pages(self) -> None:
        pages = [
            answer(200, {"data": [SETTLED], "cursor": "next", "has_more": True}),
            answer(200, {"data": [SETTLED, SETTLED], "cursor": None, "has_more": False}),
        ]
        purser, script, _ = agent(*pages)
        self.assertEqual(len(list(purser.transfers.list(status="settled"))), 3)
        urls = [request.url.split("?")[1] for request in script.asked]
        self.assertEqual(urls, ["limit=100&status=settled", "limit=100&status=settled&cursor=next"])

    def test_history_is_followed_from_the_last_entry(self) -> None:
        def entry(number: int) -> dict[str, Any]:
            names = ("counterparty", "memo", "memo_from", "transfer_id", "tx_signature", "solana_explorer_url", "error", "message")
            at = f"2026-01-31T12:00:0{number}.000000Z"
            return dict.fromkeys(names) | {
                "id": f"ent_{number}", "type": "deposit", "direction": "in", "status": "settled", "amount_usdc": "1.000000",
                "created_at": at, "visible_at": at,
            }  # fmt: skip

        def page(*numbers: int) -> Response:
            return answer(200, {"data": [entry(number) for number in numbers], "cursor": None, "has_more": False})

        outage = error(429, "rate_limited", retry_after="3600")
        purser, script, _ = agent(page(2, 1), outage, page(3))
        followed = purser.history.follow()
        self.assertEqual([next(followed).id for _ in range(3)], ["ent_1", "ent_2", "ent_3"])
        self.assertNotIn("since", script.asked[0].url)
        self.assertIn("since=2026-01-31T12%3A00%3A02%2B00%3A00", script.asked[2].url)

    def test_purchase_has_an_idempotency_key_and_a_bound(self) -> None:
        resource = {"status": 200, "content_type": "text/plain", "body": "hi", "encoding": "utf-8", "truncated": False}
        bought = {"transfer": SETTLED, "resource": resource, "receipt": None}
        purser, script, _ = agent(Unanswered("cut"), answer(202, {**bought, "transfer": SUBMITTED}), answer(200, bought))
        got = purser.buy("https://shop.test/report", max_usdc="0.30", idempotency_key="invoice")
        self.assertEqual((got.resource and got.resource.body, got.transfer and got.transfer.status), ("hi", "settled"))
        sent = {"from": "acct_1", "url": "https://shop.test/report", "max_amount": "0.30", "idempotency_key": "invoice"}
        self.assertEqual(script.bodies(), [{**sent, "method": "GET"}] * 3)

    def test_stream_goes_on_where_it_was_cut(self) -> None:
        def event(number: int) -> str:
            value = {"id": f"evt_{number}", "type": "new.type", "created_at": "2026-01-31T12:00:00Z", "data": {"é": "😀"}}
            return f"id: at-{number}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"

        first = ": events\nretry: 2000\nid: at-0\n\n" + event(1) + ": still here\n\nid: at-9\r\ndata: {"
        second = event(2)
        stream = [Response(200, {}, first.encode()), error(503, "service_unavailable"), Response(200, {}, second.encode())]
        purser, script, _ = agent(*stream)
        events = purser.events.stream(types=["a", "b"])
        read = iter(events)
        one, two = next(read), next(read)
        self.assertEqual((one.id, two.id, two.data, events.position), ("evt_1", "evt_2", {"é": "😀"}, "at-2"))
        self.assertEqual([request.headers.get("Last-Event-ID") for request in script.asked], [None, "at-1", "at-1"])

    def test_stream_that_cannot_be_read_is_opened_again(self) -> None:
        event = {"id": "evt_1", "type": "new.type", "created_at": "2026-01-31T12:00:00Z", "data": {}}
        good = f"id: at-1\ndata: {json.dumps(event)}\n\n".encode()
        for kind, wrong in {
            "no JSON": Response(200, {}, b"id: at-7\ndata: {oops\n\n"),
            "no event": Response(200, {}, b"id: at-7\ndata: [1]\n\n"),
            "no end": Response(200, {}, b"id: at-7\ndata: " + b"x" * 2_000_000),
            "a gateway": Response(403, {}, b"<html>Forbidden</html>"),
            "a gateway without end": Response(502, {}, b" " * 9_000_000),
        }.items():
            with self.subTest(kind):
                purser, script, _ = agent(wrong, Response(200, {}, good))
                script.piece = 100_000
                self.assertEqual(next(iter(purser.events.stream())).id, "evt_1")
                self.assertEqual([request.headers.get("Last-Event-ID") for request in script.asked], [None, None])

    def test_lists_and_transfers_of_others_are_asked_again(self) -> None:
        page = answer(200, {"data": [SETTLED], "cursor": None, "has_more": False})
        for wrong in ({"data": [1]}, {}, {"data": [SETTLED]}, {"data": [SETTLED], "cursor": 1, "has_more": True}):
            purser, script, _ = agent(answer(200, wrong), page)
            self.assertEqual(([one.transfer_id for one in purser.transfers.list()], len(script.asked)), (["txn_1"], 2))
        purser, script, _ = agent(answer(200, {**SETTLED, "transfer_id": "txn_2"}), answer(200, SETTLED))
        self.assertEqual((purser.transfers.get("txn_1").transfer_id, len(script.asked)), ("txn_1", 2))

    def test_removal_is_done_once_the_service_says_so(self) -> None:
        purser, script, _ = agent(answer(200, {}), Response(200, {}, b"<html>"), Response(204, {}))
        purser.keys.revoke("self")
        self.assertEqual(len(script.asked), 3)

    def test_200_without_an_end_state_is_no_payment(self) -> None:
        purser, script, _ = agent(answer(200, SUBMITTED), answer(200, {**SETTLED, "status": "new"}), answer(200, SETTLED))
        self.assertEqual((pays(purser).status, len(script.asked)), ("settled", 3))

    def test_post_that_is_no_payment_gets_an_idempotency_key(self) -> None:
        halted = {"halted": True, "halted_by": "guardian", "tx_signature": "sig", "action_id": None}
        purser, script, _ = agent(Unanswered("cut"), answer(200, halted))
        self.assertEqual(purser.halts.account("acct_1").halted_by, "guardian")
        first, second = [request.headers["Idempotency-Key"] for request in script.asked]
        self.assertEqual(first, second)

    def test_account_is_the_one_that_the_api_key_opens(self) -> None:
        found = answer(200, {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"account_id": "acct_7"}}})
        script = Script(found, answer(200, SETTLED))
        purser = Purser("http://purser.test/v1", "psr_ag_1", transport=script, clock=Clock())
        purser._account = None
        pays(purser)
        self.assertEqual(script.asked[0].url, "http://purser.test/mcp")
        self.assertEqual(script.bodies()[1]["from"], "acct_7")


class AsyncScript:
    def __init__(self, script: Script) -> None:
        self.script = script

    async def send(self, request: Request) -> Response:
        return self.script.send(request)

    async def open(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass


class AsyncTime(Clock):
    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        super().sleep(seconds)


class PayingAsync(unittest.TestCase):
    def test_async_client_does_the_same(self) -> None:
        script = Script(Unanswered("cut"), answer(202, SUBMITTED), answer(200, SETTLED, idempotent_replayed="true"))
        purser = AsyncPurser("http://purser.test", "key", account="acct_1", transport=AsyncScript(script), clock=AsyncTime())
        paid = asyncio.run(purser.pay(to="acct_2", micro_usdc=250_000, idempotency_key="invoice"))
        self.assertEqual((paid.signature, paid.replayed, len(script.asked)), ("sig", False, 3))


if __name__ == "__main__":
    unittest.main()
