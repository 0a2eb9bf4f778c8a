// Arguments and fields by their new names; the old ones work for one release, with a warning that names the new one.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";

import { ApiError, type PayOptions, type Purser } from "../src/index.ts";
import { answer, refusal, Script, SETTLED } from "./script.ts";

interface Key {
  idempotencyKey?: string;
  name?: string;
  once?: string;
}

/** Each call that takes an idempotency key, with the old name of that argument. */
const KEYED: Record<string, ["name" | "once", (purser: Purser, key: Key) => unknown]> = {
  pay: ["name", (purser, key) => purser.pay({ to: "acct_2", amountUsdc: "0.25", ...key } as PayOptions)],
  buy: ["name", (purser, key) => purser.buy("https://shop.test", { maxUsdc: "1", ...key } as Parameters<Purser["buy"]>[1])],
  "transfers.list": ["name", (purser, key) => purser.transfers.list(key).next()],
  "accounts.create": ["once", (purser, key) => purser.accounts.create("Ada", key)],
  "policy.changeMany": ["once", (purser, key) => purser.policy.changeMany({ all: true }, {}, key)],
  "keys.create": ["once", (purser, key) => purser.keys.create("acct_1", { ...key, name: "phone" })],
  "halts.many": ["once", (purser, key) => purser.halts.many({ all: true }, key)],
  "webhooks.create": ["once", (purser, key) => purser.webhooks.create("https://a.test", [], key)],
  "webhooks.rotateSecret": ["once", (purser, key) => purser.webhooks.rotateSecret("wh_1", key)],
};

/** The idempotency key that the call sent. */
async function sent(call: (purser: Purser) => unknown): Promise<string | undefined> {
  const script = new Script([refusal(404, "not_found")]);
  await assert.rejects(async () => call(script.purser), ApiError);
  const [asked] = script.asked;
  assert.ok(asked !== undefined);
  const body = JSON.parse(asked.body ?? "null") as { idempotency_key?: string } | null;
  const query = new URL(asked.url).searchParams.get("idempotency_key");
  return asked.headers["Idempotency-Key"] ?? body?.idempotency_key ?? query ?? undefined;
}

test("idempotency key is taken everywhere, and under its old name", async () => {
  for (const [where, [old, call]] of Object.entries(KEYED)) {
    assert.equal(await sent((purser) => call(purser, { idempotencyKey: "invoice" })), "invoice", where);
    assert.equal(await sent((purser) => call(purser, { [old]: "invoice" })), "invoice", where);
  }
});

test("old and new name of the idempotency key are refused together", async () => {
  for (const [where, [old, call]] of Object.entries(KEYED)) {
    const script = new Script([answer(200, SETTLED)]);
    const both = { idempotencyKey: "invoice", [old]: "invoice" };
    await assert.rejects(async () => call(script.purser, both), new RegExp(`idempotencyKey.*\`${old}\`.*not both`), where);
    assert.deepEqual(script.asked, []);
  }
});

test("amount is taken by its new and its old name, and not by both", async () => {
  const order = { to: "acct_2", idempotencyKey: "invoice" };
  for (const call of ["pay", "preview"] as const) {
    const script = new Script([refusal(404, "not_found")]);
    const asks = (amount: object) => script.purser[call]({ ...order, ...amount } as PayOptions);
    await assert.rejects(asks({ amountUsdc: "0.25" }), ApiError);
    await assert.rejects(asks({ usdc: "0.25" }), ApiError);
    assert.deepEqual(script.bodies().map((body) => (body as { amount: string }).amount), ["0.25", "0.25"]);
    await assert.rejects(asks({ amountUsdc: "0.25", usdc: "0.25" }), /amountUsdc.*`usdc`.*not both/);
    await assert.rejects(asks({ amountUsdc: "0.25", microUsdc: 250_000 }), /amountUsdc.*microUsdc/);
    assert.equal(script.asked.length, 2);
  }
});

test("payment has the fields of the service, and those of before", async () => {
  const paid = await new Script([answer(200, SETTLED)]).pays();
  assert.deepEqual([paid.amountUsdc, paid.idempotencyKey], ["0.250000", "invoice"]);
  assert.deepEqual([paid.usdc, paid.name], ["0.250000", "invoice"]);
});

/** Pays twice with these arguments, and shows what the runtime says. */
function says(order: string): Promise<string> {
  const program = `
    import { Script, SETTLED, answer } from ${JSON.stringify(new URL("script.ts", import.meta.url).href)};
    const { purser } = new Script([answer(200, SETTLED)]);
    for (const order of [${order}, ${order}]) await purser.pay({ to: "acct_2", ...order });
    console.log("paid");`;
  const flags = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", program];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { timeout: 20_000 }, (_, out, complaint) => resolve(out + complaint));
  });
}

test("each old name warns once, and new names do not", async () => {
  assert.equal(await says('{ amountUsdc: "0.25", idempotencyKey: "invoice" }'), "paid\n");
  const old = await says('{ usdc: "0.25", name: "invoice" }');
  assert.equal(old.match(/DeprecationWarning/g)?.length, 2, old);
  assert.match(old, /`usdc` .*`amountUsdc`/);
  assert.match(old, /`name` .*`idempotencyKey`/);
});

test("runtime without warnings takes old names as well", async () => {
  const order = '(globalThis.process.emitWarning = undefined, { usdc: "0.25", name: "invoice" })';
  assert.equal(await says(order), "paid\n");
});
