// An audit of one agent account from the chain alone, without a line of Purser's code: the program's IDL, Anchor's library and
// an RPC node that keeps all of the past. docs/auditing.md says what it checks and what it leaves to `purser audit`.
//
//     node auditor.mts --url URL --account ADDRESS --idl purser.json
//
// Exit status as of `purser audit`: 0 everything holds, 1 something does not, 2 it could not be done.

import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { BorshCoder, EventParser, utils, web3, type Idl } from "@anchor-lang/core";

const DAY = 86_400; // seconds
const AT_ONCE = 8; // transactions that are asked for at the same time
const FINAL = { commitment: "finalized" };
const GRANT_SECONDS_MAX = 30 * DAY;
const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const SYSTEM = "11111111111111111111111111111111";
const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

/** An instruction of the token program; `moves` if it is a transfer. */
type Told = { number: number; accounts: string[]; moves?: { source: string; destination: string; amount: bigint } };
/** `moved`: what it had the token program move; `undefined` if an old node does not tell. */
type Call = {
  name: string; args: any; accounts: Record<string, string>; more: string[]; signer: string; isInner: boolean; moved?: string[];
  /** The memo right before it, in the message. */
  memo?: string;
};
type Balance = { before: bigint; after: bigint; owner?: string };
type Landed = {
  signature: string; time: number; signers: string[]; calls: Call[]; told: Told[]; events: any[]; isCut: boolean; balances: Map<string, Balance>;
};
/** Amounts in micro-USDC; `null` is no limit, and no list: anyone may be paid. */
type Policy = { single: bigint | null; daily: bigint | null; memo: boolean; paused: boolean; wallets: string[] | null; tokenAccounts: string[] };
type Agent = { version: number; policy: Policy; isHalted: boolean; payments: bigint };
/** `by`: what the key that opened it was. */
type Grant = { terms: any; left: bigint; epoch: number; approverEpoch: number; by: string; openedAt: number; delay: number };
type Approver = { atOnce: bigint; daily: bigint; granted: { time: number; amount: bigint }[] };
type Budget = {
  daily: bigint; month: bigint | null;
  /** A raise that waits, since when, and the delay of then. */
  raised?: { daily: bigint; month: bigint | null; at: number; delay: number };
  paid: { time: number; amount: bigint }[]; days: Map<number, bigint>;
};
type Draft = { args: any; entries: string[]; sealed?: { at: number; delay: number } };

const { values: options } = parseArgs({ options: { url: { type: "string" }, account: { type: "string" }, idl: { type: "string" } } });
const { url, account, idl: idlFile } = options;
const program: Idl = idlFile ? JSON.parse(readFileSync(idlFile, "utf8")) : undefined;
const coder = new BorshCoder(program);
const parser = new EventParser(new web3.PublicKey(program.address), coder);

const micros = (value: any): bigint => BigInt(value.toString());
const limit = (value: any): bigint | null => (value === null ? null : micros(value));
const usdc = (value: bigint): string => `${value / 1_000_000n}.${String(value % 1_000_000n).padStart(6, "0")} USDC`;
const keys = (list: any[]): string[] => list.map(String);

const findings: string[] = [];
const finds = (check: string, text: string, at?: Landed) => findings.push(`${check}: ${text}${at ? ` (${at.signature})` : ""}`);

// --- What the node says ---------------------------------------------------------------------------------------------------

async function ask(method: string, params: unknown[]): Promise<any> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url!, { method: "POST", headers: { "content-type": "application/json" }, body });
    if ((response.status === 429 || response.status >= 500) && attempt < 7) {
      await new Promise((done) => setTimeout(done, 250 * 2 ** attempt));
      continue;
    }
    const answer: any = await response.json();
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }
}

/** The lines of an address, oldest first. */
async function linesOf(address: string): Promise<any[]> {
  const lines: any[] = [];
  for (;;) {
    const page = await ask("getSignaturesForAddress", [address, { ...FINAL, limit: 1_000, before: lines.at(-1)?.signature }]);
    if (page.length === 0) return lines.reverse();
    lines.push(...page);
  }
}

/** Every line once: slots order them, and within a slot nothing comes before what a list puts before it. */
function ordered(lists: any[][]): any[] {
  const places = lists.map((list) => new Map(list.map((line, place) => [line.signature, place])));
  const next = lists.map(() => 0);
  const merged: any[] = [];
  for (;;) {
    const heads = lists.map((list, at) => list[next[at]]).filter((line) => line !== undefined);
    if (heads.length === 0) return merged;
    const slot = Math.min(...heads.map((line) => line.slot));
    const isFree = (line: any) => places.every((place, at) => (place.get(line.signature) ?? next[at]) <= next[at]);
    const inSlot = heads.filter((line) => line.slot === slot);
    const first = inSlot.find(isFree) ?? inSlot[0];
    merged.push(first);
    lists.forEach((list, at) => (next[at] += list[next[at]]?.signature === first.signature ? 1 : 0));
  }
}

