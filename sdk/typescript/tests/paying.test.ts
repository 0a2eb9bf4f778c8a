// What the client does about answers.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Conflict,
  Duplicate,
  InsufficientFunds,
  isEvent,
  PolicyRefused,
  Purser,
  TooManyRequests,
  Unreachable,
} from "../src/index.ts";
import { answer, refusal, Script, SETTLED } from "./script.ts";

const SUBMITTED = { ...SETTLED, status: "submitted" };
const CHECKS = [
  { rule: "paused", ok: true },
  { rule: "max_single_transfer", ok: true, limit: "25.000000", used: "0.000000", remaining: "25.000000" },
  { rule: "max_daily_spend", ok: false, limit: "50.000000", used: "44.000000", remaining: "6.000000" },
  { rule: "balance", ok: true, limit: "80.000000", used: "0.000000", remaining: "80.000000" },
];
const RESOURCE = { status: 200, content_type: "text/plain", body: "hi", encoding: "utf-8", truncated: false };
const cut = () => new TypeError("fetch failed");

async function failure<E extends Error>(promise: Promise<unknown>, kind: new (...args: never[]) => E): Promise<E> {
  const error = await promise.then(() => assert.fail("it was to fail"), (error: unknown) => error);
  assert.ok(error instanceof kind, String(error));
  return error;
}

test("payment is answered with its signature", async () => {
  const script = new Script([answer(200, SETTLED)]);
  const paid = await script.pays();
  assert.deepEqual([paid.signature, paid.replayed], ["sig", false]);
  assert.deepEqual([paid.amountUsdc, paid.idempotencyKey], ["0.250000", "invoice"]);
  assert.equal(script.asked[0]?.url, "http://purser.test/v1/transfers");
  assert.equal(script.asked[0]?.headers["Authorization"], "Bearer psr_ag_1");
  assert.deepEqual(script.bodies(), [{ from: "acct_1", to: "acct_2", amount: "0.25", idempotency_key: "invoice" }]);
});

test("wallet is named as one", async () => {
  const script = new Script([answer(200, { ...SETTLED, to: "Tok", to_wallet: "Wal" })]);
  const order = { amountUsdc: "0.25", idempotencyKey: "invoice" };
  const paid = await script.purser.pay({ wallet: "Wal", createTokenAccount: true, ...order });
  assert.deepEqual([paid.to, paid.toWallet], ["Tok", "Wal"]);
  const { to, create_token_account } = script.bodies()[0] as Record<string, unknown>;
  assert.deepEqual([to, create_token_account], [{ wallet: "Wal" }, true]);
  // @ts-expect-error: nobody is named.
  await assert.rejects(script.purser.pay(order), TypeError);
  // @ts-expect-error: two are.
  await assert.rejects(script.purser.preview({ to: "acct_2", wallet: "Wal", amountUsdc: "0.25" }), TypeError);
  assert.equal(script.asked.length, 1);
});

test("payment that waits for a person is not waited for", async () => {
  const waits = { ...SETTLED, status: "pending_approval", approval_url: "https://pay.test/approve/x" };
  const script = new Script([cut(), answer(202, waits)]);
  const asked = await script.pays({ approval: "request" });
  assert.deepEqual([asked.status, asked.approvalUrl], ["pending_approval", "https://pay.test/approve/x"]);
  assert.equal(script.asked.length, 2);
  const [, body] = script.bodies() as { approval?: string }[];
  assert.equal(body?.approval, "request");
});

test("every retry has the same body", async () => {
  const troubles = [
    cut(),
    refusal(429, "rate_limited", {}, { "retry-after": "2" }),
    refusal(503, "solana_unavailable", { retryable: false }),
    refusal(500, "internal_error"),
    new Response("<html>gateway</html>", { status: 504 }),
    new Response("<html>"),
    answer(200, SETTLED),
  ];
  const count = troubles.length;
  const script = new Script(troubles);
  assert.equal((await script.pays()).signature, "sig");
  assert.equal(script.asked.length, count);
  assert.equal(new Set(script.asked.map(({ body }) => body)).size, 1);
  assert.ok((script.slept[1] ?? 0) >= 2_000);
  assert.deepEqual(script.slept.slice(2).sort((one, other) => one - other), script.slept.slice(2), "pauses grow");
});

test("payment in flight is waited for and is no replay", async () => {
  const replayed = answer(200, SETTLED, { "idempotent-replayed": "true" });
  const script = new Script([answer(202, SUBMITTED), answer(202, SUBMITTED, { "idempotent-replayed": "true" }), replayed]);
  assert.equal((await script.pays()).replayed, false);
  assert.equal(new Set(script.asked.map(({ body }) => body)).size, 1);
  assert.equal((await new Script([replayed]).pays()).replayed, true);
});

