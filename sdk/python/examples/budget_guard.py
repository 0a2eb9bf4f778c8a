"""A budget guard: pauses an account as soon as it has spent 80 % of its daily limit.

PURSER_URL=... PURSER_OPERATOR_KEY=... python budget_guard.py
"""

from purser_pay import Purser

PERCENT = 80


def guard(operator: Purser, account: str) -> None:
    daily = operator.accounts.limits(account).max_daily_spend
    if daily.limit and daily.used * 100 >= daily.limit * PERCENT:
        operator.policy.pause(account)
        print("paused", account, f"which spent {daily.used} of {daily.limit}", flush=True)


with Purser.operator() as operator:
    # What happens between the look at every account and the stream is in the stream.
    position = operator.events.position()
    for account in operator.accounts.list(status="active"):
        guard(operator, account.account_id)
    print("watching", flush=True)
    for event in operator.events.stream(types=["transfer.settled"], after=position):
        guard(operator, event.data["account_id"])