/** A transaction of a list's line. */
async function read({ signature, blockTime }: any): Promise<Landed> {
  const found = await ask("getTransaction", [signature, { ...FINAL, encoding: "json", maxSupportedTransactionVersion: 1 }]);
  if (!found) throw new Error(`the node lists ${signature} and no longer has it`);
  const { meta, transaction: { message } } = found;
  const all: string[] = [...message.accountKeys, ...(meta.loadedAddresses?.writable ?? []), ...(meta.loadedAddresses?.readonly ?? [])];
  const inner = (index: number) => (meta.innerInstructions ?? []).find((it: any) => it.index === index)?.instructions ?? [];
  const instructions = message.instructions.flatMap((it: any, index: number) =>
    [{ ...it, index, isInner: false }, ...inner(index).map((it: any) => ({ ...it, index, isInner: true }))]);
  const isToken = (it: any) => all[it.programIdIndex] === TOKEN;
  // What a call has the token program do follows it, deeper down.
  const movedBy = (it: any, place: number): string[] | undefined => {
    if (it.isInner && it.stackHeight === undefined) return undefined;
    const rest = instructions.slice(place + 1);
    const end = rest.findIndex((next: any) => next.index !== it.index || (it.isInner && next.stackHeight <= it.stackHeight));
    const moves = rest.slice(0, end < 0 ? undefined : end).filter(isToken).map((it: any) => told(it, all).moves);
    return moves.filter((it: any) => it !== undefined).map(({ source, destination, amount }: any) => move(source, destination, amount));
  };
  const memoBefore = ({ isInner, index }: any): string | undefined => {
    const before = isInner ? undefined : message.instructions[index - 1];
    return before && all[before.programIdIndex] === MEMO ? Buffer.from(utils.bytes.bs58.decode(before.data)).toString() : undefined;
  };
  const balances = new Map<string, Balance>();
  for (const [side, list] of [["before", meta.preTokenBalances], ["after", meta.postTokenBalances]] as const) {
    for (const { accountIndex, owner, uiTokenAmount } of list ?? []) {
      const known = balances.get(all[accountIndex]) ?? { before: 0n, after: 0n };
      balances.set(all[accountIndex], { ...known, owner, [side]: BigInt(uiTokenAmount.amount) });
    }
  }
  const log: string[] = meta.logMessages ?? [];
  const landed: Landed = {
    signature, balances, time: found.blockTime ?? blockTime, signers: message.accountKeys.slice(0, message.header.numRequiredSignatures),
    calls: instructions.flatMap((it: any, place: number) => all[it.programIdIndex] === program.address ? [{ ...call(it, all), moved: movedBy(it, place), memo: memoBefore(it) }] : []),
    told: instructions.filter(isToken).map((it: any) => told(it, all)),
    events: log.length > 0 ? [...parser.parseLogs(log)] : [], isCut: log.length === 0 || log.includes("Log truncated"),
  };
  // What does nothing here may be anybody's: of a version that nobody knows, without a date, a gift of a local network's own.
  const held = balances.get(purse);
  const concerns = landed.calls.length > 0 || (held !== undefined && held.before !== held.after);
  if ((found.blockTime ?? blockTime ?? null) === null && concerns) throw new Error(`the node does not know when ${signature} was made, so nothing that counts time can be told`);
  const isKnown = found.version === undefined || found.version === "legacy" || found.version === 0;
  if (!isKnown && concerns) throw new Error(`${signature} has a version that cannot be put together`);
  const isGift = message.instructions.every((it: any) => all[it.programIdIndex] === SYSTEM && String([...utils.bytes.bs58.decode(it.data)].slice(0, 4)) === "2,0,0,0");
  if (isKnown && !isSigned(signature, found) && (concerns || !isGift)) finds("signatures", "The transaction is not what was signed.", landed);
  return landed;
}

function call({ accounts, data, isInner }: any, all: string[]): Call {
  const decoded = coder.instruction.decode(data, "base58");
  if (!decoded) throw new Error("an instruction of the program that the IDL does not know: take the IDL of the program that runs");
  const { accounts: places } = program.instructions.find((it) => it.name === decoded.name)!;
  const named = Object.fromEntries(places.map((place, at) => [place.name, all[accounts[at]]]));
  const more = accounts.slice(places.length).map((it: number) => all[it]);
  return { name: decoded.name, args: decoded.data, accounts: named, more, signer: all[accounts[0]], isInner };
}

const move = (source: string, destination: string, amount: bigint) => `${usdc(amount)} from ${source} to ${destination}`;

function told(it: any, all: string[]): Told {
  const data = Buffer.from(utils.bytes.bs58.decode(it.data));
  const accounts = it.accounts.map((index: number) => all[index]);
  const to = data[0] === 3 ? 1 : data[0] === 12 ? 2 : undefined; // Transfer, TransferChecked
  const moves = to !== undefined && data.length > 8 ? { source: accounts[0], destination: accounts[to], amount: data.readBigUInt64LE(1) } : undefined;
  return { number: data[0], accounts, moves };
}

/** Puts the message together as it was signed, and checks each signature over it. */
function isSigned(signature: string, { version, transaction: { message, signatures } }: any): boolean {
  const signed = version === "legacy" ? new web3.Message(message) : new web3.MessageV0({
    ...message, staticAccountKeys: message.accountKeys.map((key: string) => new web3.PublicKey(key)),
    compiledInstructions: message.instructions.map((it: any) => ({ ...it, accountKeyIndexes: it.accounts, data: utils.bytes.bs58.decode(it.data) })),
    addressTableLookups: message.addressTableLookups.map((it: any) => ({ ...it, accountKey: new web3.PublicKey(it.accountKey) })),
  });
  const bytes = signed.serialize();
  const isComplete = signatures[0] === signature && signatures.length === message.header.numRequiredSignatures;
  return isComplete && signatures.every((one: string, at: number) => {
    const x = new web3.PublicKey(message.accountKeys[at]).toBuffer().toString("base64url");
    return verify(null, bytes, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }), utils.bytes.bs58.decode(one));
  });
}

