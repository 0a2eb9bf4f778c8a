// A payment, decided again under the policy in force, and what it had the token program move.

import { spend, throughBudget, waived } from "./beside.mts";
import { type Call, type Landed, type Told, micros, usdc } from "./transaction.mts";
import { type Account, DAY, type World, inMonth } from "./world.mts";

const [EARLIEST, LATEST] = [-300, 3_600]; // seconds after a payment was asked for

/** `events`: payments of the account in the log. */
export function pay(world: World, account: Account, it: Call, at: Landed, events: any[]) {
  const { args, accounts, signer } = it;
  const agent = account.agent!;
  const amount = micros(args.amount);
  const finds = (check: string, text: string) => world.finds(check, text, at, account.address);
  if (!world.operator!.transferAuthorities.includes(signer)) finds("signer", `${signer} paid, and was no transfer authority of the operator then.`);
  const event = events.shift();
  if (!event && !at.isCut) finds("log", "The log hides the event of a payment.");
  // Blocks may be dated a second apart.
  const age = at.time! - args.asked_at;
  if (age < EARLIEST - 1 || age > LATEST) finds("paid_once", "A payment took effect an hour or more after it was asked for, or too long before.");
  const number = BigInt(event?.number.toString() ?? agent.payments + 1n);
  const expected = agent.payments + 1n;
  if (number < expected) finds("numbering", `A payment is numbered ${number}; it is number ${expected}.`);
  if (number > expected) finds("numbering", `${number - expected} payment(s) from number ${expected} on are missing.`);
  agent.payments = number > expected ? number : expected;
  const owner = at.balances.get(accounts.destination)?.owner ?? event?.recipient_owner.toString();
  const signed = [amount, accounts.destination, owner, agent.version, args.memo.toString("hex"), String(args.transfer_id)].join(", ");
  const told = event && [event.amount, event.recipient, event.recipient_owner, event.policy_version, event.memo.toString("hex"), event.transfer_id].join(", ");
  if (event && told !== signed) finds("log", `The log says ${told}; signed was ${signed}.`);

  const { version, policy } = agent;
  const refuses = (check: string, why: string) =>
    finds(check, `Payment ${number} of ${usdc(amount)} was made although policy version ${version} refuses it: ${why}.`);
  const [pastList, pastSingle, pastDaily] = waived(world, account, it, owner, at);
  if (policy.paused || agent.isHalted || world.operator!.isHalted) refuses("halted", "the account was paused or halted");
  if (policy.memo && args.memo.length === 0) refuses("memo", "it has no memo");
  // A wallet counts as the owner of what is paid and as nothing else, a token account as itself.
  const isListed = policy.wallets === null || policy.wallets.includes(owner) || policy.tokenAccounts.includes(accounts.destination);
  if (!isListed && !pastList) refuses("allowlist", "its recipient is not on the allowlist");
  if (policy.single !== null && !pastSingle && amount > policy.single) refuses("single_limit", `at most ${usdc(policy.single)} at once`);
  account.recent = account.recent.filter((it) => at.time! - it.time <= DAY);
  const tag = String([...args.transfer_id.slice(8)]);
  const ofTheDay = account.recent.filter((it) => at.time! - it.time < DAY);
  const before = account.seconds.get(tag);
  if (before !== undefined && Math.min(at.time!, args.asked_at) - before < DAY - 1) finds("paid_once", `The tag of payment ${number} was paid twice in 24 hours.`);
  account.seconds.set(tag, at.time!);
  account.recent.push({ time: at.time!, amount, tag });
  const spent = ofTheDay.reduce((sum, it) => sum + it.amount, amount);
  // Seconds are floored: for the program one of this age counts. Whatever it counts longer, it never counts less.
  const counts = account.recent.reduce((sum, it) => sum + it.amount, 0n);
  if (policy.daily !== null && !pastDaily && counts > policy.daily) refuses("daily_limit", `at most ${usdc(policy.daily)} in 24 hours`);
  if (policy.daily !== null && !pastDaily && spent > policy.daily) {
    finds("rolling_day", `${usdc(spent)} left in the 24 hours up to payment ${number}; the limit was ${usdc(policy.daily)}.`);
  }
  // The plain forms know no bounds.
  const isPlain = it.name !== "transfer_extended";
  if (isPlain ? account.budget !== "" : throughBudget(world, it) !== account.budget) refuses("daily_limit", "it did not go through the account's budget");
  if (account.month && inMonth(account.month.days, at.time!, amount) > account.month.cap) {
    refuses("daily_limit", `at most ${usdc(account.month.cap)} in 30 days`);
  }
  if (!isPlain) spend(world, it, at);
}

const moved = (source: string, destination: string, amount: bigint) => `${usdc(amount)} from ${source} to ${destination}`;
/** Whether an instruction of the token program changes balances in another way than by a transfer: 0 to 2, 5, 9 to 11 and 16 to 22 do not. */
const isOther = ({ number, moves }: Told) => !moves && !(number <= 2 || [4, 5, 6, 13].includes(number) || (number >= 9 && number <= 11) || (number >= 16 && number <= 22));

/** What the token program moved to an account, and out of it. */
export function movedAt(at: Landed, account: string): [bigint, bigint] {
  const sum = (side: "source" | "destination") => at.told.reduce((sum, { moves }) => sum + (moves?.[side] === account ? moves.amount : 0n), 0n);
  return [sum("destination"), sum("source")];
}

/** An instruction moved what it says, to whom it says; what the recipient gained is what was moved to it. */
export function goesTo(world: World, account: Account, purse: string, destination: string, amount: bigint, { told, isInner }: Call, at: Landed) {
  const finds = (text: string) => world.finds("recipients", text, at, account.address);
  const expected = amount > 0n ? moved(purse, destination, amount) : "";
  const made = told?.flatMap(({ moves }) => (moves ? [moved(moves.source, moves.destination, moves.amount)] : [])).join();
  if (made !== undefined && made !== expected) finds(`Signed was ${expected || "nothing"}; the program moved ${made || "nothing"}.`);
  if (told?.some(isOther)) finds("The program told the token program what no instruction needs.");
  const about = at.told.filter((it) => it.accounts.includes(destination));
  if (amount === 0n || world.purses.has(destination) || about.some(isOther)) return;
  const [came, left] = movedAt(at, destination);
  const held = at.balances.get(destination);
  // What is not shown is not known.
  if (!held) return world.leavesOpen("recipients", `${destination} was paid in ${at.signature}, and the node shows no balance of it`);
  const isBegun = about.some(({ number, accounts }) => [1, 16, 18].includes(number) && accounts[0] === destination);
  if (held.before === 0n && held.after + left > came && !isBegun) {
    return world.leavesOpen("recipients", `the node leaves out what ${destination} held before ${at.signature}`);
  }
  if (held.after - held.before !== came - left) {
    finds(`${destination} gained ${usdc(held.after - held.before)}, and not what was moved to it.`);
  }
}
