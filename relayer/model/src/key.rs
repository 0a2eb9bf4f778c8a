use std::fmt;

use purser_core::words;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::wire::schema::{AgentScope, CidrText, formed, written};
use super::{AccountId, AllowedCidrs, CellName, KeyId, Label, Network, OperatorId, Scope, Scopes, Timestamp};

words! {
    /// The kind of key, as it stands in its text.
    pub enum KeyRole {
        Operator = "op",
        Agent = "ag",
    }
}

/// Who holds a key, and so whose things it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHolder {
    /// The operator: everything it has.
    Operator,
    /// The agent of one account.
    Agent(AccountId),
}

/// The account that it opens.
impl Serialize for KeyHolder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.account_id().serialize(serializer)
    }
}

impl KeyHolder {
    /// The role in the text of its keys.
    pub const fn role(&self) -> KeyRole {
        match self {
            KeyHolder::Operator => KeyRole::Operator,
            KeyHolder::Agent(_) => KeyRole::Agent,
        }
    }

    /// All that its keys can have: what each had before there were scopes.
    pub const fn all_scopes(&self) -> Scopes {
        match self {
            KeyHolder::Operator => Scopes::ALL,
            KeyHolder::Agent(_) => Scopes::OF_AGENTS,
        }
    }

    /// The account of an agent.
    pub const fn account_id(&self) -> Option<AccountId> {
        match self {
            KeyHolder::Operator => None,
            KeyHolder::Agent(account_id) => Some(*account_id),
        }
    }
}

/// An API key as its holder has it: `psr_<op|ag>_<test|live>_<base58 of 256 random bits>`, or with a cell
/// `psr_<op|ag>_<test|live>_<cell>_<base58>`. Shown once, never stored.
#[derive(Clone)]
pub struct PlainKey {
    text: SecretString,
    role: KeyRole,
    network: Network,
    cell: Option<CellName>,
}

impl PlainKey {
    /// A new key from 256 random bits, made in this cell.
    pub fn new(role: KeyRole, network: Network, cell: Option<&CellName>, random: [u8; 32]) -> Self {
        let secret = bs58::encode(random).into_string();
        let text = format!("{}{secret}", beginning(role, network, cell));
        Self { text: text.into(), role, network, cell: cell.cloned() }
    }

    /// `None` when the text does not have the form of a key, whether or not the key exists.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '_');
        let (brand, role, network, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let role = role.parse().ok()?;
        let network = network.parse().ok()?;
        let (cell, secret) = match rest.split_once('_') {
            Some((cell, secret)) => (Some(cell.parse().ok()?), secret),
            None => (None, rest),
        };
        let base58 = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (brand == "psr" && base58 && (32..=44).contains(&secret.len())).then(|| Self {
            text: text.to_owned().into(),
            role,
            network,
            cell,
        })
    }

    /// The text, to be shown once.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// The form that is stored and looked up.
    pub fn hash(&self) -> HashedKey {
        HashedKey::of(self.expose())
    }

    /// What may be shown again: the prefix and the last four characters.
    pub fn hint(&self) -> KeyHint {
        let text = self.expose();
        let end = text.get(text.len().saturating_sub(4)..).unwrap_or_default();
        KeyHint(format!("{}...{end}", beginning(self.role, self.network, self.cell.as_ref())))
    }

    /// The network the key works on.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The cell named in its text.
    pub fn cell(&self) -> Option<&CellName> {
        self.cell.as_ref()
    }
}

/// The readable part before the secret: `psr_op_test_`, `psr_op_test_eu1_`.
fn beginning(role: KeyRole, network: Network, cell: Option<&CellName>) -> String {
    let cell = cell.map(|cell| format!("{cell}_")).unwrap_or_default();
    format!("psr_{role}_{network}_{cell}")
}

impl fmt::Debug for PlainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlainKey({})", self.hint().as_str())
    }
}

/// SHA-256 of a key. A key holds 256 random bits, so a fast hash is enough and an index may find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashedKey([u8; 32]);