// --- What the signed instructions add up to -------------------------------------------------------------------------------

const operator = {
  address: "", admin: "", pendingAdmin: "", policyAuthority: "", guardian: "", transferAuthorities: [] as string[], delay: 0, isHalted: false,
};
let agent: Agent | undefined;
let draft: Draft | undefined;
const grants = new Map<string, Grant>();
let grantEpoch = 0; // grants of an earlier one pay nothing
const approvers = new Map<string, Approver>(); // by their keys
const places = new Map<string, string>(); // their accounts' addresses, and their keys
let approverEpoch = 0; // approvers' grants of an earlier one pay nothing
let isByGrantOnly = false;
let budget = ""; // through which it pays
const budgets = new Map<string, Budget>();
let month: { cap: bigint; days: Map<number, bigint> } | undefined; // paid since there is a cap for 30 days, by days
let purse = ""; // its USDC account
let balance = 0n;
let isClosed = false;
const seconds = new Map<bigint, number>(); // when each payment was made, by its number
let newest = 0; // the date of the newest block
let recent: { time: number; amount: bigint; tag: string }[] = []; // payments of the last 24 hours
const total = { payments: 0, paid: 0n, withdrawn: 0n, deposited: 0n };

const policyOf = (args: any, wallets: string[] | null, tokenAccounts: string[]): Policy => ({
  single: limit(args.max_single_transfer), daily: limit(args.max_daily_spend), memo: args.require_memo, paused: args.paused, wallets, tokenAccounts,
});
const policyOfArgs = (args: any): Policy =>
  args.allowlist.Only ? policyOf(args, keys(args.allowlist.Only.wallets), keys(args.allowlist.Only.token_accounts)) : policyOf(args, null, []);

function loosens(next: Policy, now: Policy): boolean {
  const hasOthers = (one: string[], other: string[]) => one.some((it) => !other.includes(it));
  const adds = now.wallets !== null &&
    (next.wallets === null || hasOthers(next.wallets, now.wallets) || hasOthers(next.tokenAccounts, now.tokenAccounts));
  return isAbove(next.single, now.single) || isAbove(next.daily, now.daily) || (now.memo && !next.memo) || (now.paused && !next.paused) || adds;
}

/** Puts a policy in force. `sealed`: its draft's second, and the delay of that moment; without, it was not to be seen before. */
function replace(policy: Policy, expected: number, { signer }: Call, at: Landed, sealed?: Draft["sealed"]) {
  if (!agent) return;
  if (agent.version !== expected) finds("policy_changes", `A policy written against version ${expected} replaced version ${agent.version}.`, at);
  // The longer of the delays then and now; without one then, for ever; in a halt, too.
  const isHalted = sealed !== undefined && (agent.isHalted || operator.isHalted);
  const delay = sealed?.delay === 0 || isHalted ? Infinity : Math.max(operator.delay, sealed?.delay ?? 0);
  // Blocks may be dated a second apart.
  const waited = sealed === undefined ? -1 : at.time - sealed.at + 1;
  const hasDelay = operator.delay > 0 || (sealed?.delay ?? 0) > 0;
  if (hasDelay && signer !== operator.admin && waited < delay && loosens(policy, agent.policy)) {
    finds("policy_changes", `${signer} put a loosened policy in force that had to wait ${delay} seconds.`, at);
  }
  agent = { ...agent, policy, version: expected + 1 };
}

/** The payee's key, and its kind in words. */
const payeeOf = ({ payee }: any): [string, string] => (payee.Wallet ? ["wallet", String(payee.Wallet[0])] : ["token account", String(payee.TokenAccount[0])]);

/** The rules that a payment may pass by the grant that it names: list, single limit, daily limit. */
function waived({ args, accounts }: Call, owner: string | undefined, version: number, at: Landed): boolean[] {
  if (accounts.grant === undefined || accounts.grant === program.address) {
    if (isByGrantOnly) finds("allowlist", "A payment was made without a grant; the account pays by grants alone.", at);
    return [false, false, false];
  }
  const grant = grants.get(accounts.grant);
  const terms = grant?.terms;
  const amount = micros(args.amount);
  const isVoid = grant?.by === "approver" && grant.approverEpoch !== approverEpoch;
  const isOpen = grant && grant.epoch === grantEpoch && !isVoid && (terms.policy_version ?? version) === version;
  const memoHash = createHash("sha256").update(args.memo).digest();
  const isMemo = !terms?.memo_hash || String([...memoHash]) === String([...terms.memo_hash]);
  const loosens = terms && (terms.beyond_allowlist || terms.beyond_single_limit || isByGrantOnly);
  const delay = grant?.delay === 0 && operator.delay > 0 ? Infinity : Math.max(grant?.delay ?? 0, operator.delay);
  const isEarly = grant?.by === "policy authority" && loosens && at.time + 1 < grant.openedAt + delay;
  const isTagged = terms?.tag === null || (String(terms?.tag.toArray("le", 8)) === String([...args.transfer_id.slice(8)]) && amount === grant?.left);
  // Blocks may be dated a second apart.
  const isCovered = isOpen && isMemo && !isEarly && payeeOf(terms)[1] === (terms.payee.Wallet ? owner : accounts.destination) && isTagged
    && BigInt(at.time - 1) < micros(terms.expires_at) && amount <= grant.left;
  if (!grant) {
    finds("state", `A payment was made by the grant ${accounts.grant}, whose opening is not among the transactions.`, at);
    return [false, false, false];
  }
  if (!isCovered) {
    finds("allowlist", `A payment was made by the grant ${accounts.grant}, which did not cover it.`, at);
    return [false, false, false];
  }
  grant.left -= amount;
  return [terms.beyond_allowlist, terms.beyond_single_limit, terms.beyond_daily_limit];
}

