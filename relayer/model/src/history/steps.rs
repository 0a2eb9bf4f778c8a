use super::{HistoryEntry, Party};
use crate::{Recipient, Settlement, Transfer, TransferState};

impl HistoryEntry {
    /// The entries of a transfer's step. `parties`: those of its payer and recipient that are accounts of the service, in
    /// any order; only needed if [`own_settlement`] says so. Without the payer there are no entries: the indexer adds them.
    pub fn of_step(transfer: &Transfer, next: &TransferState, parties: &[Party]) -> Vec<Self> {
        if let TransferState::Rejected(rejection) = next {
            return vec![Self::of_rejection(transfer, rejection)];
        }
        let Some(settlement) = own_settlement(transfer, next) else { return Vec::new() };
        let payer = transfer.request.from;
        let Some(from) = parties.iter().find(|party| party.account_id == payer) else { return Vec::new() };
        let recipient = parties.iter().find(|party| party.account_id != payer);
        let to = match (&transfer.request.to, recipient) {
            (Recipient::TokenAccount(token_account) | Recipient::Wallet { token_account, .. }, _) => {
                *token_account
            }
            (Recipient::Agent(_), Some(party)) => party.token_account,
            // Such a transfer was never signed, or its recipient is not known here any more.
            (Recipient::Unreadable(_), _) | (Recipient::Agent(_), None) => return Vec::new(),
        };
        Self::of_settlement(transfer, settlement, from, to, recipient)
    }
}

/// The settlement that this step gives entries to. If another transaction than the transfer's own settled it, the indexer
/// reads that one: it may have done more.
pub fn own_settlement<'a>(transfer: &Transfer, next: &'a TransferState) -> Option<&'a Settlement> {
    match next {
        TransferState::Settled(settlement) => {
            let signed = transfer.state.signed();
            signed.is_some_and(|signed| signed.signature == settlement.signature).then_some(settlement)
        }
        TransferState::Claimed
        | TransferState::PendingApproval(_)
        | TransferState::Signed(_)
        | TransferState::Sent { .. }
        | TransferState::Rejected(_)
        | TransferState::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{party, rejection, settlement, transfer};
    use crate::{EntryKind, SignedTransfer};

    const RECIPIENT: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn signed(to: &str) -> Transfer {
        let signed = SignedTransfer { bytes: vec![1], signature: "sig".into(), last_valid_block_height: 9 };
        Transfer { state: TransferState::Signed(signed), ..transfer(to) }
    }

    fn kinds(transfer: &Transfer, next: &TransferState, parties: &[Party]) -> Vec<EntryKind> {
        HistoryEntry::of_step(transfer, next, parties).iter().map(|entry| entry.kind).collect()
    }

    #[test]
    fn the_payer_and_a_recipient_of_the_service_each_get_an_entry() {
        let settled = TransferState::Settled(settlement());
        let both = [EntryKind::Transfer, EntryKind::Deposit];
        assert_eq!(kinds(&signed(RECIPIENT), &settled, &[party(3), party(4)]), both);
        assert_eq!(kinds(&signed(RECIPIENT), &settled, &[party(4), party(3)]), both);
        let address = party(4).token_account.to_string();
        assert_eq!(kinds(&signed(&address), &settled, &[party(3), party(4)]), both);
        assert_eq!(kinds(&signed(&address), &settled, &[party(3)]), [EntryKind::Transfer]);
    }

    #[test]
    fn a_settlement_that_is_not_known_whole_is_left_to_the_indexer() {
        let settled = TransferState::Settled(settlement());
        // Its payer is gone, its recipient is gone, or another transaction paid.
        assert!(kinds(&signed(RECIPIENT), &settled, &[party(4)]).is_empty());
        assert!(kinds(&signed(RECIPIENT), &settled, &[party(3)]).is_empty());
        let other = TransferState::Settled(Settlement { signature: "other".into(), ..settlement() });
        assert!(own_settlement(&signed(RECIPIENT), &other).is_none());
        assert!(kinds(&signed(RECIPIENT), &other, &[party(3), party(4)]).is_empty());
        assert!(kinds(&transfer(RECIPIENT), &settled, &[party(3), party(4)]).is_empty());
    }

    #[test]
    fn a_refusal_has_one_entry_and_what_is_on_its_way_has_none() {
        let rejected = TransferState::Rejected(rejection());
        assert_eq!(kinds(&transfer("nobody"), &rejected, &[]), [EntryKind::Transfer]);
        let on_its_way = signed(RECIPIENT).state;
        assert!(kinds(&transfer(RECIPIENT), &on_its_way, &[party(3), party(4)]).is_empty());
    }
}
