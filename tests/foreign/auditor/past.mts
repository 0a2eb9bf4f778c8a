// All that an audit reads: from nodes, or from a directory that `purser audit --save` made.

import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { web3 } from "@anchor-lang/core";
import { CLOCK, FINAL, type Line, type Node, type Stands, linesOf, ordered, reaches, settles, standing, standingByClock, waits } from "./node.mts";
import { type Call, type Program, base58, bytesOf, landed, signed } from "./transaction.mts";

const ROUNDS_MAX = 4;
const QUESTIONS = 3; // for a transaction that is listed and not shown
const AT_ONCE = 8; // that are asked for at the same time
const LOADER = "BPFLoaderUpgradeab1e11111111111111111111111";
const ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const VERSION = 2; // of a directory
const FILE_BYTES_MAX = 512 * 1_024 * 1_024;
const SLOTS_BEHIND_MAX = 150; // of another node's clock
const OPERATOR_IN_AGENT = 16; // after the discriminator and eight bytes

export type Past = {
  genesis: string; operator: string; mint: string;
  /** The one account that is audited; without, all of the operator. */
  account?: string;
  agents: string[];
  /** The operator's accounts that a node lists, transactions or not. */
  listed?: string[];
  /** Grants, approvers and budgets that were read. */
  beside: string[];
  untilSlot: number;
  untilTime?: number;
  /** When it was read, if that was now. */
  began?: number;
  /** What nodes contradict each other about; `undefined` of one node. */
  contradictions?: string[];
  /** Whether accounts were of a slot that was not final yet: each may be of any moment within it. */
  isWithinSlot: boolean;
  /** Newest first, by address. */
  lists: Map<string, Line[]>;
  accounts: Map<string, Stands>;
  transaction(signature: string): Promise<any>;
};

export const associated = (owner: string, mint: string) =>
  web3.PublicKey.findProgramAddressSync([bytesOf(owner), bytesOf(TOKEN_PROGRAM), bytesOf(mint)], new web3.PublicKey(ATA_PROGRAM))[0].toString();
export const draftOf = (program: Program, agent: string) => program.derived("draft", bytesOf(agent));
export const programData = (program: string) =>
  web3.PublicKey.findProgramAddressSync([bytesOf(program)], new web3.PublicKey(LOADER))[0].toString();

/** Those of `items` whose work is done together, in their order. */
export async function together<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) done.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  return done;
}

/** The mint of an operator as it stands. */
function mintOf(program: Program, operator: string, stands?: Stands): string {
  const { account } = stands ?? {};
  if (account?.owner !== program.address) throw new Error(`no operator of ${program.address} stands at ${operator}`);
  return String(program.coder.accounts.decode("Operator", account.data).usdc_mint);
}

export function fromDirectory(folder: string, program: (address?: string) => Program): Past {
  const file = (...parts: string[]) => {
    const path = join(folder, ...parts);
    const stands = lstatSync(path, { throwIfNoEntry: false });
    if (!stands) return undefined;
    // A pipe never ends, and a link leads anywhere.
    if (!stands.isFile() || stands.size > FILE_BYTES_MAX) throw new Error(`${path} is no regular file, or too long`);
    return JSON.parse(readFileSync(path, "utf8"));
  };
  const manifest = file("audit.json");
  if (!manifest) throw new Error(`no audit was saved in ${folder}`);
  if (manifest.version !== VERSION) throw new Error(`${folder} is of another version of the audit: gather again`);
  if (typeof manifest.program !== "string") throw new Error(`${folder} names no program`);
  if (!manifest.is_whole) throw new Error(`saving an audit in ${folder} goes on, or was interrupted`);
  const only: string | undefined = manifest.account ?? undefined;
  if (only !== undefined && (bytesOf(new web3.PublicKey(only).toString()).length !== 32 || String(new Set(manifest.agents).size) !== "1" || manifest.agents[0] !== only)) {
    throw new Error(`${folder} is about the account ${only} alone, and lists others or none`);
  }
  const { genesis_hash: genesis, operator, agents, standing: listed, beside, until_slot: untilSlot, until_time: untilTime } = manifest;
  const of = program(manifest.program);
  const account = (address: string): Stands | undefined => {
    const stands = file("accounts", `${address}.json`);
    return stands && { slot: stands.slot, account: stands.account && { owner: stands.account.owner, data: Buffer.from(stands.account.data, "base64") } };
  };
  /** Reads what is asked for, once. */
  const lazily = <T,>(read: (address: string) => T | undefined) => {
    const known = new Map<string, T>();
    known.get = (address) => read(address);
    return known;
  };
  return {
    genesis, operator, agents, listed: listed ?? undefined, beside, untilSlot, untilTime: untilTime ?? undefined,
    account: only, isWithinSlot: manifest.is_within_slot, contradictions: manifest.contradictions ?? undefined, mint: mintOf(of, operator, account(operator)),
    lists: lazily((address) => file("signatures", `${address}.json`)), accounts: lazily(account),
    transaction: async (signature) => file("transactions", `${signature}.json`),
  };
}