/** Whether the program opens a grant of these terms at this address: where none is open. Blocks may be dated a second apart. */
function isGrantable({ args: { id, terms }, accounts }: Call, at: Landed): boolean {
  const seeds = [Buffer.from("grant"), new web3.PublicKey(accounts.agent).toBuffer(), id.toArrayLike(Buffer, "le", 8)];
  const [own] = web3.PublicKey.findProgramAddressSync(seeds, new web3.PublicKey(program.address));
  const end = Number(terms.expires_at);
  // Stored, 0 stands for none.
  const isNothing = terms.tag?.isZero() || terms.policy_version === 0 || terms.memo_hash?.every((byte: number) => byte === 0);
  return own.toString() === accounts.grant && !grants.has(accounts.grant) && micros(terms.amount) > 0n && end >= at.time && end <= at.time + GRANT_SECONDS_MAX && !isNothing;
}

/** What an approver's wallet has to show. */
function approval({ args: { terms }, accounts }: Call): string {
  const [kind, payee] = payeeOf(terms);
  const until = new Date(Number(terms.expires_at) * 1_000).toISOString().replace("T", " ").replace(".000Z", " UTC");
  return `Purser: let ${accounts.agent} pay ${usdc(micros(terms.amount))} to the ${kind} ${payee} until ${until}`;
}

/** A grant of an approver, of any account of the operator, against its limits, and against what its wallet showed. */
function approve(it: Call, at: Landed) {
  const { args: { terms }, signer } = it;
  if (it.isInner || it.memo !== approval(it)) finds("policy_changes", `${signer} approved a payment, and no memo before it says so.`, at);
  const approver = approvers.get(signer);
  const amount = micros(terms.amount);
  const isOnServer = [operator.admin, operator.policyAuthority, ...operator.transferAuthorities].includes(signer);
  if (!approver || isOnServer) return finds("policy_changes", `${signer} approved a payment, and was no approver of the operator then.`, at);
  approver.granted = approver.granted.filter((it) => at.time - it.time < DAY);
  approver.granted.push({ time: at.time, amount });
  const day = approver.granted.reduce((sum, it) => sum + it.amount, 0n);
  if (amount > approver.atOnce || day > approver.daily) finds("policy_changes", `${signer} approved more than its limits allow.`, at);
}

const throughBudget = ({ accounts }: Call): string => (accounts.budget === undefined || accounts.budget === program.address ? "" : accounts.budget);

/** What counts in 30 days, by calendar days, with this amount. */
function inMonth(days: Map<number, bigint>, time: number, amount: bigint): bigint {
  const today = Math.max(Math.floor(time / DAY), ...days.keys());
  days.set(today, (days.get(today) ?? 0n) + amount);
  return [...days].reduce((sum, [day, paid]) => sum + (today - day < 31 ? paid : 0n), 0n);
}

const isAbove = (one: bigint | null, other: bigint | null) => other !== null && (one === null || one > other);
const lower = (one: bigint | null, other: bigint | null) => (isAbove(one, other) ? other : one);

/** The caps of a budget at a time: a raise that waited long enough needs nobody to apply it. */
function capsOf({ daily, month, raised }: Budget, time: number): { daily: bigint; month: bigint | null } {
  const waits = raised === undefined || (raised.delay === 0 && operator.delay > 0) ? Infinity : Math.max(raised.delay, operator.delay);
  return raised && time + 1 >= raised.at + waits ? raised : { daily, month };
}

function setBudget({ args, accounts, signer }: Call, at: Landed) {
  const known = budgets.get(accounts.budget);
  const { admin, guardian } = operator;
  if (!known && signer !== admin) finds("signer", `${signer} made a budget, which only the admin does.`, at);
  const next = { daily: micros(args.caps.max_daily_spend), month: limit(args.caps.max_30_day_spend) };
  const now = known ? capsOf(known, at.time) : { daily: 0n, month: 0n };
  const isRaise = next.daily > now.daily || isAbove(next.month, now.month);
  const waits = isRaise && signer !== admin && operator.delay > 0;
  if (known && isRaise && (signer === guardian || (waits && operator.isHalted))) finds("policy_changes", `${signer} raised a budget that it could not raise.`, at);
  const raised = waits ? { ...next, at: at.time, delay: operator.delay } : undefined;
  const held = { daily: waits && next.daily > now.daily ? now.daily : next.daily, month: waits ? lower(next.month, now.month) : next.month };
  budgets.set(accounts.budget, { paid: [], days: new Map(), ...known, ...held, raised });
}

