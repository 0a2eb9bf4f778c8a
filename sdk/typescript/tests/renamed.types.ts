// Never run: `tsc -p tsconfig.tests.json` checks which calls have a type.

import { Purser } from "../src/index.ts";

export async function calls(agent: Purser): Promise<void> {
  await agent.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice" });
  await agent.pay({ to: "acct_2", usdc: "0.25", name: "invoice" });
  await agent.preview({ to: "acct_2", amountUsdc: "0.25" });
  await agent.preview({ to: "acct_2", usdc: "0.25" });
  await agent.buy("https://shop.test", { maxUsdc: "1", idempotencyKey: "invoice" });
  await agent.buy("https://shop.test", { maxUsdc: "1", name: "invoice" });
  // @ts-expect-error A payment needs an idempotency key.
  await agent.pay({ to: "acct_2", amountUsdc: "0.25" });
  // @ts-expect-error A payment has one idempotency key.
  await agent.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice", name: "invoice" });
  // @ts-expect-error A payment has one amount.
  await agent.pay({ to: "acct_2", amountUsdc: "0.25", usdc: "0.25", idempotencyKey: "invoice" });
  // @ts-expect-error A purchase needs an idempotency key.
  await agent.buy("https://shop.test", { maxUsdc: "1" });
}
