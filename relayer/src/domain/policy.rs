use purser_policy::{ALLOWLIST_ENTRIES_MAX, Limit};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{AccountId, Address, Invalid, limit_from_json};

/// A whole spending policy, its allowlist as submitted. The default has no limits and allows everyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendingPolicy {
    pub max_single_transfer: Limit,
    /// Most that may leave in any 24 hours.
    pub max_daily_spend: Limit,
    pub allowed_counterparties: Counterparties,
    pub require_memo: bool,
    pub paused: bool,
}

impl Default for SpendingPolicy {
    fn default() -> Self {
        Self {
            max_single_transfer: Limit::Unlimited,
            max_daily_spend: Limit::Unlimited,
            allowed_counterparties: Counterparties::Anyone,
            require_memo: false,
            paused: false,
        }
    }
}

/// Who may be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counterparties {
    Anyone,
    /// Nobody else; an empty list allows nobody. At most 256, no entry twice, in the order submitted.
    Only(Vec<AllowlistEntry>),
}

/// One entry of an allowlist, as submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AllowlistEntry {
    /// An account of the same operator; stands for its PDA.
    Account(AccountId),
    /// A token account or the wallet that owns it.
    Address(Address),
}

impl AllowlistEntry {
    /// As submitted.
    pub fn text(&self) -> String {
        match self {
            Self::Account(id) => id.to_string(),
            Self::Address(address) => address.to_string(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().map(Self::Account).or_else(|_| text.parse().map(Self::Address)).ok()
    }
}

const ALLOWLIST: &str = "allowed_counterparties";

impl Counterparties {
    /// Reads `null` or an array of texts. Duplicates collapse. Invalid: an entry that is neither an account id nor
    /// an address, or more than 256 different entries.
    pub fn from_json(json: &RawValue) -> Result<Self, Invalid> {
        let texts: Option<Vec<String>> = serde_json::from_str(json.get())
            .map_err(|_| Invalid::new(ALLOWLIST, "must be null or an array of addresses and account ids"))?;
        texts.map_or(Ok(Self::Anyone), |texts| Self::only(&texts))
    }

    /// The allowlist of these texts, by the same rules.
    pub fn only<T: AsRef<str>>(texts: &[T]) -> Result<Self, Invalid> {
        let mut entries = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (index, text) in texts.iter().enumerate() {
            let entry = AllowlistEntry::parse(text.as_ref()).ok_or_else(|| {
                Invalid::new(format!("{ALLOWLIST}[{index}]"), "must be a Solana address or an account id")
            })?;
            if seen.insert(entry) {
                entries.push(entry);
            }
        }
        if entries.len() > ALLOWLIST_ENTRIES_MAX {
            return Err(Invalid::new(
                ALLOWLIST,
                format!("must have at most {ALLOWLIST_ENTRIES_MAX} entries"),
            ));
        }
        Ok(Self::Only(entries))
    }

    /// The texts as submitted; `None` when anyone may be paid.
    pub fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Anyone => None,
            Self::Only(entries) => Some(entries.iter().map(AllowlistEntry::text).collect()),
        }
    }
}

/// A policy as submitted by PUT or PATCH: `None` where a field was omitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyUpdate {
    pub max_single_transfer: Option<Limit>,
    pub max_daily_spend: Option<Limit>,
    pub allowed_counterparties: Option<Counterparties>,
    pub require_memo: Option<bool>,
    pub paused: Option<bool>,
}

