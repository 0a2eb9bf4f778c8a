// A file of signed refusals: its signatures, its chain, the heads that the operator wrote on Solana, and each refusal decided again at its place
// in the replay.

import { createHash } from "node:crypto";
import { type Node, linesOf } from "./node.mts";
import { associated, together } from "./past.mts";
import { accountId, microsOf } from "./relayer.mts";
import { fromBase58, isSignedBy, signed, usdc } from "./transaction.mts";
import { DAY, type Policy, type World } from "./world.mts";

const LINE_BYTES_MAX = 65_536;
const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const SLACK = 600; // seconds that clocks may be apart
const STRETCH = Math.floor((2 * DAY) / 31); // seconds that a payment may count longer
const MONTH = 32 * DAY; // seconds in which a payment may count against a cap for 30 days
const NOTHING = "0".repeat(64);

/** A line as the key signed it. */
type Good = { line: number; denial: any; number: number; hash: string };
type Spoiled = { line: number; number?: number; isForeign: boolean; why: string };
type Head = { number: number; sha256: string; signature: string; slot: number };
type Chain = { nodes: Node[]; read(subject: { operator: string }): Promise<World> };

export async function checkDenials(file: Buffer, keys: string[], operator: string | undefined, chain?: Chain) {
  const { good, spoiled, whose } = read(file, keys, operator);
  const findings: string[] = [];
  const finds = (kind: string, number: number | undefined, text: string) => findings.push(`${kind}: ${number === undefined ? "" : `denial ${number}: `}${text}`);
  let heads: Head[] = [];
  const open: string[] = [];
  if (chain) {
    if (!whose) throw new Error("no line of the file names an operator: name it with --operator");
    const world = await chain.read({ operator: whose });
    heads = await headsOf(world, chain.nodes);
    if (heads.length === 0 && good.length > 0) open.push("denials: cannot be told: no head on Solana");
    for (const one of good) {
      const why = contradicts(world, one.denial);
      if (why) finds("untrue", one.number, why);
    }
  }
  judge(good, spoiled, heads, finds);
  return { findings, open, said: [`${good.length} denials of ${whose}`] };
}

/** RFC 8785: keys in order, nothing else. */
function canonical(value: any): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

function read(file: Buffer, stated: string[], operator: string | undefined) {
  const keys = [...stated];
  let [whose, service] = [operator, ""];
  const [good, spoiled]: [Good[], Spoiled[]] = [[], []];
  // Lines end as on any system, behind a byte order mark or not; the last ones may be empty.
  const lines = file.toString().replace(/^\u{feff}/u, "").split("\n").map((line) => line.replace(/\r$/, ""));
  while (lines.at(-1) === "") lines.pop();
  lines.forEach((text, at) => {
    const line = at + 1;
    let value: any;
    try {
      value = JSON.parse(text);
    } catch {
      // It is none.
    }
    const denial = value?.denial;
    const spoils = (why: string, isForeign = false) => spoiled.push({ line, number: isForeign ? undefined : denial?.number, isForeign, why });
    if (!denial || text.length > LINE_BYTES_MAX || canonical(value) !== text || Object.keys(value).length !== 2) return spoils("it does not have the one form of a denial");
    const bytes = Buffer.from(canonical(denial));
    let isSigned = false;
    try {
      isSigned = isSignedBy(denial.key, bytes, fromBase58(value.signature));
    } catch {
      // Nor by a key.
    }
    if (!isSigned) return spoils("the signature does not match the document");
    if (keys.length === 0) keys.push(denial.key);
    if (!keys.includes(denial.key)) return spoils("another key signed it");
    if (denial.version !== 1) throw new Error(`line ${line} is of a version that this auditor does not know`);
    whose ??= denial.operator;
    service ||= `${denial.operator_id} ${denial.network}`;
    if (denial.operator !== whose || `${denial.operator_id} ${denial.network}` !== service) return spoils("it is of another operator's chain", true);
    good.push({ line, denial, number: denial.number, hash: createHash("sha256").update(bytes).digest("hex") });
  });
  return { good, spoiled, whose };
}

type Finds = (kind: string, number: number | undefined, text: string) => void;

