"""An agent that pays: an amount to a payee, once per name.

PURSER_URL=... PURSER_AGENT_KEY=... python pay.py PAYEE 0.25 invoice-4711
"""

import sys

from purser_pay import Duplicate, InsufficientFunds, PolicyRefused, Purser

to, usdc, name = sys.argv[1:]
with Purser() as agent:
    try:
        paid = agent.pay(to=to, usdc=usdc, name=name)
    except PolicyRefused as refused:
        later = f", and this much from {refused.retry_at}" if refused.retry_at else ""
        sys.exit(f"refused: {refused.message} At most {refused.max_now} now{later}.")
    except InsufficientFunds as poor:
        sys.exit(f"fund the account, then pay again as {name!r}: {poor.message}")
    except Duplicate as other:
        sys.exit(f"{name!r} is the name of another payment, {other.transfer_id}: a new payment takes a new name")
    print(paid.status, paid.usdc, paid.signature, "paid before" if paid.replayed else "paid now")
