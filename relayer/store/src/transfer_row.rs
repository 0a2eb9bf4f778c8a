//! Transfers as rows.

use serde::{Deserialize, Serialize};

use super::Result;
use super::row::{Row, Stored, row, unreadable};
use super::statement::{Bound, Value};
use super::stored::Base64;
use purser_model::{
    Approval, ApprovalRequested, ApprovalWanted, CheckedRule, Checks, Failure, Limit, Recipient, Rejection,
    RuleCheck, Settlement, SignedTransfer, Timestamp, Transfer, TransferRequest, TransferState, UsdcAmount,
};

row! { Transfer of transfers from row {
    id: transfer_id, operator_id, network, key_id, idempotency_key,
    request[account_id, recipient, to_wallet, amount_usdc, memo] = TransferRequest {
        from: row.get("account_id")?,
        to: match row.get("to_wallet")? {
            Some(wallet) => Recipient::Wallet { wallet, token_account: row.get("recipient")? },
            None => row.get("recipient")?,
        },
        amount: row.get("amount_usdc")?,
        memo: row.get("memo")?,
    },
    fee_payer, refusal, policy_version, reopened, asked_at, earlier_valid_until,
    approval(asks_approval, approval_reason, approval_expires_at) =
        match (approval_expires_at, approval_reason, asks_approval) {
            (Some(expires_at), Some(reason), _) => {
                Approval::Requested(ApprovalRequested { reason, expires_at })
            }
            (Some(_), None, _) => return Err(unreadable("approval_reason")),
            (None, _, 1_u64) => Approval::Request,
            (None, _, 2) => Approval::Off,
            (None, _, _) => Approval::Never,
        },
    state[state, signed_bytes, tx_signature, last_valid_block_height, sent_at, slot, ended_at, reason, message,
        checks, retry_at] = read_state(row)?,
    created_at, updated_at,
}}

row! { SignedTransfer {
    bytes(signed_bytes) = match signed_bytes { Base64(bytes) => bytes }, signature: tx_signature,
    last_valid_block_height,
}}

fn read_state(row: &Row<'_>) -> Result<TransferState> {
    Ok(match row.get::<String>("state")?.as_str() {
        "claimed" => match row.get::<Option<String>>("message")? {
            None => TransferState::Claimed,
            Some(_) => TransferState::PendingApproval(row.record()?),
        },
        "signed" => TransferState::Signed(row.record()?),
        "sent" => TransferState::Sent { signed: row.record()?, sent_at: row.get("sent_at")? },
        "settled" => TransferState::Settled(row.record()?),
        "rejected" => TransferState::Rejected(row.record()?),
        "failed" => TransferState::Failed(row.record()?),
        _ => return Err(unreadable("state")),
    })
}

row! { ApprovalWanted from row { rejection = row.record()?, expires_at: approval_expires_at } }

row! { Rejection {
    reason, message, checks, policy_version, retry_at,
    // A transfer that waits for a person has no `ended_at`.
    rejected_at(ended_at, updated_at) = Option::unwrap_or(ended_at, updated_at),
}}

// The number stands in the history.
row! { Settlement { signature: tx_signature, settled_at: ended_at, slot, number = None } }

row! { Failure { code: reason, message, failed_at: ended_at, retry_at } }

/// A transfer, and the bytes that stand in its row, whatever its state.
pub(super) struct WithBytes {
    pub transfer: Transfer,
    pub bytes: Option<SignedTransfer>,
}

row! { WithBytes from row {
    transfer = row.record()?,
    bytes = match row.get::<Option<Base64>>("signed_bytes")? {
        Some(_) => Some(row.record()?),
        None => None,
    },
}}

/// A state as columns. `None` keeps the column: an ended transfer keeps its signed bytes, unless another signature ended it.
#[derive(Default)]
pub(super) struct TransferStateColumns<'a> {
    pub signed_bytes: Option<Base64>,
    pub tx_signature: Option<&'a str>,
    pub last_valid_block_height: Option<u64>,
    pub sent_at: Option<Timestamp>,
    pub slot: Option<u64>,
    pub ended_at: Option<Timestamp>,
    pub reason: Option<&'static str>,
    pub message: Option<&'a str>,
    pub checks: Option<&'a Checks>,
    pub retry_at: Option<Timestamp>,
    pub approval_reason: Option<&'static str>,
    pub approval_expires_at: Option<Timestamp>,
}

