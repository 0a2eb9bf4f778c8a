use purser_core::words;
use serde::Serialize;
use utoipa::ToSchema;

use super::wire::schema::{PolicyVersionNumber, as_text};
use super::{AccountId, Address, ApprovalState, OperatorId, Timestamp, Transfer, TransferState};

words! {
    /// Whether a grant pays.
    pub enum GrantState = "GrantState":
        "`pending` waits for the operator's loosening delay; `void` pays nothing, because the policy was \
         changed, all grants were taken back, or the delay was set since; `over` has ended or is spent." {
        /// It waits for the operator's loosening delay.
        Pending = "pending",
        Open = "open",
        /// It pays nothing, though it is neither spent nor over.
        Void = "void",
        /// It has ended, or all of it was paid.
        Over = "over",
    }
}

words! {
    /// Whose key opened a grant.
    pub enum GrantOpener = "GrantOpener": "Whose key opened it." {
        Admin = "admin",
        PolicyAuthority = "policy_authority",
        Approver = "approver",
    }
}

/// What a grant must say that covers the transfer. Its amount, memo and end are the approval's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct GrantTerms {
    /// The operator's account on chain.
    pub operator: Address,
    /// The account that pays, on chain.
    pub account: Address,
    /// The token account that is paid.
    pub payee: Address,
    /// Names the one payment, and the grant. A whole number of up to 64 bits, as text.
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, max_length = 20, pattern = "^[0-9]+$", example = "10416984888683040767")]
    pub tag: u64,
    /// The version of the policy that refused it: the grant is good for no other.
    #[schema(required)]
    pub policy_version: Option<PolicyVersionNumber>,
}

/// A grant as a wallet opened it, by the transaction that it signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantOpened {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    /// Of a grant for one payment, the tag of its transfer. Once it is closed, another may have the same.
    pub id: u64,
    /// The approver, the admin or the policy authority.
    pub signer: Address,
    /// Base58.
    pub signature: String,
    pub slot: u64,
    /// By the chain's clock.
    pub opened_at: Timestamp,
    pub expires_at: Timestamp,
}

impl GrantOpened {
    /// Which of these grants let this transfer through. `None`: none of them.
    ///
    /// At its place on the chain stands one at a time, so it was the last one before the payment. A transfer of another day under the
    /// same idempotency key had the same place.
    pub fn that_let_through<'a>(transfer: &Transfer, opened: &'a [Self]) -> Option<&'a Self> {
        let requested = transfer.approval.requested()?;
        if !ApprovalState::of(transfer).is_granted() {
            return None;
        }
        let paid_in = match &transfer.state {
            TransferState::Settled(settlement) => settlement.slot,
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => u64::MAX,
        };
        let of_it = opened.iter().filter(|grant| {
            (grant.account_id, grant.id) == (transfer.request.from, transfer.id.tag())
                && grant.slot <= paid_in
                && grant.opened_at <= requested.expires_at
                && grant.expires_at > transfer.created_at
        });
        of_it.max_by_key(|grant| grant.slot)
    }
}
