//! Why a landed transaction failed, read from the node's JSON by code, and what that means for a transfer.

use crate::{ChainError, Outcome, Refusal};
use purser::error::PurserError;
use purser_model::RejectionReason;
use serde_json::Value;

/// `TokenError::InsufficientFunds` of the SPL Token program; our program passes the code on unchanged.
const TOKEN_INSUFFICIENT_FUNDS: u32 = 1;
/// `TokenError::AccountFrozen`. Our program checks the recipient itself, so this one means the source.
const TOKEN_ACCOUNT_FROZEN: u32 = 17;

/// A transaction error: a program's custom code if there is one, and the node's own words for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: Option<u32>,
    pub text: String,
}

impl Fault {
    /// From the `err` of a status or of a transaction's meta: `{"InstructionError": [index, {"Custom": code}]}`.
    pub fn from_json(err: &Value) -> Self {
        let code = err
            .get("InstructionError")
            .and_then(|pair| pair.get(1))
            .and_then(|error| error.get("Custom"))
            .and_then(Value::as_u64)
            .and_then(|code| u32::try_from(code).ok());
        let known = code.and_then(PurserError::from_code);
        let text = known.map_or_else(|| err.to_string(), |error| error.to_string());
        Self { code, text }
    }

    /// Our program's own error, if it is one.
    pub fn program_error(&self) -> Option<PurserError> {
        self.code.and_then(PurserError::from_code)
    }

    /// The outcome of a failed transfer.
    pub fn of_transfer(self) -> Outcome {
        match self.code {
            Some(TOKEN_INSUFFICIENT_FUNDS) => return Outcome::Refused(Refusal::InsufficientBalance),
            Some(TOKEN_ACCOUNT_FROZEN) => return Outcome::Refused(Refusal::SourceFrozen),
            Some(_) | None => {}
        }
        match self.program_error().and_then(refusal) {
            Some(refusal) => Outcome::Refused(refusal),
            None => Outcome::Failed { code: self.code, message: self.text },
        }
    }
}

impl From<Fault> for ChainError {
    fn from(fault: Fault) -> Self {
        ChainError::Rejected { code: fault.code, message: fault.text }
    }
}

