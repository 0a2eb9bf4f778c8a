//! The resources that a transfer requests.

/// The most bytes of accounts, programs included, that one of our transactions loads. A block reserves 8 compute units for each
/// 32 KiB that may be loaded: 16,384 by the default of 64 MiB, and 256 by this limit. A payment of an agent with a large table of
/// tags needs more: [`loaded_bytes`].
pub const LOADED_BYTES: u32 = 1024 * 1024;

/// For the programs that a payment calls, and every account but the agent's.
const PROGRAM_BYTES: u32 = 640 * 1024;
const BUCKET_BYTES: u32 = size_of::<purser_policy::TagBucket>() as u32;

/// The most buckets of tags of an agent that services pay for: they read its account whole, in at most 64 KiB. The program takes more.
pub const TAG_BUCKETS_MAX: u16 = 290;

/// The most bytes that a payment of an agent with this many buckets of tags loads: room for a table that doubles meanwhile.
pub fn loaded_bytes(tag_buckets: u16) -> u32 {
    LOADED_BYTES.max(PROGRAM_BYTES + 2 * BUCKET_BYTES * u32::from(tag_buckets))
}

/// Compute units that a payment of an agent with this many buckets of tags needs beyond those of a small one: the call of the
/// token program is charged for the agent's bytes.
pub fn table_units(tag_buckets: u16) -> u32 {
    const BYTES_A_UNIT: u32 = 250;
    (BUCKET_BYTES * u32::from(tag_buckets)).div_ceil(BYTES_A_UNIT)
}

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
