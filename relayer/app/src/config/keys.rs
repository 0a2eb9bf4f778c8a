//! Where keys are: a path, a table that names a kind of place, or a list of both. In the environment a list is text with
//! commas, or tables named by numbers.

use std::path::PathBuf;
use std::time::Duration;

use config::{ConfigError, Map, Value, ValueKind};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer};

use purser_chain::{Credential, KeySource, RemoteKey, SigningService};
use purser_model::Address;

const KINDS: &str = "file, environment, vault, aws-kms, gcp-kms, turnkey or privy";
/// How long a signature may take, in milliseconds: the default, and the range of the setting. Clients wait meanwhile.
const TIME_LIMIT_MS: u64 = 3_000;
const TIME_LIMITS_MS: std::ops::RangeInclusive<u64> = 100..=10_000;

pub(super) fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<KeySource>, D::Error> {
    all_of(Value::deserialize(value)?).map_err(de::Error::custom)
}

fn all_of(value: Value) -> Result<Vec<KeySource>, String> {
    match value.kind {
        ValueKind::Array(values) => values.into_iter().map(one_of).collect(),
        ValueKind::Table(table) if !table.is_empty() && table.keys().all(|name| number(name).is_some()) => {
            let mut numbered: Vec<_> = table.into_iter().collect();
            numbered.sort_by_key(|(name, _)| number(name));
            numbered.into_iter().map(|(_, value)| one_of(value)).collect()
        }
        ValueKind::String(text) => {
            Ok(text.split(',').map(str::trim).filter(|path| !path.is_empty()).map(file).collect())
        }
        _ => Ok(vec![one_of(value)?]),
    }
}

fn number(name: &str) -> Option<u32> {
    name.parse().ok()
}

fn file(path: &str) -> KeySource {
    KeySource::File(PathBuf::from(path))
}

fn one_of(value: Value) -> Result<KeySource, String> {
    match value.kind {
        ValueKind::String(path) => Ok(file(&path)),
        ValueKind::Table(table) => UnreadFields(table).source(),
        _ => Err("must be the path of a keypair file, or a table with a `kind`".to_owned()),
    }
}

/// The fields that have not been read yet.
struct UnreadFields(Map<String, Value>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentTable {
    variable: String,
}

/// The fields of every key that a signing service keeps.
#[derive(Deserialize)]
struct RemoteTable {
    public_key: String,
    time_limit_ms: Option<u64>,
}

#[derive(Deserialize)]
struct CredentialTable {
    credential_file: Option<PathBuf>,
    credential_variable: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VaultTable {
    url: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AwsKmsTable {
    key: String,
    region: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GcpKmsTable {
    key: String,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnkeyTable {
    organization: String,
    key: String,
    api_public_key: String,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrivyTable {
    app: String,
    wallet: String,
    url: Option<String>,
}

impl UnreadFields {
    fn source(mut self) -> Result<KeySource, String> {
        let kind: String = match self.0.remove("kind") {
            Some(kind) => kind.into_string().map_err(describe)?,
            None => return Err(format!("has no `kind`, which is {KINDS}")),
        };
        match kind.as_str() {
            "file" => Ok(KeySource::File(self.rest::<FileTable>()?.path)),
            "environment" => Ok(KeySource::Variable(self.rest::<EnvironmentTable>()?.variable)),
            _ => {
                let RemoteTable { public_key, time_limit_ms } =
                    self.take(&["public_key", "time_limit_ms"])?;
                let public_key =
                    public_key.parse::<Address>().map_err(|problem| format!("public_key: {problem}"))?;
                let limit = time_limit_ms.unwrap_or(TIME_LIMIT_MS);
                if !TIME_LIMITS_MS.contains(&limit) {
                    return Err("time_limit_ms must be from 100 to 10000".to_owned());
                }
                let service = self.service(&kind)?;
                Ok(KeySource::Remote(RemoteKey {
                    public_key,
                    time_limit: Duration::from_millis(limit),
                    service,
                }))
            }
        }
    }

    fn service(mut self, kind: &str) -> Result<SigningService, String> {
        Ok(match kind {
            "vault" => {
                let token = self.credential("the token")?;
                let VaultTable { url, key } = self.rest()?;
                check_address(&url, true)?;
                if key.is_empty()
                    || !key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
                {
                    return Err(
                        "key must be the name of a transit key: letters, digits, `-`, `_` and `.`".to_owned()
                    );
                }
                SigningService::Vault { url, key, token }
            }
            "aws-kms" => {
                let AwsKmsTable { key, region } = self.rest()?;
                SigningService::AwsKms { key, region }
            }
            "gcp-kms" => {
                let GcpKmsTable { key, url } = self.rest()?;
                url.as_deref().map_or(Ok(()), |url| check_address(url, true))?;
                SigningService::GcpKms { key, url }
            }
            "turnkey" => {
                let api_private_key = self.credential("the API key's private half")?;
                let TurnkeyTable { organization, key, api_public_key, url } = self.rest()?;
                url.as_deref().map_or(Ok(()), |url| check_address(url, false))?;
                SigningService::Turnkey { url, organization, key, api_public_key, api_private_key }
            }
            "privy" => {
                let app_secret = self.credential("the app's secret")?;
                let PrivyTable { app, wallet, url } = self.rest()?;
                url.as_deref().map_or(Ok(()), |url| check_address(url, false))?;
                SigningService::Privy { url, app, wallet, app_secret }
            }
            other => return Err(format!("`{other}` is not a kind of key: {KINDS}")),
        })
    }

    fn credential(&mut self, what: &str) -> Result<Credential, String> {
        match self.take(&["credential_file", "credential_variable"])? {
            CredentialTable { credential_file: Some(file), credential_variable: None } => {
                Ok(Credential::File(file))
            }
            CredentialTable { credential_file: None, credential_variable: Some(name) } => {
                Ok(Credential::Variable(name))
            }
            CredentialTable { .. } => Err(format!(
                "needs either credential_file or credential_variable, the file or the environment variable that holds {what}"
            )),
        }
    }

    fn take<T: DeserializeOwned>(&mut self, names: &[&str]) -> Result<T, String> {
        let taken = names.iter().filter_map(|name| self.0.remove_entry(*name)).collect();
        UnreadFields(taken).rest()
    }

    fn rest<T: DeserializeOwned>(self) -> Result<T, String> {
        Value::from(self.0).try_deserialize().map_err(describe)
    }
}

fn describe(error: ConfigError) -> String {
    super::read::problem(&error)
}

/// Secrets go there, so it needs TLS, or must be on this machine.
fn check_address(url: &str, may_be_plain: bool) -> Result<(), String> {
    let parsed = url::Url::parse(url).map_err(|_| "url is not a URL".to_owned())?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("url must hold no user and no password".to_owned());
    }
    let is_here = match parsed.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_here && may_be_plain => Ok(()),
        _ => Err("url must begin with https://".to_owned()),
    }
}

#[cfg(test)]
mod tests;
