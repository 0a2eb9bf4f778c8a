// Pays once with what the environment says, and prints what came of it: `line.test.ts` runs it with proxies and certificates.

import { Purser } from "../src/index.ts";

const agent = new Purser({ key: "psr_ag_1", account: "acct_1", deadlineMs: 3_000 });
const paid = await agent.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice" });
console.log(paid.signature);
