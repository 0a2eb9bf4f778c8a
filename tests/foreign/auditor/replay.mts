// Every instruction of the program, in the order of the chain: each is covered by the signature of a key that must have the right to it.

import { createHash } from "node:crypto";
import { web3 } from "@anchor-lang/core";
import { closeBudget, closeGrant, openGrant, removeApprover, setApprover, setBounds, setBudget } from "./beside.mts";
import { associated, draftOf } from "./past.mts";
import { goesTo, movedAt, pay } from "./payments.mts";
import { type Call, type Landed, bytesOf, lookedUp, micros, usdc } from "./transaction.mts";
import { type Account, DAY, KEPT, type Policy, type World, delayOf, ends, loosens, policyOf, policyOfArgs, refusesAll } from "./world.mts";

/** Whether a transaction calls the program for this operator; a call that cannot be read is about everybody. */
const isCalled = ({ past }: World, at: Landed) => at.calls.some((it) => it.name === "" || it.accounts.operator === past.operator);

/** One transaction. */
export function apply(world: World, at: Landed) {
  const isMoved = [...at.balances].some(([address, { before, after }]) => world.purses.has(address) && before !== after);
  const concerns = isCalled(world, at) || isMoved;
  // What does nothing here may be anybody's: of a version that nobody knows, without a date, a gift of a local network's own.
  if (at.time === undefined && concerns) throw new Error(`the node does not know when ${at.signature} was made, so nothing that counts time can be told`);
  const time = (at.time ??= world.newest?.time ?? 0);
  const { newest } = world;
  if (newest && (at.slot === newest.slot ? Math.abs(time - newest.time) > 1 : time < newest.time - 1)) {
    world.finds("dates", "The node dates this block before one of an earlier slot, or gives a slot two dates.", at);
  }
  world.newest = { slot: at.slot, time };
  if (at.signed === "unknown version" && concerns) world.leavesOpen("signatures", `${at.signature} has a version that cannot be put together`);
  if (at.signed === "wrong" || (at.signed === "gift" && concerns)) world.finds("signatures", "The transaction is not what was signed.", at);
  if (isCalled(world, at)) {
    const looked = lookedUp(at, world.past.accounts);
    if (looked === "wrong") world.finds("signatures", "The node gives it addresses that no lookup table holds.", at);
    else if (looked !== "well") world.leavesOpen("signatures", `${at.signature} takes addresses from the lookup table ${looked.unknown}, which is no more`);
  }
  const out = new Map<string, bigint>(); // by account
  const paid = new Map<string, any[]>(); // payments in the log, by account
  for (const { name, data } of at.events) {
    if (name === "TransferExecuted") paid.set(String(data.agent), [...(paid.get(String(data.agent)) ?? []), data]);
  }
  for (const it of at.calls) {
    if (it.name === "") world.finds("log", "An instruction of the program took effect that cannot be read.", at);
    else if (it.accounts.operator === world.past.operator) carryOut(world, it, at, out, paid);
  }
  for (const [agent, left] of paid) {
    if (left.length > 0 && world.accounts.has(agent)) world.finds("log", `${left.length} event(s) of payments that no instruction made.`, at, agent);
  }
  countMoney(world, at, out);
}

function countMoney(world: World, at: Landed, out: Map<string, bigint>) {
  for (const [address, purse] of world.purses) {
    const left = out.get(purse.agent) ?? 0n;
    // Approve, ApproveChecked, SetAuthority.
    if (at.told.some(({ number, accounts }) => [4, 13, 6].includes(number) && accounts[0] === address)) {
      world.finds("recipients", "An instruction gave somebody else a right over the account's money.", at, purse.agent);
    }
    const held = at.balances.get(address);
    if (!held) {
      // What is not shown is not known. It goes on by what follows.
      if (left > 0n) world.leavesOpen("balances", `money left by ${at.signature}, and the node shows no balance of it`);
      purse.balance = purse.balance > left ? purse.balance - left : 0n;
      continue;
    }
    // Some networks leave balances out of their answers: what was held before follows from what was moved.
    const [moved, away] = movedAt(at, address);
    if (held.before === 0n && purse.balance + moved === held.after + away) held.before = purse.balance;
    if (held.before !== purse.balance) {
      world.finds("balances", `It held ${usdc(held.before)} before, and ${usdc(purse.balance)} after the transaction before: one is missing.`, at, purse.agent);
    }
    const came = held.after + left - held.before;
    if (came < 0n) world.finds("balances", `${usdc(-came)} left, and no instruction took them out.`, at, purse.agent);
    else if (came > 0n) deposit(world, at, address, purse.agent, came);
    purse.balance = held.after;
  }
}

