// What may be paid beyond a policy, and what binds an account beside it: grants, approvers, bounds and budgets.

import { createHash } from "node:crypto";
import { type Call, type Landed, bytesOf, micros, usdc } from "./transaction.mts";
import { type Account, type Budget, DAY, type World, delayOf, ends, inMonth, isAbove, limit, lower } from "./world.mts";

const GRANT_SECONDS_MAX = 30 * DAY;

/** The payee's key, and its kind in words. */
const payeeOf = ({ payee }: any): [string, string] => (payee.Wallet ? ["wallet", String(payee.Wallet[0])] : ["token account", String(payee.TokenAccount[0])]);
const isNone = (world: World, key?: string) => key === undefined || key === world.program.address;

export function openGrant(world: World, account: Account, it: Call, at: Landed) {
  const { args: { id, terms }, accounts, signer } = it;
  const { admin, policyAuthority, delay, isHalted } = world.operator!;
  const isApprovers = !isNone(world, accounts.approver);
  const by = isApprovers ? "approver" : signer === admin ? "admin" : "policy authority";
  if (!isApprovers && ![admin, policyAuthority].includes(signer)) world.finds("signer", `${signer} opened a grant without the right to it.`, at, account.address);
  const isBound = terms.tag !== null && terms.memo_hash !== null && terms.policy_version === account.agent!.version;
  const isTooMuch = by !== "admin" && (terms.beyond_daily_limit || isHalted || account.agent!.isHalted);
  const finds = (text: string) => world.finds("policy_changes", `${signer} opened the grant ${accounts.grant}: ${text}.`, at, account.address);
  if (!isGrantable(world, it, at)) finds("the program opens none of these terms, or one is open there");
  if (isTooMuch || (isApprovers && !isBound)) finds("only the admin opens it");
  if (isApprovers) approve(world, it, at);
  world.grants.set(accounts.grant, {
    agent: account.address, id: micros(id), terms, left: micros(terms.amount), by, openedAt: at.time!, delay, epoch: account.grantEpoch,
    approverEpoch: world.approverEpoch,
  });
}

/** Whether the program opens a grant of these terms at this address: where none is open. Blocks may be dated a second apart. */
function isGrantable({ program, grants }: World, { args: { id, terms }, accounts }: Call, at: Landed): boolean {
  const own = program.derived("grant", bytesOf(accounts.agent), id.toArrayLike(Buffer, "le", 8));
  const end = Number(terms.expires_at);
  // Stored, 0 stands for none.
  const isNothing = terms.tag?.isZero() || terms.policy_version === 0 || terms.memo_hash?.every((byte: number) => byte === 0);
  return own === accounts.grant && !grants.has(accounts.grant) && micros(terms.amount) > 0n && end >= at.time! && end <= at.time! + GRANT_SECONDS_MAX && !isNothing;
}

/** What an approver's wallet has to show. */
function approval({ args: { terms }, accounts }: Call): string {
  const [kind, payee] = payeeOf(terms);
  const until = new Date(Number(terms.expires_at) * 1_000).toISOString().replace("T", " ").replace(".000Z", " UTC");
  return `Purser: let ${accounts.agent} pay ${usdc(micros(terms.amount))} to the ${kind} ${payee} until ${until}`;
}

/** A grant of an approver, of any account of the operator, against its limits, and against what its wallet showed. */
function approve(world: World, it: Call, at: Landed) {
  const { args: { terms }, accounts, signer } = it;
  const finds = (text: string) => world.finds("policy_changes", text, at, accounts.agent);
  if (it.isInner || it.memo !== approval(it)) finds(`${signer} approved a payment, and no memo before it says so.`);
  const { admin, policyAuthority, transferAuthorities } = world.operator!;
  const approver = world.approvers.get(accounts.approver);
  const isOnServer = [admin, policyAuthority, ...transferAuthorities].includes(signer);
  if (approver?.key !== signer || approver.isRemoved || isOnServer) return finds(`${signer} approved a payment, and was no approver of the operator then.`);
  const amount = micros(terms.amount);
  approver.granted = approver.granted.filter((it) => at.time! - it.time < DAY);
  approver.granted.push({ time: at.time!, amount });
  const day = approver.granted.reduce((sum, it) => sum + it.amount, 0n);
  if (amount > approver.atOnce || day > approver.daily) finds(`${signer} approved more than its limits allow.`);
}

