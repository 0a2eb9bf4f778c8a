use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use purser_core::{Approval, Duplicates, words};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::body::present;
use super::name::Label;
use super::wire::schema::{anything, changed, written};
use super::{AccountId, Address, Invalid, OperatorId, PolicyUpdate, Tag, Tags, Timestamp};

/// Most keys in an account's metadata.
pub const METADATA_KEYS_MAX: usize = 50;
/// Most bytes of an account's metadata as JSON text.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;

/// An agent account as the database knows it. Policy and balance are on the chain.
#[derive(Debug, Clone)]
pub struct Account {
    pub id: AccountId,
    pub operator_id: OperatorId,
    pub name: Label,
    pub metadata: Option<Metadata>,
    pub tags: Tags,
    /// The PDA: `solana_address` in the API.
    pub address: Address,
    /// Its associated USDC token account: `usdc_token_account` in the API.
    pub token_account: Address,
    /// As last seen on the chain, for filtering lists; the chain decides.
    pub status: AccountStatus,
    /// Entries of its allowlist, which count for the operator's quota.
    pub allowlist_entries: u64,
    pub duplicates: DuplicateRule,
    pub approvals: ApprovalRule,
    /// The default of `create_token_account` for its payments.
    pub create_token_accounts: bool,
    pub created_at: Timestamp,
}

impl Account {
    /// Where it stands in its operator's list.
    pub const fn place(&self) -> AccountPlace {
        AccountPlace { created_at: self.created_at, id: self.id }
    }
}

/// Where an account stands in its operator's list: newest first, and by id among those of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountPlace {
    pub created_at: Timestamp,
    pub id: AccountId,
}

impl fmt::Display for AccountPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.created_at, self.id)
    }
}

impl FromStr for AccountPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let place = text.split_once(' ').and_then(|(created_at, id)| {
            Some(Self { created_at: created_at.parse().ok()?, id: id.parse().ok()? })
        });
        place.ok_or_else(|| Invalid::new("cursor", "is not a cursor of this list"))
    }
}

/// Which of an operator's accounts a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountFilter {
    pub status: Option<AccountStatus>,
    pub tag: Option<Tag>,
}

impl From<Option<AccountStatus>> for AccountFilter {
    fn from(status: Option<AccountStatus>) -> Self {
        Self { status, tag: None }
    }
}

words! {
    /// An account's status as it is shown: the chain decides it, and may not answer.
    pub enum ShownStatus = "ShownAccountStatus":
        "`paused` where the account may not pay, by its policy or by a halt. `unknown` while the chain does \
         not answer: it may be either." {
        Active = "active",
        Paused = "paused",
        Unknown = "unknown",
    }
}

impl From<Option<AccountStatus>> for ShownStatus {
    fn from(known: Option<AccountStatus>) -> Self {
        match known {
            Some(AccountStatus::Active) => Self::Active,
            Some(AccountStatus::Paused) => Self::Paused,
            None => Self::Unknown,
        }
    }
}

words! {
    /// `paused` exactly when the account may not pay: its policy pauses it, or it or its operator is halted.
    pub enum AccountStatus = "AccountStatus":
        "`paused` where the account may not pay, by its policy or by a halt." {
        Active = "active",
        Paused = "paused",
    }
}

words! {
    /// What becomes of an account's transfers that look like duplicates.
    #[derive(Default)]
    pub enum DuplicateRule = "DuplicateRule":
        "What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to \
         the request, and over MCP it is refused." {
        /// What the request asks for.
        #[default]
        AsAsked = "as_asked",
        Refused = "refused",
        Paid = "paid",
    }
}

words! {
    /// Whether a person may be asked about an account's transfers that policy refuses.
    #[derive(Default)]
    pub enum ApprovalRule = "ApprovalRule":
        "Whether a person may be asked where policy refuses a transfer of the account: `off` also for what \
         asks for one." {
        /// Where the request asks for one.
        #[default]
        On = "on",
        Off = "off",
    }
}

impl ApprovalRule {
    /// For a request that asks for this.
    pub const fn over(self, asked: Approval) -> Approval {
        match self {
            Self::On => asked,
            Self::Off => Approval::Off,
        }
    }
}

impl DuplicateRule {
    /// For a request that asks for this.
    pub const fn over(self, asked: Duplicates) -> Duplicates {
        match self {
            Self::AsAsked => asked,
            Self::Refused => Duplicates { are_refused: true, ..asked },
            Self::Paid => Duplicates { are_refused: false, ..asked },
        }
    }
}

impl AccountStatus {
    /// The status of an account that is paused or halted, or neither.
    pub const fn from_paused(paused: bool) -> Self {
        if paused { Self::Paused } else { Self::Active }
    }
}

