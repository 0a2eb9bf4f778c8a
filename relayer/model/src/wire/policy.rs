//! A policy as it is answered, announced and stored, and its change as it is submitted.

use purser_policy::{AllowedRecipients, Limit, SpendingPolicy};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::schema::{
    BudgetId, CounterpartyText, EntryOfAllowlist, PolicyVersionNumber, UsdcLimit, UsdcNumber,
};
use crate::{
    Counterparties, CounterpartyKind, Invalid, PolicyReason, PolicyUpdate, entries, limit_from_json,
    of_entries, read_body,
};

/// The five policy fields as they are answered and announced, with what each entry of the allowlist is. Limits are JSON
/// numbers, written from integers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Policy)]
pub struct PolicyFields {
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

impl PolicyFields {
    /// The policy that was answered. `None`: its allowlist is not one that was answered.
    pub fn into_policy(self) -> Option<SpendingPolicy> {
        let limit = |limit: Option<UsdcLimit>| limit.map_or(Limit::Unlimited, |limit| Limit::AtMost(limit.0));
        Some(SpendingPolicy {
            max_single_transfer: limit(self.max_single_transfer),
            max_daily_spend: limit(self.max_daily_spend),
            allowlist: match self.allowed_counterparties.zip(self.counterparty_kinds) {
                None => AllowedRecipients::Anyone,
                Some((texts, kinds)) => {
                    let entry = |(text, kind): (&String, CounterpartyKind)| Some((kind, text.parse().ok()?));
                    of_entries(texts.iter().zip(kinds).map(entry).collect::<Option<Vec<_>>>()?)
                }
            },
            require_memo: self.require_memo,
            paused: self.paused,
        })
    }
}

impl From<&SpendingPolicy> for PolicyFields {
    fn from(policy: &SpendingPolicy) -> Self {
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

impl PolicyUpdate {
    /// Reads a request body. Invalid: malformed JSON, an unknown or repeated field, or a value of a wrong type or form.
    pub fn from_json(body: &[u8]) -> Result<Self, Invalid> {
        let fields: PolicyUpdateFields = read_body(body)?;
        let limit = |param: &str, json: Option<Box<RawValue>>| {
            json.map(|json| limit_from_json(param, &json)).transpose()
        };
        Ok(Self {
            max_single_transfer: limit("max_single_transfer", fields.max_single_transfer)?,
            max_daily_spend: limit("max_daily_spend", fields.max_daily_spend)?,
            allowed_counterparties: fields
                .allowed_counterparties
                .map(|json| Counterparties::from_json(&json))
                .transpose()?,
            require_memo: fields.require_memo,
            paused: fields.paused,
            max_30_day_spend: limit("max_30_day_spend", fields.max_30_day_spend)?,
            budget: fields
                .budget_id
                .map(|id| id.map(|id| Invalid::unless("budget_id", &id)).transpose())
                .transpose()?,
            expected_version: fields.expected_version,
            reason: fields.reason.map(PolicyReason::parse).transpose()?,
        })
    }
}

/// A policy, or a change of one. PUT takes a field that is left out as its default, unless `paused` is given alone; PATCH leaves
/// it as it is. `paused: true` holds at once, even where the rest has to wait or is refused.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyUpdate)]
pub struct PolicyUpdateFields {
    /// Most of a single transfer; `null` for no limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<UsdcNumber>)]
    max_single_transfer: Option<Box<RawValue>>,
    /// Most that may leave in any 24 hours; `null` for no limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<UsdcNumber>)]
    max_daily_spend: Option<Box<RawValue>>,
    /// Who may be paid, and nobody else; `null` for anyone.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<EntryOfAllowlist>>, max_items = 256)]
    allowed_counterparties: Option<Box<RawValue>>,
    /// Whether a transfer needs a memo.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    require_memo: Option<bool>,
    /// Whether nothing may leave.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    paused: Option<bool>,
    /// Most that may leave in any 30 days; `null` for no limit. Left out, it stays as it is, also in a PUT.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<UsdcNumber>)]
    max_30_day_spend: Option<Box<RawValue>>,
    /// The budget that the account pays through, with others that name it; `null` for none. Left out, it stays as it is, also in a
    /// PUT.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<BudgetId>)]
    budget_id: Option<Option<String>>,
    /// The version that is to be changed, and no other; as the header `If-Match`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = PolicyVersionNumber)]
    expected_version: Option<u64>,
    /// Why, for the list of versions.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = PolicyReason)]
    reason: Option<String>,
}

/// Distinguishes a given `null` from an omitted field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(json: D) -> Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UsdcAmount;

    fn update(body: &str) -> Result<PolicyUpdate, Invalid> {
        PolicyUpdate::from_json(body.as_bytes())
    }

    fn strict() -> SpendingPolicy {
        SpendingPolicy {
            max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(5)),
            max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(9)),
            allowlist: AllowedRecipients::only(vec![], vec![]),
            require_memo: true,
            paused: false,
        }
    }