test("deadline names the payment that is in flight", async () => {
  const script = new Script([answer(202, SUBMITTED)]);
  assert.equal((await failure(script.pays(), Unreachable)).transferId, "txn_1");
  assert.ok(script.time <= 120_000);
});

test("wait beyond the deadline is not begun", async () => {
  const script = new Script([refusal(429, "too_many_refusals", {}, { "retry-after": "3600" })]);
  assert.equal((await failure(script.pays(), TooManyRequests)).retryAfterMs, 3_600_000);
  assert.deepEqual([script.asked.length, script.slept], [1, []]);
});

test("no answer within the deadline is unreachable", async () => {
  const script = new Script([cut()], 10_000);
  const error = await failure(script.pays(), Unreachable);
  assert.ok(error.message.includes("fetch failed") && script.asked.length > 3 && script.time <= 10_000);
});

test("refusals say what could be paid now", async () => {
  const noon = "2026-01-31T12:00:00.000000Z";
  const script = new Script([refusal(402, "policy_violation", { checks: CHECKS, retry_at: noon })]);
  const refused = await failure(script.pays(), PolicyRefused);
  const { maxNow, code, retryAt, name, approvable } = refused;
  assert.deepEqual([maxNow, code, retryAt, name], ["6.000000", "policy_violation", noon, "PolicyRefused"]);
  assert.equal(script.asked.length, 1, "a refusal is not asked for again");
  const askable = new Script([refusal(402, "policy_violation", { checks: CHECKS, approvable: true })]);
  assert.deepEqual([approvable, (await failure(askable.pays(), PolicyRefused)).approvable], [false, true]);

  const paused = refusal(402, "account_paused", { checks: [{ rule: "paused", ok: false }, ...CHECKS.slice(1)] });
  assert.equal((await failure(new Script([paused]).pays(), PolicyRefused)).maxNow, "0.000000");
  const poor = refusal(402, "insufficient_balance", { checks: [{ rule: "balance", ok: false }] });
  assert.equal((await failure(new Script([poor]).pays(), InsufficientFunds)).maxNow, null);
});