function deposit(world: World, at: Landed, purse: string, agent: string, amount: bigint) {
  const account = world.accounts.get(agent);
  if (account) account.total.deposited += amount;
  const sources = [...at.balances].filter(([address, { before, after }]) => address !== purse && after < before);
  const transfers = at.calls.filter((it) => it.name.startsWith("transfer") && it.accounts.destination === purse);
  const own = transfers.length === 1 && micros(transfers[0].args.amount) === amount ? transfers[0].args : undefined;
  world.movements.push({
    agent, kind: "deposit", amount, signature: at.signature, time: at.time!, counterparty: sources.length === 1 ? sources[0][0] : undefined,
    transferId: own?.transfer_id, memo: own?.memo,
  });
}

/** Puts a policy in force. `sealed`: its draft's second, and the delay of that moment; without, it was not to be seen before. */
function replace(world: World, account: Account, policy: Policy, expected: number, { signer }: Call, at: Landed, sealed?: { at: number; delay: number }) {
  const { admin, delay: now, isHalted } = world.operator!;
  const agent = account.agent!;
  const finds = (text: string) => world.finds("policy_changes", text, at, account.address);
  if (agent.version !== expected) finds(`A policy written against version ${expected} replaced version ${agent.version}.`);
  // In a halt, a loosened one waits for ever.
  const delay = sealed && (agent.isHalted || isHalted) ? Infinity : delayOf(sealed?.delay ?? now, now);
  // Blocks may be dated a second apart.
  const waited = sealed === undefined ? -1 : at.time! - sealed.at + 1;
  const hasDelay = now > 0 || (sealed?.delay ?? 0) > 0;
  if (hasDelay && signer !== admin && waited < delay && loosens(policy, agent.policy)) {
    finds(`${signer} put a loosened policy in force that had to wait ${delay} seconds.`);
  }
  account.agent = { ...agent, policy, version: expected + 1 };
  account.policies.push({ version: expected + 1, since: at.time!, policy });
}

function policyOfDraft({ args, entries }: NonNullable<Account["draft"]>): Policy {
  const count = args.entries?.wallets; // wallets come first
  return count === undefined ? policyOf(args, null, []) : policyOf(args, entries.slice(0, count), entries.slice(count));
}

/** A draft is sealed once it holds what it was opened for. */
function seal(world: World, account: Account, at: Landed) {
  const { args, entries } = account.draft!;
  account.draft!.sealed = { at: at.time!, delay: world.operator!.delay };
  const { single, daily, memo, paused, wallets } = policyOfDraft(account.draft!);
  const flags = [paused, memo, single !== null, daily !== null, wallets !== null].reduce((sum, is, bit) => sum + (is ? 1 << bit : 0), 0);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(args.expected_version, 0);
  head.writeUInt16LE(entries.length, 4);
  head.writeBigUInt64LE(single ?? 0n, 6);
  head.writeBigUInt64LE(daily ?? 0n, 14);
  head.writeUInt16LE(wallets?.length ?? 0, 22);
  head.writeUInt8(flags, 24);
  const hash = createHash("sha256").update(bytesOf(account.address)).update(head);
  for (const entry of entries) hash.update(bytesOf(entry));
  if (!hash.digest().equals(Buffer.from(args.hash))) {
    world.finds("policy_changes", "A draft was sealed that does not hold what it was opened for.", at, account.address);
  }
}

function createAgent(world: World, it: Call, at: Landed) {
  const { args, accounts, signer } = it;
  const { admin, delay } = world.operator!;
  const { agent: address, token_account: purse } = accounts;
  const before = world.accounts.get(address);
  const own = world.program.derived("agent", bytesOf(world.past.operator), Uint8Array.from(args.agent_id));
  if (own !== address || purse !== associated(address, world.past.mint)) {
    world.finds("state", "The account was created at an address that is not its own.", at, address);
  }
  const policy = policyOfArgs(args.policy);
  const held = at.balances.get(purse)?.before ?? 0n;
  const isAnew = before !== undefined && !before.agent;
  if (before?.agent) world.finds("policy_changes", "The account was created over one that was not closed.", at, address);
  if (isAnew && world.past.agents.includes(address)) world.remarks.push(`The account ${address} was closed and created anew (${at.signature}).`);
  if (signer !== admin && (isAnew || (delay > 0 && held > 0n && !refusesAll(policy)))) {
    world.finds("policy_changes", `${signer} created an account anew, or over money: only the admin does.`, at, address);
  }
  world.accounts.set(address, {
    address, createdIn: before?.createdIn ?? at.slot, agent: { version: 1, policy, isHalted: false, payments: 0n },
    // None of the grants of the account before.
    grantEpoch: isAnew ? before.grantEpoch + 1 : 0, voidedAt: before?.voidedAt ?? 0,
    isByGrantOnly: false, budget: "", seconds: before?.seconds ?? new Map(), buckets: 1, 
    recent: (before?.recent ?? []).filter((it) => at.time! - it.time <= DAY),
    policies: [...(before?.policies ?? []), { version: 1, since: at.time!, policy }],
    total: before?.total ?? { payments: 0, paid: 0n, withdrawn: 0n, deposited: 0n },
  });
}

