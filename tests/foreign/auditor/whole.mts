// Network, program, and whether anything is missing that an audit reads.

import { createHash } from "node:crypto";
import { CLOCK } from "./node.mts";
import { associated, programData } from "./past.mts";
import { compared } from "./standing.mts";
import { base58 } from "./transaction.mts";
import type { World } from "./world.mts";

const LOADER = "BPFLoaderUpgradeab1e11111111111111111111111";
const HEADER_BYTES = 45; // before a program's bytes
const ZEROS_MAX = 4_096; // with which a program may end
const BEHIND_SECONDS_MAX = 600;
const CLOCKS_APART_MAX = 60; // seconds
const SLOTS_APART_MAX = 150;
const MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
/** Circle's mints, by genesis hash. */
const USDC: Record<string, string> = {
  [MAINNET]: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
};

export function checkNetwork(world: World) {
  const { genesis, mint } = world.past;
  const network = Object.keys(USDC).find((hash) => USDC[hash] === mint);
  if (network ? network !== genesis : genesis === MAINNET) world.finds("network", `The mint ${mint} is not USDC of the network ${genesis}.`);
}

/** `sha256`: of the committed build; without, there is nothing to compare with. */
export function checkProgram(world: World, sha256: string | undefined, isOwnAddress: boolean) {
  const { accounts } = world.past;
  const { address } = world.program;
  const stands = accounts.get(address);
  if (!stands || !accounts.get(programData(address))) return world.leavesOpen("program", `${address} was not saved as it stands on the chain`);
  const data = stands.account?.owner === LOADER && stands.account.data.readUInt32LE(0) === 2 ? stands.account.data : undefined;
  const bytes = data && accounts.get(base58(data.subarray(4, 36)))?.account?.data;
  if (!bytes || bytes.readUInt32LE(0) !== 3) return world.finds("program", `No program that can be read stands at ${address}.`);
  if (sha256 && isOwnAddress && !isBuild(bytes.subarray(HEADER_BYTES), sha256)) world.finds("program", "Another build than the committed one runs.");
}

/** On chain more zeros may follow a program than it ends with. */
function isBuild(bytes: Buffer, sha256: string): boolean {
  let used = bytes.length;
  while (used > 0 && bytes[used - 1] === 0) used -= 1;
  const hash = createHash("sha256").update(bytes.subarray(0, used));
  for (let zeros = 0; zeros <= Math.min(bytes.length - used, ZEROS_MAX); zeros += 1) {
    if (hash.copy().digest("hex") === sha256) return true;
    hash.update(Buffer.alloc(1));
  }
  return false;
}

/** A past whose beginning is missing says nothing: what is missing explains whatever does not fit. */
export function reachesBack({ past, operator, accounts }: World) {
  if (!operator) throw new Error("the operator's creation was not read: the node has pruned that past or leaves it out");
  for (const { address, createdIn } of accounts.values()) {
    if (!past.agents.includes(address)) continue;
    for (const list of [address, associated(address, past.mint)].map((it) => past.lists.get(it) ?? [])) {
      if (list.length === 0 || list.at(-1)!.slot > createdIn) throw new Error(`a list of ${address} begins after its creation: the node has pruned that past or leaves it out`);
    }
  }
}

export function isWhole(world: World) {
  const { past, accounts, grants, approvers, budgets } = world;
  const bytes = programData(world.program.address);
  const saved = [...compared(world), world.program.address, bytes, CLOCK];
  for (const address of saved) {
    if (!past.accounts.get(address)) world.leavesOpen("state", `${address} was not saved as it stands on the chain`);
  }
  const newest = Math.max(...saved.map((address) => past.accounts.get(address)?.slot ?? 0));
  if (newest !== past.untilSlot) world.leavesOpen("dates", `what was read is said to end with slot ${past.untilSlot}, and its newest account is of slot ${newest}`);
  for (const address of [past.operator, ...past.agents, ...past.agents.map((agent) => associated(agent, past.mint)), bytes]) {
    if (!past.lists.get(address)) world.leavesOpen("state", `the transactions of ${address} were not saved`);
  }
  for (const address of past.listed ?? []) {
    if (!past.agents.includes(address)) world.leavesOpen("state", `${address} stands on the chain, and is not among the accounts`);
  }
  const open = [...[...grants].filter(([, it]) => past.agents.includes(it.agent)).map(([address]) => address), ...approvers.keys(), ...budgets.keys()];
  for (const address of open.filter((it) => !past.beside.includes(it))) {
    world.leavesOpen("state", `${address}, a grant, an approver or a budget, was not saved as it stands on the chain`);
  }
  if (past.account === undefined) {
    for (const address of accounts.keys()) {
      if (!past.agents.includes(address)) world.leavesOpen("state", `${address} was created, and is not among the accounts`);
      else if (accounts.get(address)!.agent && past.listed && !past.listed.includes(address)) world.leavesOpen("state", `no node lists the account ${address}`);
    }
    if (!past.listed) world.leavesOpen("state", "no node listed the program's accounts, so one whose every transaction is hidden does not show");
  }
  for (const text of past.contradictions ?? []) world.leavesOpen("nodes", text);
  isOfOneTime(world);
}

function isOfOneTime(world: World) {
  const { accounts, untilTime, began } = world.past;
  const clock = accounts.get(CLOCK)?.account?.data;
  const stands = clock && Number(clock.readBigInt64LE(32));
  if (stands !== undefined && untilTime !== undefined && Math.abs(stands - untilTime) > CLOCKS_APART_MAX) {
    world.leavesOpen("dates", `the node dates what it answered at ${untilTime}, and the chain's clock in that answer says ${stands}: it may be old`);
  }
  const slot = clock && Number(clock.readBigUInt64LE(0));
  if (slot !== undefined && Math.abs(slot - world.past.untilSlot) > SLOTS_APART_MAX) {
    world.leavesOpen("dates", `what was read is said to end with slot ${world.past.untilSlot}, and the chain's clock in it is of slot ${slot}`);
  }
  if (untilTime === undefined) world.leavesOpen("dates", "when that was which was read is not known");
  else if (world.newest && untilTime < world.newest.time - 1) world.finds("dates", `What was read ends at ${untilTime}, and its newest transaction is of ${world.newest.time}.`);
  if (began !== undefined && (untilTime ?? 0) + BEHIND_SECONDS_MAX < began) {
    world.leavesOpen("dates", `the node's newest block is of ${untilTime}, by this machine's clock long ago: what came since was not seen`);
  }
}
