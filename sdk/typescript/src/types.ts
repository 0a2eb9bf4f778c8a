// What the service answers, and the fields of a policy that it is given.
// Generated from the service's OpenAPI document by sdk/generate.py. Do not edit.
// Amounts are decimal strings, those that the service writes as JSON numbers included. Statuses, codes and types may have
// words that are not listed here.

/** The policy of a new account. */
export interface PolicyFields {
  /** Who may be paid, and nobody else; `null` for anyone. */
  allowed_counterparties?: Counterparty[] | null;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend?: UsdcNumber | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer?: UsdcNumber | null;
  /** Whether nothing may leave. */
  paused?: boolean;
  /** Whether a transfer needs a memo. */
  require_memo?: boolean;
}

/** Fields that are left out stay as they are. */
export interface PolicyChange {
  /** Who may be paid, and nobody else; `null` for anyone. */
  allowed_counterparties?: Counterparty[] | null;
  /**
   * The budget that the account pays through, with others that name it; `null` for none. Left out, it stays as it is,
   * also in a PUT.
   */
  budget_id?: BudgetId | null;
  /** Most that may leave in any 30 days; `null` for no limit. Left out, it stays as it is, also in a PUT. */
  max_30_day_spend?: UsdcNumber | null;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend?: UsdcNumber | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer?: UsdcNumber | null;
  /** Whether nothing may leave. */
  paused?: boolean;
  /** Whether a transfer needs a memo. */
  require_memo?: boolean;
}

/** An account. */
export interface Account {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** Whether a person may be asked where policy refuses a transfer of the account: `off` also for what asks for one. */
  approvals: ApprovalRuleOrOther;
  /** When it held that much: a moment ago, or, in a list while the chain does not answer, when it was last seen. */
  balance_as_of: Timestamp;
  /** USDC as a decimal string with six fractional digits. */
  balance_usdc: Usdc;
  /** The default of `create_token_account` for its payments. */
  create_token_accounts: boolean;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /**
   * What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to the request,
   * and over MCP it is refused.
   */
  duplicates: DuplicateRuleOrOther;
  /** The halt that is in force, apart from the policy; `null` without one, and where `status` is `unknown`. */
  halted: Halt | null;
  /** Keys and values of yours, at most 16 KiB of JSON. Kept and returned as they are, and never read. */
  metadata: Metadata | null;
  /** A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text. */
  name: Name;
  /** The PDA that owns the money. Never fund this address: see `usdc_token_account`. */
  solana_address: SolanaAddress;
  /** `unknown` only in a list while the chain does not answer: the account may be paused or halted. */
  status: ShownAccountStatus;
  /** Each once, in order of the alphabet. */
  tags: Tag[];
  /** Where USDC is sent to fund the account. */
  usdc_token_account: SolanaAddress;
  /**
   * In a list while the chain does not answer: how the account was when this service last read it, if it has since its
   * start. It may be paused, halted or changed by now.
   */
  last_seen?: AccountLastSeen;
  /** Operators see the policy, unless the chain does not answer; agents see their limits. */
  policy?: Policy;
  /**
   * Rules of the policy that can never match, in the answer that creates the account. They are in force all the same.
   */
  warnings?: RuleWarning[];
}

/** The id of an account. Opaque; compare it as text. */
export type AccountId = string;

/** An account as it was last read from the chain. */
export interface AccountLastSeen {
  /** When it was read. */
  at: Timestamp;
  /** The budget that it paid through; `null` without one. */
  budget_id: BudgetId | null;
  /** The halt that was in force; `null` without one. */
  halted: Halt | null;
  /**
   * The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits are
   * JSON numbers, written from integers.
   */
  policy: Policy;
  /** What had left in the 24 hours before. */
  spent_24h_usdc: Usdc;
  /** `paused` where the account may not pay, by its policy or by a halt. */
  status: AccountStatusOrOther;
}

/** Only what differs. */
export interface AccountParts {
  /** Who may be paid, by address: wallets, then token accounts; `null` for anyone. */
  allowed_counterparties?: CounterpartyText[] | null;
  /** The id of a budget: `bdg_` and its address on the chain. */
  budget_id?: BudgetId | null;
  /** What each entry is, in the order of the entries. */
  counterparty_kinds?: CounterpartyKindOrOther[] | null;
  /** Whether the account itself is halted. */
  halted?: boolean;
  /** USDC as an exact JSON number, with at most six fractional digits. */
  max_30_day_spend?: UsdcLimit | null;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend?: UsdcLimit | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer?: UsdcLimit | null;
  /** Whether nothing may leave. */
  paused?: boolean;
  /** Whether a transfer needs a memo. */
  require_memo?: boolean;
}

/**
 * An account's policy; `tx_signature` where it was just put in force, `effective_at` where the change has to wait, and
 * `warnings` in the answer to a change.
 */
