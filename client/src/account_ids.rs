use anchor_lang::prelude::Pubkey;
use sha2::{Digest, Sha256};

/// Keeps these hashes apart from all others.
const PURPOSE: &[u8] = b"purser:account:v1";
const PREFIX: &str = "acct_";
/// Crockford's base32, as ULIDs are written.
const DIGITS: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'M',
    'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z',
];
const DIGIT_BITS: u32 = 5;

/// The ids of agent accounts (`acct_...`) in the relayer's interface, on one cluster.
///
/// An id is the beginning of a hash of the cluster's genesis hash and the account's address, whose seeds hold the operator: it
/// names the same account in every database, and nobody else can make an account with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountIds {
    genesis_hash: [u8; 32],
}

impl AccountIds {
    /// `genesis_hash`: base58, as `getGenesisHash` answers. `None` for any other text.
    pub fn on(genesis_hash: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let length = bs58::decode(genesis_hash).onto(&mut bytes).ok()?;
        (length == bytes.len()).then_some(Self { genesis_hash: bytes })
    }

    /// The 16 bytes of an account's id.
    pub fn bytes_of(&self, agent: &Pubkey) -> [u8; 16] {
        let hash = Sha256::new().chain_update(PURPOSE).chain_update(self.genesis_hash).chain_update(agent);
        let hash: [u8; 32] = hash.finalize().into();
        std::array::from_fn(|index| hash[index])
    }

    /// The account's id: `acct_` and 26 characters.
    pub fn of(&self, agent: &Pubkey) -> String {
        let bits = u128::from_be_bytes(self.bytes_of(agent));
        let digit = |place| DIGITS[(bits >> (DIGIT_BITS * place)) as usize % DIGITS.len()];
        PREFIX.chars().chain((0..26).rev().map(digit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAINNET: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
    const DEVNET: &str = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";

    /// What docs/build/api.md has anybody compute. A change of it would rename every account.
    #[test]
    fn id_is_the_one_that_the_documentation_computes() {
        let ids = AccountIds::on(MAINNET).unwrap();
        assert_eq!(ids.of(&Pubkey::new_from_array([7; 32])), "acct_4FT5VE0QB8V2TJM9TBTBDMMVSA");
    }

    #[test]
    fn id_follows_from_the_cluster_and_the_address() {
        let [mainnet, devnet] = [MAINNET, DEVNET].map(|genesis_hash| AccountIds::on(genesis_hash).unwrap());
        let [one, other] = [1, 2].map(|seed| Pubkey::new_from_array([seed; 32]));
        let all = [mainnet.of(&one), mainnet.of(&other), devnet.of(&one), devnet.of(&other)];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{all:?}");
        assert_eq!(mainnet.of(&one), AccountIds::on(MAINNET).unwrap().of(&one));
        assert!(all.iter().all(|id| id.len() == 31 && id.starts_with("acct_")), "{all:?}");
    }

    #[test]
    fn only_a_hash_is_a_genesis_hash() {
        for text in ["", "ours", "0OIl", &MAINNET[10..], &format!("1{MAINNET}")] {
            assert_eq!(AccountIds::on(text), None, "{text}");
        }
    }
}
