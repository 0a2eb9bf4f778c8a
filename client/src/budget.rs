//! What a transfer asks of its block.

/// Most bytes of accounts, programs included, that a transaction of ours loads. For what may be loaded a block reserves
/// compute units: 8 for each 32 KiB, so 16,384 by the default of 64 MiB, and 256 by this limit.
pub const LOADED_BYTES: u32 = 1024 * 1024;

/// Without a memo. The dearest keys, 256 entries and a full window are well below.
const TRANSFER_UNITS: u32 = 5_000;
/// Copying and logging a memo costs by the byte.
const MEMO_BYTE_UNITS: u32 = 2;

/// Compute units. They, the limit on loaded bytes and a price fit the transaction of the longest memo.
pub fn transfer_units(memo_bytes: usize) -> u32 {
    let bytes = u32::try_from(memo_bytes.min(purser_policy::MEMO_BYTES_MAX)).unwrap_or(u32::MAX);
    TRANSFER_UNITS + MEMO_BYTE_UNITS * bytes
}