impl HashedKey {
    /// The hash of 256 random bits as text.
    pub(super) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Lower-case hex, as stored.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Its first 64 bits: enough to tell keys apart when no decision depends on it.
    pub fn beginning(&self) -> u64 {
        self.0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Enough of a key to recognise it, too little to use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyHint(String);

written! {
    KeyHint = "ApiKeyHint": formed(
        "The beginning and the end of a key, to tell it from others.",
        r"^psr_(op|ag)_(test|live)_([a-z0-9]{1,16}_)?\.\.\.[0-9A-Za-z]{1,8}$", "psr_ag_test_...x7Qf"
    );
}

impl KeyHint {
    /// For example `psr_ag_test_...x7Qf`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// A new agent key.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    pub name: Option<Label>,
    /// From then on it is not valid. In the future; `null` for never.
    pub expires_at: Option<Timestamp>,
    /// From which addresses it may be used, as ranges in CIDR notation; without it, from anywhere.
    #[schema(value_type = Option<Vec<CidrText>>, min_items = 1, max_items = 50)]
    pub allowed_cidrs: Option<AllowedCidrs>,
    /// What it may do; without them, both, or of both what the key may that asks.
    #[schema(value_type = Option<Vec<AgentScope>>, min_items = 1, max_items = 6)]
    pub scopes: Option<Scopes>,
}

/// A new operator key. What is left out is as of the key that asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOperatorKey {
    name: Option<Label>,
    /// From then on it is not valid. In the future, and no later than the key that asks.
    expires_at: Option<Timestamp>,
    /// From which addresses it may be used, as ranges in CIDR notation, all of them within those of the key that asks.
    #[schema(value_type = Option<Vec<CidrText>>, min_items = 1, max_items = 50)]
    allowed_cidrs: Option<AllowedCidrs>,
    /// What it may do, which is no more than the key that asks.
    #[schema(value_type = Option<Vec<Scope>>, min_items = 1, max_items = 6)]
    scopes: Option<Scopes>,
}

/// The bodies differ in what they say of their fields alone.
impl From<CreateOperatorKey> for CreateKey {
    fn from(asked: CreateOperatorKey) -> Self {
        let CreateOperatorKey { name, expires_at, allowed_cidrs, scopes } = asked;
        Self { name, expires_at, allowed_cidrs, scopes }
    }
}

/// A key, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Key)]
pub struct ApiKey {
    pub id: KeyId,
    #[serde(skip)]
    pub operator_id: OperatorId,
    /// The account that it opens; `null` of an operator key.
    #[serde(rename = "account_id")]
    #[schema(value_type = Option<AccountId>, required)]
    pub holder: KeyHolder,
    #[schema(value_type = Option<Label>, required)]
    pub name: Option<String>,
    pub hint: KeyHint,
    pub created_at: Timestamp,
    /// From then on it is not valid.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// Since then it is not valid.
    #[schema(required)]
    pub revoked_at: Option<Timestamp>,
    /// About a minute late; `null` before its first use.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    /// From which addresses it may be used; `null` for any.
    #[schema(value_type = Option<Vec<CidrText>>, required, max_items = 50)]
    pub allowed_cidrs: Option<AllowedCidrs>,
    /// What it may do.
    #[schema(value_type = Vec<Scope>, min_items = 1, max_items = 6)]
    pub scopes: Scopes,
    /// The key that made it; `null` where the command line did.
    #[schema(required)]
    pub made_by: Option<KeyId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> CellName {
        "eu1".parse().expect("a name")
    }

    #[test]
    fn a_key_is_read_back_with_its_role_its_network_and_its_cell() {
        for (role, network, cell, start) in [
            (KeyRole::Operator, Network::Test, None, "psr_op_test_"),
            (KeyRole::Agent, Network::Live, None, "psr_ag_live_"),
            (KeyRole::Agent, Network::Live, Some(cell()), "psr_ag_live_eu1_"),
        ] {
            for random in [[0; 32], [255; 32], [7; 32]] {
                let key = PlainKey::new(role, network, cell.as_ref(), random);
                assert!(key.expose().starts_with(start) && key.hint().as_str().starts_with(start));
                let read = PlainKey::parse(key.expose()).expect("its own text");
                assert_eq!((read.hash(), read.role, read.network), (key.hash(), role, network));
                assert_eq!((read.cell(), read.hint()), (cell.as_ref(), key.hint()));
            }
        }
    }

    #[test]
    fn other_text_is_no_key() {
        let key = PlainKey::new(KeyRole::Operator, Network::Test, Some(&cell()), [7; 32]);
        let text = key.expose();
        for other in [
            "",
            "psr_op_test_",
            "psr_op_test",
            &text.replace("psr", "prs"),
            &text.replace("_op_", "_admin_"),
            &text.replace("test", "prod"),
            &text.replace("eu1", ""),
            &text.replace("eu1", "EU1"),
            &text.replace("eu1", "eu1_eu1"),
            &text.replace("eu1", "abcdefghijklmnopq"),
            &format!("{text} "),
            &format!("{text}{text}"),
        ] {
            assert!(PlainKey::parse(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_key_does_not_print_itself() {
        let key = PlainKey::new(KeyRole::Operator, Network::Test, None, [7; 32]);
        assert!(!format!("{key:?}").contains(&key.expose()[12..24]));
        assert!(!key.hint().as_str().contains(&key.expose()[12..24]));
    }
}
