// What a relayer lists, against the chain: accounts, the history of each with its order and its refusals, and balances.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Node, settles, standing } from "./node.mts";
import { associated } from "./past.mts";
import { bytesOf, fromBase58, usdc } from "./transaction.mts";
import type { Movement, World } from "./world.mts";

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // Crockford's base32
const ASKED_LATER_MAX = 300_000_000n; // microseconds
const SECOND = 1_000_000n;
const SIGNED_WITHIN = 20n * SECOND;
const TRIES = 3;

export type Relayer = {
  /** Status and body of a GET with this query. */
  get(path: string, query: string): Promise<[number, string]>;
  /** What a node answered about it. */
  node: Node;
};

export function relayerAt(base: string, key: string, node: Node): Relayer {
  const root = base.replace(/\/+$/, "").replace(/\/v1$/, "");
  return {
    node, get: async (path, query) => {
      const answer = await fetch(`${root}${path}?${query}`, { headers: { authorization: `Bearer ${key}` } });
      return [answer.status, await answer.text()];
    },
  };
}

/** What a directory keeps of a relayer's answers, each to be had once. */
export function relayerIn(folder: string): Relayer | undefined {
  const file = join(folder, "relayer.json");
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
  if (!kept) return undefined;
  const inOrder = (value: unknown): string => JSON.stringify(value, (_, it) =>
    it && typeof it === "object" && !Array.isArray(it) ? Object.fromEntries(Object.entries(it).sort(([one], [other]) => (one < other ? -1 : 1))) : it);
  const next = (answers: any[] | undefined, question: string) => {
    const answer = answers?.shift();
    if (!answer || "Err" in answer) throw new Error(`the directory keeps no answer to ${question}`);
    return answer.Ok;
  };
  return {
    get: async (path, query) => next(kept.relayer[`${path}?${query}`], path),
    node: { host: folder, ask: async (method, params) => next(kept.node[`${method} ${inOrder(params)}`], method) },
  };
}

/** Every page of a list; `undefined` if the key does not open it, or there is none. */
async function pages(relayer: Relayer, path: string, fixed = ""): Promise<any[] | undefined> {
  const all: any[] = [];
  for (let cursor = ""; ; ) {
    const page = await json(relayer, path, `limit=100${fixed}${cursor}`);
    if (!page) return undefined;
    all.push(...page.data);
    if (!page.has_more || page.cursor === null) return all;
    cursor = `&cursor=${page.cursor}`;
  }
}

async function json(relayer: Relayer, path: string, query: string): Promise<any> {
  const [status, body] = await relayer.get(path, query);
  if ([403, 404, 501].includes(status)) return undefined;
  if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}`);
  return JSON.parse(body);
}

/** 128 bits in 26 digits. */
function digits(bytes: Uint8Array): string {
  const bits = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  return Array.from({ length: 26 }, (_, place) => DIGITS[Number((bits >> BigInt(5 * (25 - place))) & 31n)]).join("");
}

export function accountId(genesis: string, account: string): string {
  const hash = createHash("sha256").update("purser:account:v1").update(fromBase58(genesis)).update(bytesOf(account));
  return `acct_${digits(hash.digest().subarray(0, 16))}`;
}

/** Unix microseconds of an RFC 3339 time. */
export function microsOf(text: string): bigint | undefined {
  const [, whole, fraction = "", zone] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const at = whole === undefined ? NaN : Date.parse(`${whole}${zone}`);
  return Number.isNaN(at) ? undefined : BigInt(at) * 1_000n + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
}

const bare = (amount: bigint) => usdc(amount).split(" ")[0];
const most = (times: (bigint | undefined)[]) => times.reduce((last, it) => (it !== undefined && (last === undefined || it > last) ? it : last), undefined);

export async function checkRelayer(world: World, relayer: Relayer) {
  const { past, accounts } = world;
  if (past.account === undefined) await checkAccounts(world, relayer);
  const denials = await pages(relayer, "/v1/denials");
  const known = past.agents.filter((agent) => accounts.has(agent));
  for (const agent of known) {
    const id = accountId(past.genesis, agent);
    const listed = await pages(relayer, `/v1/accounts/${id}/transactions`, "&status=all");
    if (!listed) {
      world.leavesOpen("history", `the key does not open the history of ${id}, or the relayer does not know it`);
      continue;
    }
    const finds = (text: string) => world.finds("history", text);
    checkOrder(listed, finds);
    if (denials) checkRefusals(id, listed, denials.map((it) => it.denial), finds);
    await checkEntries(world, relayer, agent, listed.filter((it) => it.status === "settled"), finds);
  }
  for (const agent of known.filter((it) => accounts.get(it)!.agent)) await checkBalance(world, relayer, agent);
}

/** An account that the relayer lists and the chain does not have. One that was created meanwhile is newer than the audit. */
async function checkAccounts(world: World, relayer: Relayer) {
  const { past, accounts, program } = world;
  for (const { account_id, solana_address: address, created_at } of (await pages(relayer, "/v1/accounts")) ?? []) {
    const isKnown = past.agents.includes(address) && accounts.has(address);
    if (isKnown) {
      if (accountId(past.genesis, address) !== account_id) world.finds("history", `The relayer lists ${address} under the id ${account_id}, which is not its own.`);
      // Asked for of every account.
      await standing(relayer.node, [address]).catch(() => []);
      continue;
    }
    let isAgent = false;
    try {
      const [{ account }] = await standing(relayer.node, [address]);
      isAgent = account?.owner === program.address && String(program.coder.accounts.decode("Agent", account.data).operator) === past.operator;
    } catch {
      // No account of the program stands there.
    }
    const created = microsOf(created_at);
    const isNewer = isAgent && created !== undefined && Number(created / SECOND) + 1 >= (past.untilTime ?? 0);
    if (!isNewer) world.finds("history", `The relayer lists the account ${account_id}, ${address}, which the operator's transactions do not create.`);
  }
}

