use anchor_lang::prelude::Pubkey;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// The holders of keys. The same name has the same key in every run, so that addresses and compute units are stable.
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
}

impl Who {
    pub const ALL: [Self; 10] = [
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
    ];

    pub fn pair(self) -> Keypair {
        Keypair::new_from_array([self as u8; 32])
    }

    pub fn key(self) -> Pubkey {
        self.pair().pubkey()
    }

    pub fn with_key(key: &Pubkey) -> Option<Self> {
        Self::ALL.into_iter().find(|who| who.key() == *key)
    }
}