/// The refusal that a program error means; `None` where a correct relayer could not have caused the error.
fn refusal(error: PurserError) -> Option<Refusal> {
    let rule = |reason| Some(Refusal::Rule(reason));
    match error {
        PurserError::DuplicateTransfer => Some(Refusal::DuplicateTransfer),
        PurserError::Halted => rule(RejectionReason::Halted),
        PurserError::Paused => rule(RejectionReason::Paused),
        PurserError::MemoRequired => rule(RejectionReason::MemoRequired),
        PurserError::MemoTooLong => rule(RejectionReason::MemoTooLong),
        PurserError::RecipientNotAllowed => rule(RejectionReason::RecipientNotAllowed),
        PurserError::SingleLimitExceeded => rule(RejectionReason::SingleLimitExceeded),
        PurserError::DailyLimitExceeded => rule(RejectionReason::DailyLimitExceeded),
        PurserError::MonthLimitExceeded => rule(RejectionReason::MonthLimitExceeded),
        PurserError::BudgetExceeded => rule(RejectionReason::BudgetExceeded),
        PurserError::InsufficientBalance => Some(Refusal::InsufficientBalance),
        PurserError::RecipientNotTokenAccount
        | PurserError::RecipientWrongMint
        | PurserError::RecipientFrozen
        | PurserError::RecipientIsSource => Some(Refusal::InvalidRecipient),
        PurserError::GrantMismatch | PurserError::GrantExpired | PurserError::GrantExceeded => {
            Some(Refusal::GrantVoid)
        }
        PurserError::RequestTooOld => Some(Refusal::TooOld),
        PurserError::PaidTagsFull => Some(Refusal::TagsFull),
        PurserError::Unauthorized => Some(Refusal::AuthorityRotated),
        PurserError::ExtendedTransferRequired | PurserError::GrantRequired | PurserError::BudgetMismatch => {
            Some(Refusal::BoundsChanged)
        }
        PurserError::UnknownLayout => Some(Refusal::AccountGone),
        PurserError::WrongOperator
        | PurserError::WrongMint
        | PurserError::WrongSource
        | PurserError::AmountZero
        | PurserError::TagZero
        | PurserError::KeysNotDistinct
        | PurserError::AllowlistTooLong
        | PurserError::AllowlistNotSorted
        | PurserError::DraftMismatch
        | PurserError::DraftIncomplete
        | PurserError::DraftOutOfOrder
        | PurserError::SpendWindowNotEmpty
        | PurserError::AccountNotEmpty
        | PurserError::PolicyVersionExhausted
        | PurserError::PolicyChanged
        | PurserError::LooseningMustWait
        | PurserError::TransferAuthorityCount
        | PurserError::LooseningDelayTooLong
        | PurserError::WrongRentRefund
        | PurserError::AgentClosed
        | PurserError::GrantTermsInvalid
        | PurserError::ApproverLimitExceeded
        | PurserError::ApprovalMemoMismatch
        | PurserError::StaleSequence
        | PurserError::TagBucketCount
        | PurserError::GrantTooEarly
        | PurserError::MalformedInstruction => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome_of(code: u32) -> Outcome {
        Fault::from_json(&json!({ "InstructionError": [1, { "Custom": code }] })).of_transfer()
    }

    #[test]
    fn every_policy_code_of_the_program_is_its_refusal() {
        let refusals = [
            Refusal::DuplicateTransfer,
            Refusal::Rule(RejectionReason::Paused),
            Refusal::Rule(RejectionReason::MemoRequired),
            Refusal::Rule(RejectionReason::MemoTooLong),
            Refusal::Rule(RejectionReason::RecipientNotAllowed),
            Refusal::Rule(RejectionReason::SingleLimitExceeded),
            Refusal::Rule(RejectionReason::DailyLimitExceeded),
            Refusal::InsufficientBalance,
        ];
        for (code, refusal) in (6000..).zip(refusals) {
            assert_eq!(outcome_of(code), Outcome::Refused(refusal), "{code}");
        }
        for (error, refusal) in [
            (PurserError::RequestTooOld, Refusal::TooOld),
            (PurserError::PaidTagsFull, Refusal::TagsFull),
            (PurserError::MonthLimitExceeded, Refusal::Rule(RejectionReason::MonthLimitExceeded)),
            (PurserError::BudgetExceeded, Refusal::Rule(RejectionReason::BudgetExceeded)),
            (PurserError::BudgetMismatch, Refusal::BoundsChanged),
            (PurserError::ExtendedTransferRequired, Refusal::BoundsChanged),
            (PurserError::GrantRequired, Refusal::BoundsChanged),
            (PurserError::UnknownLayout, Refusal::AccountGone),
        ] {
            assert_eq!(outcome_of(error.into()), Outcome::Refused(refusal), "{error:?}");
        }
        assert_eq!(
            outcome_of(PurserError::Halted.into()),
            Outcome::Refused(Refusal::Rule(RejectionReason::Halted))
        );
        let rotated = outcome_of(PurserError::Unauthorized.into());
        assert_eq!(rotated, Outcome::Refused(Refusal::AuthorityRotated));
    }

    #[test]
    fn refusals_by_the_token_program_are_explained() {
        assert_eq!(outcome_of(1), Outcome::Refused(Refusal::InsufficientBalance));
        assert_eq!(outcome_of(17), Outcome::Refused(Refusal::SourceFrozen));
    }

    #[test]
    fn other_codes_and_other_errors_are_failures_with_their_code() {
        assert!(matches!(outcome_of(18), Outcome::Failed { code: Some(18), .. }));
        let others = [
            json!("AccountInUse"),
            json!({ "InstructionError": [0, "ComputationalBudgetExceeded"] }),
            json!({ "InstructionError": [0, { "Custom": 4_294_967_296_u64 }] }),
            json!({ "SomethingNew": { "Custom": 6001 } }),
            json!(null),
        ];
        for err in others {
            let outcome = Fault::from_json(&err).of_transfer();
            assert!(matches!(outcome, Outcome::Failed { code: None, .. }), "{err}: {outcome:?}");
        }
    }
}
