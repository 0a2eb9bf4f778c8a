// What goes wrong, by what there is to do about it.

import { microsOfUsdc } from "./money.ts";
import type { Check } from "./types.ts";

/** Any error of this package. */
export class PurserError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** What the service says of an error. */
export interface ErrorFields {
  status: number;
  /** Decide by this. There may be codes that this version does not know. */
  code: string;
  /** For people. */
  message: string;
  requestId?: string | undefined;
  param?: string | undefined;
  transferId?: string | undefined;
  transferStatus?: string | undefined;
  retryable?: boolean | undefined;
  /** When a daily limit has room for the amount, if nothing else is spent. */
  retryAt?: string | undefined;
  retryAfterMs?: number | undefined;
  checks: Check[];
}

/** The service answered with an error. Decide by `code`. */
export class ApiError extends PurserError {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly param: string | undefined;
  readonly transferId: string | undefined;
  readonly transferStatus: string | undefined;
  readonly retryable: boolean | undefined;
  readonly retryAt: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly checks: readonly Check[];

  constructor(fields: ErrorFields) {
    super(`${fields.code}: ${fields.message}` + (fields.requestId ? ` (${fields.requestId})` : ""));
    this.status = fields.status;
    this.code = fields.code;
    this.requestId = fields.requestId;
    this.param = fields.param;
    this.transferId = fields.transferId;
    this.transferStatus = fields.transferStatus;
    this.retryable = fields.retryable;
    this.retryAt = fields.retryAt;
    this.retryAfterMs = fields.retryAfterMs;
    this.checks = fields.checks;
  }
}

/** Nothing was paid: the account's rules or its balance do not allow it. */
export class Refused extends ApiError {
  /** Most that could be paid now to this recipient: zero if a rule without an amount refuses, `null` if unknown. */
  get maxNow(): string | null {
    const isShut = (check: Check) => !check.ok && check.remaining === undefined && check.rule !== "balance";
    if (this.checks.some(isShut)) return "0.000000";
    const left = this.checks.flatMap((check) => (check.remaining === undefined ? [] : [check.remaining]));
    const least = (one: string, other: string) => (microsOfUsdc(other) < microsOfUsdc(one) ? other : one);
    return left.length === 0 ? null : left.reduce(least);
  }
}

/** The policy refuses, or the account is paused or halted. The name is used up: a new attempt takes a new one. */
export class PolicyRefused extends Refused {}

/** Every rule allows it, but the account holds too little, or is frozen. The name may be used again. */
export class InsufficientFunds extends Refused {}

/** It conflicts with an earlier request or change. */
export class Conflict extends ApiError {}

/** The name was used within 24 hours for another payment or request: a new payment takes a new name. */
export class Duplicate extends Conflict {}

/** Too many requests, pending payments or refusals, for longer than this call may wait. */
export class TooManyRequests extends ApiError {}

/** No answer within the deadline that says how it ended. It may be done or be done still: ask again under the same name. */
export class Unreachable extends PurserError {
  /** The payment, if the service accepted it and it was in flight. */
  readonly transferId: string | undefined;

  constructor(message: string, cause?: unknown, transferId?: string) {
    super(message, { cause });
    this.transferId = transferId;
  }
}

const REFUSALS: Record<string, typeof ApiError> = {
  policy_violation: PolicyRefused,
  account_paused: PolicyRefused,
  insufficient_balance: InsufficientFunds,
  account_frozen: InsufficientFunds,
  idempotency_conflict: Duplicate,
};

/** The error that the service, or a proxy before it, answered. */
export function errorOf(status: number, headers: Headers, text: string, now: number): ApiError {
  const retryAfterMs = retryAfter(headers.get("retry-after"), now);
  let body: Record<string, unknown> = {};
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null) body = read as Record<string, unknown>;
  } catch {
    // A proxy answers in its own words.
  }
  const field = (name: string) => (typeof body[name] === "string" ? body[name] : undefined);
  const code = field("error");
  const ofStatus = status === 409 ? Conflict : status === 429 ? TooManyRequests : ApiError;
  const kind = (code !== undefined && Object.hasOwn(REFUSALS, code) && REFUSALS[code]) || ofStatus;
  return new kind({
    status,
    code: code ?? `http_${status}`,
    message: field("message") ?? (text.slice(0, 200).trim() || "no message"),
    requestId: field("request_id"),
    param: field("param"),
    transferId: field("transfer_id"),
    transferStatus: field("status"),
    retryable: typeof body["retryable"] === "boolean" ? body["retryable"] : undefined,
    retryAt: field("retry_at"),
    retryAfterMs,
    checks: Array.isArray(body["checks"]) ? (body["checks"] as Check[]) : [],
  });
}

/** Seconds, or a date. */
function retryAfter(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