/** A payment of any account of the operator, counted in the budget that it names. */
function spend(it: Call, at: Landed) {
  const named = budgets.get(throughBudget(it));
  const isOwn = it.accounts.agent === account;
  if (!named) return throughBudget(it) !== "" && isOwn ? finds("state", "A payment went through a budget whose beginning is not among the transactions.", at) : undefined;
  const amount = micros(it.args.amount);
  named.paid = named.paid.filter((it) => at.time - it.time < DAY);
  named.paid.push({ time: at.time, amount });
  const { daily, month } = capsOf(named, at.time);
  const [day, days] = [named.paid.reduce((sum, it) => sum + it.amount, 0n), inMonth(named.days, at.time, amount)];
  if (isOwn && (day > daily || (month !== null && days > month))) finds("daily_limit", `A payment of ${usdc(amount)} went past the budget.`, at);
}

function closeBudget({ accounts }: Call, at: Landed) {
  const known = budgets.get(accounts.budget);
  if (!known || inMonth(known.days, at.time, 0n) > 0n) finds("daily_limit", "A budget was closed while payments counted in it.", at);
  budgets.delete(accounts.budget);
}

function transfer(it: Call, at: Landed, events: any[]): bigint {
  const { args, accounts, signer } = it;
  const amount = micros(args.amount);
  if (!operator.transferAuthorities.includes(signer)) finds("signer", `${signer} paid, and was no transfer authority of the operator then.`, at);
  if (!agent) return amount;
  const event = events.shift();
  if (!event && !at.isCut) finds("log", "The log hides the event of a payment.", at);
  const number = BigInt(event?.number.toString() ?? Math.max(Number(agent.payments), args.sequence) + 1);
  const expected = agent.payments + 1n;
  if (number < expected) finds("numbering", `A payment is numbered ${number}; it is number ${expected}.`, at);
  if (number > expected) finds("numbering", `${number - expected} payment(s) from number ${expected} on are missing.`, at);
  agent.payments = number > expected ? number : expected;
  const owner = at.balances.get(accounts.destination)?.owner ?? event?.recipient_owner.toString();
  const signed = [amount, accounts.destination, owner, agent.version, args.memo.toString("hex"), String(args.transfer_id)].join(", ");
  const told = event && [event.amount, event.recipient, event.recipient_owner, event.policy_version, event.memo.toString("hex"), event.transfer_id].join(", ");
  if (event && told !== signed) finds("log", `The log says ${told}; signed was ${signed}.`, at);

  const { version } = agent;
  const refuses = (check: string, why: string) =>
    finds(check, `Payment ${number} of ${usdc(amount)} was made although policy version ${version} refuses it: ${why}.`, at);
  const { policy } = agent;
  const [pastList, pastSingle, pastDaily] = waived(it, owner, version, at);
  if (policy.paused || agent.isHalted || operator.isHalted) refuses("halted", "the account was paused or halted");
  if (policy.memo && args.memo.length === 0) refuses("memo", "it has no memo");
  // A wallet counts as the owner of what is paid and as nothing else, a token account as itself.
  const isListed = policy.wallets === null || policy.wallets.includes(owner) || policy.tokenAccounts.includes(accounts.destination);
  if (!isListed && !pastList) refuses("allowlist", "its recipient is not on the allowlist");
  if (policy.single !== null && !pastSingle && amount > policy.single) refuses("single_limit", `at most ${usdc(policy.single)} at once`);
  seconds.set(agent.payments, at.time);
  recent = recent.filter((it) => at.time - it.time < DAY);
  const tag = String(args.transfer_id.slice(8));
  if (recent.some((it) => it.tag === tag)) finds("paid_once", `The tag of payment ${number} was paid twice in 24 hours.`, at);
  recent.push({ time: at.time, amount, tag });
  const spent = recent.reduce((sum, it) => sum + it.amount, 0n);
  if (policy.daily !== null && !pastDaily && spent > policy.daily) {
    finds("rolling_day", `${usdc(spent)} left in the 24 hours up to payment ${number}; the limit was ${usdc(policy.daily)}.`, at);
  }
  if (throughBudget(it) !== budget) {
    refuses("daily_limit", "it did not go through the account's budget");
  }
  if (month && inMonth(month.days, at.time, amount) > month.cap) refuses("daily_limit", `at most ${usdc(month.cap)} in 30 days`);
  total.payments += 1;
  total.paid += amount;
  return amount;
}

/** A payment moved what it says, to whom it says; what the recipient gained is what was moved to it. */
function goesTo(destination: string, amount: bigint, { moved }: Call, at: Landed) {
  const expected = amount > 0n ? move(purse, destination, amount) : "";
  if (moved && moved.join() !== expected) finds("recipients", `Signed was ${expected || "nothing"}; the program moved ${moved.join() || "nothing"}.`, at);
  const about = at.told.filter((it) => it.accounts.includes(destination));
  if (amount === 0n || destination === purse || about.some((it) => !it.moves)) return;
  const sum = (side: "source" | "destination") => about.reduce((sum, { moves }) => sum + (moves![side] === destination ? moves!.amount : 0n), 0n);
  const held = at.balances.get(destination);
  if (!held || held.after - held.before !== sum("destination") - sum("source")) {
    finds("recipients", `${destination} gained ${held ? usdc(held.after - held.before) : "nothing that the node shows"}, and not what was moved to it.`, at);
  }
}