export interface AccountPolicy {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** Who may be paid, by address: wallets, then token accounts; `null` for anyone. */
  allowed_counterparties: CounterpartyText[] | null;
  /** The budget that the account pays through; `null` for none. */
  budget_id: BudgetId | null;
  /** Whether it pays by grants alone. Set by the admin's own commands. */
  by_grant_only: boolean;
  /** What each entry is, in the order of the entries. */
  counterparty_kinds: CounterpartyKindOrOther[] | null;
  /**
   * Most that may leave in any 30 days; `null` for no limit. No grant goes past it. Neither this nor `budget_id` is
   * part of a version.
   */
  max_30_day_spend: UsdcLimit | null;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend: UsdcLimit | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer: UsdcLimit | null;
  /** Whether nothing may leave. */
  paused: boolean;
  /** The policy that waits to take this one's place; `null` without one. */
  pending: PendingPolicy | null;
  /** Whether a transfer needs a memo. */
  require_memo: boolean;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  updated_at: Timestamp;
  /** Counts the changes of a policy. */
  version: PolicyVersion;
  /** When the change takes effect, where it has to wait. */
  effective_at?: Timestamp;
  /** By which transaction it was just put in force. */
  tx_signature?: TransactionSignature;
  /** Of a change: the rules in it that can never match. They hold all the same. A pause alone is not looked at. */
  warnings?: RuleWarning[];
}

/** `paused` where the account may not pay, by its policy or by a halt. */
export type AccountStatus = "active" | "paused" | (string & {});

/** `paused` where the account may not pay, by its policy or by a halt. */
export type AccountStatusOrOther = AccountStatus | (string & {});

/** Something that was changed through the service. Every field is there; what does not apply is `null`. */
export interface Action {
  /**
   * An operation of this API by its id, or `sign_in`, `sign_out`, `end_session`, `end_other_sessions`, `add_passkey`
   * and `remove_passkey` of the dashboard.
   */
  action: ActionName;
  /** The client's address. */
  address: ClientAddress | null;
  /** What was asked for: the body of the request, up to 2,000 bytes. */
  after: AskedFields | null;
  /** When it began. */
  created_at: Timestamp;
  /** The id of an action. Opaque; compare it as text. */
  id: ActionId;
  /** The beginning and the end of a key, to tell it from others. */
  key_hint: ApiKeyHint | null;
  /** The key of the request, or of the session; `null` for the command line on the server. */
  key_id: KeyId | null;
  /** A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text. */
  key_name: Name | null;
  /** What was made. */
  made_id: ActionObject | null;
  /** What was changed. */
  object_id: ActionObject | null;
  /**
   * `unknown` while it runs, and afterwards if the service was interrupted or answered 5xx. If the change sends
   * transactions, the service looks them up within minutes: `done` if one of them changed something, `unchanged` if
   * they all failed or expired.
   */
  outcome: ActionOutcome;
  /** Of the passkey that opened its session, also where that was removed since. */
  passkey_name: Name | null;
  /** As in the header `X-Request-Id` of its answer. */
  request_id: RequestId | null;
  /** Where it came from the dashboard. */
  session_id: SessionId | null;
  /** Of the change on the chain. */
  tx_signature: TransactionSignature | null;
}

/** The id of an action. Opaque; compare it as text. */
export type ActionId = string;

/**
 * An operation of this API by its id, or `sign_in`, `sign_out`, `end_session`, `end_other_sessions`, `add_passkey` and
 * `remove_passkey` of the dashboard.
 */
export type ActionName = string;

/** The id of an account, a key, a webhook, a transfer, a session or a passkey. */
export type ActionObject = string;

/**
 * `unknown` while it runs, and afterwards if the service was interrupted or answered 5xx. If the change sends
 * transactions, the service looks them up within minutes: `done` if one of them changed something, `unchanged` if they
 * all failed or expired.
 */
export type ActionOutcome = "unknown" | "done" | "unchanged" | (string & {});

/** What happened. */
export type AnyEventType =
  | "transfer.initiated"
  | "transfer.settled"
  | "transfer.rejected"
  | "transfer.reopened"
  | "transfer.failed"
  | "balance.low_threshold"
  | "policy.pending"
  | "policy.applied"
  | "limit.threshold"
  | "deposit.settled"
  | "withdrawal.settled"
  | "policy.changed"
  | "account.halted"
  | "approval.requested"
  | "approval.granted"
  | "approval.rejected"
  | "approval.expired"
  | "approval.void"
  | "approval.used"
  | "action.recorded"
  | "webhook.test"
  | (string & {});

/** An API key: a secret. */
export type ApiKey = string;

/** The beginning and the end of a key, to tell it from others. */
export type ApiKeyHint = string;

/** The `AppliedData` of the service's description. */
export interface AppliedData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** The policy that is in force. */
  policy: Policy;
  /** `null` where the service does not know by which transaction. */
  tx_signature: TransactionSignature | null;
  /** Counts the changes of a policy. */
  version: PolicyVersion;
}

/** The `ApprovalData` of the service's description. */
export interface ApprovalData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** Until when it can be approved. */
  expires_at: Timestamp;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /** For people: which limit refused it, or why it is over. `null` where it was granted. */
  message: Message | null;
  /**
   * Whether the operator's admin alone can let it pass, because it exceeds the daily limit. `null` once it does not
   * wait any more.
   */
  needs_admin: boolean | null;
  /** Why policy refused it. */
  rejection_reason: RejectionReason;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/** `request`: a person is asked, and the transfer waits as `pending_approval`; `never`: it is rejected. */
export type ApprovalRequest = "never" | "request" | (string & {});

/** Whether a person may be asked where policy refuses a transfer of the account: `off` also for what asks for one. */
export type ApprovalRule = "on" | "off" | (string & {});

/** Whether a person may be asked where policy refuses a transfer of the account: `off` also for what asks for one. */
export type ApprovalRuleOrOther = ApprovalRule | (string & {});