test("conflicts are told apart", async () => {
  const duplicate = new Script([refusal(409, "idempotency_conflict", { transfer_id: "txn_0" })]);
  assert.equal((await failure(duplicate.pays(), Duplicate)).transferId, "txn_0");
  const alike = new Script([refusal(409, "likely_duplicate", { transfer_id: "txn_0" }), answer(200, SETTLED)]);
  const order = { to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice" };
  const like = await failure(alike.purser.pay(order), Conflict);
  await alike.purser.pay({ ...order, ...(like.transferId && { duplicateOf: like.transferId }) });
  assert.deepEqual(alike.bodies().map((body) => (body as { duplicate_of?: string }).duplicate_of), [undefined, "txn_0"]);
  const script = new Script([refusal(409, "policy_changed", { retryable: false })]);
  const change = script.purser.policy.update("acct_1", { max_daily_spend: "5", version: 7 });
  assert.ok(!((await failure(change, Conflict)) instanceof Duplicate));
  assert.equal(script.asked[0]?.headers["If-Match"], '"7"');
  assert.deepEqual(script.bodies(), [{ max_daily_spend: "5" }]);
});

test("money is never a float", async () => {
  const script = new Script([answer(200, SETTLED)]);
  const base = { to: "acct_2", idempotencyKey: "invoice" };
  const pay = (amount: object) => script.purser.pay({ ...base, ...amount } as Parameters<Purser["pay"]>[0]);
  const wrong = [0.25, 1, "0.0000001", "1e3", "-1", "", "0", null];
  for (const amountUsdc of wrong) await assert.rejects(pay({ amountUsdc }));
  for (const microUsdc of [0, -1, 0.5, 2 ** 53, "1"]) await assert.rejects(pay({ microUsdc }));
  await assert.rejects(pay({}));
  await assert.rejects(pay({ amountUsdc: "1", microUsdc: 1 }));
  await assert.rejects(pay({ amountUsdc: 0.1 }), /float/);
  await assert.rejects(script.purser.pay({ ...base, idempotencyKey: "", amountUsdc: "1" }), /idempotencyKey/);
  await assert.rejects(async () => script.purser.policy.update("acct_1", { max_daily_spend: 5 as unknown as string }));
  assert.deepEqual(script.asked, []);
  await pay({ microUsdc: 1n });
  await pay({ microUsdc: 10_000_000 });
  assert.deepEqual(script.bodies().map((body) => (body as { amount: string }).amount), ["0.000001", "10.000000"]);
});

test("limits of a policy are exact, and metadata stays as it is", async () => {
  const texts = ["account_id", "approvals", "duplicates", "solana_address", "status", "usdc_token_account"];
  const rest = { ...Object.fromEntries(texts.map((name) => [name, ""])), create_token_accounts: false, halted: null, tags: [], balance_usdc: "1.000000" };
  const times = { balance_as_of: SETTLED.created_at, created_at: SETTLED.created_at };
  const body = `{"name":"\\"max_daily_spend\\":1","metadata":{"max_daily_spend":5.5,"deep":{"max_daily_spend":1}},
    "policy":{"max_single_transfer": 12345678901234.567891,"max_daily_spend":25,"require_memo":false,"paused":false,
    "allowed_counterparties":null,"counterparty_kinds":null},${JSON.stringify({ ...rest, ...times }).slice(1)}`;
  const headers = { "content-type": "application/json" };
  const account = await new Script([new Response(body, { headers })]).purser.accounts.get("acct_1");
  assert.deepEqual(account.metadata, { max_daily_spend: 5.5, deep: { max_daily_spend: 1 } });
  assert.equal(account.policy?.max_single_transfer, "12345678901234.567891");
  assert.deepEqual([account.policy?.max_daily_spend, account.name], ["25", '"max_daily_spend":1']);
});

test("lists turn their pages", async () => {
  const script = new Script([
    answer(200, { data: [SETTLED], cursor: "next", has_more: true }),
    answer(200, { data: [SETTLED, SETTLED], cursor: null, has_more: false }),
  ]);
  const read: string[] = [];
  for await (const transfer of script.purser.transfers.list({ status: "settled" })) read.push(transfer.transfer_id);
  assert.equal(read.length, 3);
  const queries = script.asked.map(({ url }) => url.split("?")[1]);
  assert.deepEqual(queries, ["limit=100&status=settled", "limit=100&status=settled&cursor=next"]);
});

test("history is followed from the last entry", async () => {
  const page = (...numbers: number[]) => {
    const names = ["counterparty", "memo", "memo_from", "transfer_id", "tx_signature", "solana_explorer_url", "error", "message"];
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    const entry = { ...nulls, type: "deposit", direction: "in", status: "settled", amount_usdc: "1.000000" };
    const data = numbers.map((number) => {
      const at = `2026-01-31T12:00:0${number}.000000Z`;
      return { ...entry, id: `ent_${number}`, created_at: at, visible_at: at };
    });
    return answer(200, { data, cursor: null, has_more: false });
  };
  const outage = refusal(429, "rate_limited", {}, { "retry-after": "3600" });
  const script = new Script([page(2, 1), outage, page(3)]);
  const read: string[] = [];
  for await (const entry of script.purser.history.follow()) {
    read.push(entry.id);
    if (read.length === 3) break;
  }
  assert.deepEqual(read, ["ent_1", "ent_2", "ent_3"]);
  assert.ok(!script.asked[0]?.url.includes("since"));
  assert.ok(script.asked[2]?.url.includes("since=2026-01-31T12%3A00%3A02.000000Z"));
});

test("purchase has an idempotency key and a bound", async () => {
  const bought = { transfer: SETTLED, resource: RESOURCE, receipt: null };
  const script = new Script([cut(), answer(202, { ...bought, transfer: SUBMITTED }), answer(200, bought)]);
  const got = await script.purser.buy("https://shop.test/report", { maxUsdc: "0.30", idempotencyKey: "invoice" });
  assert.deepEqual([got.resource?.body, got.transfer?.status], ["hi", "settled"]);
  const sent = { from: "acct_1", url: "https://shop.test/report", max_amount: "0.30", idempotency_key: "invoice" };
  assert.deepEqual(script.bodies(), [sent, sent, sent]);
});

test("stream goes on where it was cut", async () => {
  const event = (number: number) => {
    const value = { id: `evt_${number}`, type: "transfer.settled", created_at: SETTLED.created_at, data: { é: "😀" } };
    return `id: at-${number}\ndata: ${JSON.stringify(value)}\n\n`;
  };
  const pieces = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    const parts = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) => bytes.slice(at * 3, at * 3 + 3));
    return new Response(new ReadableStream({ start: (to) => (parts.forEach((part) => to.enqueue(part)), to.close()) }));
  };
  const first = `: events\nretry: 2000\nid: at-0\n\n${event(1)}: still here\n\nid: at-9\r\ndata: {`;
  const script = new Script([pieces(first), refusal(503, "service_unavailable"), pieces(event(2))]);
  const stream = script.purser.events.stream({ types: ["transfer.settled", "new.type"] });
  const read = stream[Symbol.asyncIterator]();
  const [one, two] = [(await read.next()).value, (await read.next()).value];
  await read.return(undefined);
  assert.deepEqual([one?.id, two?.id, two?.data, stream.position], ["evt_1", "evt_2", { é: "😀" }, "at-2"]);
  assert.ok(isEvent(two, "transfer.settled") && two.data.settled_at === undefined);
  assert.deepEqual(script.asked.map(({ headers }) => headers["Last-Event-ID"]), [undefined, "at-1", "at-1"]);
});