written! {
    Metadata = "Metadata": ObjectBuilder::new().max_properties(Some(METADATA_KEYS_MAX))
        .additional_properties(Some(RefOr::T(Schema::Object(anything()))))
        .description(Some("Keys and values of yours, at most 16 KiB of JSON. Kept and returned as they are, and never read."))
        .examples([json!({ "team": "research" })]).build();
}

/// A JSON object that the service keeps and returns without reading it; numbers stay as they were written.
#[derive(Debug, Clone, Serialize)]
pub struct Metadata(Box<RawValue>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Self::parse(&Box::<RawValue>::deserialize(json)?).map_err(D::Error::custom)
    }
}

impl Metadata {
    /// Invalid: not an object, over 50 keys, over 16 KiB, or not JSON that every client can read.
    pub fn parse(json: &RawValue) -> Result<Self, Invalid> {
        if json.get().len() > METADATA_BYTES_MAX {
            return Err(Invalid::new(
                "metadata",
                format!("must be at most {METADATA_BYTES_MAX} bytes of JSON"),
            ));
        }
        let keys: Map<String, Value> = serde_json::from_str(json.get())
            .map_err(|_| Invalid::new("metadata", "must be a JSON object of ordinary depth and numbers"))?;
        if keys.len() > METADATA_KEYS_MAX {
            return Err(Invalid::new("metadata", format!("must have at most {METADATA_KEYS_MAX} keys")));
        }
        Ok(Self(json.to_owned()))
    }

    /// Applies a change: its keys take the new values, emptied keys are removed, the others stay. Invalid: the result
    /// would be too large.
    pub fn changed(before: Option<&Self>, change: &MetadataChange) -> Result<Option<Self>, Invalid> {
        let MetadataChange::Merge(changes) = change else { return Ok(None) };
        let before = before.map_or("{}", |metadata| metadata.json().get());
        let mut keys: BTreeMap<String, Box<RawValue>> = serde_json::from_str(before)
            .map_err(|_| Invalid::new("metadata", "cannot be changed, only replaced"))?;
        for (key, value) in changes {
            if is_empty(value) {
                keys.remove(key);
            } else {
                keys.insert(key.clone(), value.clone());
            }
        }
        let json = serde_json::value::to_raw_value(&keys)
            .map_err(|_| Invalid::new("metadata", "must be a JSON object"))?;
        Self::parse(&json).map(Some)
    }

    /// The JSON text as submitted.
    pub fn json(&self) -> &RawValue {
        &self.0
    }
}

/// A request's change of metadata.
#[derive(Debug, Clone)]
pub enum MetadataChange {
    /// Remove all metadata.
    Clear,
    /// Change only these keys. A value of `null` or `""` removes its key; any other replaces the old value entirely.
    Merge(BTreeMap<String, Box<RawValue>>),
}

impl<'de> Deserialize<'de> for MetadataChange {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Self::parse(&Box::<RawValue>::deserialize(json)?).map_err(D::Error::custom)
    }
}

impl MetadataChange {
    /// Reads an object, or `null` or `""` for [`Self::Clear`]. Invalid: as [`Metadata::parse`].
    pub fn parse(json: &RawValue) -> Result<Self, Invalid> {
        if is_empty(json) {
            return Ok(Self::Clear);
        }
        let metadata = Metadata::parse(json)?;
        let keys = serde_json::from_str(metadata.json().get());
        keys.map(Self::Merge).map_err(|_| Invalid::new("metadata", "must be a JSON object"))
    }
}

fn is_empty(json: &RawValue) -> bool {
    matches!(json.get(), "null" | "\"\"")
}

/// A new account.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    pub name: Label,
    pub metadata: Option<Metadata>,
    /// Words of yours, by which accounts are chosen.
    #[schema(value_type = Option<Vec<Tag>>, max_items = 20)]
    pub tags: Option<Tags>,
    /// What the account begins with, with at most 15 different entries in its allowlist.
    #[serde(default, deserialize_with = "first_policy")]
    #[schema(value_type = Option<FirstPolicy>)]
    pub policy: PolicyUpdate,
}

/// The policy of a new account: it does not change an earlier one.
enum FirstPolicy {}

written! {
    FirstPolicy = "FirstPolicy": changed::<PolicyUpdate>(|policy| {
        policy.description = Some("The policy of a new account.".to_owned());
        policy.properties.retain(|name, _| !NOT_AT_FIRST.contains(&name.as_str()));
    }), like PolicyUpdate;
}

/// What the first policy of an account does not say.
const NOT_AT_FIRST: [&str; 4] = ["expected_version", "reason", "max_30_day_spend", "budget_id"];