/// A state in the column `state`, which was there before approvals.
pub(super) const fn stored(state: &TransferState) -> &'static str {
    match state {
        TransferState::PendingApproval(_) => "claimed",
        other => other.as_str(),
    }
}

impl<'a> From<&'a TransferState> for TransferStateColumns<'a> {
    fn from(state: &'a TransferState) -> Self {
        match state {
            TransferState::Claimed => Self::default(),
            TransferState::PendingApproval(wanted) => Self {
                approval_reason: Some(wanted.rejection.reason.as_str()),
                approval_expires_at: Some(wanted.expires_at),
                ..Self::refused(&wanted.rejection)
            },
            TransferState::Signed(signed) => Self::from(signed),
            TransferState::Sent { signed, sent_at } => Self { sent_at: Some(*sent_at), ..Self::from(signed) },
            TransferState::Settled(settlement) => Self {
                tx_signature: Some(&settlement.signature),
                slot: Some(settlement.slot),
                ended_at: Some(settlement.settled_at),
                ..Self::default()
            },
            TransferState::Rejected(rejection) => {
                Self { ended_at: Some(rejection.rejected_at), ..Self::refused(rejection) }
            }
            TransferState::Failed(failure) => Self {
                ended_at: Some(failure.failed_at),
                reason: Some(failure.code.as_str()),
                message: Some(&failure.message),
                retry_at: failure.retry_at,
                ..Self::default()
            },
        }
    }
}

impl<'a> TransferStateColumns<'a> {
    fn refused(rejection: &'a Rejection) -> Self {
        Self {
            reason: Some(rejection.reason.as_str()),
            message: Some(&rejection.message),
            checks: Some(&rejection.checks),
            retry_at: rejection.retry_at,
            ..Self::default()
        }
    }
}

impl<'a> From<&'a SignedTransfer> for TransferStateColumns<'a> {
    fn from(signed: &'a SignedTransfer) -> Self {
        Self {
            signed_bytes: Some(Base64(signed.bytes.clone())),
            tx_signature: Some(&signed.signature),
            last_valid_block_height: Some(signed.last_valid_block_height),
            ..Self::default()
        }
    }
}

/// What is so most often is left out: each refusal is kept, and its checks are the longest part of it.
#[derive(Serialize, Deserialize)]
struct CheckJson {
    rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<String>,
}

impl Bound for Checks {
    fn value(&self) -> Value {
        let json = self.0.iter().map(|check| CheckJson {
            rule: check.rule.as_str().to_owned(),
            broken: (!check.ok).then_some(true),
            limit: match check.limit {
                Limit::Unlimited => None,
                Limit::AtMost(limit) => Some(limit.to_string()),
            },
            used: (check.used != UsdcAmount::ZERO).then(|| check.used.to_string()),
        });
        // Text, numbers and flags always serialise to JSON.
        let json = serde_json::to_string(&json.collect::<Vec<_>>());
        Value::Text(Some(json.unwrap_or_else(|_| "[]".to_owned())))
    }
}

impl Stored for Checks {
    type As = String;

    fn from_held(json: String) -> Option<Self> {
        let checks: Vec<CheckJson> = serde_json::from_str(&json).ok()?;
        let read = |check: CheckJson| {
            Some(RuleCheck {
                rule: CheckedRule::from_stored(&check.rule)?,
                ok: check.broken != Some(true),
                limit: match check.limit {
                    None => Limit::Unlimited,
                    Some(limit) => Limit::AtMost(limit.parse().ok()?),
                },
                used: check.used.map_or(Some(UsdcAmount::ZERO), |used| used.parse().ok())?,
            })
        };
        checks.into_iter().map(read).collect::<Option<_>>().map(Checks)
    }
}
