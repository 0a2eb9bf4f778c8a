use crate::{Event, Timestamp, Transfer, TransferState};

impl Event {
    /// The events of a transfer's step.
    pub fn of_step(transfer: &Transfer, next: &TransferState, now: Timestamp) -> Vec<Self> {
        // A send is noted only when time allows; the end of the transfer proves it too.
        let unnoted = match &transfer.state {
            TransferState::Signed(signed) => match (transfer.fee_payer, next) {
                (None, _) => Some(Self::transfer_initiated(transfer, &signed.signature, now)),
                // Others send it, under their own signature.
                (Some(_), TransferState::Settled(settlement)) => {
                    Some(Self::transfer_initiated(transfer, &settlement.signature, now))
                }
                (Some(_), _) => None,
            },
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => None,
        };
        let of_approval = Self::of_approval(transfer, next, now);
        let of_transfer: Vec<Self> = match next {
            TransferState::Sent { signed, .. } => {
                vec![Self::transfer_initiated(transfer, &signed.signature, now)]
            }
            TransferState::Settled(settlement) => {
                unnoted.into_iter().chain([Self::transfer_settled(transfer, settlement, now)]).collect()
            }
            TransferState::Rejected(rejection) => {
                unnoted.into_iter().chain([Self::transfer_rejected(transfer, rejection, now)]).collect()
            }
            // Who asked for it was answered. Once it had been settled, everybody else has to be told too.
            TransferState::Failed(failure) => {
                let failed = (transfer.reopened > 0).then(|| Self::transfer_failed(transfer, failure, now));
                unnoted.into_iter().chain(failed).collect()
            }
            TransferState::Claimed | TransferState::PendingApproval(_) | TransferState::Signed(_) => {
                Vec::new()
            }
        };
        of_approval.into_iter().chain(of_transfer).collect()
    }
}