/** A page without a key. Whoever has the link sees the payment; to approve takes an approver's wallet. */
export type ApprovalUrl = string;

/** The fields of a request's body, as they were sent. */
export type AskedFields = Record<string, unknown>;

/** One attempt: what the receiver answered, or why it did not. */
export interface Attempt {
  /** Counted from 1. */
  attempt: number;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  ended_at: Timestamp;
  /** Why there was no answer. */
  error: Unanswered | null;
  /** The beginning of the receiver's answer, at most 1 KiB. */
  response: string | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  started_at: Timestamp;
  /** What the receiver answered; `null` where it did not. */
  status_code: number | null;
}

/** An account's live balance. */
export interface Balance {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  balance_usdc: Usdc;
  /** When it was read from the chain. */
  last_updated: Timestamp;
}

/** The id of a budget: `bdg_` and its address on the chain. */
export type BudgetId = string;

/** Of the account's budget. What other accounts paid through it counts too. */
export interface BudgetLimit {
  /** The id of a budget: `bdg_` and its address on the chain. */
  budget_id: BudgetId;
  /** Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer. */
  max_30_day_spend: MonthLimit;
  /** Of a rolling window of 24 hours. */
  max_daily_spend: DailyLimit;
}

/** What the payment says on the chain, where others may write more than 200 characters. */
export type ChainMemo = string;

/** The `ChangedData` of the service's description. */
export interface ChangedData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** The version that is in force. */
  after: NumberedPolicy;
  /** The latest version before it that is known. */
  before: NumberedPolicy | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  changed_at: Timestamp;
  /** Whose signature set it; `null` if unknown. */
  signer: SolanaAddress | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** One entry of `checks`: how a rule judged a transfer. Amounts are decimal strings. */
export interface Check {
  /** Whether the rule allows the transfer. */
  ok: boolean;
  /** What a transfer is checked against. */
  rule: Rule;
  /** What the rule allows at most; of `balance`, what there is. */
  limit?: Usdc;
  /** What the limit left before this transfer. */
  remaining?: Usdc;
  /** What already counts against the limit. */
  used?: Usdc;
}

/** A range of IPv4 or IPv6 addresses in CIDR notation, or one address. */
export type Cidr = string;

/** An IPv4 or IPv6 address. */
export type ClientAddress = string;

/**
 * An account id stands for that account. A plain address is read as what it already is in the policy, as a token
 * account if one stands there, and otherwise as a wallet if it can be a key.
 */
export type Counterparty = CounterpartyText | { wallet: SolanaAddress } | { token_account: SolanaAddress };

/** Whether an entry stands for all token accounts of a wallet, or for one token account. */
export type CounterpartyKind = "wallet" | "token_account" | (string & {});

/** Whether an entry stands for all token accounts of a wallet, or for one token account. */
export type CounterpartyKindOrOther = CounterpartyKind | (string & {});

/** An entry of an allowlist: an account id or an address. */
export type CounterpartyText = string;

/** Of a rolling window of 24 hours. */
export interface DailyLimit {
  /** When the oldest of it stops counting; `null` when nothing counts. */
  frees_at: Timestamp | null;
  /** Most that may leave in any 24 hours. */
  limit: Usdc | null;
  /** What may still leave now. */
  remaining: Usdc | null;
  /** What left in the last 24 hours. */
  used: Usdc;
}

/** One event on its way to one webhook. */
export interface Delivery {
  /** Those of the last 30 days, the earliest first. */
  attempts: Attempt[];
  /** Why a pending one is not attempted. */
  blocked_by: Hindrance | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** When the receiver acknowledged it. */
  delivered_at: Timestamp | null;
  /** The id of an event. Opaque; compare it as text. */
  event_id: EventId;
  /** What happened. */
  event_type: AnyEventType;
  /** Of one that is pending. */
  next_attempt_at: Timestamp | null;
  /** The state of a delivery. */
  status: DeliveryStatus;
  /** When it was given up. */
  undelivered_at: Timestamp | null;
}

/** The state of a delivery. */
export type DeliveryStatus = "pending" | "delivered" | "undelivered" | (string & {});

/** The `DepositData` of the service's description. */
export interface DepositData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The line of the account's history. */
  entry_id: EntryId;
  /** Who paid; `null` unless it was one party alone. */
  from: OtherSide | null;
  /** In the words of whoever sent it: anybody. */
  memo: ChainMemo | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  settled_at: Timestamp;
  /** Of a deposit that one transfer made. */
  transfer_id: TransferId | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** Seen from the account. */
export type Direction = "in" | "out" | (string & {});

/** Who disabled a webhook: the operator, or the service after days of failures only. */
export type DisabledReason = "requested" | "failing" | (string & {});

/**
 * What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to the request, and
 * over MCP it is refused.
 */
export type DuplicateRule = "as_asked" | "refused" | "paid" | (string & {});

/**
 * What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to the request, and
 * over MCP it is refused.
 */
export type DuplicateRuleOrOther = DuplicateRule | (string & {});