/** Reads everything about an operator, or one account of it, from one node or several that are held against each other. */
export async function fromNodes(nodes: Node[], program: Program, subject: { operator?: string; account?: string }): Promise<Past> {
  const startedAt = Math.floor(Date.now() / 1_000);
  const [node, ...others] = nodes;
  const reading = new Reading(nodes);
  const genesis: string = await node.ask("getGenesisHash", []);
  for (const other of others) {
    if ((await other.ask("getGenesisHash", [])) !== genesis) throw new Error(`${node.host} and ${other.host} are nodes of different networks`);
  }
  const operator = subject.operator ?? (await operatorOf(reading, program, subject.account!));
  const mint = mintOf(program, operator, (await standing(node, [operator]))[0]);
  const calls = async (lines: Line[]): Promise<Call[]> => {
    const well = lines.filter((line) => !line.err);
    return (await together(well, async (line) => landed(await reading.transaction(line.signature), line, program, mint).calls.toReversed())).flat();
  };
  const began = await Promise.all(others.map(async (other) => [other, await other.ask("getSlot", [FINAL])] as const));
  await settles(node);
  for (let round = 1; ; round += 1) {
    // What was made while accounts were read was not among them, so they are read again.
    const before = await reading.list(operator);
    const known = await calls(before);
    const listed = subject.account ? undefined : await listedBy(nodes, program, operator);
    const agents = subject.account ? [subject.account] : [...new Set([...madeAgents(known, operator), ...(listed ?? [])])].sort();
    const beside = madeBeside(known, operator, agents);
    const purses = agents.map((agent) => associated(agent, mint));
    const walked = [operator, programData(program.address), ...agents, ...purses];
    const read = [...walked, ...agents.map((agent) => draftOf(program, agent)), ...beside, program.address, CLOCK];
    const stands = await standingByClock(node, read);
    const accounts = new Map(read.map((address, at) => [address, stands[at]]));
    const untilSlot = Math.max(...stands.map((it) => it.slot));
    // Some nodes answer accounts as of their newest block, which no list has yet.
    const isWithinSlot = !(await reaches(node, untilSlot));
    for (const other of others) await reaches(other, untilSlot);
    reading.reached = untilSlot;
    const lists = new Map(await together(walked, async (address) => [address, await reading.list(address)] as const));
    const slot = before[0]?.slot ?? 0;
    const newer = await calls(lists.get(operator)!.filter((line) => line.slot >= slot && line.slot <= untilSlot));
    const isWhole = madeBeside(newer, operator, agents).every((it) => beside.includes(it))
      && (subject.account !== undefined || madeAgents(newer, operator).every((it) => agents.includes(it)));
    if (!isWhole && round < ROUNDS_MAX) continue;
    const well = new Set([...lists.values()].flat().filter((line) => !line.err && line.slot <= untilSlot).map((line) => line.signature));
    await together([...well], (signature) => reading.transaction(signature));
    await reading.tables(accounts, operator, program, mint);
    await reading.areOfOneTime(began, untilSlot);
    const clock = accounts.get(CLOCK)?.account?.data.readBigInt64LE(32);
    const untilTime = (await node.ask("getBlockTime", [untilSlot]).catch(() => null)) ?? (clock === undefined ? undefined : Number(clock));
    return {
      genesis, operator, mint, account: subject.account, agents, listed, beside, untilSlot, untilTime, began: startedAt, lists, accounts,
      isWithinSlot, contradictions: others.length > 0 ? [...reading.contradictions].sort() : undefined,
      transaction: (signature) => reading.transaction(signature),
    };
  }
}