/** Lines that were deleted, moved, edited or added, where the chain breaks, and which head contradicts it. */
function judge(good: Good[], spoiled: Spoiled[], heads: Head[], finds: Finds) {
  const kept = inOrder(good);
  const chain: Good[] = [];
  for (const one of [...good].sort((one, other) => one.number - other.number || Number(kept.has(other)) - Number(kept.has(one)) || one.line - other.line)) {
    const last = chain.at(-1);
    if (last?.number === one.number) {
      last.hash === one.hash ? finds("added", one.number, `line ${one.line} is a copy of line ${last.line}`) : finds("signed_twice", one.number, `the key signed another one, on line ${last.line}`);
      continue;
    }
    if (!kept.has(one)) finds("moved", one.number, `line ${one.line} is not at the place that its number says`);
    if ((last?.number ?? 0) + 1 === one.number && one.denial.previous_sha256 !== (last?.hash ?? NOTHING)) finds("does_not_follow", one.number, "it does not name the one before, and the key signed both");
    chain.push(one);
  }
  const numbers = new Set(chain.map((it) => it.number));
  const last = Math.max(0, ...numbers);
  for (const { line, number, isForeign, why } of spoiled) {
    // The number that it claims, or else one that is missing around it.
    const free = Array.from({ length: last + spoiled.length }, (_, at) => at + 1).filter((it) => !numbers.has(it));
    const high = good.find((it) => it.line > line)?.number;
    const most = high ?? Math.max(0, ...heads.map((it) => it.number)) + 1;
    const stood = isForeign ? undefined : (free.find((it) => it === number) ?? free.find((it) => it < most));
    finds(stood === undefined ? "added" : "edited", stood, `line ${line}: ${why}`);
    if (stood !== undefined) numbers.add(stood);
  }
  const end = Math.max(0, ...numbers, ...heads.map((it) => it.number));
  const missing = Array.from({ length: end }, (_, at) => at + 1).filter((it) => !numbers.has(it));
  if (missing.length > 0) finds("deleted", missing[0], `${missing.length} denials up to ${missing.at(-1)} are missing`);
  for (const head of heads) {
    const one = chain.find((it) => it.number === head.number);
    if (one && one.hash !== head.sha256) finds("rewritten", one.number, `Solana has another one since slot ${head.slot}, with SHA-256 ${head.sha256} (${head.signature})`);
  }
}

/** The longest run of lines whose numbers rise. */
function inOrder(good: Good[]): Set<Good> {
  const before = new Map<Good, Good | undefined>();
  const ends: Good[] = []; // of runs of each length, the one with the lowest number
  for (const one of good) {
    const at = ends.findIndex((end) => end.number >= one.number);
    const length = at < 0 ? ends.length : at;
    before.set(one, ends[length - 1]);
    ends[length] = one;
  }
  const kept = new Set<Good>();
  for (let one = ends.at(-1); one; one = before.get(one)) kept.add(one);
  return kept;
}

/** The memos of every key that was the operator's policy authority, each of the time in which it was. */
async function headsOf({ authorities, past }: World, nodes: Node[]): Promise<Head[]> {
  const heads = new Map<string, Head>();
  for (const { key, from, until } of authorities) {
    for (const node of nodes) {
      const lines = (await linesOf(node, key)).filter((line) => !line.err && line.slot >= from.slot && (!until || line.slot <= until.slot));
      const read = await together(lines, async (line) => headIn(await node.ask("getTransaction", [line.signature, { commitment: "finalized", encoding: "json", maxSupportedTransactionVersion: 1 }]), line.signature, key, past.operator));
      for (const head of read) if (head) heads.set(head.signature, head);
    }
  }
  return [...heads.values()];
}

function headIn(raw: any, signature: string, signer: string, operator: string): Head | undefined {
  if (!raw || raw.meta?.err || raw.transaction.signatures[0] !== signature || signed(raw) !== "well") return undefined;
  const { accountKeys, header, instructions } = raw.transaction.message;
  const signers = accountKeys.slice(0, header.numRequiredSignatures);
  for (const it of instructions) {
    if (accountKeys[it.programIdIndex] !== MEMO || !it.accounts.some((at: number) => signers[at] === signer)) continue;
    const [, of, number, sha256] = /^purser denials v1 (\S+) (\d+) ([0-9a-f]{64})$/.exec(fromBase58(it.data).toString()) ?? [];
    if (of === operator) return { number: Number(number), sha256, signature, slot: raw.slot };
  }
  return undefined;
}

/** Why a refusal is not so; `undefined`: it is, or that cannot be told. */
function contradicts(world: World, denial: any): string | undefined {
  const { past, accounts } = world;
  const micros = microsOf(denial.rejected_at);
  if (micros === undefined) return "its time cannot be read";
  const at = Number(micros / 1_000_000n);
  if (!/^\d+$/.test(denial.amount_micro_usdc)) return "its amount is none";
  if (past.untilTime !== undefined && at > past.untilTime + SLACK) return "it is dated later than what was read";
  const isLate = past.untilTime !== undefined && at > past.untilTime - SLACK;
  const policies = accounts.get(denial.account)?.policies;
  if (!policies) return isLate ? undefined : `${denial.account} never was an account of the operator`;
  if (accountId(past.genesis, denial.account) !== denial.account_id) return `${denial.account} has another id than ${denial.account_id}`;
  const spans = policies.map((it, place) => ({ ...it, until: policies[place + 1]?.since ?? Infinity })).filter((it) => denial.policy_version === null || it.version === denial.policy_version);
  if (spans.length === 0) {
    const isNext = denial.policy_version === policies.at(-1)!.version + 1 && isLate;
    return isNext ? undefined : `policy version ${denial.policy_version} never was in force`;
  }
  let why: string | undefined;
  for (const { version, since, until, policy } of spans) {
    const isThen = since - SLACK <= at && at <= until + SLACK;
    const found = isThen ? reason(world, denial, policy, at) : `policy version ${version} was not in force then`;
    if (found === undefined) return undefined;
    why ??= found;
  }
  return why;
}