impl PolicyUpdate {
    /// Reads a request body. Invalid: malformed JSON, a field that is unknown or given twice, or a value of a wrong
    /// type or form.
    pub fn from_json(body: &[u8]) -> Result<Self, Invalid> {
        // Derived readers also take an array of the fields in order; the interface does not.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Invalid::new("body", "must be a JSON object"));
        }
        let mut json = serde_json::Deserializer::from_slice(body);
        let fields: Fields = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let param = match error.path().to_string() {
                path if path == "." => "body".to_owned(),
                path => path,
            };
            Invalid::new(param, format!("is not valid: {}", error.inner()))
        })?;
        json.end().map_err(|error| Invalid::new("body", format!("is not valid: {error}")))?;
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
        })
    }

    /// `Some(paused)` when `paused` is the only field: such an update changes nothing else, by PUT as by PATCH.
    pub fn only_paused(&self) -> Option<bool> {
        match self {
            Self {
                max_single_transfer: None,
                max_daily_spend: None,
                allowed_counterparties: None,
                require_memo: None,
                paused,
            } => *paused,
            Self { .. } => None,
        }
    }

    /// The policy after a PUT: omitted fields take their defaults, unless `paused` alone was given.
    pub fn replace(self, current: SpendingPolicy) -> SpendingPolicy {
        match self.only_paused() {
            Some(paused) => SpendingPolicy { paused, ..current },
            None => self.merge(SpendingPolicy::default()),
        }
    }

    /// The policy after a PATCH: omitted fields stay as they are.
    pub fn merge(self, current: SpendingPolicy) -> SpendingPolicy {
        SpendingPolicy {
            max_single_transfer: self.max_single_transfer.unwrap_or(current.max_single_transfer),
            max_daily_spend: self.max_daily_spend.unwrap_or(current.max_daily_spend),
            allowed_counterparties: self.allowed_counterparties.unwrap_or(current.allowed_counterparties),
            require_memo: self.require_memo.unwrap_or(current.require_memo),
            paused: self.paused.unwrap_or(current.paused),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default, deserialize_with = "present")]
    max_single_transfer: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    max_daily_spend: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    allowed_counterparties: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    require_memo: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    paused: Option<bool>,
}

/// Keeps a given `null` apart from an omitted field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(json: D) -> Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UsdcAmount;

    fn update(body: &str) -> Result<PolicyUpdate, Invalid> {
        PolicyUpdate::from_json(body.as_bytes())
    }

    fn strict() -> SpendingPolicy {
        SpendingPolicy {
            max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(5)),
            max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(9)),
            allowed_counterparties: Counterparties::Only(vec![]),
            require_memo: true,
            paused: false,
        }
    }

    #[test]
    fn paused_alone_changes_only_paused() {
        let policy = update(r#"{"paused":true}"#).expect("valid").replace(strict());
        assert_eq!(policy, SpendingPolicy { paused: true, ..strict() });
    }

    #[test]
    fn any_other_put_replaces_the_whole_policy() {
        let policy = update(r#"{"paused":true,"require_memo":true}"#).expect("valid").replace(strict());
        assert_eq!(policy, SpendingPolicy { paused: true, require_memo: true, ..SpendingPolicy::default() });
        assert_eq!(update("{}").expect("valid").replace(strict()), SpendingPolicy::default());
    }

    #[test]
    fn patch_merges_and_null_lifts_a_limit() {
        let policy = update(r#"{"max_daily_spend":null,"allowed_counterparties":null}"#)
            .expect("valid")
            .merge(strict());
        assert_eq!(
            policy,
            SpendingPolicy {
                max_daily_spend: Limit::Unlimited,
                allowed_counterparties: Counterparties::Anyone,
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
    fn what_is_wrong_is_named() {
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
        ] {
            assert_eq!(update(body).expect_err(body).param(), param, "{body}");
        }
        assert!(update(r#"{"paused":true,"paused":false}"#).is_err());
    }

    #[test]
    fn duplicates_collapse_before_entries_are_counted() {
        let texts: Vec<String> =
            (0..=255u8).map(|byte| Address::from_bytes([byte; 32]).to_string()).collect();
        let doubled: Vec<&String> = texts.iter().chain(&texts).collect();
        assert_eq!(Counterparties::only(&doubled).expect("valid").texts(), Some(texts.clone()));
        let mut more = texts;
        more.push(AccountId::from_bytes([7; 16]).to_string());
        assert!(Counterparties::only(&more).is_err());
    }
}
