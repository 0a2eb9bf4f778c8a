// What goes wrong, by what there is to do about it.

import { microsOfUsdc, readJson } from "./money.ts";
import { SHAPES } from "./shapes.ts";
import type { Check, ErrorBody } from "./types.ts";

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
  /** A person can approve it: the same again with `approval: "request"`, under the same idempotency key. */
  approvable?: boolean | undefined;
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
  /** A person can approve it: the same again with `approval: "request"`, under the same idempotency key. */
  readonly approvable: boolean;
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
    this.approvable = fields.approvable ?? false;
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

/** The policy refuses, or the account is paused or halted. A new attempt needs a new idempotency key, unless a person is asked (`approvable`). */
export class PolicyRefused extends Refused {}

/** Every rule allows it, but the account holds too little, or is frozen. Retry with the same idempotency key. */
export class InsufficientFunds extends Refused {}

/** It conflicts with an earlier request or change. */
export class Conflict extends ApiError {}

/** The idempotency key was used within 24 hours for another payment or request: use a new one for a new payment. */
export class Duplicate extends Conflict {}

/** Too many requests, pending payments or refusals, for longer than this call may wait. */
export class TooManyRequests extends ApiError {}

/** The outcome is unknown: no final answer came within the deadline. Retry with the same idempotency key. */
export class Unreachable extends PurserError {
  /** The payment, if the service accepted it and it was in flight. */
  readonly transferId: string | undefined;

  constructor(message: string, cause?: unknown, transferId?: string) {
    super(message, { cause });
    this.transferId = transferId;
  }
}

/** An answer that is not the service's: somebody on the way wrote it. It says nothing of what was asked for. */
export class Unreadable extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

const REFUSALS: Record<string, typeof ApiError> = {
  policy_violation: PolicyRefused,
  account_paused: PolicyRefused,
  insufficient_balance: InsufficientFunds,
  account_frozen: InsufficientFunds,
  idempotency_conflict: Duplicate,
};

/** The service's error. Throws `Unreadable` for what a proxy before it answered. */
export function errorOf(status: number, headers: Headers, text: string, now: number): ApiError {
  const retryAfterMs = retryAfter(headers.get("retry-after"), now);
  let said: ErrorBody;
  try {
    said = read("ErrorBody", jsonOf(headers, text)) as ErrorBody;
  } catch {
    throw new Unreadable(`${status}, not by the service: ${JSON.stringify(text.slice(0, 100))}`, retryAfterMs);
  }
  const ofStatus = status === 409 ? Conflict : status === 429 ? TooManyRequests : ApiError;
  const kind = (Object.hasOwn(REFUSALS, said.error) && REFUSALS[said.error]) || ofStatus;
  return new kind({
    status,
    code: said.error,
    message: said.message,
    requestId: said.request_id,
    param: said.param,
    transferId: said.transfer_id,
    transferStatus: said.status,
    retryable: said.retryable,
    retryAt: said.retry_at,
    retryAfterMs,
    approvable: said.approvable,
    checks: said.checks ?? [],
  });
}

/** The JSON of an answer that says it is JSON. */
export function jsonOf(headers: Headers, text: string): unknown {
  if (headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() !== "application/json") {
    throw new Unreadable("the answer is not JSON");
  }
  return readJson(text);
}

/** The value, if it has all fields of this kind: see `SHAPES`. Others are left as they are. */
export function read(kind: string, value: unknown): unknown {
  if (!fits(kind, value)) throw new Unreadable(`the answer is no ${kind}`);
  return value;
}

function fits(kind: string, value: unknown): boolean {
  if (kind.endsWith("?")) return value === null || fits(kind.slice(0, -1), value);
  if (kind.endsWith("[]")) return Array.isArray(value) && value.every((one) => fits(kind.slice(0, -2), one));
  if (kind === "usdc") return typeof value === "string" && /^\d{1,20}(\.\d{1,6})?$/.test(value);
  if (kind === "time") return typeof value === "string" && /(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value));
  const shape = SHAPES[kind];
  if (shape === undefined && kind !== "object") return typeof value === kind;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const fields = value as Record<string, unknown>;
  return Object.entries(shape ?? {}).every(([name, one]) => {
    if (!name.endsWith("?")) return fits(one, fields[name]);
    const optional = fields[name.slice(0, -1)];
    return optional === undefined || optional === null || fits(one, optional);
  });
}

/** Seconds, or a date. */
function retryAfter(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
