// Pays through a line that cuts, delays and refuses at random, and prints what came of it. `tests/it/sdk.rs` runs it.
//
// `PURSER_PAYMENTS` payments of 0.01 USDC, then one payment that 100 callers ask for at the same time.

import { type Payment, Purser } from "../src/index.ts";

const AT_ONCE = 32;
const CALLERS = 100;

const payee = process.env["PURSER_PAYEE"] ?? "";
const payments = Number(process.env["PURSER_PAYMENTS"]);
const agent = new Purser({ deadlineMs: 300_000 });
const paid: Payment[] = [];
let next = 0;

async function pay(idempotencyKey: string): Promise<void> {
  paid.push(await agent.pay({ to: payee, microUsdc: 10_000, idempotencyKey }));
}

async function worker(): Promise<void> {
  while (next < payments) await pay(`typescript-${next++}`);
}

await Promise.all(Array.from({ length: AT_ONCE }, worker));
await Promise.all(Array.from({ length: CALLERS }, () => pay("typescript-same")));
const count = (of: (payment: Payment) => unknown) => new Set(paid.map(of)).size;
const settled = paid.filter(({ status }) => status === "settled").length;
console.log(
  JSON.stringify({
    asked: paid.length,
    settled,
    names: count((one) => one.idempotencyKey),
    signatures: count((one) => one.signature),
  }),
);
