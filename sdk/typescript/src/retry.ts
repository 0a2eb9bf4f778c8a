// What is asked for again, and after which pause. Everything that this package asks for is done once, however often it is
// asked for: payments by their idempotency key, other POSTs by the same in a header, and the rest because it says what is to be.

import type { ApiError } from "./errors.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** A payment is answered after at most 30 seconds, settled or accepted, unless the service is configured otherwise. */
export const ATTEMPT_MS = 40_000;
/** Answers that are the same however often they are asked for. */
const FINAL = ["transfer_failed", "server_unreachable", "not_configured", "method_not_allowed"];

/** Whether the same request may get another answer soon. */
export function isAskedAgain(error: ApiError): boolean {
  if (FINAL.includes(error.code) || error.status === 501) return false;
  return [408, 425, 429].includes(error.status) || error.status >= 500 || error.code === "idempotency_in_progress";
}

/**
 * Milliseconds until the next attempt: doubled each time, spread so that many clients do not come back together, and never
 * before the service wants to be asked.
 */
export function pause(attempts: number, retryAfterMs: number | undefined, random: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 16));
  return retryAfterMs === undefined ? longest * (0.5 + random / 2) : retryAfterMs + longest * random;
}

/** How time passes. Tests give their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
    }),
};