    #[test]
    fn paused_alone_changes_only_paused() {
        let policy = update(r#"{"paused":true}"#).expect("valid").replace(None, &strict());
        assert_eq!(policy, SpendingPolicy { paused: true, ..strict() });
    }

    #[test]
    fn any_other_put_replaces_the_whole_policy() {
        let policy =
            update(r#"{"paused":false,"require_memo":true}"#).expect("valid").replace(None, &strict());
        assert_eq!(policy, SpendingPolicy { require_memo: true, ..SpendingPolicy::default() });
        assert_eq!(update("{}").expect("valid").replace(None, &strict()), SpendingPolicy::default());
    }

    #[test]
    fn put_with_any_field_beside_paused_replaces_the_whole_policy() {
        let four = Limit::AtMost(UsdcAmount::from_micros(4_000_000));
        for paused in [true, false] {
            let limit = update(&format!(r#"{{"paused":{paused},"max_single_transfer":4}}"#)).expect("valid");
            let expected = SpendingPolicy { paused, max_single_transfer: four, ..SpendingPolicy::default() };
            assert_eq!(limit.replace(None, &strict()), expected);
            assert_eq!(
                limit.merge(None, &strict()),
                SpendingPolicy { paused, max_single_transfer: four, ..strict() }
            );
            let memo = update(&format!(r#"{{"paused":{paused},"require_memo":true}}"#)).expect("valid");
            let expected = SpendingPolicy { paused, require_memo: true, ..SpendingPolicy::default() };
            assert_eq!(memo.replace(None, &strict()), expected);
        }
    }

    #[test]
    fn patch_merges_and_null_lifts_a_limit() {
        let policy = update(r#"{"max_daily_spend":null,"allowed_counterparties":null}"#)
            .expect("valid")
            .merge(Some(AllowedRecipients::Anyone), &strict());
        assert_eq!(
            policy,
            SpendingPolicy {
                max_daily_spend: Limit::Unlimited,
                allowlist: AllowedRecipients::Anyone,
                ..strict()
            }
        );
    }

    #[test]
    fn limits_are_numbers_or_decimal_strings() {
        for body in [r#"{"max_daily_spend":0.000001}"#, r#"{"max_daily_spend":"0.000001"}"#] {
            let limit = update(body).expect("valid").max_daily_spend;
            assert_eq!(limit, Some(Limit::AtMost(UsdcAmount::from_micros(1))));
        }
    }

    #[test]
    fn mistakes_in_the_body_are_named() {
        let two = r#"["11111111111111111111111111111111","nobody"]"#;
        for (body, param) in [
            ("", "body"),
            ("[]", "body"),
            ("{} {}", "body"),
            (r#"{"max":1}"#, "max"),
            (r#"{"paused":1}"#, "paused"),
            (r#"{"paused":null}"#, "paused"),
            (r#"{"max_daily_spend":"1e14"}"#, "max_daily_spend"),
            (r#"{"max_daily_spend":1e-7}"#, "max_daily_spend"),
            (r#"{"max_daily_spend":-1}"#, "max_daily_spend"),
            (r#"{"max_single_transfer":0.0000001}"#, "max_single_transfer"),
            (r#"{"allowed_counterparties":"all"}"#, "allowed_counterparties"),
            (&format!(r#"{{"allowed_counterparties":{two}}}"#), "allowed_counterparties[1]"),
            (r#"{"expected_version":null}"#, "expected_version"),
            (r#"{"expected_version":1.0}"#, "expected_version"),
            (r#"{"expected_version":"1"}"#, "expected_version"),
            (r#"{"expected_version":-1}"#, "expected_version"),
        ] {
            assert_eq!(update(body).expect_err(body).param(), param, "{body}");
        }
        assert!(update(r#"{"paused":true,"paused":false}"#).is_err());
    }

    #[test]
    fn an_expected_version_is_no_change_by_itself() {
        let update = update(r#"{"paused":true,"expected_version":7}"#).expect("valid");
        assert_eq!((update.expected_version, update.only_paused()), (Some(7), Some(true)));
    }

    #[test]
    fn the_kinds_of_an_allowlist_stand_beside_it() {
        let (low, high) = ([0; 32], [1; 32]);
        let policy =
            SpendingPolicy { allowlist: AllowedRecipients::only(vec![high, low], vec![low]), ..strict() };
        let answered = serde_json::to_value(PolicyFields::from(&policy)).expect("JSON");
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
        let open = serde_json::to_value(PolicyFields::from(&SpendingPolicy::default())).expect("JSON");
        assert!(open["allowed_counterparties"].is_null() && open["counterparty_kinds"].is_null());
        for (answered, policy) in [(answered, policy), (open, SpendingPolicy::default())] {
            let text = answered.to_string();
            let read: PolicyFields = serde_json::from_str(&text).expect("its own answer");
            assert_eq!(read.into_policy(), Some(policy));
        }
        assert!(serde_json::from_str::<PolicyFields>(r#"{"paused":false}"#).is_err());
    }
}
