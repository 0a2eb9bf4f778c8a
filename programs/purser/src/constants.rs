//! Seeds and sizes.

use anchor_lang::prelude::Pubkey;

/// Operator address: `["operator", creating admin, id: u64 le]`.
pub const OPERATOR_SEED: &[u8] = b"operator";
/// Agent address: `["agent", operator, agent_id: 16 bytes]`.
pub const AGENT_SEED: &[u8] = b"agent";
/// Policy draft address: `["draft", agent]`.
pub const DRAFT_SEED: &[u8] = b"draft";
/// Grant address: `["grant", agent, id: u64 le]`.
pub const GRANT_SEED: &[u8] = b"grant";
/// Approver address: `["approver", operator, key]`.
pub const APPROVER_SEED: &[u8] = b"approver";
/// Budget address: `["budget", operator, id: u64 le]`.
pub const BUDGET_SEED: &[u8] = b"budget";

/// Bytes of an Anchor account discriminator.
pub const DISCRIMINATOR_BYTES: usize = 8;
/// Bytes of an allowlist entry.
pub const ENTRY_BYTES: usize = 32;
/// Layout version that this program writes into every account.
pub const LAYOUT_VERSION: u8 = 4;
/// Decimals of the USDC mint.
pub const USDC_DECIMALS: u8 = 6;
/// Most transfer authorities of an operator.
pub const TRANSFER_AUTHORITIES_MAX: usize = 8;
/// Longest time that an operator can let loosened policies wait: 30 days.
pub const LOOSENING_DELAY_SECONDS_MAX: u32 = 30 * 86_400;
/// Longest time that a grant is open: 30 days.
pub const GRANT_SECONDS_MAX: i64 = 30 * 86_400;
/// Most buckets that an account gains in one instruction: an account grows by 10 KiB at a time.
pub const TAG_BUCKETS_ADDED_MAX: u16 = 53;
/// Begins a `transfer`: half of Anchor's discriminator, so that an 800-byte memo fits a transaction.
pub const TRANSFER_DISCRIMINATOR: [u8; 4] = [163, 52, 200, 231];
/// Begins a `transfer_checked`: Anchor's discriminator.
pub const TRANSFER_CHECKED_DISCRIMINATOR: [u8; 8] = [119, 250, 202, 24, 253, 135, 244, 121];
/// Begins a `transfer_extended`: Anchor's discriminator.
pub const TRANSFER_EXTENDED_DISCRIMINATOR: [u8; 8] = [191, 156, 211, 91, 141, 158, 156, 194];
/// SPL Memo.
pub const MEMO_PROGRAM: Pubkey = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// The sysvar that holds the instructions of the transaction.
pub const INSTRUCTIONS_SYSVAR: Pubkey = Pubkey::from_str_const("Sysvar1nstructions1111111111111111111111111");