/// The first policy of an account, as a change of the open one: missing fields take their defaults.
fn first_policy<'de, D: Deserializer<'de>>(json: D) -> Result<PolicyUpdate, D::Error> {
    let json = Box::<RawValue>::deserialize(json)?;
    if json.get() == "null" {
        return Ok(PolicyUpdate::default());
    }
    let update = PolicyUpdate::from_json(json.get().as_bytes()).and_then(check_first);
    update.map_err(|invalid| D::Error::custom(invalid.within("policy")))
}

fn check_first(update: PolicyUpdate) -> Result<PolicyUpdate, Invalid> {
    let later = "is set once the account is there: PATCH its policy";
    let given = [
        ("expected_version", update.expected_version.is_some(), "cannot be set when creating an account"),
        ("max_30_day_spend", update.max_30_day_spend.is_some(), later),
        ("budget_id", update.budget.is_some(), later),
        ("reason", update.reason.is_some(), "is for changes of a policy"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((field, _, message)) => Err(Invalid::new(field, message)),
        None => Ok(update),
    }
}

/// What to change of an account. What is left out stays as it is.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateAccount)]
pub struct AccountChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    pub name: Option<Label>,
    /// Keys to set; a value that is `null` or `""` removes its key. `null` or `""` in place of the object removes all.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Option<MetadataChange>,
    /// All of them, in place of those that it has.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Vec<Tag>, max_items = 20)]
    pub tags: Option<Tags>,
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    pub duplicates: Option<DuplicateRule>,
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    pub approvals: Option<ApprovalRule>,
    /// The default of `create_token_account` for its payments.
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    pub create_token_accounts: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(json: &str) -> Result<Metadata, Invalid> {
        Metadata::parse(serde_json::from_str(json).expect("JSON"))
    }

    #[test]
    fn metadata_keeps_its_numbers() {
        let json = r#"{"a":1.10,"b":123456789012345678901234567890,"c":null}"#;
        assert_eq!(metadata(json).expect("valid").json().get(), json);
    }

    #[test]
    fn metadata_is_changed_key_by_key() {
        let change =
            |json: &str| MetadataChange::parse(serde_json::from_str(json).expect("JSON")).expect("valid");
        let before = metadata(r#"{"b":1.10,"a":{"x":1,"y":2},"c":null}"#).expect("valid");
        for (asked, becomes) in [
            ("{}", Some(r#"{"a":{"x":1,"y":2},"b":1.10,"c":null}"#)),
            (r#"{"d":"new","b":2.50}"#, Some(r#"{"a":{"x":1,"y":2},"b":2.50,"c":null,"d":"new"}"#)),
            (r#"{"a":{"z":3}}"#, Some(r#"{"a":{"z":3},"b":1.10,"c":null}"#)),
            (r#"{"a":null,"b":"","nothing":null}"#, Some(r#"{"c":null}"#)),
            (r#"{"a":"","b":"","c":""}"#, Some("{}")),
            ("null", None),
            (r#""""#, None),
        ] {
            let after = Metadata::changed(Some(&before), &change(asked)).expect("valid");
            assert_eq!(after.as_ref().map(|after| after.json().get()), becomes, "{asked}");
        }
        let first = Metadata::changed(None, &change(r#"{"a":1}"#)).expect("valid");
        assert_eq!(first.expect("some").json().get(), r#"{"a":1}"#);
        let keys: Vec<String> = (0..50).map(|key| format!("\"{key}\":0")).collect();
        let full = metadata(&format!("{{{}}}", keys.join(","))).expect("valid");
        assert!(Metadata::changed(Some(&full), &change(r#"{"more":1}"#)).is_err());
        assert!(Metadata::changed(Some(&full), &change(r#"{"more":1,"0":null}"#)).is_ok());
        assert!(MetadataChange::parse(serde_json::from_str("[]").expect("JSON")).is_err());
    }

    #[test]
    fn metadata_is_bounded() {
        let object = |keys: usize| {
            let fields: Vec<String> = (0..keys).map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(metadata(&object(50)).is_ok());
        assert!(metadata(&object(51)).is_err());
        assert!(metadata(&format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX - 8))).is_ok());
        assert!(metadata(&format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX - 7))).is_err());
        assert!(metadata(&format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500))).is_err());
        for json in ["[]", "1", "\"a\"", "null", r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#] {
            assert!(metadata(json).is_err(), "{json}");
        }
    }

    #[test]
    fn names_have_one_to_200_characters() {
        assert!(Label::parse("é".repeat(200)).is_ok());
        assert!(Label::parse("\u{5d0}\u{5d1} \u{200f}(1)").is_ok(), "letters that run from right to left");
        for text in ["", "  ", "a\0", &"a".repeat(201), "a\u{202e}b", "\u{2066}a", "a\u{2069}"] {
            assert!(Label::parse(text).is_err(), "{text:?}");
        }
    }
}
