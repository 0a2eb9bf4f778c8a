//! Links to transactions.

use super::{Reference, Remark, shown};
use crate::network::network;
use crate::replay::Place;

/// The most references that a remark lists.
const REFERENCES_MAX: usize = 20;

/// Makes links from signatures.
pub(super) struct Links {
    template: Option<String>,
}

impl Links {
    /// By the template that was given, or on a public cluster to Solana's own explorer.
    pub(super) fn of(given: Option<String>, genesis_hash: &str) -> Self {
        let query = network(genesis_hash).map(|network| network.explorer_query);
        let own = query.map(|query| format!("https://explorer.solana.com/tx/{{signature}}{query}"));
        Self { template: given.or(own) }
    }

    pub(super) fn to(&self, place: &Place) -> Reference {
        let explorer = self.template.as_ref().map(|it| it.replace("{signature}", &place.signature));
        Reference { signature: place.signature.clone(), slot: place.slot, time: place.date(), explorer }
    }

    pub(super) fn remark(&self, text: String, places: impl Iterator<Item = Place>) -> Remark {
        let mut at: Vec<Reference> = places.map(|place| self.to(&place)).collect();
        at.dedup();
        let more = at.len().saturating_sub(REFERENCES_MAX);
        at.truncate(REFERENCES_MAX);
        Remark { text: shown(&text), at, more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(given: Option<&str>, genesis_hash: &str) -> Option<String> {
        let place = Place { signature: "5igned".to_owned(), slot: 7, time: 1_800_000_000 };
        Links::of(given.map(str::to_owned), genesis_hash).to(&place).explorer
    }

    #[test]
    fn transactions_of_public_clusters_are_linked_to_solanas_explorer_and_others_only_as_told() {
        let mainnet = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
        let own = "https://explorer.solana.com/tx/5igned";
        for (genesis_hash, query) in [
            (mainnet, ""),
            ("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG", "?cluster=devnet"),
            ("4uhcVJyU9pJkvQyS88uRDiswHScSCKY3XQsseRfwrTj2", "?cluster=testnet"),
        ] {
            assert_eq!(link(None, genesis_hash), Some(format!("{own}{query}")));
        }
        assert_eq!(link(None, "11111111111111111111111111111111"), None);
        let given = Some("https://explorer.example/{signature}?on={signature}");
        for genesis_hash in [mainnet, "11111111111111111111111111111111"] {
            let expected = "https://explorer.example/5igned?on=5igned";
            assert_eq!(link(given, genesis_hash).as_deref(), Some(expected));
        }
    }
}
