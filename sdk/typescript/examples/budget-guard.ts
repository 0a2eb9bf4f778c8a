// A budget guard: pauses an account as soon as it has spent 80 % of its daily limit.
//
// PURSER_URL=... PURSER_OPERATOR_KEY=... node budget-guard.ts

import { isEvent, microsOfUsdc, Purser } from "purser-pay";

const PERCENT = 80n;
const operator = Purser.operator();

async function guard(account: string): Promise<void> {
  const { limit, used } = (await operator.accounts.limits(account)).max_daily_spend;
  if (limit !== null && microsOfUsdc(used) * 100n >= microsOfUsdc(limit) * PERCENT) {
    await operator.policy.pause(account);
    console.log("paused", account, `which spent ${used} of ${limit}`);
  }
}

// What happens between the look at every account and the stream is in the stream.
const after = await operator.events.position();
for await (const { account_id } of operator.accounts.list({ status: "active" })) await guard(account_id);
console.log("watching");
for await (const event of operator.events.stream({ types: ["transfer.settled"], after })) {
  if (isEvent(event, "transfer.settled")) await guard(event.data.account_id);
}