test("stream that cannot be read is opened again", async () => {
  const event = { id: "evt_1", type: "new.type", created_at: SETTLED.created_at, data: {} };
  const wrong = {
    "no JSON": new Response("id: at-7\ndata: {oops\n\n"),
    "no event": new Response("id: at-7\ndata: [1]\n\n"),
    "no end": new Response(`id: at-7\ndata: ${"x".repeat(2_000_000)}`),
    "a gateway": new Response("<html>Forbidden</html>", { status: 403 }),
    "a gateway without end": new Response(" ".repeat(9_000_000), { status: 502 }),
  };
  for (const [kind, first] of Object.entries(wrong)) {
    const script = new Script([first, new Response(`id: at-1\ndata: ${JSON.stringify(event)}\n\n`)]);
    for await (const { id } of script.purser.events.stream()) {
      assert.equal(id, "evt_1", kind);
      break;
    }
    assert.deepEqual(script.asked.map(({ headers }) => headers["Last-Event-ID"]), [undefined, undefined], kind);
  }
});

test("lists and transfers of others are asked again", async () => {
  const page = answer(200, { data: [SETTLED], cursor: null, has_more: false });
  for (const wrong of [{ data: [1] }, {}, { data: [SETTLED] }, { data: [SETTLED], cursor: 1, has_more: true }]) {
    const script = new Script([answer(200, wrong), page]);
    for await (const { transfer_id } of script.purser.transfers.list()) assert.equal(transfer_id, "txn_1");
    assert.equal(script.asked.length, 2);
  }
  const script = new Script([answer(200, { ...SETTLED, transfer_id: "txn_2" }), answer(200, SETTLED)]);
  assert.equal((await script.purser.transfers.get("txn_1")).transfer_id, "txn_1");
});

test("removal is done once the service says so", async () => {
  const script = new Script([answer(200, {}), new Response("<html>"), new Response(null, { status: 204 })]);
  await script.purser.keys.revoke("self");
  assert.equal(script.asked.length, 3);
});

test("200 without an end state is no payment", async () => {
  const script = new Script([answer(200, SUBMITTED), answer(200, { ...SETTLED, status: "new" }), answer(200, SETTLED)]);
  assert.equal((await script.pays()).status, "settled");
  assert.equal(script.asked.length, 3);
});

test("post that is no payment gets an idempotency key", async () => {
  const halted = { halted: true, halted_by: "guardian", tx_signature: "sig", action_id: null };
  const script = new Script([cut(), answer(200, halted)]);
  assert.equal((await script.purser.halts.account("acct_1")).halted_by, "guardian");
  const [first, second] = script.asked.map(({ headers }) => headers["Idempotency-Key"]);
  assert.ok(first !== undefined && first === second);
});

test("account is the one that the API key opens", async () => {
  delete process.env["PURSER_ACCOUNT"];
  const found = { jsonrpc: "2.0", id: 1, result: { structuredContent: { account_id: "acct_7" } } };
  const script = new Script([answer(200, found), answer(200, SETTLED)], 120_000, null);
  await script.purser.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice" });
  assert.equal(script.asked[0]?.url, "http://purser.test/mcp");
  assert.equal((script.bodies()[1] as { from: string }).from, "acct_7");
});

test("who asks can stop", async () => {
  const stop = new AbortController();
  const script = new Script([cut()]);
  const order = { to: "acct_2", amountUsdc: "1", idempotencyKey: "invoice" };
  const paying = script.purser.pay({ ...order, signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(paying, /enough/);
});

test("browser sends no API key", async () => {
  let sent: RequestInit | undefined;
  const answers = async (_: unknown, init?: RequestInit) => ((sent = init), answer(200, SETTLED));
  await new Purser({ url: "/purser", key: null, account: "acct_1", fetch: answers }).transfers.get("txn_1");
  assert.deepEqual(sent?.headers, { Accept: "application/json" });
});
