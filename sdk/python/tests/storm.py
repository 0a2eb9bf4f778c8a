"""Pays through a line that cuts, delays and refuses at random, and prints what came of it. `tests/it/sdk.rs` runs it.

`PURSER_PAYMENTS` payments of 0.01 USDC, half of them by the sync client on threads and half by the async one; then one payment
that 100 callers ask for at the same time.
"""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

from purser_pay import AsyncPurser, Payment, Purser

PAYEE = os.environ["PURSER_PAYEE"]
HALF = int(os.environ["PURSER_PAYMENTS"]) // 2
AMOUNT = "0.01"
AT_ONCE = 16
CALLERS = 50
DEADLINE = 300.0


def by_threads() -> list[Payment]:
    with Purser(deadline=DEADLINE) as agent:

        def pay(name: str) -> Payment:
            return agent.pay(to=PAYEE, amount_usdc=AMOUNT, idempotency_key=name)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            paid = list(threads.map(pay, [f"python-threads-{number}" for number in range(HALF)]))
        with ThreadPoolExecutor(CALLERS) as threads:
            return paid + list(threads.map(pay, ["python-same"] * CALLERS))


async def by_tasks() -> list[Payment]:
    async with AsyncPurser(deadline=DEADLINE) as agent:
        places = asyncio.Semaphore(AT_ONCE)

        async def pay(name: str) -> Payment:
            async with places:
                return await agent.pay(to=PAYEE, amount_usdc=AMOUNT, idempotency_key=name)

        paid = await asyncio.gather(*[pay(f"python-tasks-{number}") for number in range(HALF)])
        same = [agent.pay(to=PAYEE, amount_usdc=AMOUNT, idempotency_key="python-same") for _ in range(CALLERS)]
        return [*paid, *await asyncio.gather(*same)]


async def both() -> list[Payment]:
    tasks, threads = await asyncio.gather(by_tasks(), asyncio.to_thread(by_threads))
    return [*tasks, *threads]


def main() -> None:
    paid = asyncio.run(both())
    summary = {
        "asked": len(paid),
        "settled": sum(one.status == "settled" for one in paid),
        "names": len({one.idempotency_key for one in paid}),
        "signatures": len({one.signature for one in paid}),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
