//! What a transfer asks of its block.

/// Most bytes of accounts, programs included, that a transaction of ours loads. For what may be loaded a block reserves
/// compute units: 8 for each 32 KiB, so 16,384 by the default of 64 MiB, and 256 by this limit.
pub const LOADED_BYTES: u32 = 1024 * 1024;

/// Without a memo. The dearest keys, 256 entries and a full window are well below.
const TRANSFER_UNITS: u32 = 5_000;
/// Copying, checking and logging a memo costs by the byte.
const MEMO_BYTE_UNITS: u32 = 3;
/// What the limit on loaded bytes adds to a transaction.
const LIMIT_BYTES: usize = 8;
/// A transfer with a memo of so many bytes, with a price and without that limit, fills a transaction to the last byte.
const MEMO_BYTES_MAX: usize = 800;

/// Compute units, and the limit on loaded bytes where there is room for it.
pub fn transfer_units(memo_bytes: usize) -> (u32, Option<u32>) {
    let bytes = u32::try_from(memo_bytes.min(MEMO_BYTES_MAX)).unwrap_or(u32::MAX);
    let fits = memo_bytes.saturating_add(LIMIT_BYTES) <= MEMO_BYTES_MAX;
    (TRANSFER_UNITS + MEMO_BYTE_UNITS * bytes, fits.then_some(LOADED_BYTES))
}
