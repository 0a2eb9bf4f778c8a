// One call: asked for until there is an answer that lasts, or the deadline has passed.

import { type ApiError, errorOf, TooManyRequests, Unreachable } from "./errors.ts";
import { MessageReader } from "./events.ts";
import { readJson } from "./money.ts";
import { ATTEMPT_MS, type Clock, isAskedAgain, pause } from "./retry.ts";

/** A comment comes every 15 s. */
const STREAM_SILENCE_MS = 45_000;

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
  signal?: AbortSignal | undefined;
}

export interface Answer {
  json: Record<string, unknown>;
  replayed: boolean;
}

export interface Line {
  base: string;
  key: string | null;
  deadlineMs: number;
  fetch: typeof fetch;
  clock: Clock;
}

/** A POST that is done once under its name, however often it is asked for. */
export function once(path: string, body?: unknown, name?: string): Call {
  return { method: "POST", path, body, headers: { "Idempotency-Key": name ?? `sdk-${crypto.randomUUID()}` } };
}

export async function ask(line: Line, call: Call): Promise<Answer> {
  const began = line.clock.now();
  let accepted: Answer | undefined;
  for (let attempts = 1; ; attempts += 1) {
    const left = began + line.deadlineMs - line.clock.now();
    let retryAfterMs: number | undefined;
    let problem: unknown;
    try {
      const { status, headers, text } = await exchange(line, call, Math.min(ATTEMPT_MS, Math.max(left, 1_000)));
      if (status >= 200 && status < 300) {
        const answer = answerOf(status, headers, text);
        // What this call asked for while it was in flight is no replay.
        const told = accepted === undefined ? answer : { ...answer, replayed: accepted.replayed };
        const isInFlight = status === 202 && answer.json["status"] !== "pending_approval";
        if (!(call.isAwaited && isInFlight)) return told;
        accepted = told;
        problem = new Unreachable("it was accepted and is in flight");
      } else {
        const error = errorOf(status, headers, text, line.clock.now());
        if (!isAskedAgain(error)) throw new Final(error);
        problem = error;
        retryAfterMs = error.retryAfterMs;
      }
    } catch (failure) {
      if (failure instanceof Final) throw failure.error;
      call.signal?.throwIfAborted();
      problem = failure;
    }
    const wait = pause(attempts, retryAfterMs, line.clock.random());
    if (line.clock.now() - began + wait > line.deadlineMs) throw givesUp(line, problem, accepted, attempts);
    await line.clock.sleep(wait, call.signal);
  }
}

/** Carries an error that no retry changes out of the attempt. */
class Final {
  readonly error: ApiError;
  constructor(error: ApiError) {
    this.error = error;
  }
}

function givesUp(line: Line, problem: unknown, accepted: Answer | undefined, attempts: number): Error {
  if (problem instanceof TooManyRequests && accepted === undefined) return problem;
  const said = problem instanceof Error ? problem.message : String(problem);
  const message = `no final answer in ${line.deadlineMs} ms and ${attempts} attempts: ${said}. Ask again under the same name`;
  // Of a payment, or of a purchase.
  const transfer = (accepted?.json["transfer"] ?? accepted?.json) as { transfer_id?: string } | undefined;
  return new Unreachable(message, problem, transfer?.transfer_id);
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  if (status === 204) return { json: {}, replayed: false };
  const json = readJson(text);
  const isOurs = headers.get("content-type")?.split(";")[0]?.trim() === "application/json";
  if (!isOurs || typeof json !== "object" || json === null) throw new TypeError("the answer is not the service's");
  return { json: json as Record<string, unknown>, replayed: headers.get("idempotent-replayed") === "true" };
}

async function exchange(line: Line, call: Call, ms: number): Promise<{ status: number; headers: Headers; text: string }> {
  const silence = new Silence(ms);
  try {
    const response = await line.fetch(...request(line, call, silence.signal));
    return { status: response.status, headers: response.headers, text: await response.text() };
  } finally {
    silence.ends();
  }
}

function request(line: Line, call: Call, signal: AbortSignal): [string, RequestInit] {
  const headers: Record<string, string> = { Accept: "application/json", ...call.headers };
  if (line.key !== null) headers["Authorization"] = `Bearer ${line.key}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(name, value);
  const url = (/^https?:/.test(call.path) ? call.path : line.base + call.path) + (query.size > 0 ? `?${query}` : "");
  const signals = call.signal === undefined ? signal : AbortSignal.any([signal, call.signal]);
  // A redirect would take the key to another place.
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
      throw errorOf(response.status, response.headers, await response.text(), line.clock.now());
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
      await pieces.cancel().catch(() => {});
    }
  } finally {
    silence.ends();
  }
}