/** Why this policy gives no such reason; `undefined` if it may. */
function reason(world: World, denial: any, policy: Policy, at: number): string | undefined {
  const amount = BigInt(denial.amount_micro_usdc);
  const bound = world.limits.filter((it) => it.account === denial.account && wasSo([it], denial.account, at));
  /** Whether one of these caps, and the one that the denial states, refuses it: caps, and how long payments count against each. */
  const exceeds = (rule: string, caps: [bigint, number][], isCounted: (agent: string) => boolean): string | undefined => {
    const said = denial.checks.find((it: any) => it.rule === rule)?.limit_micro_usdc;
    const left = (seconds: number) => world.movements
      .filter(({ agent, kind, time }) => isCounted(agent) && kind === "transfer" && time >= at - seconds - SLACK && time < at + SLACK)
      .reduce((sum, it) => sum + it.amount, 0n);
    return caps.some(([cap, seconds]) => (said === undefined || String(cap) === said) && amount + left(seconds) > cap) ? undefined : `none of the caps then refuses it`;
  };
  const stated = (rule: string, limit: bigint | null): string | undefined => {
    const check = denial.checks.find((it: any) => it.rule === rule);
    const said = check && (check.limit_micro_usdc === null ? null : BigInt(check.limit_micro_usdc));
    return check && said !== limit ? `it states the limit ${said ?? "none"}, and the policy's was ${limit ?? "none"} micro-USDC` : undefined;
  };
  switch (denial.reason) {
    case "halted":
      return wasSo(world.halts, denial.account, at) ? undefined : "nothing was halted then";
    case "grant_required":
      return bound.some((it) => it.isByGrantOnly) ? undefined : "the account paid without grants";
    case "paused":
      return policy.paused ? undefined : "the policy was not paused";
    case "memo_required":
      return policy.memo ? undefined : "the policy needed no memo";
    case "memo_too_long": // the denial holds no memo
      return undefined;
    case "recipient_not_allowed":
      return isListed(world, policy, denial.to) ? "the policy let it be paid" : undefined;
    case "single_limit_exceeded":
      return stated("max_single_transfer", policy.single) ?? (policy.single !== null && amount > policy.single ? undefined : "the amount was within the single limit");
    case "daily_limit_exceeded": {
      const paid = world.movements.filter(({ agent, kind, time }) => agent === denial.account && kind === "transfer" && time >= at - DAY - STRETCH - SLACK && time < at + SLACK);
      const left = paid.reduce((sum, it) => sum + it.amount, 0n);
      const fits = policy.daily === null || amount + left <= policy.daily;
      return stated("max_daily_spend", policy.daily) ?? (fits ? `at most ${usdc(left)} had left in the day` : undefined);
    }
    case "month_limit_exceeded": {
      const caps = bound.flatMap(({ month }): [bigint, number][] => (month === null ? [] : [[month, MONTH]]));
      return caps.length === 0 ? "the account had no cap for 30 days" : exceeds("max_30_day_spend", caps, (agent) => agent === denial.account);
    }
    case "budget_exceeded": {
      const budgets = bound.map((it) => it.budget).filter((it) => it !== "");
      if (budgets.length === 0) return "the account paid through no budget";
      const own = world.caps.filter(({ budget }) => budgets.includes(budget));
      const then = own.filter((it) => wasSo([it], denial.account, at));
      const caps = then.flatMap(({ daily, month }): [bigint, number][] => [
        ...daily.map((cap): [bigint, number] => [cap, DAY + STRETCH]), ...month.flatMap((cap): [bigint, number][] => (cap === null ? [] : [[cap, MONTH]])),
      ]);
      // Through one that is closed nothing is paid.
      if (!own.some((it) => it.from + SLACK <= at && at <= (it.until ?? Infinity) - SLACK)) caps.push([0n, DAY]);
      return exceeds("budget", caps, () => true);
    }
    default:
      return `${denial.reason} is no reason`;
  }
}

/** Whether something was so at a time, for an account or for all. */
function wasSo(spans: { account?: string; from: number; until?: number }[], account: string, at: number): boolean {
  return spans.some((it) => (it.account ?? account) === account && it.from - SLACK <= at && at <= (it.until ?? Infinity) + SLACK);
}

/** Whether the list lets it be paid for certain: a token account by itself, an account of the operator by its address. */
function isListed({ past, accounts }: World, { wallets, tokenAccounts }: Policy, to: string): boolean {
  if (wallets === null) return true;
  const agent = [...accounts.keys()].find((it) => accountId(past.genesis, it) === to || associated(it, past.mint) === to);
  return (agent !== undefined && wallets.includes(agent)) || tokenAccounts.includes(agent ? associated(agent, past.mint) : to);
}
