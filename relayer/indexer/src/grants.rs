//! Grants, as wallets opened them: who approved what. Written down before their transactions count as read.

use super::book::Parties;
use super::{IndexError, Indexer};
use purser_chain::LandedRecord;
use purser_model::{GrantOpened, Timestamp};

impl Indexer {
    /// Records the grants that these transactions opened, in any order.
    pub(super) async fn note_grants(
        &self,
        records: &[(LandedRecord, i64)],
        parties: &Parties,
    ) -> Result<(), IndexError> {
        for (record, block_time) in records {
            for grant in &record.grants {
                let Some(party) = parties.of_agent(&grant.agent) else { continue };
                let opened = GrantOpened {
                    operator_id: party.operator_id,
                    account_id: party.account_id,
                    id: grant.id,
                    signer: grant.signer,
                    signature: record.signature.clone(),
                    slot: record.slot,
                    opened_at: Timestamp::from_unix_seconds(*block_time),
                    expires_at: Timestamp::from_unix_seconds(grant.expires_at),
                };
                self.parts.index.insert_grant_opened(&opened).await?;
            }
        }
        Ok(())
    }
}