/** The latest visible comes first, no two at one time, and none before it happened. */
function checkOrder(listed: any[], finds: (text: string) => void) {
  const visible = listed.map((it) => microsOf(it.visible_at));
  visible.slice(1).forEach((earlier, at) => {
    if ((visible[at] ?? 0n) <= (earlier ?? 0n)) finds(`The relayer's list is out of order at ${listed[at].visible_at}.`);
  });
  listed.forEach((it, at) => {
    const happened = microsOf(it.created_at);
    if (visible[at] === undefined || (happened !== undefined && visible[at]! < happened - SECOND)) finds(`The relayer showed an entry of ${it.created_at} before it happened.`);
  });
}

/** Where it signs refusals, its rejected entries are those that it signed. */
function checkRefusals(id: string, listed: any[], denials: any[], finds: (text: string) => void) {
  const latest = most([...listed.map((it) => microsOf(it.created_at)), ...denials.map((it) => microsOf(it.rejected_at))]) ?? 0n;
  const isFresh = (at: string) => (microsOf(at) ?? 0n) > latest - SIGNED_WITHIN;
  const shown = new Map(listed.filter((it) => it.status === "rejected").map((it) => [it.transfer_id, [it.amount_usdc, it.message, it.created_at]]));
  const signed = new Map(denials.filter((it) => it.account_id === id).map((it) => [it.transfer_id, [bare(BigInt(it.amount_micro_usdc)), it.message, it.rejected_at]]));
  for (const [transfer, words] of shown) {
    const said = signed.get(transfer);
    if (!said && !isFresh(words[2])) finds(`The relayer's history has the refusal ${transfer}, which it never signed.`);
    if (said && said.join() !== words.join()) finds(`The relayer's history says of the refusal ${transfer}: ${words}; it signed: ${said}.`);
  }
  for (const [transfer, words] of signed) {
    if (!shown.has(transfer) && !isFresh(words[2])) finds(`The relayer's history lacks the refusal ${transfer}, which it signed.`);
  }
}

async function checkEntries(world: World, relayer: Relayer, agent: string, listed: any[], finds: (text: string) => void) {
  const chain = Map.groupBy(world.movements.filter((it) => it.agent === agent), (it) => `${it.signature} ${it.kind}`);
  const relayers = Map.groupBy(listed, (it) => `${it.tx_signature} ${it.type}`);
  for (const [of, entries] of relayers) {
    const own = chain.get(of) ?? [];
    if (own.length === 0 && (await isNewer(world, relayer, entries[0].tx_signature))) continue;
    if (entries.length > own.length) finds(`The relayer's history has a ${entries[0].type} of ${entries[0].amount_usdc} USDC in the transaction ${entries[0].tx_signature}; the chain has ${own.length} there.`);
    const by = (one: string[], other: string[]) => (one.join() < other.join() ? -1 : 1);
    const listedAs = entries.map((it) => [it.amount_usdc, it.transfer_id, it.memo, it.counterparty, it.created_at]).sort(by);
    const ownAs = own.map((it) => [it, said(world, it)] as const).sort(([, one], [, other]) => by(one as string[], other as string[]));
    listedAs.slice(0, own.length).forEach((entry, at) => differ(world, entry, ...ownAs[at], finds));
  }
  for (const [of, own] of chain) {
    for (const it of own.slice(relayers.get(of)?.length ?? 0)) finds(`The relayer's history lacks a ${it.kind} of ${bare(it.amount)} USDC that is on the chain (${it.signature}).`);
  }
}

