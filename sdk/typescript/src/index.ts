/**
 * Payments of AI agents through a Purser service. Each is made once per idempotency key, within the rules that the
 * chain enforces.
 *
 *     const agent = new Purser(); // PURSER_URL, PURSER_AGENT_KEY
 *     const paid = await agent.pay({ to: payee, amountUsdc: "0.25", idempotencyKey: "invoice-4711" });
 *     console.log(paid.signature, paid.replayed);
 */
export * from "./client.ts";
export {
  ApiError,
  Conflict,
  Duplicate,
  InsufficientFunds,
  PolicyRefused,
  PurserError,
  Refused,
  TooManyRequests,
  Unreachable,
} from "./errors.ts";
export { type Event, type EventOf, isEvent } from "./events.ts";
export { type Amount, microsOfUsdc, usdcOfMicros } from "./money.ts";
export type { IdempotencyKey, OwnIdempotencyKey } from "./renamed.ts";
export type { Clock } from "./retry.ts";
export type * as types from "./types.ts";
export { NotVerified, verify, type VerifyOptions } from "./webhooks.ts";
export * as webhooks from "./webhooks.ts";
