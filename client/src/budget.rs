//! The resources that a transfer requests.

/// The most bytes of accounts, programs included, that one of our transactions loads. A block reserves 8 compute units for each
/// 32 KiB that may be loaded: 16,384 by the default of 64 MiB, and 256 by this limit.
pub const LOADED_BYTES: u32 = 1024 * 1024;

/// Without a memo. The most expensive keys, 256 entries and a full window stay well below.
const TRANSFER_UNITS: u32 = 5_000;
/// More for the extended form: a grant with a memo, a cap for 30 days and a budget whose window is full.
const EXTENDED_UNITS: u32 = 5_000;
/// Copying and logging a memo costs by the byte.
const MEMO_BYTE_UNITS: u32 = 2;

/// Compute units. These, the limit on loaded bytes and a price fit into the transaction with the longest memo.
pub fn transfer_units(memo_bytes: usize) -> u32 {
    let bytes = u32::try_from(memo_bytes.min(purser_policy::MEMO_BYTES_MAX)).unwrap_or(u32::MAX);
    TRANSFER_UNITS + MEMO_BYTE_UNITS * bytes
}

/// Compute units of the extended form.
pub fn extended_transfer_units(memo_bytes: usize) -> u32 {
    transfer_units(memo_bytes) + EXTENDED_UNITS
}
