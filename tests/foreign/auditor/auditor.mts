// An audit of an operator or of one agent account, without a line of Purser's code: the program's IDL, Anchor's library, and nodes that keep all
// of the past, or a directory that `purser audit --save` made. docs/trust/auditing.md says what it checks and what it leaves to `purser audit`.
// It audits no SOL, writes no links and no root of a directory, and reads no signed verdicts.
//
//     node auditor.mts --url URL --account ADDRESS --idl purser.json
//
// Exit status as of `purser audit`: 0 everything holds, 1 something does not, 2 it could not be done, or not completely.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import type { Idl } from "@anchor-lang/core";
import { checkDenials } from "./denials.mts";
import { nodeAt, ordered } from "./node.mts";
import { type Past, associated, fromDirectory, fromNodes, together } from "./past.mts";
import { checkRelayer, relayerAt, relayerIn } from "./relayer.mts";
import { apply } from "./replay.mts";
import { compared, differences } from "./standing.mts";
import { Program, byBalances, landed, usdc } from "./transaction.mts";
import { checkNetwork, checkProgram, isWhole, reachesBack } from "./whole.mts";
import { World } from "./world.mts";

const ADDRESS = { type: "string" } as const;
const LIST = { type: "string", multiple: true } as const;
const OPTIONS = {
  url: LIST, operator: ADDRESS, account: ADDRESS, from: ADDRESS, idl: ADDRESS, "program-id": ADDRESS, api: ADDRESS, key: ADDRESS, denials: ADDRESS,
  "denials-key": LIST,
};

/** Audits by these arguments: its exit status, and what it says. */
export async function audits(args: string[]): Promise<{ status: number; printed: string }> {
  try {
    const { findings, open, said } = await audit(args);
    const verdict = findings.length > 0 ? `${findings.length} finding(s): it does not hold.`
      : open.length > 0 ? "What was looked at holds, and not everything could be." : "Everything that was checked holds.";
    return { status: findings.length > 0 ? 1 : open.length > 0 ? 2 : 0, printed: [...said, ...findings, ...open, verdict].join("\n") };
  } catch (error: any) {
    return { status: 2, printed: `error: ${error.message}` };
  }
}

async function audit(args: string[]): Promise<{ findings: string[]; open: string[]; said: string[] }> {
  const { values } = parseArgs({ args, options: OPTIONS });
  const { operator, account, from, idl: idlFile, api, key, denials } = values;
  const idl: Idl = JSON.parse(readFileSync(idlFile ?? "", "utf8"));
  // The hash of the committed build stands beside the IDL.
  const build = join(dirname(idlFile!), "purser.so.json");
  const sha256 = existsSync(build) ? JSON.parse(readFileSync(build, "utf8")).sha256 : undefined;
  let program = new Program({ ...idl, address: values["program-id"] ?? idl.address });
  const nodes = (values.url ?? []).map(nodeAt);
  const file = denials === undefined ? undefined : readFileSync(denials);
  const keys = values["denials-key"] ?? [];
  if (file && nodes.length === 0) return checkDenials(file, keys, operator);
  const read = async (subject: { operator?: string; account?: string }): Promise<World> => {
    const past = from === undefined ? await fromNodes(nodes, program, subject) : fromDirectory(from, (address) => (program = new Program({ ...idl, address: address ?? idl.address })));
    return replayed(past, program);
  };
  if (file) return checkDenials(file, keys, operator, { nodes, read });
  const world = await read({ operator, account });
  const relayer = api ? relayerAt(api, key ?? "", nodes[0]) : from === undefined ? undefined : relayerIn(from);
  if (relayer) await checkRelayer(world, relayer);
  checkProgram(world, sha256, program.address === idl.address);
  checkNetwork(world);
  const said = world.past.agents.flatMap((address) => {
    const { total } = world.accounts.get(address) ?? {};
    const left = world.purses.get(associated(address, world.past.mint))!.balance;
    return total ? [`account ${address} of operator ${world.past.operator}`, `${total.payments} payments of ${usdc(total.paid)}, ${usdc(total.deposited)} came, ${usdc(total.withdrawn)} were withdrawn, ${usdc(left)} are left`] : [];
  });
  return { ...world, said: [...world.remarks, ...said] };
}

/** Every transaction in the order of the chain, and the accounts as they stand, each at the slot in which it was read. */
async function replayed(past: Past, program: Program): Promise<World> {
  const world = new World(past, program);
  let waiting = compared(world).flatMap((address) => {
    const stands = past.accounts.get(address);
    return stands ? [{ address, stands }] : [];
  });
  // One that was read within its slot fits if it does once.
  const compare = (slot: number) => {
    waiting = waiting.filter(({ address, stands }) => {
      if (stands.slot > slot || (stands.slot === slot && !past.isWithinSlot)) return true;
      const found = differences(world, address, stands);
      if (stands.slot === slot && found.length > 0) return true;
      world.findings.push(...found);
      return false;
    });
  };
  const purses = past.agents.map((agent) => associated(agent, past.mint));
  const walked = [past.operator, ...past.agents, ...purses];
  const lines = ordered(walked.map((address) => past.lists.get(address) ?? [])).filter((line) => !line.err && line.slot <= past.untilSlot);
  const shown = await together(lines, async (line) => landed(await past.transaction(line.signature), line, program, past.mint));
  for (const transaction of byBalances(shown, new Set(purses))) {
    compare(transaction.slot);
    apply(world, transaction);
  }
  compare(Infinity);
  reachesBack(world);
  isWhole(world);
  return world;
}

if (realpathSync(process.argv[1]) === import.meta.filename) {
  const { status, printed } = await audits(process.argv.slice(2));
  console[status === 2 ? "error" : "log"](printed);
  process.exitCode = status;
}
