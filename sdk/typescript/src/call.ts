// One call: asked for until there is an answer that lasts, or the deadline has passed.

import { ApiError, errorOf, jsonOf, TooManyRequests, Unreachable, Unreadable } from "./errors.ts";
import { MessageReader } from "./events.ts";
import { ATTEMPT_MS, type Clock, isAskedAgain, pause } from "./retry.ts";

/** A comment comes every 15 s. */
const STREAM_SILENCE_MS = 45_000;
/** A longer answer is not the service's. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** A bulk change of 1,000 accounts shows two policies of each. */
export const BULK_BYTES_MAX = 48 * 1024 * 1024;

export type Query = Record<string, string | undefined>;

export interface Call {
  method: string;
  /** Below the service's address, or a whole URL. */
  path: string;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether 202 says that it is in flight, so that it is asked for again until it has ended. */
  isAwaited?: boolean;
  answerBytesMax?: number;
  signal?: AbortSignal | undefined;
}

/** Reads the JSON of an answer, `undefined` if it has no body. Throws if it is not the answer to this call. */
export type Reads<T> = (json: unknown) => T;

export interface Answer<T> {
  value: T;
  replayed: boolean;
  /** It goes on by itself. What waits for a person does not. */
  isInFlight: boolean;
}

export interface Line {
  base: string;
  key: string | null;
  deadlineMs: number;
  fetch: typeof fetch;
  clock: Clock;
}

/** A POST that takes effect once per idempotency key, of its own unless one is given. */
export function once(path: string, body?: unknown, idempotencyKey?: string, answerBytesMax = ANSWER_BYTES_MAX): Call {
  const headers = { "Idempotency-Key": idempotencyKey ?? `sdk-${crypto.randomUUID()}` };
  return { method: "POST", path, body, headers, answerBytesMax };
}

/** Asks until the service gives an answer that lasts, or the deadline has passed. What anyone else answers is no answer. */
export async function ask<T>(line: Line, call: Call, reads: Reads<T>): Promise<Answer<T>> {
  const began = line.clock.now();
  let accepted: Answer<T> | undefined;
  for (let attempts = 1; ; attempts += 1) {
    const left = began + line.deadlineMs - line.clock.now();
    let retryAfterMs: number | undefined;
    let problem: unknown;
    try {
      const { status, headers, text } = await exchange(line, call, Math.min(ATTEMPT_MS, Math.max(left, 1_000)));
      if (status < 200 || status >= 300) throw errorOf(status, headers, text, line.clock.now());
      const answer = answerOf(status, headers, text, reads);
      // What this call asked for while it was in flight is no replay.
      const told = accepted === undefined ? answer : { ...answer, replayed: accepted.replayed };
      if (!(call.isAwaited && answer.isInFlight)) return told;
      accepted = told;
      problem = new Unreachable("it was accepted and is in flight");
    } catch (failure) {
      call.signal?.throwIfAborted();
      if (failure instanceof ApiError && !isAskedAgain(failure)) throw failure;
      if (failure instanceof ApiError || failure instanceof Unreadable) retryAfterMs = failure.retryAfterMs;
      problem = failure;
      const untrusted = distrust(failure);
      if (untrusted !== undefined) throw givesUp(line, untrusted, accepted, attempts);
    }
    const wait = pause(attempts, retryAfterMs, line.clock.random());
    if (line.clock.now() - began + wait > line.deadlineMs) throw givesUp(line, problem, accepted, attempts);
    await line.clock.sleep(wait, call.signal);
  }
}

function givesUp(line: Line, problem: unknown, accepted: Answer<unknown> | undefined, attempts: number): Error {
  if (problem instanceof TooManyRequests && accepted === undefined) return problem;
  const said = problem instanceof Error ? problem.message : String(problem);
  const tried = `no final answer in ${line.deadlineMs} ms and ${attempts} attempts`;
  const message = `${tried}: ${said}. Retry with the same idempotency key`;
  // Of a payment, or of a purchase.
  const about = accepted?.value as { transfer?: { transfer_id?: string }; transfer_id?: string } | undefined;
  return new Unreachable(message, problem, (about?.transfer ?? about)?.transfer_id);
}

