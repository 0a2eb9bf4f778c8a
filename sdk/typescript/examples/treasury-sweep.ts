// A treasury sweep: sends what accounts hold above a floor to the treasury, at most once a day for each account.
//
// PURSER_URL=... PURSER_OPERATOR_KEY=... node treasury-sweep.ts TREASURY 2.50

import { Duplicate, microsOfUsdc, Purser, Refused } from "purser-pay";

const [treasury = "", floor = ""] = process.argv.slice(2);
const day = new Date().toISOString().slice(0, 10);
const operator = Purser.operator();

for await (const { account_id: account, balance_usdc } of operator.accounts.list({ status: "active" })) {
  const surplus = microsOfUsdc(balance_usdc) - microsOfUsdc(floor);
  if (surplus <= 0n || account === treasury) continue;
  // Started again on the same day, it asks for the same payment.
  const idempotencyKey = `${account}:sweep:${day}`;
  try {
    const paid = await operator.pay({ account, to: treasury, microUsdc: surplus, idempotencyKey, memo: "sweep" });
    console.log("swept", paid.account, paid.amountUsdc);
  } catch (error) {
    if (error instanceof Duplicate) console.log("swept today already", account);
    else if (error instanceof Refused) console.log("left", account, error.code, "at most", error.maxNow);
    else throw error;
  }
}
