// An agent that pays: an amount to a payee, once per idempotency key.
//
// PURSER_URL=... PURSER_AGENT_KEY=... node pay.ts PAYEE 0.25 invoice-4711

import { Duplicate, InsufficientFunds, PolicyRefused, Purser } from "purser-pay";

const [to = "", amountUsdc = "", idempotencyKey = ""] = process.argv.slice(2);
const agent = new Purser();
try {
  const paid = await agent.pay({ to, amountUsdc, idempotencyKey });
  console.log(paid.status, paid.amountUsdc, paid.signature, paid.replayed ? "paid before" : "paid now");
} catch (error) {
  process.exitCode = 1;
  if (error instanceof PolicyRefused) {
    const later = error.retryAt ? `, and this much from ${error.retryAt}` : "";
    console.error(`refused: ${error.message} At most ${error.maxNow} now${later}.`);
  } else if (error instanceof InsufficientFunds) {
    console.error(`fund the account, then retry with the idempotency key "${idempotencyKey}": ${error.message}`);
  } else if (error instanceof Duplicate) {
    const taken = `the idempotency key "${idempotencyKey}" is that of another payment, ${error.transferId}`;
    console.error(`${taken}: a new payment needs a new one`);
  } else {
    throw error;
  }
}
