// Verifies what is posted to your URL. Whoever knows the URL can post to it: work on nothing that is not verified.

import { PurserError } from "./errors.ts";
import { type Event, eventOf } from "./events.ts";
import { readJson } from "./money.ts";

const TOLERANCE_SECONDS = 300;

/** The delivery is not signed by one of these secrets, or is too old. Answer 401. */
export class NotVerified extends PurserError {}

export type GivenHeaders = Headers | Record<string, string | string[] | undefined>;

export interface VerifyOptions {
  /** How old a delivery may be; `null` takes `X-Service-Signature` alone, which says nothing of the time. */
  toleranceSeconds?: number | null;
  /** Unix seconds; tests give their own. */
  now?: number;
}

/**
 * The event, if the delivery is signed. `body` is the raw body.
 *
 * Every delivery has two signatures. `webhook-signature` covers the time as well, so a recorded delivery cannot be sent to
 * you again later: it is demanded unless `toleranceSeconds` is `null`; then `X-Service-Signature` alone will do. During a
 * rotation either secret will do, and several may be given.
 */
export async function verify(
  body: string | Uint8Array | ArrayBuffer,
  headers: GivenHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Event> {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (secrets.length === 0 || !secrets.every(Boolean)) throw new TypeError("the webhook's secret is empty");
  const given: unknown = body;
  if (typeof given !== "string" && !(given instanceof Uint8Array) && !(given instanceof ArrayBuffer)) {
    throw new TypeError("verify the raw body: JSON that was parsed and written again has another signature");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const header = (name: string) => one(headers, name);
  const tolerance = options.toleranceSeconds === undefined ? TOLERANCE_SECONDS : options.toleranceSeconds;
  const stamped = await isStamped(bytes, header, secrets);
  if (tolerance !== null) {
    if (!stamped) throw new NotVerified("webhook-signature is missing or not by this secret");
    const timestamp = header("webhook-timestamp");
    const age = (options.now ?? Date.now() / 1_000) - (/^\d+$/.test(timestamp) ? Number(timestamp) : NaN);
    if (!(Math.abs(age) <= tolerance)) throw new NotVerified("the delivery is too old, or a clock is wrong");
  } else if (!stamped && !(await isSigned(bytes, header, secrets))) {
    throw new NotVerified("neither signature is by this secret");
  }
  try {
    return eventOf(readJson(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new NotVerified("this is no event", { cause });
  }
}

function one(headers: GivenHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return (Array.isArray(found) ? found[0] : found) ?? "";
}

/** Standard Webhooks: HMAC-SHA256 over id, time and body. */
async function isStamped(body: Uint8Array, header: (name: string) => string, secrets: readonly string[]): Promise<boolean> {
  const head = new TextEncoder().encode(`${header("webhook-id")}.${header("webhook-timestamp")}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  const shown = header("webhook-signature").split(" ").filter((signature) => signature.startsWith("v1,"));
  const keys = secrets.map((secret) => bytesOfBase64(secret.replace(/^whsec_/, "")));
  return anyMatches(keys, shown.map((signature) => bytesOfBase64(signature.slice(3))), signed);
}

/** Lower-case hex of HMAC-SHA256 over the body, by the whole secret; by the one before it too for a day. */
async function isSigned(body: Uint8Array, header: (name: string) => string, secrets: readonly string[]): Promise<boolean> {
  const shown = ["x-service-signature", "x-service-signature-previous"].map(header);
  const keys = secrets.map((secret) => new TextEncoder().encode(secret));
  return anyMatches(keys, shown.map(bytesOfHex), body);
}

/** WebCrypto compares in constant time. */
async function anyMatches(
  keys: (Uint8Array<ArrayBuffer> | undefined)[],
  shown: (Uint8Array<ArrayBuffer> | undefined)[],
  signed: Uint8Array,
): Promise<boolean> {
  let found = false;
  for (const key of keys) {
    if (key === undefined || key.length === 0) continue;
    const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of shown) {
      if (signature !== undefined && (await crypto.subtle.verify("HMAC", hmac, signature, new Uint8Array(signed)))) found = true;
    }
  }
  return found;
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^([0-9a-f]{2})+$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
