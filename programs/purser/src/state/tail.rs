//! The allowlist at the end of an account: wallets, then token accounts, 32 bytes each.

use purser_policy::{Address, Allowlist};

use crate::constants::ENTRY_BYTES;

/// The allowlist in `tail`, of whose entries the first `wallets` are wallets.
#[inline(always)]
pub fn read_tail(tail: &[u8], wallets: u16) -> Allowlist<'_> {
    let entries = addresses(tail);
    let (wallets, token_accounts) = entries.split_at_checked(usize::from(wallets)).unwrap_or((entries, &[]));
    Allowlist::stored(wallets, token_accounts)
}

/// Bytes that an allowlist takes at the end of an account.
pub fn tail_bytes(allowlist: &Allowlist) -> usize {
    let (wallets, token_accounts) = allowlist.entries();
    (wallets.len() + token_accounts.len()) * ENTRY_BYTES
}

/// The whole entries in an account's tail.
#[inline(always)]
fn addresses(tail: &[u8]) -> &[Address] {
    let whole = tail.len() - tail.len() % ENTRY_BYTES;
    tail.get(..whole).and_then(|tail| bytemuck::try_cast_slice(tail).ok()).unwrap_or(&[])
}

/// Writes an allowlist over a tail of its length.
pub(crate) fn write_tail(tail: &mut [u8], allowlist: &Allowlist) {
    let (wallets, token_accounts) = allowlist.entries();
    for (slot, entry) in tail.chunks_exact_mut(ENTRY_BYTES).zip(wallets.iter().chain(token_accounts)) {
        slot.copy_from_slice(entry);
    }
}
