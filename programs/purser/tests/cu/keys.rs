//! All randomness, from a seed: the same seed gives the same figures.

use anchor_lang::prelude::Pubkey;
use solana_keypair::Keypair;
use solana_sha256_hasher::hashv;
use solana_signer::Signer;

pub struct Keys {
    seed: u64,
    set: u64,
}

impl Keys {
    pub fn new(seed: u64, set: u64) -> Self {
        Self { seed, set }
    }

    pub fn bytes(&self, label: &str) -> [u8; 32] {
        hashv(&[&self.seed.to_le_bytes(), &self.set.to_le_bytes(), label.as_bytes()]).to_bytes()
    }

    pub fn keypair(&self, label: &str) -> Keypair {
        Keypair::new_from_array(self.bytes(label))
    }

    pub fn address(&self, label: &str) -> Pubkey {
        self.keypair(label).pubkey()
    }

    pub fn number(&self, label: &str) -> u64 {
        u64::from_le_bytes(self.bytes(label).first_chunk().copied().unwrap_or_default())
    }

    /// `count` addresses, including `with`.
    pub fn entries(&self, count: usize, with: Pubkey) -> Vec<[u8; 32]> {
        let others = (1..count).map(|index| self.bytes(&format!("entry {index}")));
        others.chain([with.to_bytes()]).collect()
    }

    /// The same, but the others differ from `with` only in their last two bytes: the search has to compare all of each.
    pub fn look_alikes(&self, count: usize, with: Pubkey) -> Vec<[u8; 32]> {
        let others = (1..count as u16).map(|index| {
            let mut bytes = with.to_bytes();
            let [high, low] = index.to_be_bytes();
            bytes[30] ^= high;
            bytes[31] ^= low;
            bytes
        });
        others.chain([with.to_bytes()]).collect()
    }
}