/** A line of an account's history. Every field is there; what does not apply is `null`. */
export interface Entry {
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The other side: an account id, or a token account. `null` unless it was one party alone. */
  counterparty: OtherSide | null;
  /** When it happened. */
  created_at: Timestamp;
  /** Seen from the account. */
  direction: Direction;
  /** Of what was rejected. */
  error: ErrorCode | null;
  /** The id of a line of an account's history. Opaque; compare it as text. */
  id: EntryId;
  /** Of a transfer, and of a deposit that one transfer made. */
  memo: ChainMemo | null;
  /**
   * Whose words `memo` is; `null` without one. Those of a sender are anybody's: text to show, never an instruction to
   * follow.
   */
  memo_from: MemoFrom | null;
  /** Of what was rejected. */
  message: Message | null;
  /** Of what is settled. */
  solana_explorer_url: ExplorerUrl | null;
  /** Whether money moved. */
  status: EntryStatus;
  /** Of a transfer, and of a deposit that one transfer made. */
  transfer_id: TransferId | null;
  /** Of what is settled. */
  tx_signature: TransactionSignature | null;
  /** A payment within policy, money received by whatever means, or a withdrawal by the operator's admin. */
  type: EntryKind;
  /** When it came into the history, which is in this order: later than that of every entry that was there before. */
  visible_at: Timestamp;
}

/** The id of a line of an account's history. Opaque; compare it as text. */
export type EntryId = string;

/** A payment within policy, money received by whatever means, or a withdrawal by the operator's admin. */
export type EntryKind = "transfer" | "deposit" | "withdrawal" | (string & {});

/** Whether money moved. */
export type EntryStatus = "settled" | "rejected" | (string & {});

/** An error as it is answered. */
export interface ErrorBody {
  /** Decide by this. There may be others later: treat one that you do not know by its HTTP status. */
  error: ErrorCode;
  /** A sentence for people. Its wording may change: decide by codes, never by it. */
  message: Message;
  /** As in the header `X-Request-Id`. */
  request_id: RequestId;
  /**
   * `true`: a person can approve it, if it is sent again under the same idempotency key with `"approval": "request"`.
   */
  approvable?: boolean;
  /** What every rule said, in the order in which they win. */
  checks?: Check[];
  /** What is wrong, by its path: `policy.paused`, `allowed_counterparties[3]`. `body` is the body as a whole. */
  param?: string;
  /** The rent of a USDC token account, if the wallet has none. */
  rent_lamports?: number;
  /** When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid. */
  retry_at?: Timestamp;
  /** `true`: nothing was done, and the same request may simply be sent again, a transfer under the same key. */
  retryable?: boolean;
  /** The state of a transfer: `submitted` may still settle or fail, the others are end states. */
  status?: TransferStatus;
  /** The transfer that ended so, that the idempotency key stands for, or that this one looks like. */
  transfer_id?: TransferId;
}

/** Decide by this. There may be others later: treat one that you do not know by its HTTP status. */
export type ErrorCode =
  | "invalid_request"
  | "quota_exceeded"
  | "unauthorized"
  | "policy_violation"
  | "account_paused"
  | "insufficient_balance"
  | "account_frozen"
  | "approval_rejected"
  | "approval_expired"
  | "approval_void"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "idempotency_conflict"
  | "likely_duplicate"
  | "idempotency_in_progress"
  | "policy_changed"
  | "approval_closed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "invalid_recipient"
  | "recipient_has_no_token_account"
  | "offer_refused"
  | "payment_refused"
  | "rate_limited"
  | "too_many_pending"
  | "too_many_refusals"
  | "account_full"
  | "internal_error"
  | "not_configured"
  | "transfer_failed"
  | "server_unreachable"
  | "service_unavailable"
  | "solana_unavailable"
  | "authority_rotated"
  | "fee_payer_empty"
  | "signer_unavailable"
  | "timeout"
  | (string & {});

/** The id of an event. Opaque; compare it as text. */
export type EventId = string;

/** What a webhook can subscribe to. */
export type EventType =
  | "transfer.initiated"
  | "transfer.settled"
  | "transfer.rejected"
  | "transfer.reopened"
  | "transfer.failed"
  | "balance.low_threshold"
  | "policy.pending"
  | "policy.applied"
  | "limit.threshold"
  | "deposit.settled"
  | "withdrawal.settled"
  | "policy.changed"
  | "account.halted"
  | "approval.requested"
  | "approval.granted"
  | "approval.rejected"
  | "approval.expired"
  | "approval.void"
  | "approval.used"
  | "action.recorded"
  | (string & {});

/** What a webhook can subscribe to. */
export type EventTypeOrOther = EventType | (string & {});

/** A link to the transaction in a chain explorer. */
export type ExplorerUrl = string;

/** The `FailedData` of the service's description. */
export interface FailedData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /** Why, for people. */
  message: Message;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/** A halt that is in force on an account. */
export interface Halt {
  /**
   * The action on record that it was; `null` where a wallet halted it without the service, for agents, and for a moment
   * after the halt.
   */
  action_id: ActionId | null;
  /** Whose key halted. */
  by: HaltedBy;
  /** What is halted. */
  scope: HaltScope;
}

/** What is halted. */
export type HaltScope = "account" | "operator" | (string & {});

