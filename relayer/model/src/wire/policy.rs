//! A policy as it is answered, announced and stored.

use purser_policy::{AllowedRecipients, Limit, SpendingPolicy, Warning, rule_fields};
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

macro_rules! written_policy {
    (
        limits { $($(#[$limit_doc:meta])* $limit:ident,)* }
        flags { $($(#[$flag_doc:meta])* $flag:ident,)* }
    ) => {
        /// The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits are JSON
        /// numbers, written from integers.
        #[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
        struct WrittenPolicy {
            $(
                $(#[$limit_doc])*
                /// `null` for no limit.
                #[schema(required)]
                $limit: Option<UsdcLimit>,
            )*
            /// Who may be paid, by address: wallets, then token accounts; `null` for anyone.
            #[schema(value_type = Option<Vec<CounterpartyText>>, required, max_items = 256)]
            allowed_counterparties: Option<Vec<String>>,
            /// What each entry is, in the order of the entries.
            #[schema(required, max_items = 256)]
            counterparty_kinds: Option<Vec<CounterpartyKind>>,
            $($(#[$flag_doc])* $flag: bool,)*
        }

        impl TryFrom<WrittenPolicy> for PolicyFields {
            type Error = &'static str;

            fn try_from(written: WrittenPolicy) -> Result<Self, Self::Error> {
                let allowlist = match written.allowed_counterparties.zip(written.counterparty_kinds) {
                    None => AllowedRecipients::Anyone,
                    Some((texts, kinds)) => allowlist_of(&texts, kinds).ok_or("its allowlist names no addresses")?,
                };
                let limit = |limit: Option<UsdcLimit>| limit.map_or(Limit::Unlimited, |limit| Limit::AtMost(limit.0));
                Ok(Self(SpendingPolicy {
                    $($limit: limit(written.$limit),)*
                    $($flag: written.$flag,)*
                    allowlist,
                }))
            }
        }

        impl From<PolicyFields> for WrittenPolicy {
            fn from(PolicyFields(policy): PolicyFields) -> Self {
                let limit = |limit| match limit {
                    Limit::Unlimited => None,
                    Limit::AtMost(amount) => Some(UsdcLimit(amount)),
                };
                let (allowed_counterparties, counterparty_kinds) = written_allowlist(&policy.allowlist).unzip();
                Self {
                    $($limit: limit(policy.$limit),)*
                    allowed_counterparties,
                    counterparty_kinds,
                    $($flag: policy.$flag,)*
                }
            }
        }
    };
}

rule_fields!(written_policy);

fn allowlist_of(texts: &[String], kinds: Vec<CounterpartyKind>) -> Option<AllowedRecipients> {
    let entry = |(text, kind): (&String, CounterpartyKind)| Some((kind, text.parse().ok()?));
    texts.iter().zip(kinds).map(entry).collect::<Option<Vec<_>>>().map(of_entries)
}

fn written_allowlist(allowlist: &AllowedRecipients) -> Option<(Vec<String>, Vec<CounterpartyKind>)> {
    let entries = entries(allowlist)?.into_iter();
    Some(entries.map(|(kind, address)| (address.to_string(), kind)).unzip())
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
    code: WarningCode,
    message: Message,
}

impl WarningBody {
    /// The warnings of an answer.
    pub fn all(warnings: &[Warning]) -> Vec<Self> {
        let body = |warning: &Warning| Self {
            code: WarningCode(warning.code()),
            message: warning.sentence().into(),
        };
        warnings.iter().map(body).collect()
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
            ..SpendingPolicy::default()
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
