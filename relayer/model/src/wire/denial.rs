//! What a denial says: the document that is signed, with its schema.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::Object;

use super::schema::{Message, OtherSide, PolicyVersionNumber, named_text, text, written};
use crate::{
    AccountId, Address, CheckedRule, Denial, DenialHead, Limit, Network, Refused, RejectionReason, RuleCheck,
    Timestamp, TransferId, TransferState, UsdcAmount,
};

const VERSION: u32 = 1;

impl Denial {
    /// What `key` signs about a transfer, following `before`. `None`: the transfer was not refused.
    pub fn document_of(refused: &Refused, before: &DenialHead, key: Address) -> Option<String> {
        let number = before.number.checked_add(1)?;
        let document = DenialDocument::of(refused, before, number, key)?;
        // Text, numbers and flags always serialise to JSON.
        serde_json::to_string(&document).ok()
    }
}

written! {
    MicroUsdc = "MicroUsdc": formed("A whole number of micro-USDC.", "^[0-9]{1,20}$");
    Sha256Hex = "Sha256": formed("A SHA-256 in lower-case hex.", "^[0-9a-f]{64}$");
    DenialSignature = "DenialSignature": formed(
        "An Ed25519 signature of the bytes of `denial`, as they stand here, base58.", "^[1-9A-HJ-NP-Za-km-z]{64,88}$"
    );
}

named_text! {
    /// Micro-USDC: a whole number, as text.
    MicroUsdc
    /// A SHA-256 in hex.
    Sha256Hex
    /// The signature of a denial, base58.
    DenialSignature
}

fn formed(description: &str, pattern: &str) -> Object {
    text().description(Some(description)).pattern(Some(pattern)).build()
}

/// What is signed of a refused transfer. The fields stand in the order of their names, as RFC 8785 has them; no number in it is
/// other than whole.
#[derive(Serialize, ToSchema)]
#[schema(as = Denial)]
pub struct DenialDocument {
    /// The account's address on the chain.
    account: Address,
    account_id: AccountId,
    amount_micro_usdc: MicroUsdc,
    /// How every rule judged the transfer.
    #[schema(max_items = 16)]
    checks: Vec<DenialCheck>,
    /// Whose signature this is.
    key: Address,
    message: Message,
    network: Network,
    /// Of the denial among all of its operator, from 1.
    #[schema(minimum = 1)]
    number: u64,
    /// The operator's address on the chain.
    operator: Address,
    /// The operator's id at the service.
    #[schema(pattern = "^op_[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    operator_id: String,
    /// Of the policy that refused; `null` where the program refused a transaction and the account was not read after that.
    #[schema(required)]
    policy_version: Option<PolicyVersionNumber>,
    /// Of the denial before, as it was signed; all zeros in the first.
    previous_sha256: Sha256Hex,
    /// Whose denial the one before is; `null` in the first.
    #[schema(required)]
    previous_transfer_id: Option<TransferId>,
    reason: RejectionReason,
    rejected_at: Timestamp,
    requested_at: Timestamp,
    /// Who was to be paid, as submitted.
    to: OtherSide,
    transfer_id: TransferId,
    /// Of this form: 1.
    version: u32,
}

/// How a rule judged a transfer. Its fields are in the order of their names too.
#[derive(Serialize, ToSchema)]
pub struct DenialCheck {
    /// `null`: there is no limit.
    #[schema(required)]
    limit_micro_usdc: Option<MicroUsdc>,
    /// Whether the rule allows the transfer.
    ok: bool,
    rule: CheckedRule,
    /// What already counted against the limit.
    used_micro_usdc: MicroUsdc,
}

impl DenialDocument {
    fn of(refused: &Refused, before: &DenialHead, number: u64, key: Address) -> Option<Self> {
        let Refused { transfer, account, operator } = refused;
        let TransferState::Rejected(rejection) = &transfer.state else { return None };
        Some(Self {
            account: *account,
            account_id: transfer.request.from,
            amount_micro_usdc: micros(transfer.request.amount),
            checks: rejection.checks.0.iter().map(DenialCheck::from).collect(),
            key,
            message: rejection.message.as_str().into(),
            network: transfer.network,
            number,
            operator: *operator,
            operator_id: transfer.operator_id.to_string(),
            policy_version: rejection.policy_version.map(PolicyVersionNumber),
            previous_sha256: hex::encode(before.hash).into(),
            previous_transfer_id: before.transfer_id,
            reason: rejection.reason,
            rejected_at: rejection.rejected_at,
            requested_at: transfer.created_at,
            to: transfer.request.to.text().into(),
            transfer_id: transfer.id,
            version: VERSION,
        })
    }
}

impl From<&RuleCheck> for DenialCheck {
    fn from(check: &RuleCheck) -> Self {
        let limit_micro_usdc = match check.limit {
            Limit::Unlimited => None,
            Limit::AtMost(limit) => Some(micros(limit)),
        };
        Self { limit_micro_usdc, ok: check.ok, rule: check.rule, used_micro_usdc: micros(check.used) }
    }
}

fn micros(amount: UsdcAmount) -> MicroUsdc {
    MicroUsdc(amount.micros().to_string())
}

#[cfg(test)]
mod tests;
