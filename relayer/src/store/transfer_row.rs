use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use macro_rules_attribute::derive;
use serde::{Deserialize, Serialize};

use super::StoreError;
use super::columns::Table;
use super::row::ByName;
use crate::domain::{
    CheckedRule, Checks, Failure, FailureCode, IdempotencyKey, Limit, Memo, Recipient, Rejection,
    RejectionReason, RuleCheck, Settlement, SignedTransfer, Timestamp, Transfer, TransferId, TransferRequest,
    TransferState, UsdcAmount,
};

const TABLE: Table = Table("transfers");

/// A row of `transfers`, selected by [`super::transfers::COLUMNS`].
#[derive(Debug, ByName!)]
pub(super) struct TransferRow {
    transfer_id: String,
    operator_id: String,
    network: String,
    account_id: String,
    key_id: String,
    recipient: String,
    amount_usdc: String,
    memo: Option<String>,
    idempotency_key: String,
    fee_payer: Option<String>,
    refusal: Option<String>,
    pub(super) state: String,
    signed_bytes: Option<String>,
    tx_signature: Option<String>,
    last_valid_block_height: Option<i64>,
    sent_at: Option<String>,
    slot: Option<i64>,
    ended_at: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    checks: Option<String>,
    policy_version: Option<i64>,
    reopened: i64,
    retry_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl TryFrom<TransferRow> for Transfer {
    type Error = StoreError;

    fn try_from(row: TransferRow) -> Result<Self, StoreError> {
        let state = row.read_state()?;
        let memo = row.memo.as_deref().map(Memo::written);
        let id: TransferId = TABLE.read("transfer_id", &row.transfer_id)?;
        Ok(Self {
            id,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            network: TABLE.read("network", &row.network)?,
            key_id: TABLE.read("key_id", &row.key_id)?,
            request: TransferRequest {
                from: TABLE.read("account_id", &row.account_id)?,
                to: Recipient::parse(row.recipient).map_err(|_| TABLE.unreadable("recipient"))?,
                amount: TABLE.read("amount_usdc", &row.amount_usdc)?,
                memo,
                idempotency_key: IdempotencyKey::parse(row.idempotency_key)
                    .map_err(|_| TABLE.unreadable("idempotency_key"))?,
            },
            fee_payer: TABLE.read_optional("fee_payer", row.fee_payer.as_deref())?,
            refusal: row.refusal,
            policy_version: row.policy_version.map(i64::cast_unsigned),
            reopened: u32::try_from(row.reopened).map_err(|_| TABLE.unreadable("reopened"))?,
            state,
            created_at: TABLE.read("created_at", &row.created_at)?,
            updated_at: TABLE.read("updated_at", &row.updated_at)?,
        })
    }
}

impl TransferRow {
    fn read_state(&self) -> Result<TransferState, StoreError> {
        Ok(match self.state.as_str() {
            "claimed" => TransferState::Claimed,
            "signed" => TransferState::Signed(self.read_signed()?),
            "sent" => {
                let sent_at = TABLE.required("sent_at", self.sent_at.as_deref())?;
                TransferState::Sent { signed: self.read_signed()?, sent_at: TABLE.read("sent_at", sent_at)? }
            }
            "settled" => TransferState::Settled(Settlement {
                signature: TABLE.required("tx_signature", self.tx_signature.clone())?,
                settled_at: self.read_ended_at()?,
                slot: TABLE.required("slot", self.slot)?.cast_unsigned(),
                // Stands in the history.
                number: None,
            }),
            "rejected" => TransferState::Rejected(Rejection {
                reason: self
                    .reason
                    .as_deref()
                    .and_then(RejectionReason::from_stored)
                    .ok_or_else(|| TABLE.unreadable("reason"))?,
                message: TABLE.required("message", self.message.clone())?,
                checks: read_checks(TABLE.required("checks", self.checks.as_deref())?)?,
                policy_version: self.policy_version.map(i64::cast_unsigned),
                retry_at: TABLE.read_optional("retry_at", self.retry_at.as_deref())?,
                rejected_at: self.read_ended_at()?,
            }),
            "failed" => TransferState::Failed(Failure {
                code: self
                    .reason
                    .as_deref()
                    .and_then(FailureCode::from_stored)
                    .ok_or_else(|| TABLE.unreadable("reason"))?,
                message: TABLE.required("message", self.message.clone())?,
                failed_at: self.read_ended_at()?,
            }),
            _ => return Err(TABLE.unreadable("state")),
        })
    }

