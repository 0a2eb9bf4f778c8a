//! Entries whose slots may still be forked away: watched until they are final or gone.

use super::{IndexError, Indexer};
use purser_chain::{STANDINGS_MAX, SignatureStanding, SignatureStandings};
use purser_store::Mark;

/// A transaction must be missing in this many cycles before its entries are taken back: one node may lag or be new.
const MISSING_BEFORE_UNDONE: u32 = 3;

impl Indexer {
    /// Marks entries that became final, and takes back those that were forked away.
    pub(super) async fn settle_open(&self) -> Result<(), IndexError> {
        loop {
            let open = self.parts.index.list_open_transactions(self.network, STANDINGS_MAX).await?;
            let full = open.len() >= STANDINGS_MAX;
            if open.is_empty() {
                return Ok(());
            }
            let final_now = if self.parts.history.is_final() {
                self.parts.index.mark_final(self.network, &open).await?;
                open.len()
            } else {
                self.settle_some(open).await?
            };
            if !full || final_now == 0 {
                return Ok(());
            }
        }
    }

    /// Returns how many became final.
    async fn settle_some(&self, open: Vec<Mark>) -> Result<usize, IndexError> {
        let signatures: Vec<String> = open.iter().map(|mark| mark.signature.clone()).collect();
        let standings = self.parts.history.standings(&signatures).await?;
        let (mut finals, mut moved) = (Vec::new(), Vec::new());
        for (index, mark) in open.into_iter().enumerate() {
            match standings.each.get(index) {
                Some(SignatureStanding::Finalized { slot }) if *slot == mark.slot => finals.push(mark),
                // The transaction was forked away, and landed again in another slot.
                Some(SignatureStanding::Finalized { slot }) => moved.push(Mark { slot: *slot, ..mark }),
                Some(SignatureStanding::Open) => self.memory.found(&mark.signature),
                Some(SignatureStanding::Unknown) | None => {
                    if is_gone(&standings, index, mark.slot)
                        && self.memory.missing(&mark.signature) >= MISSING_BEFORE_UNDONE
                    {
                        self.undo_if_gone(&mark).await?;
                    }
                }
            }
        }
        for mark in &finals {
            self.memory.found(&mark.signature);
        }
        self.parts.index.mark_final(self.network, &finals).await?;
        if !moved.is_empty() {
            let readings = self.read(&moved).await?;
            self.write(&readings, None).await?;
        }
        Ok(finals.len())
    }

    /// Takes a transaction's entries back and opens the transfers again that it had settled, if no node knows it.
    async fn undo_if_gone(&self, mark: &Mark) -> Result<(), IndexError> {
        // While a node does not answer, nobody can tell yet.
        if !matches!(self.parts.history.is_gone(&mark.signature, mark.slot).await, Ok(true)) {
            return Ok(());
        }
        let now = self.parts.clock.now();
        let undone = self.parts.index.undo_transaction(self.network, mark, now).await?;
        tracing::error!(network = %self.network, signature = mark.signature, slot = mark.slot, undone,
            "a fork dropped a confirmed transaction; taking back its entries");
        self.memory.forget_read();
        self.memory.found(&mark.signature);
        Ok(())
    }
}

/// Whether a transaction was forked away: it is unknown, and every slot up to its own is final.
pub(super) fn is_gone(standings: &SignatureStandings, index: usize, slot: u64) -> bool {
    standings.each.get(index) == Some(&SignatureStanding::Unknown) && standings.finalized_slot >= slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_transaction_is_gone_once_its_slot_is_final() {
        let standings =
            |finalized_slot, standing| SignatureStandings { finalized_slot, each: vec![standing] };
        assert!(is_gone(&standings(7, SignatureStanding::Unknown), 0, 7));
        assert!(!is_gone(&standings(6, SignatureStanding::Unknown), 0, 7));
        assert!(!is_gone(&standings(9, SignatureStanding::Open), 0, 7));
        assert!(!is_gone(&standings(9, SignatureStanding::Finalized { slot: 7 }), 0, 7));
        assert!(!is_gone(&standings(9, SignatureStanding::Unknown), 1, 7));
    }
}
