// The accounts as they stand, held against what was signed.

import { web3 } from "@anchor-lang/core";
import { associated, draftOf } from "./past.mts";
import type { Stands } from "./node.mts";
import { TOKEN, base58, micros, usdc } from "./transaction.mts";
import type { Account, World } from "./world.mts";

const BUCKET = 192; // bytes

/** The accounts that are compared. */
export const compared = ({ past, program }: World): string[] =>
  [past.operator, ...past.agents.flatMap((agent) => [agent, associated(agent, past.mint), draftOf(program, agent)]), ...past.beside];

/** What does not fit, as lines of a report. */
export function differences(world: World, address: string, { account: stands }: Stands): string[] {
  const { past, program } = world;
  const found: string[] = [];
  const finds = (check: string, text: string) => found.push(`${check}: ${text}`);
  const own = stands?.owner === program.address ? stands.data : undefined;
  if (past.beside.includes(address)) same("grant, approver or budget", ...beside(world, address, own));
  else if (address === past.operator) same("operator", ...operator(world, own));
  else if (past.agents.includes(address)) agent(world, address, own, finds);
  else if (world.purses.has(address)) purse(world, address, stands, finds);
  else same("waiting draft", ...draft(world, address, own));
  return found;

  function same(what: string, chain: unknown[] | undefined, signed: unknown[] | undefined) {
    const [one, other] = [chain, signed].map((it) => it?.map((value) => String(value)).join(", ") ?? "missing");
    if (one !== other) finds("state", `The ${what} ${address} is ${one} on the chain; by what was signed it is ${other}.`);
  }
}

/** An account of the program; `undefined` if it is none of that name. */
function decoded({ program: { coder } }: World, name: string, own?: Buffer): any {
  try {
    return own && coder.accounts.decode(name, own);
  } catch {
    return undefined;
  }
}

type Both = [unknown[] | undefined, unknown[] | undefined];
const none = web3.PublicKey.default.toString();
/** A moment of the chain, or that of the replay if both are at most a second apart. */
const moment = (chain: any, signed: number) => (Math.abs(Number(chain) - signed) <= 1 ? signed : Number(chain));

function operator(world: World, own?: Buffer): Both {
  const { operator: signed, approversVoidedAt, past } = world;
  const it = decoded(world, "Operator", own);
  const chain = it && [it.admin, it.pending_admin, it.policy_authority, it.guardian, it.usdc_mint,
    it.transfer_authorities.map(String).filter((key: string) => key !== none).sort(), it.loosening_delay_seconds, it.halted_by !== 0, moment(it.approvers_voided_at, approversVoidedAt)];
  if (!signed) return [chain, undefined];
  const { admin, pendingAdmin, policyAuthority, guardian, transferAuthorities, delay, isHalted } = signed;
  return [chain, [admin, pendingAdmin || none, policyAuthority, [none, "null", ""].includes(guardian) ? none : guardian, past.mint,
    [...transferAuthorities].sort(), delay, isHalted, approversVoidedAt]];
}

function purse(world: World, address: string, stands: Stands["account"], finds: (check: string, text: string) => unknown) {
  const { agent, balance } = world.purses.get(address)!;
  const data = stands?.data;
  const held = data ? data.readBigUInt64LE(64) : 0n;
  if (held !== balance) finds("balances", `${address} holds ${usdc(held)} on the chain, and ${usdc(balance)} by its transactions.`);
  if (!data) {
    if (world.accounts.get(agent)?.agent) finds("state", `${agent} has no token account on the chain.`);
    return;
  }
  const key = (from: number) => base58(data.subarray(from, from + 32));
  if (stands.owner !== TOKEN || key(0) !== world.past.mint) finds("state", `${address} is none of the operator's mint at the token program.`);
  if (key(32) !== agent) finds("state", `The token account ${address} is owned by ${key(32)}.`);
  if (data.readUInt32LE(72) !== 0) finds("state", `${key(76)} may move ${usdc(data.readBigUInt64LE(121))} out of the token account ${address}.`);
  if (data.readUInt32LE(129) !== 0) finds("state", `${key(133)} may close the token account ${address}.`);
}

function agent(world: World, address: string, own: Buffer | undefined, finds: (check: string, text: string) => unknown) {
  const { coder } = world.program;
  const account = world.accounts.get(address);
  const body = coder.accounts.size("Agent");
  const it = own && own.length >= body ? decoded(world, "Agent", own) : undefined;
  if (!it || !own || !account?.agent) {
    // A closed account leaves a mark.
    const isMark = own !== undefined && !it;
    if (it || account?.agent || isMark !== (account !== undefined)) {
      finds("state", `The account ${address} stands on the chain and not by what was signed, or the other way round.`);
    }
    return;
  }
  const { policy_version, halted_by, voided_at, payments, policy, operator, token_account } = it;
  // A cap for 30 days with its 32 words, and the address of a budget, stand before the list.
  const [hasMonth, hasBudget] = [1, 2].map((bit) => (policy.bounds >> bit) % 2 === 1);
  const budgetAt = body + (hasMonth ? 264 : 0);
  // The list, and buckets of 16 tags and their 16 seconds.
  const list = own.subarray(budgetAt + (hasBudget ? 32 : 0));
  const count = policy.wallet_count + policy.token_account_count;
  const entries = Array.from({ length: count }, (_, at) => base58(list.subarray(32 * at, 32 * at + 32)));
  const tags = list.subarray(32 * count);
  const flag = (bit: number) => (policy.flags >> bit) % 2 === 1;
  const chain = [operator, token_account, policy_version, halted_by !== 0, moment(voided_at, account.voidedAt), micros(payments), flag(0), flag(1),
    flag(2) ? micros(policy.max_single_transfer) : null, flag(3) ? micros(policy.max_daily_spend) : null, flag(4) ? policy.wallet_count : null, entries,
    tags.length / BUCKET, policy.bounds, hasMonth ? own.readBigUInt64LE(body) : null, hasBudget ? base58(own.subarray(budgetAt, budgetAt + 32)) : ""];
  misdated(account, tags, finds);
  const signed = stated(world, account);
  const at = chain.findIndex((it, place) => String(it) !== String(signed[place]));
  if (at >= 0) finds("state", `The account ${address} says ${chain[at]} on the chain; by what was signed it is ${signed[at]}.`);
}

