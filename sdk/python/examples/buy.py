"""An agent that buys by x402: what a server sells, for at most so much, once per idempotency key.

PURSER_URL=... PURSER_AGENT_KEY=... python buy.py https://shop.example/report 0.30 report-2026-11
"""

import sys

from purser_pay import ApiError, PolicyRefused, Purser

url, max_usdc, idempotency_key = sys.argv[1:]
with Purser() as agent:
    try:
        bought = agent.buy(url, max_usdc=max_usdc, idempotency_key=idempotency_key)
    except PolicyRefused as refused:
        sys.exit(f"the policy refuses: {refused.message}")
    except ApiError as error:
        # `offer_refused`: it costs more, or cannot be paid. `payment_refused`: the seller takes no smart wallets.
        sys.exit(f"not bought, {error.code}: {error.message}")
    price = bought.transfer.amount_usdc if bought.transfer else "nothing"
    print("paid", price)
    print(bought.resource.body if bought.resource else "the payment is made, and the answer was lost: show the seller the signature")