/** What is halted: the operator, or one account. */
export interface Halted {
  /** This request, on record; `null` where its record could not be written, which no halt waits for. */
  action_id: ActionId | null;
  /** Always `true`. */
  halted: boolean;
  /** Whose key halted. */
  halted_by: HaltedBy;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** Whose key halted. */
export type HaltedBy = "admin" | "policy_authority" | "guardian" | (string & {});

/** The `HaltedData` of the service's description. */
export interface HaltedData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  halted_at: Timestamp;
  /** `null` if unknown. */
  halted_by: HaltedBy | null;
  /** What is halted. */
  scope: HaltScope;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** Why nothing is delivered to a webhook. */
export type Hindrance = "sealing_key_missing" | "secret_sealed_with_another_key" | (string & {});

/** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
export type IdempotencyKey = string;

/** The `InitiatedData` of the service's description. */
export interface InitiatedData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/** A key, without the key itself. */
export interface Key {
  /** The account that it opens; `null` of an operator key. */
  account_id: AccountId | null;
  /** From which addresses it may be used; `null` for any. */
  allowed_cidrs: Cidr[] | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** From then on it is not valid. */
  expires_at: Timestamp | null;
  /** The beginning and the end of a key, to tell it from others. */
  hint: ApiKeyHint;
  /** The id of an API key. Opaque; compare it as text. */
  id: KeyId;
  /** About a minute late; `null` before its first use. */
  last_used_at: Timestamp | null;
  /** The key that made it; `null` where the command line did. */
  made_by: KeyId | null;
  /** A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text. */
  name: Name | null;
  /** Since then it is not valid. */
  revoked_at: Timestamp | null;
  /** What it may do. */
  scopes: ScopeOrOther[];
}

/** The id of an API key. Opaque; compare it as text. */
export type KeyId = string;

/** An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit. */
export interface Limits {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** What the account pays through together with others; `null` without a budget. */
  budget: BudgetLimit | null;
  /** Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer. */
  max_30_day_spend: MonthLimit;
  /** Of a rolling window of 24 hours. */
  max_daily_spend: DailyLimit;
  /** Of each transfer by itself. */
  max_single_transfer: SingleLimit;
}

/** The `LowBalanceData` of the service's description. */
export interface LowBalanceData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  balance_usdc: Usdc;
  /** The webhook's `low_balance_threshold_usdc`. */
  threshold_usdc: Usdc;
  /** Where it is funded. */
  usdc_token_account: SolanaAddress;
}

/** What became of each account, or would. */
export interface ManyChanged {
  /** Each of them. */
  accounts: OneChanged[];
  /** How many accounts were changed. */
  applied: number;
  /** Whether nothing was done. */
  dry_run: boolean;
  /** How many failed. */
  failed: number;
  /** How many wait. */
  pending: number;
  /** How many were so already. */
  unchanged: number;
}

/**
 * `pending` waits for the loosening delay; `unchanged` was so already; `failed` has an `error`; after one of the 5xx
 * kind, read the account: the change may have landed.
 */
export type ManyOutcome = "applied" | "pending" | "unchanged" | "failed" | (string & {});

/** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
export type Memo = string;

/** `account`: the account's own words, in what it asked for. `sender`: those of whoever sent a deposit. */
export type MemoFrom = "account" | "sender" | (string & {});

/** A sentence for people. Its wording may change: decide by codes, never by it. */
export type Message = string;

/** Keys and values of yours, at most 16 KiB of JSON. Kept and returned as they are, and never read. */
export type Metadata = Record<string, unknown>;

/** How a resource is asked for. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | (string & {});

/** Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer. */
export interface MonthLimit {
  /** When the oldest of it stops counting; `null` when nothing counts. */
  frees_at: Timestamp | null;
  /** Most that may leave in any 30 days. */
  limit: Usdc | null;
  /** What may still leave now. */
  remaining: Usdc | null;
  /** What left in the last 30 days; `null` for an account without this limit, of which nothing is counted. */
  used: Usdc | null;
}

/** A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text. */
export type Name = string;

/** A new key: the only answer that shows it. */
export interface NewKey {
  /** The account that it opens; `null` of an operator key. */
  account_id: AccountId | null;
  /** From which addresses it may be used; `null` for any. */
  allowed_cidrs: Cidr[] | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** From then on it is not valid. */
  expires_at: Timestamp | null;
  /** The beginning and the end of a key, to tell it from others. */
  hint: ApiKeyHint;
  /** The id of an API key. Opaque; compare it as text. */
  id: KeyId;
  /** An API key: a secret. */
  key: ApiKey;
  /** About a minute late; `null` before its first use. */
  last_used_at: Timestamp | null;
  /** The key that made it; `null` where the command line did. */
  made_by: KeyId | null;
  /** A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text. */
  name: Name | null;
  /** Since then it is not valid. */
  revoked_at: Timestamp | null;
  /** What it may do. */
  scopes: ScopeOrOther[];
}

/** A policy and which version of the account's it is. */
export interface NumberedPolicy {
  /** What it says; `null` if it could not be read. */
  policy: Policy | null;
  /** Counts the changes of a policy. */
  version: PolicyVersion;
}

/** What became of one account, or would. */
export interface OneChanged {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** What differs, after. */
  after: AccountParts;
  /** What differs, before. */
  before: AccountParts;
  /** `null` where there is no such account. */
  name: Name | null;
  /**
   * `pending` waits for the loosening delay; `unchanged` was so already; `failed` has an `error`; after one of the 5xx
   * kind, read the account: the change may have landed.
   */
  outcome: ManyOutcome;
  /** The policy version that was looked at: `accounts.versions` takes it. */
  version: PolicyVersion | null;
  /** Rules after the change that can never match. Not looked at for halts and pauses. */
  warnings: RuleWarning[];
  /** When what is pending can take effect. */
  effective_at?: Timestamp;
  /** Why it failed. */
  error?: ErrorBody;
  /** Of the change on the chain. */
  tx_signature?: TransactionSignature;
}