export function setApprover({ program, past, approvers }: World, { args, accounts }: Call): boolean {
  const key = String(args.key);
  const limits = { atOnce: micros(args.max_grant), daily: micros(args.max_daily), isRemoved: false };
  approvers.set(accounts.approver, { key, granted: [], ...approvers.get(accounts.approver), ...limits });
  return program.derived("approver", bytesOf(past.operator), bytesOf(key)) === accounts.approver;
}

/** What it granted still counts when it is made anew. */
export function removeApprover(world: World, { accounts }: Call, at: Landed) {
  const approver = world.approvers.get(accounts.approver);
  if (!approver || approver.isRemoved) return world.finds("state", "An approver was removed, and that it was one was not read.", at);
  approver.isRemoved = true;
}

export function closeGrant(world: World, { accounts, signer }: Call, at: Landed) {
  const grant = world.grants.get(accounts.grant);
  if (!grant) return world.finds("state", `The grant ${accounts.grant} was closed, and its opening was not read.`, at);
  const { admin, policyAuthority, guardian } = world.operator!;
  const isOver = grant.left === 0n || BigInt(at.time! + 1) >= micros(grant.terms.expires_at);
  if (!isOver && ![admin, policyAuthority, guardian].includes(signer)) world.finds("signer", `${signer} closed a grant that was not over.`, at, grant.agent);
  world.grants.delete(accounts.grant);
}

/** The rules that a payment may pass by the grant that it names: list, single limit, daily limit. */
export function waived(world: World, account: Account, { args, accounts }: Call, owner: string | undefined, at: Landed): boolean[] {
  const nothing = [false, false, false];
  const { version } = account.agent!;
  if (isNone(world, accounts.grant)) {
    if (account.isByGrantOnly) world.finds("allowlist", "A payment was made without a grant; the account pays by grants alone.", at, account.address);
    return nothing;
  }
  const grant = world.grants.get(accounts.grant);
  if (!grant) {
    world.finds("state", `A payment was made by the grant ${accounts.grant}, whose opening was not read.`, at, account.address);
    return nothing;
  }
  const { terms } = grant;
  const amount = micros(args.amount);
  const isVoid = grant.by === "approver" && grant.approverEpoch !== world.approverEpoch;
  const isOpen = grant.agent === account.address && grant.epoch === account.grantEpoch && !isVoid && (terms.policy_version ?? version) === version;
  const memoHash = createHash("sha256").update(args.memo).digest();
  const isMemo = !terms.memo_hash || String([...memoHash]) === String([...terms.memo_hash]);
  const loosens = terms.beyond_allowlist || terms.beyond_single_limit || account.isByGrantOnly;
  const isEarly = grant.by === "policy authority" && loosens && at.time! + 1 < grant.openedAt + delayOf(grant.delay, world.operator!.delay);
  const isTagged = terms.tag === null || (String(terms.tag.toArray("le", 8)) === String([...args.transfer_id.slice(8)]) && amount === grant.left);
  // Blocks may be dated a second apart.
  const isCovered = isOpen && isMemo && !isEarly && payeeOf(terms)[1] === (terms.payee.Wallet ? owner : accounts.destination) && isTagged
    && BigInt(at.time! - 1) < micros(terms.expires_at) && amount <= grant.left;
  if (!isCovered) world.finds("allowlist", `A payment was made by the grant ${accounts.grant}, which did not cover it.`, at, account.address);
  // It was made, and counts.
  grant.left = amount < grant.left ? grant.left - amount : 0n;
  return isCovered ? [terms.beyond_allowlist, terms.beyond_single_limit, terms.beyond_daily_limit] : nothing;
}

