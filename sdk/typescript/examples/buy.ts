// An agent that buys by x402: what a server sells, for at most so much, once per idempotency key.
//
// PURSER_URL=... PURSER_AGENT_KEY=... node buy.ts https://shop.example/report 0.30 report-2026-11

import { ApiError, Purser } from "purser-pay";

const [url = "", maxUsdc = "", idempotencyKey = ""] = process.argv.slice(2);
const agent = new Purser();
try {
  const { transfer, resource } = await agent.buy(url, { maxUsdc, idempotencyKey });
  console.log("paid", transfer?.amount_usdc ?? "nothing");
  console.log(resource?.body ?? "the payment is made, and the answer was lost: show the seller the signature");
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  // `offer_refused`: it costs more, or cannot be paid. `payment_refused`: the seller takes no smart wallets.
  console.error(`not bought, ${error.message}`);
  process.exitCode = 1;
}