/** An account id, or the address of a token account. */
export type OtherSide = string;

/** The `PendingData` of the service's description. */
export interface PendingData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** When it can take effect. */
  effective_at: Timestamp;
  /** The policy that waits. */
  policy: Policy;
  /** Whose signature put it there. */
  signer: SolanaAddress;
}

/** A policy that waits. */
export interface PendingPolicy {
  /** Who may be paid, by address: wallets, then token accounts; `null` for anyone. */
  allowed_counterparties: CounterpartyText[] | null;
  /** What each entry is, in the order of the entries. */
  counterparty_kinds: CounterpartyKindOrOther[] | null;
  /** When it can take effect. */
  effective_at: Timestamp;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend: UsdcLimit | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer: UsdcLimit | null;
  /** Whether nothing may leave. */
  paused: boolean;
  /** Whether a transfer needs a memo. */
  require_memo: boolean;
}

/**
 * The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits are JSON
 * numbers, written from integers.
 */
export interface Policy {
  /** Who may be paid, by address: wallets, then token accounts; `null` for anyone. */
  allowed_counterparties: CounterpartyText[] | null;
  /** What each entry is, in the order of the entries. */
  counterparty_kinds: CounterpartyKindOrOther[] | null;
  /** Most that may leave in any 24 hours. `null` for no limit. */
  max_daily_spend: UsdcLimit | null;
  /** Most of a single transfer. `null` for no limit. */
  max_single_transfer: UsdcLimit | null;
  /** Whether nothing may leave. */
  paused: boolean;
  /** Whether a transfer needs a memo. */
  require_memo: boolean;
}

/** Why the policy was changed, in the words of who asked for it. */
export type PolicyReason = string;

/** A version of a policy, and what set it. */
export interface PolicySet {
  /** The action on record that it was; `null` where a wallet set it without the service. */
  action_id: ActionId | null;
  /** The API key that asked for it, where it came by the API. */
  key_id: KeyId | null;
  /** Its recipients as they stand on the chain; `null` where it could not be read any more. */
  policy: Policy | null;
  /** Why the policy was changed, in the words of who asked for it. */
  reason: PolicyReason | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  set_at: Timestamp;
  /** Whose key signed it; `null` if unknown. */
  signer: SolanaAddress | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
  /** Counts the changes of a policy. */
  version: PolicyVersion;
}

/** Counts the changes of a policy. */
export type PolicyVersion = number;

/** What would become of a transfer now. */
export interface Preview {
  /** Whether it would be sent. */
  allowed: boolean;
  /** What every rule says, in the order in which they win. */
  checks: Check[];
  /** What it would be refused with. */
  error?: ErrorCode;
  /** A sentence for people. Its wording may change: decide by codes, never by it. */
  message?: Message;
  /**
   * The rent of a USDC token account, if the wallet has none. An allowed payment has the service create it first and
   * pay this rent, which then belongs to the payee.
   */
  rent_lamports?: number;
  /** When the rolling window has room for the amount, if nothing else is spent. */
  retry_at?: Timestamp;
}

/**
 * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and failed.
 * For a wallet, the address of its USDC token account.
 */
export type Recipient = string;

/** The `RejectedData` of the service's description. */
export interface RejectedData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /** Names the limit that refused, for people. */
  message: Message;
  /** Which rule refused. */
  rejection_reason: RejectionReason;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/** Which rule refused. */
export type RejectionReason =
  | "halted"
  | "paused"
  | "memo_required"
  | "memo_too_long"
  | "recipient_not_allowed"
  | "single_limit_exceeded"
  | "daily_limit_exceeded"
  | "grant_required"
  | "month_limit_exceeded"
  | "budget_exceeded"
  | (string & {});

/** The `ReopenedData` of the service's description. */
export interface ReopenedData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** Of the payment that is gone. */
  tx_signature: TransactionSignature;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/** Which events of a period are delivered again. */
export type ReplayScope = "not_delivered" | "undelivered" | "all" | (string & {});

/** How many deliveries were begun anew. */
export interface Replayed {
  /** Those that are being attempted at this moment do not count. */
  replayed: number;
}

/** The id of a request, to quote when you ask about it. Opaque; compare it as text. */
export type RequestId = string;

/** A server's answer. */
export interface Resource {
  /** At most 65,536 bytes, in this encoding. */
  body: ResourceBody;
  /** As the server names its form. */
  content_type: string | null;
  /** `utf-8`: the body is the text. `base64`: it is not text. */
  encoding: ResourceEncoding;
  /** The HTTP status. */
  status: number;
  /** There was more of it. */
  truncated: boolean;
  /** Where a redirect leads. It is not followed: buy there with a new `url`. */
  location?: string | null;
  /** Why a payment was not taken, in the server's words. */
  refusal?: string | null;
}

/** The `ResourceBody` of the service's description. */
export type ResourceBody = string;

/** How bytes are written. */
export type ResourceEncoding = "utf-8" | "base64" | (string & {});

/** What a transfer is checked against. */
export type Rule =
  | "paused"
  | "require_memo"
  | "allowed_counterparties"
  | "max_single_transfer"
  | "max_daily_spend"
  | "by_grant_only"
  | "max_30_day_spend"
  | "budget"
  | "balance"
  | (string & {});

/**
 * A rule that was set and can never match, or a limit that stops payments without a pause. The rule is in force all the
 * same.
 */