/** What nodes say, and in what they contradict each other. */
class Reading {
  readonly contradictions = new Set<string>();
  /** The slot to which every node says that it has come. */
  reached = 0;
  private readonly nodes: Node[];
  private readonly read = new Map<string, Promise<any>>();
  constructor(nodes: Node[]) {
    this.nodes = nodes;
  }

  async list(address: string): Promise<Line[]> {
    const lists = await Promise.all(this.nodes.map((node) => linesOf(node, address)));
    lists.forEach((list, at) => lists.forEach((other, from) => at !== from && this.compare(address, at, list, from, other)));
    return ordered(lists).reverse();
  }

  /** What is newer than one of both lists is no contradiction. */
  private compare(address: string, at: number, list: Line[], from: number, other: Line[]) {
    const both = list.length === 0 || other.length === 0 ? Infinity : Math.min(list[0].slot, other[0].slot);
    const until = this.reached > 0 ? Math.max(both, this.reached + 1) : both;
    const has = new Set(list.map((line) => line.signature));
    for (const line of other.filter((line) => line.slot < until && !has.has(line.signature))) {
      this.contradictions.add(`${this.nodes[at].host} leaves out ${line.signature} of the list of ${address}, which ${this.nodes[from].host} has`);
    }
  }

  /** What another node had before this audit began is in it, and every node's own clock came as far. */
  async areOfOneTime(began: (readonly [Node, number])[], untilSlot: number) {
    const [first, ...others] = this.nodes;
    for (const [other, slot] of began.filter(([, slot]) => slot > untilSlot)) {
      this.contradictions.add(`${other.host} had come to slot ${slot} when this began, and ${first.host} showed nothing after slot ${untilSlot}`);
    }
    for (const other of others) {
      const slot = Number((await standing(other, [CLOCK]))[0].account?.data.readBigUInt64LE(0) ?? 0n);
      if (slot + SLOTS_BEHIND_MAX < untilSlot) this.contradictions.add(`the chain's clock at ${other.host} is of slot ${slot}, and ${first.host} showed slot ${untilSlot}`);
    }
  }

  transaction(signature: string): Promise<any> {
    const known = this.read.get(signature) ?? this.ask(signature);
    this.read.set(signature, known);
    return known;
  }

  private async ask(signature: string): Promise<any> {
    const config = { commitment: "finalized", encoding: "json", maxSupportedTransactionVersion: 1 };
    let kept: any;
    for (const node of this.nodes) {
      let found: any;
      for (let tries = 0; !found && tries < QUESTIONS; tries += 1) {
        if (tries > 0) await waits(500);
        found = await node.ask("getTransaction", [signature, config]);
      }
      if (!found && this.nodes.length > 1) this.contradictions.add(`${node.host} does not have ${signature}`);
      if (found && kept && !isSame(kept.found, found)) this.contradictions.add(`${oddOf(kept, { node, found })} about ${signature}`);
      kept ??= found && { node, found };
    }
    if (!kept) throw new Error(`the node lists ${signature} and no longer has it`);
    return kept.found;
  }

  /** The lookup tables that transactions take addresses from. */
  async tables(accounts: Map<string, Stands>, operator: string, program: Program, mint: string) {
    const named = (await Promise.all(this.read.values())).flatMap((raw) => raw.transaction.message.addressTableLookups ?? []);
    const tables: string[] = [...new Set(named.map((it: any) => it.accountKey))];
    (await standing(this.nodes[0], tables)).forEach((stands, at) => accounts.set(tables[at], stands));
  }
}