/** One transaction. Every instruction of the program is covered by the signature of a key that must have the right to it. */
function apply(at: Landed) {
  let out = 0n;
  at.time ??= newest; // what has no date does nothing here
  if (at.time < newest - 1) finds("dates", "The node dates this block before one of an earlier slot.", at);
  newest = at.time;
  const paid = at.events.filter((it) => it.name === "TransferExecuted" && String(it.data.agent) === account).map((it) => it.data);
  for (const it of at.calls) {
    const { name, args, accounts, signer } = it;
    const isOperators = accounts.agent === undefined || accounts.agent === program.address;
    const isResumedToo = name === "resume" && it.more.includes(account); // accounts after a resume's own are more agents
    const isApprovers = name === "open_grant" && accounts.approver !== program.address;
    if (accounts.operator === operator.address && isApprovers) approve(it, at);
    if (accounts.operator === operator.address && name === "transfer_extended") spend(it, at);
    if (accounts.operator !== operator.address || (!isOperators && accounts.agent !== account && !isResumedToo)) continue;
    const mayBe = (...who: string[]) => {
      if (!who.includes(signer)) finds("signer", `${signer} signed ${name} without the right to it.`, at);
    };
    // A calling program signs for its own addresses, which are not on the curve.
    const isPrograms = it.isInner && !web3.PublicKey.isOnCurve(new web3.PublicKey(signer).toBytes());
    if (!isPrograms && !at.signers.includes(signer)) finds("signer", `${signer} is named as a signer and did not sign.`, at);
    const { admin, policyAuthority, guardian } = operator;
    switch (name) {
      case "create_operator": case "update_operator": {
        const set = args.keys ?? args.update;
        if (name === "create_operator") operator.admin = signer; else mayBe(admin);
        operator.policyAuthority = String(set.policy_authority ?? policyAuthority);
        operator.guardian = String(set.guardian ?? guardian);
        operator.pendingAdmin = String(set.pending_admin ?? operator.pendingAdmin);
        operator.transferAuthorities = set.transfer_authorities ? keys(set.transfer_authorities) : operator.transferAuthorities;
        operator.delay = set.loosening_delay_seconds ?? operator.delay;
        break;
      }
      case "accept_admin":
        mayBe(operator.pendingAdmin);
        Object.assign(operator, { admin: signer, pendingAdmin: "" });
        break;
      case "halt": case "resume":
        name === "halt" ? mayBe(admin, policyAuthority, guardian) : mayBe(admin);
        if (isOperators) operator.isHalted = name === "halt";
        if (agent && (accounts.agent === account || isResumedToo)) agent.isHalted = name === "halt";
        break;
      case "create_agent": // with its birth policy, version 1
        isClosed ? mayBe(admin) : mayBe(admin, policyAuthority);
        grantEpoch = isClosed ? (grantEpoch + 1) % 256 : 0; // none of the grants of the account before
        isClosed = false;
        [isByGrantOnly, budget, month] = [false, "", undefined];
        agent = { version: 1, policy: policyOfArgs(args.policy), isHalted: false, payments: 0n };
        break;
      case "set_policy":
        mayBe(admin, policyAuthority);
        replace(policyOfArgs(args.policy), args.expected_version, it, at);
        break;
      case "set_paused":
        mayBe(admin, policyAuthority);
        if (agent) replace({ ...agent.policy, paused: args.paused }, agent.version, it, at);
        break;
      case "open_draft":
        mayBe(admin, policyAuthority);
        draft = { args: args.args, entries: [] };
        if (!args.args.entries) draft.sealed = { at: at.time, delay: operator.delay };
        break;
      case "write_draft": {
        mayBe(admin, policyAuthority);
        if (!draft || args.start !== draft.entries.length) finds("policy_changes", "Entries of a draft are missing.", at);
        draft?.entries.push(...keys(args.entries));
        const { wallets, token_accounts } = draft?.args.entries ?? { wallets: 0, token_accounts: 0 };
        if (draft && draft.entries.length === wallets + token_accounts) draft.sealed = { at: at.time, delay: operator.delay };
        break;
      }
      case "apply_draft": {
        mayBe(admin, policyAuthority);
        if (!draft || draft.sealed === undefined) {
          finds("policy_changes", "A draft was put in force that was not opened, or not sealed.", at);
          break;
        }
        const { args: opened, entries, sealed } = draft;
        const count = opened.entries?.wallets; // wallets come first
        const policy = count === undefined ? policyOf(opened, null, []) : policyOf(opened, entries.slice(0, count), entries.slice(count));
        replace(policy, opened.expected_version, it, at, sealed);
        draft = undefined;
        break;
      }
      case "close_draft":
        mayBe(admin, policyAuthority, guardian);
        draft = undefined;
        break;
      case "open_grant": {
        const { terms } = args;
        const by = isApprovers ? "approver" : signer === admin ? "admin" : "policy authority";
        if (!isApprovers) mayBe(admin, policyAuthority);
        const isBound = terms.tag !== null && terms.memo_hash !== null && terms.policy_version === agent?.version;
        const isTooMuch = by !== "admin" && (terms.beyond_daily_limit || operator.isHalted || agent?.isHalted);
        if (!isGrantable(it, at)) finds("policy_changes", `${signer} opened a grant that the program does not open.`, at);
        if (isTooMuch || (isApprovers && !isBound)) finds("policy_changes", `${signer} opened a grant that only the admin opens.`, at);
        const opened = { openedAt: at.time, delay: operator.delay, epoch: grantEpoch, approverEpoch };
        grants.set(accounts.grant, { terms, left: micros(terms.amount), by, ...opened });
        break;
      }
      case "set_approver": {
        mayBe(admin);
        const limits = { atOnce: micros(args.max_grant), daily: micros(args.max_daily) };
        places.set(accounts.approver, String(args.key));
        approvers.set(String(args.key), { granted: [], ...approvers.get(String(args.key)), ...limits });
        break;
      }
      case "remove_approver":
        mayBe(admin);
        approvers.delete(places.get(accounts.approver) ?? "");
        approverEpoch = (approverEpoch + 1) % 256;
        break;
      case "set_bounds": {
        mayBe(admin, policyAuthority);
        const { by_grant_only, max_30_day_spend } = args.bounds;
        const cap = limit(max_30_day_spend);
        const next = args.bounds.budget === null ? "" : String(args.bounds.budget);
        const isLooser = (budget !== "" && next !== budget) || (isByGrantOnly && !by_grant_only) || (month && (cap === null || cap > month.cap));
        if (isLooser && operator.delay > 0 && signer !== admin) finds("policy_changes", `${signer} loosened what only the admin loosens.`, at);
        [isByGrantOnly, budget] = [by_grant_only, next];
        month = cap === null ? undefined : { days: new Map(), ...month, cap };
        break;
      }
      case "set_budget":
        mayBe(admin, policyAuthority, guardian);
        setBudget(it, at);
        break;
      case "close_budget":
        mayBe(admin);
        closeBudget(it, at);
        break;
      case "close_grant": {
        const grant = grants.get(accounts.grant);
        const isOver = grant && (grant.left === 0n || BigInt(at.time + 1) >= micros(grant.terms.expires_at));
        if (grant && !isOver) mayBe(admin, policyAuthority, guardian);
        grants.delete(accounts.grant);
        break;
      }
      case "void_grants":
        mayBe(admin, policyAuthority, guardian);
        grantEpoch = (grantEpoch + 1) % 256;
        break;
      case "transfer": case "transfer_checked": case "transfer_extended":
        out += transfer(it, at, paid);
        goesTo(accounts.destination, micros(it.args.amount), it, at);
        break;
      case "withdraw": // past the policy, by the admin's word
        mayBe(admin);
        if (accounts.source !== purse) break;
        goesTo(accounts.destination, micros(args.amount), it, at);
        out += micros(args.amount); total.withdrawn += micros(args.amount);
        break;
      case "close_agent": {
        mayBe(admin);
        const swept = (at.balances.get(purse)?.before ?? 0n) - out;
        goesTo(accounts.destination, swept, it, at);
        [agent, draft, out, total.withdrawn] = [undefined, undefined, out + swept, total.withdrawn + swept];
        isClosed = true;
      }
    }
  }
  // Approve, ApproveChecked, SetAuthority.
  if (at.told.some(({ number, accounts }) => [4, 13, 6].includes(number) && accounts[0] === purse)) {
    finds("recipients", "An instruction gave somebody else a right over the account's money.", at);
  }
  if (paid.length > 0) finds("log", `${paid.length} event(s) of payments that no instruction made.`, at);
  const held = at.balances.get(purse);
  if (!held && out > 0n) finds("balances", "Money left, and the node shows no balance of it.", at);
  if (!held) return;
  if (held.before !== balance) finds("balances", `It held ${usdc(held.before)} before, and ${usdc(balance)} after the transaction before: one is missing.`, at);
  const came = held.after + out - held.before;
  if (came < 0n) finds("balances", `${usdc(-came)} left, and no instruction took them out.`, at);
  else total.deposited += came;
  balance = held.after;
}

