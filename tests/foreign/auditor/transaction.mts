// A transaction as a node shows it: what was signed, what the program and the token program were told, and what balances became.

import { createPublicKey, verify } from "node:crypto";
import { BorshCoder, EventParser, utils, web3, type Idl } from "@anchor-lang/core";
import type { Line, Stands } from "./node.mts";

const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const SYSTEM = "11111111111111111111111111111111";
export const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const TABLE_HEADER_BYTES = 56;

/** The program, by its IDL. */
export class Program {
  readonly idl: Idl;
  readonly coder: BorshCoder;
  readonly parser: EventParser;
  constructor(idl: Idl) {
    [this.idl, this.coder] = [idl, new BorshCoder(idl)];
    this.parser = new EventParser(new web3.PublicKey(idl.address), this.coder);
  }
  get address(): string {
    return this.idl.address;
  }
  /** An address that follows from seeds. */
  derived(...seeds: (string | Uint8Array)[]): string {
    const bytes = seeds.map((seed) => (typeof seed === "string" ? Buffer.from(seed) : seed));
    return web3.PublicKey.findProgramAddressSync(bytes, new web3.PublicKey(this.address))[0].toString();
  }
}

export const bytesOf = (address: string) => new web3.PublicKey(address).toBytes();
export const base58 = (bytes: Uint8Array) => utils.bytes.bs58.encode(bytes);
export const fromBase58 = (text: string): Buffer => Buffer.from(utils.bytes.bs58.decode(text));
export const micros = (value: any): bigint => BigInt(value.toString());
export const usdc = (value: bigint): string => `${value / 1_000_000n}.${String(value % 1_000_000n).padStart(6, "0")} USDC`;

export type Move = { source: string; destination: string; amount: bigint };
/** An instruction of the token program; `moves` if it is a transfer. */
export type Told = { number: number; accounts: string[]; moves?: Move };
/** An instruction of the program. `name` is empty if the IDL does not know it. */
export type Call = {
  name: string; args: any; accounts: Record<string, string>; more: string[]; signer: string; isInner: boolean;
  /** What it had the token program do; `undefined` if an old node does not tell. */
  told?: Told[];
  /** The memo right before it, in the message. */
  memo?: string;
};
export type Balance = { before: bigint; after: bigint; owner?: string };
export type Landed = {
  signature: string; slot: number; time: number | undefined; signers: string[]; calls: Call[]; told: Told[]; events: any[]; isCut: boolean;
  balances: Map<string, Balance>;
  signed: "well" | "wrong" | "unknown version" | "gift";
  /** Lookup tables that it takes addresses from, and what the node says that they hold. */
  tables: any[]; loaded: string[][];
};

/** A transaction of a list's line; `undefined` if it failed. */
export function landed(raw: any, { signature, slot, blockTime }: Line, program: Program, mint: string): Landed {
  if (!raw) throw new Error(`${signature} is listed and not shown`);
  const { meta, transaction: { message, signatures } } = raw;
  const isWhole = meta && meta.innerInstructions && meta.preTokenBalances && meta.postTokenBalances && signatures[0] === signature;
  if (meta?.err) throw new Error(`${signature} is listed as done and shown as failed`);
  if (!isWhole) throw new Error(`${signature} was not kept whole`);
  if (raw.slot !== slot) throw new Error(`${signature} is listed in slot ${slot} and shown in slot ${raw.slot}`);
  const loaded: string[][] = [meta.loadedAddresses?.writable ?? [], meta.loadedAddresses?.readonly ?? []];
  const all: string[] = [...message.accountKeys, ...loaded.flat()];
  const inner = (index: number) => meta.innerInstructions.filter((it: any) => it.index === index).flatMap((it: any) => it.instructions);
  const instructions = message.instructions.flatMap((it: any, index: number) =>
    [{ ...it, index, isInner: false }, ...inner(index).map((it: any) => ({ ...it, index, isInner: true }))]);
  const isToken = (it: any) => all[it.programIdIndex] === TOKEN;
  // What a call has the token program do follows it, deeper down.
  const toldBy = (it: any, place: number): Told[] | undefined => {
    if (it.isInner && it.stackHeight === undefined) return undefined;
    const rest = instructions.slice(place + 1);
    const end = rest.findIndex((next: any) => next.index !== it.index || (it.isInner && next.stackHeight <= it.stackHeight));
    return rest.slice(0, end < 0 ? undefined : end).filter(isToken).map((it: any) => told(it, all));
  };
  const memoBefore = ({ isInner, index }: any): string | undefined => {
    const before = isInner ? undefined : message.instructions[index - 1];
    return before && all[before.programIdIndex] === MEMO ? fromBase58(before.data).toString() : undefined;
  };
  const balances = new Map<string, Balance>();
  for (const [side, list] of [["before", meta.preTokenBalances], ["after", meta.postTokenBalances]] as const) {
    for (const { accountIndex, mint: of, programId, owner, uiTokenAmount } of list) {
      if (of !== mint || (programId && programId !== TOKEN)) continue;
      const known = balances.get(all[accountIndex]) ?? { before: 0n, after: 0n };
      balances.set(all[accountIndex], { ...known, owner, [side]: BigInt(uiTokenAmount.amount) });
    }
  }
  const log: string[] = meta.logMessages ?? [];
  return {
    signature, slot, balances, loaded, tables: message.addressTableLookups ?? [], time: raw.blockTime ?? blockTime ?? undefined,
    signers: message.accountKeys.slice(0, message.header.numRequiredSignatures),
    calls: instructions.flatMap((it: any, place: number) =>
      all[it.programIdIndex] === program.address ? [{ ...call(it, all, program), told: toldBy(it, place), memo: memoBefore(it) }] : []),
    told: instructions.filter(isToken).map((it: any) => told(it, all)),
    events: log.length > 0 ? [...program.parser.parseLogs(log)] : [], isCut: log.length === 0 || log.includes("Log truncated"),
    signed: signed(raw),
  };
}

