"""Arguments and fields by their new names; the old ones work for one release, with a warning that names the new one."""

from __future__ import annotations

import asyncio
import inspect
import unittest
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from purser_pay import ApiError, AsyncPurser, Payment, Purser, money
from test_paying import SETTLED, AsyncScript, Script, agent, answer

NOT_FOUND = {"error": "not_found", "message": "It is not there.", "request_id": "req_1"}

# Each call that takes an idempotency key, with the old name of that argument.
KEYED: dict[str, tuple[str, Callable[..., Any]]] = {
    "pay": ("name", lambda purser, **key: purser.pay(to="acct_2", amount_usdc="0.25", **key)),
    "buy": ("name", lambda purser, **key: purser.buy("https://shop.test", max_usdc="1", **key)),
    "transfers.list": ("name", lambda purser, **key: list(purser.transfers.list(**key))),
    "accounts.create": ("once", lambda purser, **key: purser.accounts.create("Ada", **key)),
    "policy.change_many": ("once", lambda purser, **key: purser.policy.change_many({"all": True}, **key)),
    "keys.create": ("once", lambda purser, **key: purser.keys.create("acct_1", name="phone", **key)),
    "halts.many": ("once", lambda purser, **key: purser.halts.many({"all": True}, **key)),
    "webhooks.create": ("once", lambda purser, **key: purser.webhooks.create("https://a.test", [], **key)),
    "webhooks.rotate_secret": ("once", lambda purser, **key: purser.webhooks.rotate_secret("wh_1", **key)),
}


class Renamed(unittest.TestCase):
    def sent(self, call: Callable[..., Any], **key: str) -> tuple[str | None, list[str]]:
        """The idempotency key that the call sent, and its warnings."""
        purser, script, _ = agent(answer(404, NOT_FOUND))
        with warnings.catch_warnings(record=True) as caught, self.assertRaises(ApiError):
            warnings.simplefilter("always")
            call(purser, **key)
        (request,) = script.asked
        in_query = "invoice" if "idempotency_key=invoice" in request.url else None
        in_body = (script.bodies()[0] or {}).get("idempotency_key")
        for warning in caught:
            self.assertEqual((warning.category, warning.filename), (DeprecationWarning, __file__))
        return request.headers.get("Idempotency-Key") or in_body or in_query, [str(one.message) for one in caught]

    def test_idempotency_key_is_taken_everywhere(self) -> None:
        for where, (_, call) in KEYED.items():
            with self.subTest(where):
                self.assertEqual(self.sent(call, idempotency_key="invoice"), ("invoice", []))

    def test_old_names_of_the_idempotency_key_work_and_warn(self) -> None:
        for where, (old, call) in KEYED.items():
            with self.subTest(where):
                key, said = self.sent(call, **{old: "invoice"})
                self.assertEqual((key, len(said)), ("invoice", 1))
                self.assertIn(f"`{old}`", said[0])
                self.assertIn("`idempotency_key`", said[0])

    def test_old_and_new_name_of_the_idempotency_key_are_refused_together(self) -> None:
        for where, (old, call) in KEYED.items():
            with self.subTest(where), self.assertRaisesRegex(TypeError, f"idempotency_key.*`{old}`.*not both"):
                self.sent(call, **{old: "invoice", "idempotency_key": "invoice"})

    def test_old_name_of_the_amount_works_and_warns(self) -> None:
        calls: list[Callable[..., Any]] = [
            lambda purser, **amount: purser.pay(to="acct_2", idempotency_key="invoice", **amount),
            lambda purser, **amount: purser.preview(to="acct_2", **amount),
        ]
        for call in calls:
            purser, script, _ = agent(answer(404, NOT_FOUND))
            for amount, warned in (({"amount_usdc": "0.25"}, 0), ({"usdc": "0.25"}, 1)):
                with warnings.catch_warnings(record=True) as caught, self.assertRaises(ApiError):
                    warnings.simplefilter("always")
                    call(purser, **amount)
                self.assertEqual([str(one.message).count("`amount_usdc`") for one in caught], [1] * warned)
            self.assertEqual([body["amount"] for body in script.bodies()], ["0.25", "0.25"])
            with self.assertRaisesRegex(TypeError, "amount_usdc.*`usdc`.*not both"):
                call(purser, usdc="0.25", amount_usdc="0.25")
            with self.assertRaisesRegex(TypeError, "amount_usdc.*micro_usdc"):
                call(purser, micro_usdc=250_000, amount_usdc="0.25")
            self.assertEqual(len(script.asked), 2)

    def test_payment_has_the_fields_of_the_service(self) -> None:
        purser, _, _ = agent(answer(200, SETTLED))
        paid: Payment = purser.pay(to="acct_2", amount_usdc="0.25", idempotency_key="invoice")
        self.assertEqual((paid.amount_usdc, paid.idempotency_key), (Decimal("0.25"), "invoice"))
        with self.assertWarnsRegex(DeprecationWarning, "`amount_usdc`"):
            self.assertEqual(paid.usdc, Decimal("0.25"))
        with self.assertWarnsRegex(DeprecationWarning, "`idempotency_key`"):
            self.assertEqual(paid.name, "invoice")

    def test_async_client_takes_both_names_too(self) -> None:
        script = Script(answer(200, SETTLED))
        purser: Any = AsyncPurser("http://purser.test", "psr_ag_1", account="acct_1", transport=AsyncScript(script))
        self.assertTrue(inspect.iscoroutinefunction(purser.pay), "as tools of agents ask")

        async def pays(**arguments: Any) -> Any:
            return await purser.pay(to="acct_2", **arguments)

        with self.assertWarns(DeprecationWarning) as warned:
            asyncio.run(pays(usdc="0.25", name="invoice"))
        self.assertEqual(warned.filename, __file__)
        asyncio.run(pays(amount_usdc="0.25", idempotency_key="invoice"))
        self.assertEqual(len({request.body for request in script.asked}), 1)
        with self.assertRaisesRegex(TypeError, "not both"):
            asyncio.run(pays(amount_usdc="0.25", idempotency_key="invoice", name="invoice"))

    def test_helper_of_money_takes_both_names_too(self) -> None:
        old: Any = money.micros_of_usdc
        with self.assertWarnsRegex(DeprecationWarning, "`amount_usdc`"):
            self.assertEqual(old(usdc="0.25"), 250_000)
        self.assertEqual((money.micros_of_usdc(amount_usdc="0.25"), money.micros_of_usdc("0.25")), (250_000, 250_000))

    def test_names_of_accounts_and_api_keys_are_still_names(self) -> None:
        purser, script, _ = agent(answer(404, NOT_FOUND))
        calls: list[Callable[[Purser], Any]] = [
            lambda purser: purser.accounts.create(name="Ada"),
            lambda purser: purser.accounts.update("acct_1", name="Ada"),
            lambda purser: purser.keys.create("acct_1", name="Ada"),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for call in calls:
                self.assertRaises(ApiError, call, purser)
        self.assertEqual([body["name"] for body in script.bodies()], ["Ada"] * 3)


if __name__ == "__main__":
    unittest.main()