function setHalt(world: World, address: string | undefined, halts: boolean, at: Landed) {
  const account = address === undefined ? undefined : world.accounts.get(address);
  if (account?.agent) account.agent.isHalted = halts;
  if (address === undefined) world.operator!.isHalted = halts;
  const open = world.halts.find((it) => it.account === address && it.until === undefined);
  if (halts && !open) world.halts.push({ account: address, from: at.time! });
  if (!halts && open) open.until = at.time!;
}

function setKeys(world: World, it: Call, at: Landed) {
  const { args, accounts, signer, name } = it;
  const known = world.operator ?? { admin: signer, pendingAdmin: "", policyAuthority: "", guardian: "", transferAuthorities: [], delay: 0, isHalted: false };
  const set = args.keys ?? args.update;
  if (name === "create_operator") {
    const own = world.program.derived("operator", bytesOf(signer), args.id.toArrayLike(Buffer, "le", 8));
    if (own !== accounts.operator || world.operator) world.finds("state", "The operator was created at an address that is not its own, or once more.", at);
  }
  world.operator = {
    ...known, policyAuthority: String(set.policy_authority ?? known.policyAuthority), guardian: String(set.guardian ?? known.guardian),
    pendingAdmin: String(set.pending_admin ?? known.pendingAdmin), delay: set.loosening_delay_seconds ?? known.delay,
    transferAuthorities: set.transfer_authorities ? set.transfer_authorities.map(String) : known.transferAuthorities,
  };
  followAuthority(world, at);
}

function followAuthority({ authorities, operator }: World, at: Landed) {
  const last = authorities.at(-1);
  if (last?.key === operator!.policyAuthority) return;
  if (last) last.until = at;
  authorities.push({ key: operator!.policyAuthority, from: at });
}