export interface RuleWarning {
  /** Which warning. */
  code: WarningCode;
  /** A sentence for people. Its wording may change: decide by codes, never by it. */
  message: Message;
}

/** What a key may do. `admin` stands for all of them, and for what has no scope of its own. */
export type Scope = "read" | "pay" | "policy" | "halt" | "reject-approvals" | "admin" | (string & {});

/** What a key may do. `admin` stands for all of them, and for what has no scope of its own. */
export type ScopeOrOther = Scope | (string & {});

/** A dashboard session. It opens nothing. */
export type SessionId = string;

/** The `SettledData` of the service's description. */
export interface SettledData {
  /** The account that pays, or was to pay. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  settled_at: Timestamp;
  /**
   * Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and
   * failed. For a wallet, the address of its USDC token account.
   */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
}

/**
 * `paused` where the account may not pay, by its policy or by a halt. `unknown` while the chain does not answer: it may
 * be either.
 */
export type ShownAccountStatus = "active" | "paused" | "unknown" | (string & {});

/** Of each transfer by itself. */
export interface SingleLimit {
  /** Most of a single transfer. */
  limit: Usdc | null;
  /** The same: no transfer uses it up. */
  remaining: Usdc | null;
}

/** A Solana address, base58. */
export type SolanaAddress = string;

/** A word of yours, by which accounts are chosen: lower-case letters, digits and `.`, `_`, `:`, `/`, `-`. */
export type Tag = string;

/** The `TestData` of the service's description. */
export interface TestData {
  /** The id of a webhook. Opaque; compare it as text. */
  webhook_id: WebhookId;
}

/** The `ThresholdData` of the service's description. */
export interface ThresholdData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** Of the payment. */
  amount_usdc: Usdc;
  /** Of a budget's limit; otherwise `null`. */
  budget_id: BudgetId | null;
  /** The payment's line of the account's history. */
  entry_id: EntryId;
  /** `daily` and `30_days` are the account's, the others its budget's. */
  limit: WatchedLimit;
  /** The cap. */
  limit_usdc: Usdc;
  /** The same, whichever limit it is. */
  max_daily_spend_usdc: Usdc;
  /** Counts the changes of a policy. */
  policy_version: PolicyVersion;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  settled_at: Timestamp;
  /** What counts against the cap, up to and including the payment. */
  spent_usdc: Usdc;
  /** Which share of the cap was reached. */
  threshold_percent: number;
  /** Of the payment. */
  transfer_id: TransferId | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
export type Timestamp = string;

/** The signature of a Solana transaction, base58. */
export type TransactionSignature = string;

/** A transfer in any state. */
export interface Transfer {
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** The account that pays. */
  from: AccountId;
  /** The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours. */
  idempotency_key: IdempotencyKey;
  /** Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none. */
  memo: Memo | null;
  /** The state of a transfer: `submitted` may still settle or fail, the others are end states. */
  status: TransferStatus;
  /** As submitted. */
  to: Recipient;
  /** The id of a transfer. Opaque; compare it as text. */
  transfer_id: TransferId;
  /**
   * `true`: a person can approve it, if it is sent again under the same idempotency key with `"approval": "request"`.
   */
  approvable?: boolean;
  /** Of one about which a person was asked: until when it can be approved. */
  approval_expires_at?: Timestamp;
  /**
   * The page to show to whoever approves it, where the service has a `server.public_url`. Whoever has the link sees the
   * payment.
   */
  approval_url?: ApprovalUrl;
  /** The wallet that approved it, once its grant has let it through. */
  approved_by?: SolanaAddress;
  /** Of what was rejected: what every rule said, in the order in which they win. */
  checks?: Check[];
  /** Of what was rejected or failed, or what a seller refused. */
  error?: ErrorCode;
  /** Of the transaction in which it did. */
  grant_tx_signature?: TransactionSignature;
  /** A sentence for people. Its wording may change: decide by codes, never by it. */
  message?: Message;
  /** When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid. */
  retry_at?: Timestamp;
  /** Of what is settled. */
  settled_at?: Timestamp;
  /** A link to the transaction in a chain explorer. */
  solana_explorer_url?: ExplorerUrl;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  to_wallet?: SolanaAddress | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature?: TransactionSignature;
}

/** The id of a transfer. Opaque; compare it as text. */
export type TransferId = string;

/** The state of a transfer: `submitted` may still settle or fail, the others are end states. */
export type TransferStatus = "submitted" | "pending_approval" | "settled" | "rejected" | "failed" | (string & {});

/** Why a receiver gave no answer. */
export type Unanswered =
  | "timeout"
  | "address_refused"
  | "name_not_resolved"
  | "connection_failed"
  | "connection_broken"
  | (string & {});

/** USDC as a decimal string with six fractional digits. */
export type Usdc = string;

/** USDC as an exact JSON number, with at most six fractional digits. */
export type UsdcLimit = string;

/** USDC with at most six fractional digits. */
export type UsdcNumber = string;

/** Which warning. */
export type WarningCode =
  | "allowlist_pays_nobody"
  | "allowlist_beside_grants_only"
  | "single_limit_above_daily_limit"
  | "single_limit_above_30_day_limit"
  | "single_limit_above_budget"
  | "daily_limit_above_30_day_limit"
  | "zero_limit_without_pause"
  | "budget_below_single_limits"
  | (string & {});