    fn read_signed(&self) -> Result<SignedTransfer, StoreError> {
        let bytes = TABLE.required("signed_bytes", self.signed_bytes.as_deref())?;
        Ok(SignedTransfer {
            bytes: STANDARD.decode(bytes).map_err(|_| TABLE.unreadable("signed_bytes"))?,
            signature: TABLE.required("tx_signature", self.tx_signature.clone())?,
            last_valid_block_height: TABLE
                .required("last_valid_block_height", self.last_valid_block_height)?
                .cast_unsigned(),
        })
    }

    /// The bytes that stand in the row, whatever its state.
    pub(super) fn read_bytes(&self) -> Result<Option<SignedTransfer>, StoreError> {
        self.signed_bytes.as_ref().map(|_| self.read_signed()).transpose()
    }

    fn read_ended_at(&self) -> Result<Timestamp, StoreError> {
        TABLE.read("ended_at", TABLE.required("ended_at", self.ended_at.as_deref())?)
    }
}

/// A state as columns. `None` keeps the column: an ended transfer keeps its signed bytes, unless another signature ended it.
#[derive(Debug, Default)]
pub(super) struct TransferStateColumns {
    pub signed_bytes: Option<String>,
    pub tx_signature: Option<String>,
    pub last_valid_block_height: Option<i64>,
    pub sent_at: Option<String>,
    pub slot: Option<i64>,
    pub ended_at: Option<String>,
    pub reason: Option<&'static str>,
    pub message: Option<String>,
    pub checks: Option<String>,
    pub retry_at: Option<String>,
}

impl From<&TransferState> for TransferStateColumns {
    fn from(state: &TransferState) -> Self {
        match state {
            TransferState::Claimed => Self::default(),
            TransferState::Signed(signed) => Self::from(signed),
            TransferState::Sent { signed, sent_at } => {
                Self { sent_at: Some(sent_at.to_string()), ..Self::from(signed) }
            }
            TransferState::Settled(settlement) => Self {
                tx_signature: Some(settlement.signature.clone()),
                slot: Some(settlement.slot.cast_signed()),
                ended_at: Some(settlement.settled_at.to_string()),
                ..Self::default()
            },
            TransferState::Rejected(rejection) => Self {
                ended_at: Some(rejection.rejected_at.to_string()),
                reason: Some(rejection.reason.as_str()),
                message: Some(rejection.message.clone()),
                checks: Some(write_checks(&rejection.checks)),
                retry_at: rejection.retry_at.map(|at| at.to_string()),
                ..Self::default()
            },
            TransferState::Failed(failure) => Self {
                ended_at: Some(failure.failed_at.to_string()),
                reason: Some(failure.code.as_str()),
                message: Some(failure.message.clone()),
                ..Self::default()
            },
        }
    }
}

impl From<&SignedTransfer> for TransferStateColumns {
    fn from(signed: &SignedTransfer) -> Self {
        Self {
            signed_bytes: Some(STANDARD.encode(&signed.bytes)),
            tx_signature: Some(signed.signature.clone()),
            last_valid_block_height: Some(signed.last_valid_block_height.cast_signed()),
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

fn write_checks(checks: &Checks) -> String {
    let json = checks.0.iter().map(|check| CheckJson {
        rule: check.rule.as_str().to_owned(),
        broken: (!check.ok).then_some(true),
        limit: match check.limit {
            Limit::Unlimited => None,
            Limit::AtMost(limit) => Some(limit.to_string()),
        },
        used: (check.used != UsdcAmount::ZERO).then(|| check.used.to_string()),
    });
    // Text, numbers and flags always serialise to JSON.
    serde_json::to_string(&json.collect::<Vec<_>>()).unwrap_or_else(|_| "[]".to_owned())
}

fn read_checks(json: &str) -> Result<Checks, StoreError> {
    let unreadable = || TABLE.unreadable("checks");
    let checks: Vec<CheckJson> = serde_json::from_str(json).map_err(|_| unreadable())?;
    let read = |check: CheckJson| {
        Ok(RuleCheck {
            rule: CheckedRule::from_stored(&check.rule).ok_or_else(unreadable)?,
            ok: check.broken != Some(true),
            limit: match TABLE.read_optional("checks", check.limit.as_deref())? {
                None => Limit::Unlimited,
                Some(limit) => Limit::AtMost(limit),
            },
            used: TABLE.read_optional("checks", check.used.as_deref())?.unwrap_or(UsdcAmount::ZERO),
        })
    };
    checks.into_iter().map(read).collect::<Result<_, _>>().map(Checks)
}
