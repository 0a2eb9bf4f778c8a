// What a node is asked, over HTTP: final data alone, lists to their ends.

export type Line = { signature: string; slot: number; blockTime?: number | null; err?: unknown; memo?: string | null };
/** An account as it stands; `null` where there is none. */
export type Stands = { slot: number; account: { owner: string; data: Buffer } | null };
export type Node = { host: string; ask(method: string, params: unknown[]): Promise<any> };

export const CLOCK = "SysvarC1ock11111111111111111111111111111111";
export const FINAL = { commitment: "finalized" };
const TRIES = 7;
const SLOT_PAUSE_MS = 500;
const SLOT_QUESTIONS = 120;
const ACCOUNTS_MAX = 100; // that getMultipleAccounts takes

export const waits = (time: number) => new Promise((later) => setTimeout(later, time));

export function nodeAt(url: string): Node {
  return { host: new URL(url).host, ask: (method, params) => asks(url, method, params) };
}

async function asks(url: string, method: string, params: unknown[]): Promise<any> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    if ((response.status === 429 || response.status >= 500) && attempt < TRIES) {
      await waits(Math.max(250 * 2 ** attempt, 1_000 * (Number(response.headers.get("retry-after")) || 0)));
      continue;
    }
    const answer: any = await response.json();
    if (answer.error) throw new Error(`${new URL(url).host} does not answer ${method}: ${answer.error.message}`);
    return answer.result;
  }
}

/** The lines of an address, newest first. An empty page ends the list if it comes twice: once, it may be a node that is busy. */
export async function linesOf(node: Node, address: string): Promise<Line[]> {
  const lines: Line[] = [];
  for (let empty = 0; empty < 2; ) {
    const page = await node.ask("getSignaturesForAddress", [address, { ...FINAL, limit: 1_000, before: lines.at(-1)?.signature }]);
    empty = page.length === 0 ? empty + 1 : 0;
    lines.push(...page);
  }
  return lines;
}

/** Waits until what is newest now is final. */
export const settles = async (node: Node) => reaches(node, await node.ask("getSlot", [{ commitment: "processed" }]));

/** Waits until a slot is final; whether it was at once. */
export async function reaches(node: Node, slot: number): Promise<boolean> {
  for (let asked = 0; asked < SLOT_QUESTIONS; asked += 1) {
    if ((await node.ask("getSlot", [FINAL])) >= slot) return asked === 0;
    await waits(SLOT_PAUSE_MS);
  }
  throw new Error(`slot ${slot} of ${node.host} does not become final`);
}

/** Accounts as they stand, in the order of their addresses; each group of them is of a slot of its own. */
export async function standing(node: Node, addresses: string[]): Promise<Stands[]> {
  const all: Stands[] = [];
  for (let at = 0; at < addresses.length; at += ACCOUNTS_MAX) all.push(...(await group(node, addresses.slice(at, at + ACCOUNTS_MAX))));
  return all;
}

/**
 * The same, each group together with the chain's own clock, which begins with the slot: a node that ignores the commitment answers those of its
 * newest block, and that they were of the final one.
 */
export async function standingByClock(node: Node, addresses: string[]): Promise<Stands[]> {
  const all: Stands[] = [];
  for (let at = 0; at < addresses.length; at += ACCOUNTS_MAX - 1) {
    const some = await group(node, [...addresses.slice(at, at + ACCOUNTS_MAX - 1), CLOCK]);
    const { slot: said, account: clock } = some.pop()!;
    const slot = Math.max(said, Number(clock?.data.readBigUInt64LE(0) ?? 0n));
    all.push(...some.map(({ account }) => ({ slot, account })));
  }
  return all;
}

async function group(node: Node, addresses: string[]): Promise<Stands[]> {
  const { context, value } = await node.ask("getMultipleAccounts", [addresses, { ...FINAL, encoding: "base64" }]);
  return value.map((it: any) => ({ slot: context.slot, account: it && { owner: it.owner, data: Buffer.from(it.data[0], "base64") } }));
}

/** Every line once, oldest first: slots order them, and within a slot nothing comes before what a list puts before it. */
export function ordered(lists: Line[][]): Line[] {
  const slots = new Map<number, Line[][]>();
  for (const list of lists) {
    const parts = Map.groupBy([...list].reverse(), (line) => line.slot);
    for (const [slot, part] of parts) slots.set(slot, [...(slots.get(slot) ?? []), part]);
  }
  return [...slots].sort(([one], [other]) => one - other).flatMap(([, parts]) => withinSlot(parts));
}

function withinSlot(parts: Line[][]): Line[] {
  const merged: Line[] = [];
  for (let open = parts; (open = open.filter((part) => part.length > 0)).length > 0; ) {
    const isFree = (line: Line) => open.every((part) => !part.slice(1).some((it) => it.signature === line.signature));
    const heads = open.map((part) => part[0]);
    const next = heads.find(isFree) ?? heads[0];
    merged.push(next);
    open = open.map((part) => part.filter((it) => it.signature !== next.signature));
  }
  return merged;
}
