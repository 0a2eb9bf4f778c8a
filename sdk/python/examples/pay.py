"""An agent that pays: an amount to a payee, once per idempotency key.

PURSER_URL=... PURSER_AGENT_KEY=... python pay.py PAYEE 0.25 invoice-4711
"""

import sys

from purser_pay import Duplicate, InsufficientFunds, PolicyRefused, Purser

to, amount_usdc, idempotency_key = sys.argv[1:]
with Purser() as agent:
    try:
        paid = agent.pay(to=to, amount_usdc=amount_usdc, idempotency_key=idempotency_key)
    except PolicyRefused as refused:
        later = f", and this much from {refused.retry_at}" if refused.retry_at else ""
        sys.exit(f"refused: {refused.message} At most {refused.max_now} now{later}.")
    except InsufficientFunds as poor:
        sys.exit(f"fund the account, then retry with the idempotency key {idempotency_key!r}: {poor.message}")
    except Duplicate as other:
        taken = f"the idempotency key {idempotency_key!r} is that of another payment, {other.transfer_id}"
        sys.exit(f"{taken}: a new payment needs a new one")
    print(paid.status, paid.amount_usdc, paid.signature, "paid before" if paid.replayed else "paid now")
