use purser_policy::{AllowedRecipients, Limit, Rule, RuleValue, SpendingPolicy, rule_fields};

use serde::Deserialize;
use utoipa::ToSchema;

use super::amount::given_limit;
use super::body::{present, read_body};
use super::wire::schema::{EntryOfAllowlist, PolicyVersionNumber, UsdcNumber};
use super::{BudgetId, Counterparties, Invalid, PolicyReason};

/// Whether an account with this policy and nothing beside it may pay anyone any amount.
pub fn has_no_limit(policy: &SpendingPolicy) -> bool {
    let values = Rule::ALL.map(|rule| policy.value(rule));
    values.iter().all(|value| matches!(value, RuleValue::Flag(_)) || !value.is_set())
}

macro_rules! policy_update {
    (
        limits { $($(#[$limit_doc:meta])* $limit:ident,)* }
        flags { $($(#[$flag_doc:meta])* $flag:ident,)* }
    ) => {
        /// A policy, or a change of one. PUT takes a field that is left out as its default, unless `paused` is given alone; PATCH
        /// leaves it as it is. `paused: true` holds at once, even where the rest has to wait or is refused.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct PolicyUpdate {
            $(
                $(#[$limit_doc])*
                /// `null` for no limit.
                #[serde(default, deserialize_with = "given_limit")]
                #[schema(value_type = Option<UsdcNumber>)]
                pub $limit: Option<Limit>,
            )*
            /// Who may be paid, and nobody else; `null` for anyone.
            #[serde(default, deserialize_with = "present")]
            #[schema(value_type = Option<Vec<EntryOfAllowlist>>, max_items = 256)]
            pub allowed_counterparties: Option<Counterparties>,
            $(
                $(#[$flag_doc])*
                #[serde(default, deserialize_with = "present")]
                #[schema(nullable = false)]
                pub $flag: Option<bool>,
            )*
            /// Most that may leave in any 30 days; `null` for no limit. Left out, it stays as it is, also in a PUT.
            #[serde(default, deserialize_with = "given_limit")]
            #[schema(value_type = Option<UsdcNumber>)]
            pub max_30_day_spend: Option<Limit>,
            /// The budget that the account pays through, with others that name it; `null` for none. Left out, it stays as it is, also
            /// in a PUT.
            #[serde(rename = "budget_id", default, deserialize_with = "present")]
            #[schema(value_type = Option<BudgetId>)]
            pub budget: Option<Option<BudgetId>>,
            /// The version that is to be changed, and no other; as the header `If-Match`.
            #[serde(default, deserialize_with = "present")]
            #[schema(value_type = PolicyVersionNumber)]
            pub expected_version: Option<u64>,
            /// Why, for the list of versions.
            #[serde(default, deserialize_with = "present")]
            #[schema(nullable = false)]
            pub reason: Option<PolicyReason>,
        }

        impl PolicyUpdate {
            /// The policy after a PATCH, with what its allowlist means on the chain: omitted fields stay.
            pub fn merge(&self, allowlist: Option<AllowedRecipients>, current: &SpendingPolicy) -> SpendingPolicy {
                SpendingPolicy {
                    $($limit: self.$limit.unwrap_or(current.$limit),)*
                    $($flag: self.$flag.unwrap_or(current.$flag),)*
                    allowlist: allowlist.unwrap_or_else(|| current.allowlist.clone()),
                }
            }
        }
    };
}

rule_fields!(policy_update);

impl PolicyUpdate {
    /// Reads a request body. Invalid: malformed JSON, an unknown or repeated field, or a value of a wrong type or form.
    pub fn from_json(body: &[u8]) -> Result<Self, Invalid> {
        read_body(body)
    }

    /// `Some(paused)` when `paused` is the only field: PUT and PATCH then change nothing else.
    pub fn only_paused(&self) -> Option<bool> {
        let of_the_request =
            Self { paused: self.paused, expected_version: self.expected_version, ..Self::default() };
        let alone = Self { reason: self.reason.clone(), ..of_the_request };
        self.paused.filter(|_| *self == alone)
    }

    /// Whether it pauses. That part is carried out first, at any version, and needs no record; the rest of the change does.
    pub fn pauses(&self) -> bool {
        self.paused == Some(true)
    }

    /// The pause alone, without the rest of the change.
    pub fn pause_alone(&self) -> Self {
        Self { paused: Some(true), reason: self.reason.clone(), ..Self::default() }
    }

    /// The policy after a PUT, with what its allowlist means on the chain: omitted fields take their defaults. The one
    /// exception is `paused` alone, which leaves the other fields as they are.
    pub fn replace(&self, allowlist: Option<AllowedRecipients>, current: &SpendingPolicy) -> SpendingPolicy {
        match self.only_paused() {
            Some(_) => self.merge(allowlist, current),
            None => self.merge(allowlist, &SpendingPolicy::default()),
        }
    }
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
            ..SpendingPolicy::default()
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
}