/** The account as it stands, against what was signed. */
function compare(state: any, token: any, operatorState: any) {
  const stands = token ? Buffer.from(token.data[0], "base64").readBigUInt64LE(64) : 0n;
  if (stands !== balance) finds("balances", `It holds ${usdc(stands)} on the chain, and ${usdc(balance)} by its transactions.`);
  if (token) {
    const data = Buffer.from(token.data[0], "base64");
    const key = (from: number) => new web3.PublicKey(data.subarray(from, from + 32)).toString();
    if (token.owner !== TOKEN || key(32) !== account) finds("state", `The token account is owned by ${key(32)}.`);
    if (data.readUInt32LE(72) !== 0) finds("state", `${key(76)} may move ${usdc(data.readBigUInt64LE(121))} out of the token account.`);
    if (data.readUInt32LE(129) !== 0) finds("state", `${key(133)} may close the token account.`);
  }
  const { admin, pendingAdmin, policyAuthority, guardian, transferAuthorities, delay, isHalted: isOperatorHalted } = operator;
  const stood = operatorState && coder.accounts.decode("Operator", Buffer.from(operatorState.data[0], "base64"));
  const none = web3.PublicKey.default.toString();
  const told = stood && [stood.admin, stood.pending_admin, stood.policy_authority, stood.guardian, stood.transfer_authorities.filter((key: any) => String(key) !== none).sort(),
    stood.loosening_delay_seconds, stood.halted_by !== 0, stood.approver_epoch].join();
  const keysOf = [admin, pendingAdmin || none, policyAuthority, guardian || none, [...transferAuthorities].sort(), delay, isOperatorHalted, approverEpoch].join();
  if (told !== keysOf) finds("state", `The operator is ${told} on the chain; by what was signed it is ${keysOf}.`);
  const isAgent = state && Buffer.from(state.data[0], "base64").length >= coder.accounts.size("Agent");
  if (!isAgent || !agent) {
    // A closed account leaves a mark.
    if (Boolean(isAgent) !== Boolean(agent) || isClosed !== Boolean(state)) finds("state", "The account stands on the chain and not by what was signed, or the other way round.");
    return;
  }
  const data = Buffer.from(state.data[0], "base64");
  const { policy_version, halted_by, grant_epoch, tags, policy } = coder.accounts.decode("Agent", data);
  // A cap for 30 days with its 32 words, and the address of a budget, stand before the list.
  const hasMonth = (policy.bounds >> 1) % 2 === 1;
  const body = coder.accounts.size("Agent");
  const budgetAt = body + (hasMonth ? 264 : 0);
  const hasBudget = (policy.bounds >> 2) % 2 === 1;
  const list = data.subarray(budgetAt + (hasBudget ? 32 : 0));
  const entries = Array.from({ length: list.length / 32 }, (_, at) => new web3.PublicKey(list.subarray(32 * at, 32 * at + 32)).toString());
  const flag = (bit: number) => (policy.flags >> bit) % 2 === 1;
  const chain = [policy_version, halted_by !== 0, grant_epoch, micros(tags[0]), flag(0), flag(1), flag(2) ? micros(policy.max_single_transfer) : null,
    flag(3) ? micros(policy.max_daily_spend) : null, flag(4) ? policy.wallet_count : null, entries.join(), policy.bounds, hasMonth ? data.readBigUInt64LE(body) : null,
    hasBudget ? new web3.PublicKey(data.subarray(budgetAt, budgetAt + 32)).toString() : ""];
  const { version, isHalted, payments, policy: { paused, memo, single, daily, wallets, tokenAccounts } } = agent;
  const signed = [version, isHalted, grantEpoch, payments, paused, memo, single, daily, wallets?.length ?? null, [...(wallets ?? []), ...tokenAccounts].join(), (isByGrantOnly ? 1 : 0) + (month ? 2 : 0) + (budget ? 4 : 0), month?.cap ?? null, budget];
  // The seconds of the last 16 payments, two in a word, stand behind their tags.
  for (let number = payments; number > 0n && number > payments - 16n; number -= 1n) {
    const place = Number((number - 1n) % 16n);
    const stands = Number((micros(tags[17 + (place >> 1)]) >> BigInt(32 * (place % 2))) & 0xffffffffn);
    const dated = seconds.get(number);
    if (dated !== undefined && Math.abs(stands - dated) > 1) finds("dates", `The account says that payment ${number} was made at ${stands}; its block is dated ${dated}.`);
  }
  chain.forEach((it, place) => {
    if (it !== signed[place]) finds("state", `The account says ${it} on the chain; by what was signed it is ${signed[place]}.`);
  });
}

