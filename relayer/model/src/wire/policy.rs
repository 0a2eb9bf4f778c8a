//! A policy as it is answered, announced and stored.

use purser_policy::{AllowedRecipients, Limit, SpendingPolicy, Warning};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema::{
    CounterpartyText, Message, PolicyVersionNumber, Signature, UsdcLimit, WarningCode, changed, written,
};
use crate::{ActionId, Address, CounterpartyKind, KeyId, PolicyReason, Timestamp, entries, of_entries};

/// A policy as it is answered, announced and stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenPolicy", try_from = "WrittenPolicy")]
pub struct PolicyFields(pub SpendingPolicy);

written! {
    PolicyFields = "Policy": changed::<WrittenPolicy>(|_| {}), like WrittenPolicy;
}

/// The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits are JSON
/// numbers, written from integers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
struct WrittenPolicy {
    /// Most of a single transfer; `null` for no limit.
    #[schema(required)]
    max_single_transfer: Option<UsdcLimit>,
    /// Most that may leave in any 24 hours; `null` for no limit.
    #[schema(required)]
    max_daily_spend: Option<UsdcLimit>,
    /// Who may be paid, by address: wallets, then token accounts; `null` for anyone.
    #[schema(value_type = Option<Vec<CounterpartyText>>, required, max_items = 256)]
    allowed_counterparties: Option<Vec<String>>,
    /// What each entry is, in the order of the entries.
    #[schema(required, max_items = 256)]
    counterparty_kinds: Option<Vec<CounterpartyKind>>,
    /// Whether a transfer needs a memo.
    require_memo: bool,
    /// Whether nothing may leave.
    paused: bool,
}

/// A version of a policy, and what set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PolicySet)]
pub struct PolicyVersion {
    pub version: PolicyVersionNumber,
    pub set_at: Timestamp,
    /// Whose key signed it; `null` if unknown.
    #[schema(required)]
    pub signer: Option<Address>,
    pub tx_signature: Signature,
    /// The API key that asked for it, where it came by the API.
    #[schema(required)]
    pub key_id: Option<KeyId>,
    #[schema(required)]
    pub reason: Option<PolicyReason>,
    /// The action on record that it was; `null` where a wallet set it without the service.
    #[schema(required)]
    pub action_id: Option<ActionId>,
    /// Its recipients as they stand on the chain; `null` where it could not be read any more.
    #[schema(required)]
    pub policy: Option<PolicyFields>,
}

/// A rule that was set and can never match, or a limit that stops payments without a pause. The rule is in force all the same.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RuleWarning)]
pub struct WarningBody {
    #[schema(value_type = WarningCode)]
    code: &'static str,
    #[schema(value_type = Message)]
    message: &'static str,
}

impl WarningBody {
    /// The warnings of an answer.
    pub fn all(warnings: &[Warning]) -> Vec<Self> {
        let body = |warning: &Warning| Self { code: warning.code(), message: warning.sentence() };
        warnings.iter().map(body).collect()
    }
}

impl TryFrom<WrittenPolicy> for PolicyFields {
    type Error = NoPolicy;

    fn try_from(written: WrittenPolicy) -> Result<Self, NoPolicy> {
        let limit = |limit: Option<UsdcLimit>| limit.map_or(Limit::Unlimited, |limit| Limit::AtMost(limit.0));
        Ok(Self(SpendingPolicy {
            max_single_transfer: limit(written.max_single_transfer),
            max_daily_spend: limit(written.max_daily_spend),
            allowlist: match written.allowed_counterparties.zip(written.counterparty_kinds) {
                None => AllowedRecipients::Anyone,
                Some((texts, kinds)) => {
                    let entry = |(text, kind): (&String, CounterpartyKind)| Some((kind, text.parse().ok()?));
                    let entries = texts.iter().zip(kinds).map(entry).collect::<Option<Vec<_>>>();
                    of_entries(entries.ok_or(NoPolicy)?)
                }
            },
            require_memo: written.require_memo,
            paused: written.paused,
        }))
    }
}

/// The allowlist is not one that was written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its allowlist names no addresses")]
struct NoPolicy;

impl From<PolicyFields> for WrittenPolicy {
    fn from(PolicyFields(policy): PolicyFields) -> Self {
        let limit = |limit| match limit {
            Limit::Unlimited => None,
            Limit::AtMost(amount) => Some(UsdcLimit(amount)),
        };
        let entries = entries(&policy.allowlist).map(|entries| {
            entries
                .into_iter()
                .map(|(kind, address)| (address.to_string(), kind))
                .unzip::<_, _, Vec<_>, Vec<_>>()
        });
        let (allowed_counterparties, counterparty_kinds) = entries.unzip();
        Self {
            max_single_transfer: limit(policy.max_single_transfer),
            max_daily_spend: limit(policy.max_daily_spend),
            allowed_counterparties,
            counterparty_kinds,
            require_memo: policy.require_memo,
            paused: policy.paused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UsdcAmount;

    #[test]
    fn the_kinds_of_an_allowlist_stand_beside_it() {
        let (low, high) = ([0; 32], [1; 32]);
        let policy = SpendingPolicy {
            max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(5)),
            max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(9)),
            allowlist: AllowedRecipients::only(vec![high, low], vec![low]),
            require_memo: true,
            paused: false,
        };
        let answered = serde_json::to_value(PolicyFields(policy.clone())).expect("JSON");
        let [low, high] = [low, high].map(|bytes| crate::Address::from_bytes(bytes).to_string());
        assert_eq!(
            answered,
            serde_json::json!({
                "max_single_transfer": 0.000005, "max_daily_spend": 0.000009,
                "allowed_counterparties": [low, high, low],
                "counterparty_kinds": ["wallet", "wallet", "token_account"],
                "require_memo": true, "paused": false,
            })
        );
        let open = serde_json::to_value(PolicyFields(SpendingPolicy::default())).expect("JSON");
        assert!(open["allowed_counterparties"].is_null() && open["counterparty_kinds"].is_null());
        for (answered, policy) in [(answered, policy), (open, SpendingPolicy::default())] {
            let text = answered.to_string();
            let read: PolicyFields = serde_json::from_str(&text).expect("its own answer");
            assert_eq!(read.0, policy);
        }
        assert!(serde_json::from_str::<PolicyFields>(r#"{"paused":false}"#).is_err());
    }
}