function stated({ past }: World, { address, agent, voidedAt, buckets, month, budget, isByGrantOnly }: Account): unknown[] {
  const { version, isHalted, payments, policy: { paused, memo, single, daily, wallets, tokenAccounts } } = agent!;
  const bounds = (isByGrantOnly ? 1 : 0) + (month ? 2 : 0) + (budget ? 4 : 0);
  return [past.operator, associated(address, past.mint), version, isHalted, voidedAt, payments, paused, memo, single, daily, wallets?.length ?? null,
    [...(wallets ?? []), ...tokenAccounts], buckets, bounds, month?.cap ?? null, budget];
}

/** The account keeps the tag and the second of every payment of the last 25 hours. */
function misdated({ seconds, recent }: Account, tags: Buffer, finds: (check: string, text: string) => unknown) {
  const kept = new Map<string, number>();
  for (let bucket = 0; bucket + BUCKET <= tags.length; bucket += BUCKET) {
    for (let slot = 0; slot < 16; slot += 1) {
      const tag = String([...tags.subarray(bucket + 8 * slot, bucket + 8 * slot + 8)]);
      kept.set(tag, tags.readUInt32LE(bucket + 128 + 4 * slot));
    }
  }
  for (const [tag, stands] of kept) {
    const dated = seconds.get(tag);
    if (dated !== undefined && Math.abs(stands - dated) > 1) {
      finds("dates", `The account says that the payment with tag ${tag} was made at ${stands}; its block is dated ${dated}.`);
    }
  }
  for (const { tag } of recent) if (!kept.has(tag)) finds("state", `The account forgot the tag ${tag} of the last 24 hours.`);
}

function draft(world: World, address: string, own?: Buffer): Both {
  const { coder } = world.program;
  const account = [...world.accounts.values()].find((it) => draftOf(world.program, it.address) === address);
  const it = decoded(world, "PolicyDraft", own);
  const written = own && own.subarray(coder.accounts.size("PolicyDraft"));
  const draft = account?.draft;
  const chain = it && [Buffer.from(it.hash).toString("hex"), it.written, it.sealed !== 0, moment(it.sealed_at, draft?.sealed?.at ?? 0), it.expected_version,
    Array.from({ length: it.written }, (_, at) => base58(written!.subarray(32 * at, 32 * at + 32)))];
  return [chain, draft && [Buffer.from(draft.args.hash).toString("hex"), draft.entries.length, draft.sealed !== undefined, draft.sealed?.at ?? 0,
    draft.args.expected_version, draft.entries]];
}

function beside(world: World, address: string, own?: Buffer): Both {
  const [grant, approver, budget] = [world.grants.get(address), world.approvers.get(address), world.budgets.get(address)];
  if (grant) {
    const it = decoded(world, "Grant", own);
    const { terms, by } = grant;
    const flags = [terms.beyond_allowlist, terms.beyond_single_limit, terms.beyond_daily_limit, Boolean(terms.payee.TokenAccount), by === "policy authority",
      by === "approver"].reduce((sum, is, bit) => sum + (is ? 1 << bit : 0), 0);
    const chain = it && [it.agent, it.id, it.left, it.flags, it.expires_at, it.payee, it.tag, it.policy_version,
      String(it.memo_hash), moment(it.opened_at, grant.openedAt), it.opened_delay_seconds];
    return [chain, [grant.agent, grant.id, grant.left, flags, terms.expires_at, (terms.payee.Wallet ?? terms.payee.TokenAccount)[0],
      terms.tag ?? 0, terms.policy_version ?? 0, String(terms.memo_hash ?? Array(32).fill(0)), grant.openedAt, grant.delay]];
  }
  if (approver) {
    const it = decoded(world, "Approver", own);
    return [it && [it.key, it.max_grant, it.max_daily, it.removed !== 0], [approver.key, approver.atOnce, approver.daily, approver.isRemoved]];
  }
  if (budget) {
    const it = decoded(world, "Budget", own);
    const { daily, month, raised } = budget;
    const most = (2n ** 64n - 1n).toString();
    const cap = (value: bigint | null) => value ?? most;
    const waiting = it && Number(it.raised_at) !== 0 ? [it.waiting_daily, it.waiting_30_day, moment(it.raised_at, raised?.at ?? 0), it.raised_delay_seconds] : [];
    return [it && [it.max_daily_spend, it.max_30_day_spend, ...waiting],
      [daily, cap(month), ...(raised ? [raised.daily, cap(raised.month), raised.at, raised.delay] : [])]];
  }
  return [own && ["there"], undefined];
}
