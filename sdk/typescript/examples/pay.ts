// An agent that pays: an amount to a payee, once per name.
//
// PURSER_URL=... PURSER_AGENT_KEY=... node pay.ts PAYEE 0.25 invoice-4711

import { Duplicate, InsufficientFunds, PolicyRefused, Purser } from "purser-pay";

const [to = "", usdc = "", name = ""] = process.argv.slice(2);
const agent = new Purser();
try {
  const paid = await agent.pay({ to, usdc, name });
  console.log(paid.status, paid.usdc, paid.signature, paid.replayed ? "paid before" : "paid now");
} catch (error) {
  process.exitCode = 1;
  if (error instanceof PolicyRefused) {
    const later = error.retryAt ? `, and this much from ${error.retryAt}` : "";
    console.error(`refused: ${error.message} At most ${error.maxNow} now${later}.`);
  } else if (error instanceof InsufficientFunds) {
    console.error(`fund the account, then pay again as "${name}": ${error.message}`);
  } else if (error instanceof Duplicate) {
    console.error(`"${name}" is the name of another payment, ${error.transferId}: a new payment takes a new name`);
  } else {
    throw error;
  }
}