function isSame(one: any, other: any): boolean {
  const { transaction, slot, blockTime, meta } = one;
  const fields = ["err", "innerInstructions", "loadedAddresses", "logMessages", "preTokenBalances", "postTokenBalances"];
  return isDeepStrictEqual([transaction, slot, blockTime, ...fields.map((it) => meta[it])],
    [other.transaction, other.slot, other.blockTime, ...fields.map((it) => other.meta[it])]);
}

/** Which of two nodes what was signed contradicts. */
function oddOf(...said: { node: Node; found: any }[]): string {
  const wrong = said.filter(({ found }) => signed(found) !== "well").map(({ node }) => node.host);
  return wrong.length === 1 ? `${wrong[0]} shows what was not signed` : `${said.map(({ node }) => node.host).join(" and ")} contradict each other`;
}

async function operatorOf(reading: Reading, program: Program, account: string): Promise<string> {
  const lines = (await reading.list(account)).reverse();
  for (const line of lines.filter((line) => !line.err)) {
    const calls = landed(await reading.transaction(line.signature), line, program, "").calls;
    const created = calls.find((it) => it.name === "create_agent" && it.accounts.agent === account);
    if (created) return created.accounts.operator;
    throw new Error(`the first transaction of ${account} does not create it: it is no agent account, or the node hides its beginning`);
  }
  throw new Error(`${account} has no past at this node`);
}

/** The operator's accounts as they stand; `undefined` if no node lists them. */
async function listedBy(nodes: Node[], program: Program, operator: string): Promise<string[] | undefined> {
  const at = (offset: number, bytes: Uint8Array) => ({ memcmp: { offset, bytes: base58(bytes) } });
  const { discriminator } = program.idl.accounts!.find((it) => it.name === "Agent")!;
  const filters = [at(0, Uint8Array.from(discriminator)), at(OPERATOR_IN_AGENT, bytesOf(operator))];
  const config = { commitment: "finalized", encoding: "base64", dataSlice: { offset: 0, length: 0 }, filters };
  const answers = await Promise.all(nodes.map((node) => node.ask("getProgramAccounts", [program.address, config]).catch(() => null)));
  const lists = answers.filter((answer) => answer);
  if (lists.length === 0) return undefined;
  // A node that does not filter lists accounts of others, too: each says itself whose it is.
  const addresses: string[] = [...new Set(lists.flat().map((it: any) => it.pubkey))];
  const stands = await standing(nodes[0], addresses);
  return addresses.filter((_, at) => {
    const { account } = stands[at];
    const isAgent = account?.owner === program.address && account.data.subarray(0, 8).equals(Buffer.from(discriminator));
    return isAgent && base58(account.data.subarray(OPERATOR_IN_AGENT, OPERATOR_IN_AGENT + 32)) === operator;
  });
}

const madeAgents = (calls: Call[], operator: string) =>
  calls.filter((it) => it.name === "create_agent" && it.accounts.operator === operator).map((it) => it.accounts.agent);

/** Grants of these accounts, approvers and budgets that were made and not closed. `calls`: the newest first. */
function madeBeside(calls: Call[], operator: string, agents: string[]): string[] {
  const isOpen = new Map<string, boolean>();
  for (const { name, accounts } of calls) {
    if (accounts.operator !== operator || (name === "open_grant" && !agents.includes(accounts.agent))) continue;
    const makes = { open_grant: accounts.grant, set_approver: accounts.approver, set_budget: accounts.budget }[name];
    const closes = { close_grant: accounts.grant, close_budget: accounts.budget }[name];
    const address = makes ?? closes;
    if (address && !isOpen.has(address)) isOpen.set(address, makes !== undefined);
  }
  return [...isOpen].filter(([, open]) => open).map(([address]) => address).sort();
}