async function audit() {
  // Some nodes answer accounts as of their newest block, whatever is asked: so what is newest becomes final first.
  const newest = await ask("getSlot", [{ commitment: "processed" }]);
  while ((await ask("getSlot", [FINAL])) < newest) await new Promise((later) => setTimeout(later, 500));
  // The account first: lists that are read afterwards name everything that made it so.
  const own = await linesOf(account!);
  const first = own.find((line) => !line.err);
  if (!first) throw new Error(`${account} has no past at this node`);
  const creation = (await read(first)).calls.find((it) => it.name === "create_agent" && it.accounts.agent === account);
  if (!creation) throw new Error(`the first transaction of ${account} does not create it: it is no agent account, or the node hides its beginning`);
  operator.address = creation.accounts.operator;
  purse = creation.accounts.token_account;
  const { context, value: [state, token, operatorState] } = await ask("getMultipleAccounts", [[account, purse, operator.address], { ...FINAL, encoding: "base64" }]);
  const lists = await Promise.all([operator.address, account!, purse].map(linesOf));
  for (const list of lists) {
    if (!list.some((line) => line.signature === first.signature)) throw new Error("a list begins after the account's creation: the node has pruned that past or leaves it out");
  }
  const lines = ordered(lists.map((list) => list.filter((line) => !line.err && line.slot <= context.slot)));
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    (await Promise.all(lines.slice(at, at + AT_ONCE).map(read))).forEach(apply);
  }
  compare(state, token, operatorState);
  const { payments, paid, deposited, withdrawn } = total;
  console.log(`account ${account} of operator ${operator.address}`);
  console.log(`${payments} payments of ${usdc(paid)}, ${usdc(deposited)} came, ${usdc(withdrawn)} were withdrawn, ${usdc(balance)} are left`);
  findings.forEach((it) => console.log(it));
  console.log(findings.length === 0 ? "Everything that was checked holds." : `${findings.length} finding(s): it does not hold.`);
}

audit().then(() => process.exit(findings.length === 0 ? 0 : 1), (error) => {
  console.error(`error: ${error.message}`);
  process.exit(2);
});