/** `daily` and `30_days` are the account's, the others its budget's. */
export type WatchedLimit = "daily" | "30_days" | "budget_daily" | "budget_30_days" | (string & {});

/** A webhook, without its secret. */
export interface Webhook {
  /** The accounts whose events it gets; empty for all of the operator. */
  account_ids: AccountId[];
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** Since when it is disabled. */
  disabled_at: Timestamp | null;
  /** Who disabled a webhook: the operator, or the service after days of failures only. */
  disabled_reason: DisabledReason | null;
  /** The event types that it gets. */
  events: EventTypeOrOther[];
  /** Since when every attempt failed; `null` while the latest succeeded. */
  failing_since: Timestamp | null;
  /** The id of a webhook. Opaque; compare it as text. */
  id: WebhookId;
  /** Below which balance `balance.low_threshold` fires. */
  low_balance_threshold_usdc: UsdcLimit | null;
  /** Until when the secret before this one signs too. */
  previous_secret_expires_at: Timestamp | null;
  /** Whether events are delivered. */
  status: WebhookStatusOrOther;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  updated_at: Timestamp;
  /** An absolute https URL of a public host, without user name, password or fragment. */
  url: WebhookUrl;
}

/** The id of a webhook. Opaque; compare it as text. */
export type WebhookId = string;

/** What deliveries are signed with: a secret. */
export type WebhookSecret = string;

/** Whether events are delivered. */
export type WebhookStatus = "enabled" | "disabled" | (string & {});

/** Whether events are delivered. */
export type WebhookStatusOrOther = WebhookStatus | (string & {});

/** An absolute https URL of a public host, without user name, password or fragment. */
export type WebhookUrl = string;

/** A webhook with a new secret: the only answer that shows it. */
export interface WebhookWithSecret {
  /** The accounts whose events it gets; empty for all of the operator. */
  account_ids: AccountId[];
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  created_at: Timestamp;
  /** Since when it is disabled. */
  disabled_at: Timestamp | null;
  /** Who disabled a webhook: the operator, or the service after days of failures only. */
  disabled_reason: DisabledReason | null;
  /** The event types that it gets. */
  events: EventTypeOrOther[];
  /** Since when every attempt failed; `null` while the latest succeeded. */
  failing_since: Timestamp | null;
  /** The id of a webhook. Opaque; compare it as text. */
  id: WebhookId;
  /** Below which balance `balance.low_threshold` fires. */
  low_balance_threshold_usdc: UsdcLimit | null;
  /** Until when the secret before this one signs too. */
  previous_secret_expires_at: Timestamp | null;
  /** What deliveries are signed with: a secret. */
  secret: WebhookSecret;
  /** Whether events are delivered. */
  status: WebhookStatusOrOther;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  updated_at: Timestamp;
  /** An absolute https URL of a public host, without user name, password or fragment. */
  url: WebhookUrl;
}

/** The `WithdrawalData` of the service's description. */
export interface WithdrawalData {
  /** The id of an account. Opaque; compare it as text. */
  account_id: AccountId;
  /** USDC as a decimal string with six fractional digits. */
  amount_usdc: Usdc;
  /** The line of the account's history. */
  entry_id: EntryId;
  /** ISO 8601 with an offset; answers are in UTC, with six digits of a second. */
  settled_at: Timestamp;
  /** Who was paid; `null` unless it was one party alone. */
  to: OtherSide | null;
  /** The signature of a Solana transaction, base58. */
  tx_signature: TransactionSignature;
}

/** What a purchase has come to. */
export interface X402Payment {
  /** What the server says of the payment. Whether it was made says `transfer`. */
  receipt: X402Receipt | null;
  /** What the server answered; `null` where that is not known, or not kept any longer. */
  resource: Resource | null;
  /** The payment; `null` where the server asked for none. */
  transfer: Transfer | null;
  /** The signed payment, for you to hand to the seller. Only where you gave an `offer`. */
  payment?: X402PaymentPayload | null;
}

/**
 * A payment as x402 has it: `x402Version`, `accepted`, `payload`, and what the offer says of `resource` and
 * `extensions`.
 */
export type X402PaymentPayload = Record<string, unknown>;

/** A facilitator's receipt. */
export interface X402Receipt {
  /** Where, by its CAIP-2 name. */
  network: string | null;
  /** Whose money it was: the account's `solana_address`. */
  payer: string | null;
  /** Whether it says that the payment was made. */
  success: boolean;
  /** The transaction's signature. */
  transaction: TransactionSignature | null;
  /** Why there was no payment. */
  error_reason?: string | null;
}

/** The payload of each event, by its type. */
export interface EventData {
  "account.halted": HaltedData;
  "action.recorded": Action;
  "approval.expired": ApprovalData;
  "approval.granted": ApprovalData;
  "approval.rejected": ApprovalData;
  "approval.requested": ApprovalData;
  "approval.used": ApprovalData;
  "approval.void": ApprovalData;
  "balance.low_threshold": LowBalanceData;
  "deposit.settled": DepositData;
  "limit.threshold": ThresholdData;
  "policy.applied": AppliedData;
  "policy.changed": ChangedData;
  "policy.pending": PendingData;
  "transfer.failed": FailedData;
  "transfer.initiated": InitiatedData;
  "transfer.rejected": RejectedData;
  "transfer.reopened": ReopenedData;
  "transfer.settled": SettledData;
  "webhook.test": TestData;
  "withdrawal.settled": WithdrawalData;
}