/** A movement as a relayer says it: amount, id, memo and counterparty. */
function said({ past, accounts }: World, { amount, transferId, memo, counterparty }: Movement): (string | null)[] {
  const agent = [...accounts.keys()].find((it) => associated(it, past.mint) === counterparty);
  const text = memo && memo.length > 0 ? Buffer.from(memo).toString().replaceAll("\0", "\u{FFFD}") : null;
  return [bare(amount), transferId ? `txn_${digits(Uint8Array.from(transferId))}` : null, text, agent ? accountId(past.genesis, agent) : (counterparty ?? null)];
}

function differ(world: World, listed: (string | null)[], movement: Movement, own: (string | null)[], finds: (text: string) => void) {
  const { past, accounts } = world;
  const names = ["amount", "id", "memo", "counterparty"];
  names.forEach((name, at) => {
    const [theirs, ours] = [listed[at] ?? null, own[at]];
    if (theirs === ours) return;
    // An account by its token account; the payer of a deposit may be another operator's account.
    const isOwnPurse = name === "counterparty" && theirs === movement.counterparty;
    const ids = [...accounts.keys()].map((it) => accountId(past.genesis, it));
    const isForeign = name === "counterparty" && movement.kind === "deposit" && theirs?.startsWith("acct_") && !ids.includes(theirs);
    if (!isOwnPurse && !isForeign) finds(`The relayer says that the ${name} is ${theirs}; on the chain it is ${ours} (${movement.signature}).`);
  });
  // In the block's second, but not before the millisecond that the transfer's id holds.
  const block = BigInt(movement.time) * SECOND;
  const asked = movement.transferId ? (BigInt(`0x${Buffer.from(movement.transferId.slice(0, 6)).toString("hex")}`) + 1n) * 1_000n : block;
  const expected = asked - block <= ASKED_LATER_MAX && asked > block ? asked : block;
  const at = microsOf(listed[4] ?? "");
  if (at === undefined || at - expected > SECOND || expected - at > SECOND) {
    finds(`The relayer says that it happened at ${listed[4]}; on the chain it was at ${movement.time} (${movement.signature}).`);
  }
}

/** Whether a transaction came after the last audited slot. */
async function isNewer({ past }: World, { node }: Relayer, signature: string): Promise<boolean> {
  const isSignature = /^[1-9A-HJ-NP-Za-km-z]{80,90}$/.test(signature) && fromBase58(signature).length === 64;
  if (!isSignature) return false;
  const { value: [status] } = await node.ask("getSignatureStatuses", [[signature], { searchTransactionHistory: true }]);
  return Boolean(status) && status.err === null && status.slot > past.untilSlot;
}

/** A relayer is ahead of what is final, so an account whose money moves is asked for again. */
async function checkBalance(world: World, relayer: Relayer, agent: string) {
  const { past, purses } = world;
  const id = accountId(past.genesis, agent);
  const address = associated(agent, past.mint);
  let held = purses.get(address)!.balance;
  for (let tries = 0; ; tries += 1) {
    const answer = await json(relayer, `/v1/accounts/${id}/balance`, "");
    if (!answer) return world.leavesOpen("solvency", `the key does not open the balance of ${id}, or the relayer does not know it`);
    const { balance_usdc: stated } = answer;
    if (stated === bare(held)) return;
    await settles(relayer.node);
    const before = held;
    const [{ account }] = await standing(relayer.node, [address]);
    held = account ? account.data.readBigUInt64LE(64) : 0n;
    if (stated === bare(held)) return;
    if (before === held) return world.finds("solvency", `The relayer says that the account holds ${stated} USDC; its token account holds ${bare(held)}.`, undefined, agent);
    if (tries + 1 === TRIES) return world.leavesOpen("solvency", `the balance of ${id} changed while it was compared`);
  }
}
