// What the signed instructions add up to, and what was found on the way.

import type { Past } from "./past.mts";
import { associated } from "./past.mts";
import type { Landed, Program } from "./transaction.mts";
import { micros } from "./transaction.mts";

export const DAY = 86_400; // seconds
export const KEPT = DAY + 3_600; // seconds for which an account keeps a tag

/** Amounts in micro-USDC; `null` is no limit, and no list: anyone may be paid. */
export type Policy = { single: bigint | null; daily: bigint | null; memo: boolean; paused: boolean; wallets: string[] | null; tokenAccounts: string[] };
export type Draft = { args: any; entries: string[]; sealed?: { at: number; delay: number } };
/** `by`: what the key that opened it was. */
export type Grant = {
  agent: string; id: bigint; terms: any; left: bigint; epoch: number; approverEpoch: number; by: "admin" | "policy authority" | "approver";
  openedAt: number; delay: number;
};
export type Approver = { key: string; atOnce: bigint; daily: bigint; isRemoved: boolean; granted: { time: number; amount: bigint }[] };
export type Budget = {
  daily: bigint; month: bigint | null;
  /** A raise that waits, since when, and the delay of then. */
  raised?: { daily: bigint; month: bigint | null; at: number; delay: number };
  paid: { time: number; amount: bigint }[]; days: Map<number, bigint>;
};
export type Month = { cap: bigint; days: Map<number, bigint> };

/** An agent account, from its creation on; `agent` is missing while it is closed. */
export type Account = {
  address: string; createdIn: number;
  agent?: { version: number; policy: Policy; isHalted: boolean; payments: bigint };
  draft?: Draft;
  /** Grants of an earlier one pay nothing. */
  grantEpoch: number;
  isByGrantOnly: boolean;
  /** Through which it pays. */
  budget: string;
  /** Paid since there is a cap for 30 days, by days. */
  month?: Month;
  /** When grants were last revoked together, or the account before this one closed; 0 if never. */
  voidedAt: number;
  /** When the newest payment with each tag was made. */
  seconds: Map<string, number>;
  /** How many buckets of 16 tags it has. */
  buckets: number;
  /** Payments of the last 24 hours. */
  recent: { time: number; amount: bigint; tag: string }[];
  /** Every policy that was in force, and since when. */
  policies: { version: number; since: number; policy: Policy }[];
  total: { payments: number; paid: bigint; withdrawn: bigint; deposited: bigint };
};

/** What a relayer would list of an account. */
export type Movement = {
  agent: string; kind: "transfer" | "withdrawal" | "deposit"; amount: bigint; signature: string; time: number;
  counterparty?: string; transferId?: Uint8Array; memo?: Uint8Array;
};

export class World {
  readonly past: Past;
  readonly program: Program;
  readonly findings: string[] = [];
  readonly open: string[] = [];
  /** What breaks no rule, and is to be known: one life at an address after another. */
  readonly remarks: string[] = [];
  operator?: { admin: string; pendingAdmin: string; policyAuthority: string; guardian: string; transferAuthorities: string[]; delay: number; isHalted: boolean };
  readonly accounts = new Map<string, Account>();
  readonly grants = new Map<string, Grant>();
  readonly approvers = new Map<string, Approver>(); // by their accounts' addresses
  approverEpoch = 0; // approvers' grants of an earlier one pay nothing
  approversVoidedAt = 0;
  readonly budgets = new Map<string, Budget>();
  /** The audited accounts by their token accounts, and what these hold. */
  readonly purses: Map<string, { agent: string; balance: bigint }>;
  readonly movements: Movement[] = [];
  /** Who was policy authority, and who was halted (`undefined`: all), from when to when. */
  readonly authorities: { key: string; from: Landed; until?: Landed }[] = [];
  /** What bound an account beside its policy, and the caps of budgets, also of those that wait. */
  readonly limits: { account: string; isByGrantOnly: boolean; month: bigint | null; budget: string; from: number; until?: number }[] = [];
  readonly caps: { budget: string; daily: bigint[]; month: (bigint | null)[]; from: number; until?: number }[] = [];
  readonly halts: { account?: string; from: number; until?: number }[] = [];
  newest?: { slot: number; time: number };

  constructor(past: Past, program: Program) {
    [this.past, this.program] = [past, program];
    this.purses = new Map(past.agents.map((agent) => [associated(agent, past.mint), { agent, balance: 0n }]));
  }

  /** `account`: the one that it is about, if any. Of one that is not audited, nothing is said. */
  finds(check: string, text: string, at?: Landed, account?: string) {
    if (account !== undefined && !this.past.agents.includes(account)) return;
    this.findings.push(`${check}: ${text}${at ? ` (${at.signature})` : ""}`);
  }

  leavesOpen(check: string, why: string) {
    const text = `${check}: cannot be told: ${why}`;
    if (!this.open.includes(text)) this.open.push(text);
  }
}

/** Ends what was so of one thing. */
export function ends<T extends { until?: number }>(spans: T[], is: (span: T) => boolean, at: number) {
  for (const span of spans.filter((it) => it.until === undefined && is(it))) span.until = at;
}

export const limit = (value: any): bigint | null => (value === null ? null : micros(value));
export const isAbove = (one: bigint | null, other: bigint | null) => other !== null && (one === null || one > other);
export const lower = (one: bigint | null, other: bigint | null) => (isAbove(one, other) ? other : one);
const keys = (list: any[]): string[] => list.map(String);

export const policyOf = ({ rules }: any, wallets: string[] | null, tokenAccounts: string[]): Policy => ({
  single: limit(rules.max_single_transfer), daily: limit(rules.max_daily_spend), memo: rules.require_memo, paused: rules.paused, wallets, tokenAccounts,
});
export const policyOfArgs = (args: any): Policy =>
  args.allowlist.Only ? policyOf(args, keys(args.allowlist.Only.wallets), keys(args.allowlist.Only.token_accounts)) : policyOf(args, null, []);

export function loosens(next: Policy, now: Policy): boolean {
  const hasOthers = (one: string[], other: string[]) => one.some((it) => !other.includes(it));
  const adds = now.wallets !== null &&
    (next.wallets === null || hasOthers(next.wallets, now.wallets) || hasOthers(next.tokenAccounts, now.tokenAccounts));
  return isAbove(next.single, now.single) || isAbove(next.daily, now.daily) || (now.memo && !next.memo) || (now.paused && !next.paused) || adds;
}

export const refusesAll = ({ paused, single, daily, wallets, tokenAccounts }: Policy) =>
  paused || single === 0n || daily === 0n || (wallets !== null && wallets.length + tokenAccounts.length === 0);

/** How long what was to wait waits: the longer of the delays then and now; without one then, for ever. */
export const delayOf = (then: number, now: number) => (then === 0 && now > 0 ? Infinity : Math.max(then, now));

/** What counts in 30 days, by calendar days, with this amount. */
export function inMonth(days: Map<number, bigint>, time: number, amount: bigint): bigint {
  const today = Math.max(Math.floor(time / DAY), ...days.keys());
  days.set(today, (days.get(today) ?? 0n) + amount);
  return [...days].reduce((sum, [day, paid]) => sum + (today - day < 31 ? paid : 0n), 0n);
}