/** What Node says of a certificate that is not trusted, which another attempt does not change. */
export function distrust(failure: unknown): Error | undefined {
  const cause = failure instanceof Error ? (failure.cause as { code?: unknown } | undefined) : undefined;
  const code = typeof cause?.code === "string" ? cause.code : "";
  if (!/^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/.test(code)) return undefined;
  const hint = "Node reads SSL_CERT_FILE with --use-openssl-ca alone, and NODE_EXTRA_CA_CERTS always";
  return new Error(`the server's certificate is not trusted (${code}). ${hint}`, { cause: failure });
}

function answerOf<T>(status: number, headers: Headers, text: string, reads: Reads<T>): Answer<T> {
  const json = status === 204 ? undefined : jsonOf(headers, text);
  const value = reads(json);
  const { status: state = status === 202 ? "submitted" : "settled" } = (json ?? {}) as { status?: unknown };
  const isInFlight = state !== "settled" && state !== "pending_approval";
  return { value, replayed: headers.get("idempotent-replayed") === "true", isInFlight };
}

async function exchange(line: Line, call: Call, ms: number): Promise<{ status: number; headers: Headers; text: string }> {
  const silence = new Silence(ms);
  try {
    const response = await line.fetch(...request(line, call, silence.signal));
    const text = await textOf(response, call.answerBytesMax ?? ANSWER_BYTES_MAX);
    return { status: response.status, headers: response.headers, text };
  } finally {
    silence.ends();
  }
}

async function textOf(response: Response, bytesMax: number): Promise<string> {
  if (response.body === null) return "";
  const pieces = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let left = bytesMax; ; ) {
    const { done, value } = await pieces.read();
    if (done) return text + decoder.decode();
    left -= value.byteLength;
    if (left < 0) {
      pieces.cancel().catch(() => {});
      throw new Unreadable("the answer is too long");
    }
    text += decoder.decode(value, { stream: true });
  }
}

function request(line: Line, call: Call, signal: AbortSignal): [string, RequestInit] {
  const headers: Record<string, string> = { Accept: "application/json", ...call.headers };
  if (line.key !== null) headers["Authorization"] = `Bearer ${line.key}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(name, value);
  const url = (/^https?:/.test(call.path) ? call.path : line.base + call.path) + (query.size > 0 ? `?${query}` : "");
  const signals = call.signal === undefined ? signal : AbortSignal.any([signal, call.signal]);
  // A redirect would take the API key to another place.
  const init: RequestInit = { method: call.method, headers, signal: signals, redirect: "manual" };
  if (call.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(call.body);
  }
  return [url, init];
}

/** Aborts what stays silent for too long. */
class Silence {
  #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
    this.breaks();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  breaks(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no answer in ${this.#ms} ms`)), this.#ms);
  }

  ends(): void {
    clearTimeout(this.#timer);
  }
}

/** The messages of one connection of a stream. */
export async function* messages(line: Line, call: Call): AsyncGenerator<{ id: string | undefined; data: string }> {
  const silence = new Silence(STREAM_SILENCE_MS);
  try {
    const response = await line.fetch(...request(line, call, silence.signal));
    if (response.status !== 200 || response.body === null) {
      throw errorOf(response.status, response.headers, await textOf(response, ANSWER_BYTES_MAX), line.clock.now());
    }
    const reader = new MessageReader();
    const pieces = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await pieces.read();
        if (done) return;
        silence.breaks();
        yield* reader.feed(value);
      }
    } finally {
      pieces.cancel().catch(() => {});
    }
  } finally {
    silence.ends();
  }
}
