use std::sync::OnceLock;

use anchor_lang::prelude::Pubkey;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// The key holders. A name has the same key in every run, so that addresses and compute units are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Who {
    /// Pays transaction fees and nothing else.
    FeePayer = 1,
    Admin,
    PolicyAuthority,
    TransferAuthority,
    Guardian,
    Stranger,
    NewAdmin,
    ForeignAdmin,
    ForeignPolicyAuthority,
    ForeignTransferAuthority,
    /// Paid the rent of every agent, and of every draft, and gets it back.
    Payer,
    DraftPayer,
    /// Seven more, for an operator with the maximum number of transfer authorities.
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Seventh,
    Eighth,
}

impl Who {
    pub const ALL: [Self; 12] = [
        Self::FeePayer,
        Self::Admin,
        Self::PolicyAuthority,
        Self::TransferAuthority,
        Self::Guardian,
        Self::Stranger,
        Self::NewAdmin,
        Self::ForeignAdmin,
        Self::ForeignPolicyAuthority,
        Self::ForeignTransferAuthority,
        Self::Payer,
        Self::DraftPayer,
    ];

    /// Eight that can be transfer authorities at once.
    pub const TRANSFER_AUTHORITIES: [Self; 8] = [
        Self::TransferAuthority,
        Self::Second,
        Self::Third,
        Self::Fourth,
        Self::Fifth,
        Self::Sixth,
        Self::Seventh,
        Self::Eighth,
    ];

    pub fn pair(self) -> &'static Keypair {
        &Self::table()[self as usize - 1].1
    }

    pub fn key(self) -> Pubkey {
        Self::table()[self as usize - 1].2
    }

    /// Everyone by number. Cached, because deriving keys costs more than what most tests do with them.
    fn table() -> &'static [(Self, Keypair, Pubkey)] {
        static TABLE: OnceLock<Vec<(Who, Keypair, Pubkey)>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let pair = |who: Self| {
                let pair = Keypair::new_from_array([who as u8; 32]);
                let key = pair.pubkey();
                (who, pair, key)
            };
            let mut table: Vec<_> = Self::everyone().map(pair).collect();
            table.sort_by_key(|(who, ..)| *who as u8);
            table
        })
    }

    /// Everyone once.
    pub fn everyone() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::TRANSFER_AUTHORITIES.into_iter().skip(1))
    }

    /// Everyone but these.
    pub fn but(these: &[Self]) -> impl Iterator<Item = Self> + '_ {
        Self::ALL.into_iter().filter(|who| !these.contains(who))
    }

    pub fn with_key(key: &Pubkey) -> Option<Self> {
        Self::table().iter().find(|(.., known)| known == key).map(|(who, ..)| *who)
    }
}
