//! Grants as wallets opened them on the chain: who approved what a person was asked about.

use std::collections::HashMap;

use super::history::tag_text;
use super::query::{Each, columns, sql};
use super::row::{Listed, row, unreadable};
use super::{Index, Result, Transfers};
use purser_model::{ApprovalState, GrantOpened, OperatorId, Timestamp, Transfer, TransferId};

row! { GrantOpened {
    operator_id, account_id, signer, signature: tx_signature, slot, opened_at,
    id(grant_id) =
        u64::from_str_radix(String::as_str(&grant_id), 16).map_err(|_| unreadable("grant_id"))?,
    expires_at(expires_unix) = Timestamp::from_unix_seconds(expires_unix),
}}

impl Index {
    /// Records a grant that was opened; a repeat changes nothing, but where a fork moved it to another slot.
    pub async fn insert_grant_opened(&self, grant: &GrantOpened) -> Result<()> {
        sql! {
            "INSERT INTO grants_opened {row}
             ON CONFLICT (operator_id, grant_id, account_id, tx_signature) DO UPDATE SET
                 slot = excluded.slot, signer = excluded.signer, opened_at = excluded.opened_at,
                 expires_unix = excluded.expires_unix",
            row = columns! {
                ..grant, grant_id = tag_text(grant.id), expires_unix = grant.expires_at.unix_seconds()
            }
        }
        .run(self.writer())
        .await
    }
}

impl Transfers {
    /// Who approved those of the operator's transfers that a grant let through, as far as the indexer has read it.
    pub async fn find_approved_by(
        &self,
        operator: OperatorId,
        transfers: &[Transfer],
    ) -> Result<HashMap<TransferId, GrantOpened>> {
        let granted = transfers.iter().filter(|transfer| {
            transfer.approval.requested().is_some() && ApprovalState::of(transfer).is_granted()
        });
        let granted: Vec<&Transfer> = granted.collect();
        if granted.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<String> = granted.iter().map(|transfer| tag_text(transfer.id.tag())).collect();
        let opened: Vec<GrantOpened> = sql! {
            "SELECT {columns} FROM grants_opened WHERE operator_id = {operator} AND grant_id IN ({ids})",
            columns = GrantOpened::COLUMNS, operator, ids = Each(&ids)
        }
        .fetch_all(self.lister())
        .await?;
        let approved = |transfer: &Transfer| {
            Some((transfer.id, GrantOpened::that_let_through(transfer, &opened)?.clone()))
        };
        Ok(granted.into_iter().filter_map(approved).collect())
    }
}
