"""A treasury sweep: sends what accounts hold above a floor to the treasury, at most once a day for each account.

PURSER_URL=... PURSER_OPERATOR_KEY=... python treasury_sweep.py TREASURY 2.50
"""

import sys
from datetime import datetime, timezone
from decimal import Decimal

from purser_pay import Duplicate, Purser, Refused

treasury, floor = sys.argv[1], Decimal(sys.argv[2])
day = datetime.now(timezone.utc).date().isoformat()

with Purser.operator() as operator:
    for account in operator.accounts.list(status="active"):
        surplus = account.balance_usdc - floor
        if surplus <= 0 or account.account_id == treasury:
            continue
        # Started again on the same day, it asks for the same payment.
        idempotency_key = f"{account.account_id}:sweep:{day}"
        try:
            paid = operator.pay(
                account=account.account_id,
                to=treasury,
                amount_usdc=surplus,
                idempotency_key=idempotency_key,
                memo="sweep",
            )
            print("swept", paid.account, paid.amount_usdc)
        except Duplicate:
            print("swept today already", account.account_id)
        except Refused as refused:
            print("left", account.account_id, refused.code, "at most", refused.max_now)
