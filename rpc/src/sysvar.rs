//! The Clock sysvar: the time on the chain.

use solana_sdk::pubkey::Pubkey;

pub const CLOCK: Pubkey = Pubkey::from_str_const("SysvarC1ock11111111111111111111111111111111");

/// Slot and unix seconds in its data.
pub fn slot_and_time(clock: &[u8]) -> Option<(u64, i64)> {
    let (slot, _) = clock.split_first_chunk()?;
    Some((u64::from_le_bytes(*slot), unix_timestamp(clock)?))
}

/// Unix seconds in its data.
pub fn unix_timestamp(clock: &[u8]) -> Option<i64> {
    let (seconds, _) = clock.get(32..)?.split_first_chunk()?;
    Some(i64::from_le_bytes(*seconds))
}