function call({ accounts, data, isInner }: any, all: string[], program: Program): Omit<Call, "told" | "memo"> {
  const decoded = program.coder.instruction.decode(data, "base58");
  const places = program.idl.instructions.find((it) => it.name === decoded?.name)?.accounts ?? [];
  const named = Object.fromEntries(places.map((place, at) => [place.name, all[accounts[at]]]));
  const more = accounts.slice(places.length).map((it: number) => all[it]);
  return { name: decoded?.name ?? "", args: decoded?.data, accounts: named, more, signer: all[accounts[0]], isInner };
}

function told(it: any, all: string[]): Told {
  const data = fromBase58(it.data);
  const accounts = it.accounts.map((index: number) => all[index]);
  const to = data[0] === 3 ? 1 : data[0] === 12 ? 2 : undefined; // Transfer, TransferChecked
  const moves = to !== undefined && data.length > 8 ? { source: accounts[0], destination: accounts[to], amount: data.readBigUInt64LE(1) } : undefined;
  return { number: data[0], accounts, moves };
}

/** Whether its signatures are of exactly this message, which is put together again. */
export function signed({ version, transaction: { message, signatures } }: any): Landed["signed"] {
  const isLegacy = version === "legacy" || (version === undefined && !message.addressTableLookups);
  if (!isLegacy && version !== 0) return "unknown version";
  const { header, accountKeys } = message;
  try {
    const put = isLegacy ? new web3.Message(message) : new web3.MessageV0({
      ...message, staticAccountKeys: accountKeys.map((key: string) => new web3.PublicKey(key)),
      compiledInstructions: message.instructions.map((it: any) => ({ ...it, accountKeyIndexes: it.accounts, data: fromBase58(it.data) })),
      addressTableLookups: message.addressTableLookups.map((it: any) => ({ ...it, accountKey: new web3.PublicKey(it.accountKey) })),
    });
    const bytes = put.serialize();
    const isComplete = header.numRequiredSignatures > 0 && signatures.length === header.numRequiredSignatures;
    const fits = (one: string, at: number) => isSignedBy(accountKeys[at], bytes, fromBase58(one));
    if (isComplete && signatures.every(fits)) return "well";
  } catch {
    return "wrong";
  }
  // So local networks answer `requestAirdrop`.
  const gives = (it: any) => accountKeys[it.programIdIndex] === SYSTEM && String([...fromBase58(it.data)].slice(0, 4)) === "2,0,0,0";
  return message.instructions.every(gives) ? "gift" : "wrong";
}

export function isSignedBy(key: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  const x = Buffer.from(bytesOf(key)).toString("base64url");
  return verify(null, bytes, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }), signature);
}

/** Whether lookup tables hold what the node says: a table only grows. The table, if it is no more. */
export function lookedUp({ tables, loaded }: Landed, accounts: Map<string, Stands>): "well" | "wrong" | { unknown: string } {
  const held: string[][] = [[], []];
  for (const { accountKey, writableIndexes, readonlyIndexes } of tables) {
    const data = accounts.get(accountKey)?.account?.data;
    for (const [side, indexes] of [writableIndexes, readonlyIndexes].entries()) {
      for (const index of indexes) {
        const at = TABLE_HEADER_BYTES + 32 * index;
        if (!data || data.length < at + 32) return { unknown: accountKey };
        held[side].push(base58(data.subarray(at, at + 32)));
      }
    }
  }
  return held.join("|") === loaded.join("|") ? "well" : "wrong";
}

/** The transactions of each slot in an order in which each finds the balances that were left; where none fits, as they are listed. */
export function byBalances(transactions: Landed[], purses: Set<string>): Landed[] {
  const held = new Map<string, bigint>();
  const ofPurses = ({ balances }: Landed) => [...balances].filter(([address]) => purses.has(address));
  return [...Map.groupBy(transactions, (it) => it.slot).values()].flatMap((slot) => {
    const order: Landed[] = [];
    for (const left = [...slot]; left.length > 0; ) {
      const fits = left.findIndex((it) => ofPurses(it).every(([address, { before }]) => (held.get(address) ?? 0n) === before));
      const [next] = left.splice(Math.max(fits, 0), 1);
      for (const [address, { after }] of ofPurses(next)) held.set(address, after);
      order.push(next);
    }
    return order;
  });
}
