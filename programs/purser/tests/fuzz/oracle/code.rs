//! Error codes of docs/build/errors.md, and those of Anchor, the system program and the token programs.

pub const DUPLICATE_TRANSFER: u32 = 6000;
pub const PAUSED: u32 = 6001;
pub const MEMO_REQUIRED: u32 = 6002;
pub const MEMO_TOO_LONG: u32 = 6003;
pub const RECIPIENT_NOT_ALLOWED: u32 = 6004;
pub const SINGLE_LIMIT_EXCEEDED: u32 = 6005;
pub const DAILY_LIMIT_EXCEEDED: u32 = 6006;
pub const INSUFFICIENT_BALANCE: u32 = 6007;
pub const UNAUTHORIZED: u32 = 6008;
pub const WRONG_OPERATOR: u32 = 6009;
pub const WRONG_MINT: u32 = 6010;
pub const WRONG_SOURCE: u32 = 6011;
pub const RECIPIENT_NOT_TOKEN_ACCOUNT: u32 = 6012;
pub const RECIPIENT_WRONG_MINT: u32 = 6013;
pub const RECIPIENT_FROZEN: u32 = 6014;
pub const RECIPIENT_IS_SOURCE: u32 = 6015;
pub const AMOUNT_ZERO: u32 = 6016;
pub const TAG_ZERO: u32 = 6017;
pub const KEYS_NOT_DISTINCT: u32 = 6018;
pub const ALLOWLIST_TOO_LONG: u32 = 6019;
pub const ALLOWLIST_NOT_SORTED: u32 = 6020;
pub const DRAFT_MISMATCH: u32 = 6021;
pub const DRAFT_INCOMPLETE: u32 = 6022;
pub const DRAFT_OUT_OF_ORDER: u32 = 6023;
pub const SPEND_WINDOW_NOT_EMPTY: u32 = 6024;
pub const ACCOUNT_NOT_EMPTY: u32 = 6025;
pub const UNKNOWN_LAYOUT: u32 = 6026;
pub const HALTED: u32 = 6030;
pub const POLICY_CHANGED: u32 = 6031;
pub const LOOSENING_MUST_WAIT: u32 = 6032;
pub const TRANSFER_AUTHORITY_COUNT: u32 = 6033;
pub const LOOSENING_DELAY_TOO_LONG: u32 = 6034;
pub const WRONG_RENT_REFUND: u32 = 6035;
pub const AGENT_CLOSED: u32 = 6036;
pub const GRANT_MISMATCH: u32 = 6037;
pub const GRANT_EXPIRED: u32 = 6038;
pub const GRANT_EXCEEDED: u32 = 6039;
pub const GRANT_TERMS_INVALID: u32 = 6040;
pub const APPROVER_LIMIT_EXCEEDED: u32 = 6041;
pub const APPROVAL_MEMO_MISMATCH: u32 = 6042;
pub const EXTENDED_TRANSFER_REQUIRED: u32 = 6043;
pub const GRANT_REQUIRED: u32 = 6044;
pub const MONTH_LIMIT_EXCEEDED: u32 = 6045;
pub const BUDGET_MISMATCH: u32 = 6046;
pub const BUDGET_EXCEEDED: u32 = 6047;
pub const PAID_TAGS_FULL: u32 = 6048;
pub const TAG_BUCKET_COUNT: u32 = 6049;
pub const REQUEST_TOO_OLD: u32 = 6050;
pub const GRANT_TOO_EARLY: u32 = 6051;

pub const CONSTRAINT_SEEDS: u32 = 2006;
pub const DISCRIMINATOR_MISMATCH: u32 = 3002;
pub const OWNED_BY_WRONG_PROGRAM: u32 = 3007;
pub const NOT_SIGNER: u32 = 3010;

/// From the system program: the address is in use.
pub const ALREADY_IN_USE: u32 = 0;
/// From the token programs.
pub const MINT_MISMATCH: u32 = 3;
pub const ACCOUNT_FROZEN: u32 = 17;