export function setBounds(world: World, account: Account, { args: { bounds }, signer }: Call, at: Landed) {
  const cap = limit(bounds.max_30_day_spend);
  const next = bounds.budget === null ? "" : String(bounds.budget);
  const isLooser = (account.budget !== "" && next !== account.budget) || (account.isByGrantOnly && !bounds.by_grant_only)
    || (account.month && (cap === null || cap > account.month.cap));
  if (isLooser && world.operator!.delay > 0 && signer !== world.operator!.admin) {
    world.finds("policy_changes", `${signer} loosened what only the admin loosens.`, at, account.address);
  }
  ends(world.limits, (it) => it.account === account.address, at.time!);
  world.limits.push({ account: account.address, isByGrantOnly: bounds.by_grant_only, month: cap, budget: next, from: at.time! });
  [account.isByGrantOnly, account.budget] = [bounds.by_grant_only, next];
  account.month = cap === null ? undefined : { days: new Map(), ...account.month, cap };
}

/** The caps of a budget at a time: a raise that waited long enough needs nobody to apply it. */
export function capsOf({ operator }: World, { daily, month, raised }: Budget, time: number): { daily: bigint; month: bigint | null } {
  return raised && time + 1 >= raised.at + delayOf(raised.delay, operator!.delay) ? raised : { daily, month };
}

export function setBudget(world: World, { args, accounts, signer }: Call, at: Landed) {
  const known = world.budgets.get(accounts.budget);
  const { admin, guardian, delay, isHalted } = world.operator!;
  if (!known && signer !== admin) world.finds("signer", `${signer} made a budget, which only the admin does.`, at);
  const next = { daily: micros(args.caps.max_daily_spend), month: limit(args.caps.max_30_day_spend) };
  const now = known ? capsOf(world, known, at.time!) : { daily: 0n, month: 0n };
  const isRaise = next.daily > now.daily || isAbove(next.month, now.month);
  const waits = isRaise && signer !== admin && delay > 0;
  if (known && isRaise && (signer === guardian || (waits && isHalted))) {
    world.finds("policy_changes", `${signer} raised a budget that it could not raise.`, at);
  }
  const before = known ? undefined : world.caps.findLast((it) => it.budget === accounts.budget);
  if (before && (before.daily.every((it) => next.daily > it) || before.month.every((it) => isAbove(next.month, it)))) {
    world.remarks.push(`The budget ${accounts.budget} was closed and made anew with a higher cap (${at.signature}).`);
  }
  const raised = waits ? { ...next, at: at.time!, delay } : undefined;
  const held = { daily: waits && next.daily > now.daily ? now.daily : next.daily, month: waits ? lower(next.month, now.month) : next.month };
  ends(world.caps, (it) => it.budget === accounts.budget, at.time!);
  world.caps.push({ budget: accounts.budget, daily: [held.daily, next.daily], month: [held.month, next.month], from: at.time! });
  world.budgets.set(accounts.budget, { paid: [], days: new Map(), ...known, ...held, raised });
}

export const throughBudget = (world: World, { accounts }: Call): string => (isNone(world, accounts.budget) ? "" : accounts.budget);

/** A payment of any account of the operator, counted in the budget that it names. */
export function spend(world: World, it: Call, at: Landed) {
  const through = throughBudget(world, it);
  if (through === "") return;
  const [named, agent] = [world.budgets.get(through), it.accounts.agent];
  if (!named) return world.finds("state", "A payment went through a budget whose beginning was not read.", at, agent);
  const amount = micros(it.args.amount);
  named.paid = named.paid.filter((it) => at.time! - it.time < DAY);
  named.paid.push({ time: at.time!, amount });
  const { daily, month } = capsOf(world, named, at.time!);
  const [day, days] = [named.paid.reduce((sum, it) => sum + it.amount, 0n), inMonth(named.days, at.time!, amount)];
  if (day > daily || (month !== null && days > month)) world.finds("daily_limit", `A payment of ${usdc(amount)} went past the budget.`, at, agent);
}

export function closeBudget(world: World, { accounts }: Call, at: Landed) {
  const known = world.budgets.get(accounts.budget);
  if (!known || inMonth(known.days, at.time!, 0n) > 0n) world.finds("daily_limit", "A budget was closed while payments counted in it.", at);
  ends(world.caps, (it) => it.budget === accounts.budget, at.time!);
  world.budgets.delete(accounts.budget);
}