function carryOut(world: World, it: Call, at: Landed, out: Map<string, bigint>, paid: Map<string, any[]>) {
  const { name, args, accounts, signer } = it;
  const isOperators = accounts.agent === undefined || accounts.agent === world.program.address;
  const about = isOperators ? undefined : accounts.agent;
  // A calling program signs for its own addresses, which are not on the curve.
  const isPrograms = it.isInner && !web3.PublicKey.isOnCurve(bytesOf(signer));
  if (!isPrograms && !at.signers.includes(signer)) world.finds("signer", `${signer} is named as a signer and did not sign.`, at, about);
  if (name === "create_operator") return setKeys(world, it, at);
  if (!world.operator) return world.finds("state", "An instruction took effect before the operator's creation, which was not read.", at);
  const { admin, policyAuthority, guardian, pendingAdmin } = world.operator;
  const mayBe = (...who: string[]) => {
    if (!who.includes(signer)) world.finds("signer", `${signer} signed ${name} without the right to it.`, at, about);
  };
  switch (name) {
    case "update_operator":
      mayBe(admin);
      return setKeys(world, it, at);
    case "accept_admin":
      mayBe(pendingAdmin);
      Object.assign(world.operator, { admin: signer, pendingAdmin: "" });
      return;
    case "halt": case "resume":
      name === "halt" ? mayBe(admin, policyAuthority, guardian) : mayBe(admin);
      setHalt(world, about, name === "halt", at);
      // Accounts after a resume's own are more agents.
      if (name === "resume") it.more.forEach((agent) => setHalt(world, agent, false, at));
      return;
    case "create_agent": // with its birth policy, version 1
      mayBe(admin, policyAuthority);
      return createAgent(world, it, at);
    case "set_approver":
      mayBe(admin);
      if (!setApprover(world, it)) world.finds("state", "An approver was made at an address that is not its own.", at);
      return;
    case "remove_approver":
      mayBe(admin);
      removeApprover(world, it, at);
      world.approverEpoch += 1;
      world.approversVoidedAt = at.time!;
      return;
    case "set_budget":
      mayBe(admin, policyAuthority, guardian);
      return setBudget(world, it, at);
    case "close_budget":
      mayBe(admin);
      return closeBudget(world, it, at);
    case "close_grant":
      return closeGrant(world, it, at);
  }
  const account = world.accounts.get(accounts.agent);
  if (!account?.agent) return world.finds("state", `The account ${accounts.agent} was used, and its creation was not read.`, at, about);
  const finds = (text: string) => world.finds("policy_changes", text, at, about);
  const { agent } = account;
  switch (name) {
    case "set_policy":
      mayBe(admin, policyAuthority);
      return replace(world, account, policyOfArgs(args.policy), args.expected_version, it, at);
    case "set_paused":
      mayBe(admin, policyAuthority);
      return replace(world, account, { ...agent.policy, paused: args.paused }, agent.version, it, at);
    case "open_draft":
      mayBe(admin, policyAuthority);
      if (args.args.expected_version !== agent.version) finds("A draft was opened over another version than it was written against.");
      account.draft = { args: args.args, entries: [] };
      if (!args.args.entries) seal(world, account, at);
      return;
    case "write_draft": {
      mayBe(admin, policyAuthority);
      const { draft } = account;
      if (!draft || draft.sealed || args.start !== draft.entries.length) return finds("Entries of a draft are missing, or came after it was sealed.");
      draft.entries.push(...args.entries.map(String));
      const { wallets, token_accounts } = draft.args.entries ?? { wallets: 0, token_accounts: 0 };
      if (draft.entries.length === wallets + token_accounts) seal(world, account, at);
      return;
    }
    case "apply_draft": {
      mayBe(admin, policyAuthority);
      const { draft } = account;
      if (!draft?.sealed || accounts.draft !== draftOf(world.program, account.address)) return finds("A draft was put in force that was not opened, or not sealed.");
      replace(world, account, policyOfDraft(draft), draft.args.expected_version, it, at, draft.sealed);
      account.draft = undefined;
      return;
    }
    case "close_draft":
      mayBe(admin, policyAuthority, guardian);
      account.draft = undefined;
      return;
    case "open_grant":
      return openGrant(world, account, it, at);
    case "set_bounds":
      mayBe(admin, policyAuthority);
      return setBounds(world, account, it, at);
    case "set_tag_buckets":
      mayBe(admin, policyAuthority);
      account.buckets = args.buckets;
      return;
    case "void_grants":
      mayBe(admin, policyAuthority, guardian);
      account.grantEpoch += 1;
      account.voidedAt = at.time!;
      return;
    case "transfer": case "transfer_checked": case "transfer_extended":
      pay(world, account, it, at, paid.get(account.address) ?? []);
      break;
    case "withdraw": // past the policy, by the admin's word
      mayBe(admin);
      if (accounts.source !== associated(account.address, world.past.mint)) return;
      break;
    case "close_agent":
      mayBe(admin);
      break;
    default:
      return;
  }
  // What moved.
  const purse = associated(account.address, world.past.mint);
  const before = out.get(account.address) ?? 0n;
  const amount = name === "close_agent" ? swept(account.address, purse, before, at) : micros(args.amount);
  goesTo(world, account, purse, accounts.destination, amount, it, at);
  out.set(account.address, before + amount);
  const isPayment = name.startsWith("transfer");
  if (isPayment) Object.assign(account.total, { payments: account.total.payments + 1, paid: account.total.paid + amount });
  else account.total.withdrawn += amount;
  if (amount > 0n || isPayment) {
    const kind = isPayment ? "transfer" : "withdrawal";
    world.movements.push({
      agent: account.address, kind, amount, signature: at.signature, time: at.time!, counterparty: accounts.destination,
      transferId: args?.transfer_id, memo: args?.memo,
    });
  }
  // Blocks may be dated a second apart.
  const newest = account.recent.at(-1)?.time;
  if (name === "close_agent" && agent.payments > 0n && newest !== undefined && at.time! - newest < KEPT - 1) {
    world.finds("daily_limit", "The account was closed within 25 hours of its newest payment: created anew, it begins with nothing.", at, about);
  }
  if (name === "close_agent") ends(world.limits, (it) => it.account === account.address, at.time!);
  if (name === "close_agent") Object.assign(account, { agent: undefined, draft: undefined, voidedAt: at.time! });
}

/** What was left of a closed account: by the log, since money may have come in the same transaction. */
function swept(agent: string, purse: string, out: bigint, at: Landed): bigint {
  const event = at.events.find(({ name, data }) => name === "AgentClosed" && String(data.agent) === agent);
  const held = at.balances.get(purse)?.before ?? 0n;
  return event ? micros(event.data.swept) : held > out ? held - out : 0n;
}
