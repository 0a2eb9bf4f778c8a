//! The files that hold secrets: are they there, who may read them, and do they hold what they should?

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use secrecy::ExposeSecret;

use super::Findings;
use purser_base::secret_file;
use purser_chain::KeySource;
use purser_model::{Address, SealingKey};
use purser_relayer::app::{address_of, refusals_key, webhook_parts};
use purser_relayer::config::Config;

/// What the files held.
pub(super) struct FoundKeys {
    pub sealing: Option<Arc<SealingKey>>,
    pub denials: Option<Address>,
}

/// A file that holds a secret.
struct Secret {
    file: PathBuf,
    /// What to do when it is not there.
    absent: String,
}

pub(super) fn look_at(
    config: &Config,
    (own, of_refusals): (Option<&Path>, Option<&Path>),
    findings: &mut Findings,
) -> Result<FoundKeys> {
    let mut secrets = secrets(config, of_refusals);
    secrets.extend(own.filter(|file| holds_secrets(config, file)).map(|file| secret(file, String::new())));
    secrets.dedup_by(|one, other| one.file == other.file);
    for Secret { file, absent } in &secrets {
        let check = format!("file {}", file.display());
        match problem_with(file, absent) {
            None => findings.ok(check, "its owner alone can read it")?,
            Some((problem, mend)) => findings.not_ok(check, problem, mend)?,
        }
    }
    // A file that cannot be read is a finding of its own already, and says how to mend it.
    let mend = |file: Option<&Path>, contents: &str| {
        let known = secrets.iter().find(|secret| Some(secret.file.as_path()) == file);
        let problem = known.and_then(|secret| problem_with(&secret.file, &secret.absent));
        problem.map_or_else(|| contents.to_owned(), |(_, mend)| mend)
    };
    let denials = match refusals_key(of_refusals) {
        Ok(Some(key)) => {
            let address = address_of(&*key);
            findings.ok("denials", format!("refusals are signed by {address}"))?;
            Some(address)
        }
        Ok(None) => {
            findings.ok("denials", "refusals are not signed: denials.keypair is not set")?;
            None
        }
        Err(error) => {
            let contents = "put the key back. To begin with another one, move the file away: purser keygen writes over nothing";
            findings.not_ok("denials", error, mend(of_refusals, contents))?;
            None
        }
    };
    let sealing = match webhook_parts(&config.webhooks) {
        Ok(parts) => {
            let found = match &parts.sealing_key {
                Some(_) => "they have a key",
                None => "off: neither webhooks.secret_key_file nor webhooks.secret_key is set",
            };
            findings.ok("webhooks", found)?;
            parts.sealing_key
        }
        Err(error) => {
            let contents = "write 32 bytes there: openssl rand -base64 32. Where webhooks exist, put back the key that sealed their \
                            secrets";
            findings.not_ok("webhooks", error, mend(config.webhooks.secret_key_file.as_deref(), contents))?;
            None
        }
    };
    Ok(FoundKeys { sealing, denials })
}

fn secret(file: &Path, absent: String) -> Secret {
    Secret { file: file.to_owned(), absent }
}

/// The files that the configuration names.
fn secrets(config: &Config, of_refusals: Option<&Path>) -> Vec<Secret> {
    let sources = config.networks.iter().flat_map(|(_, network)| {
        network.policy_authority_keypair.iter().chain(&network.transfer_authority_keypair)
    });
    let keys = sources.filter_map(|source| Some(secret(source.file()?, absent_key(source))));
    let webhooks = config.webhooks.secret_key_file.iter().map(|file| {
        let name = file.display();
        let absent = format!(
            "put back the key that sealed the webhooks' secrets. Where there are no webhooks yet, make one: (umask 077; openssl rand \
             -base64 32 > {name})"
        );
        secret(file, absent)
    });
    let denials = of_refusals.into_iter().map(|file| {
        secret(file, format!("put the key back, or make another: purser keygen {}", file.display()))
    });
    keys.chain(webhooks).chain(denials).collect()
}

/// What to do about a file with a key of ours that is not there.
pub(super) fn absent_key(source: &KeySource) -> String {
    match source {
        KeySource::File(file) => format!(
            "put the key back. Where it is lost, make another, which the operators' admin then has to name: purser keygen {}; \
             docs/run/keys.md, Rotating keys",
            file.display()
        ),
        KeySource::Variable(_) | KeySource::Remote(_) => {
            "put the credential there that the service which keeps the key asks for".to_owned()
        }
    }
}

/// What keeps us from using a secret's file, and how to mend it.
pub(super) fn problem_with(file: &Path, absent: &str) -> Option<(String, String)> {
    let name = file.display();
    match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some((error.to_string(), absent.to_owned())),
        Err(error) => {
            let mend = format!("as root, give it to the user that purser runs as: chown USER {name}");
            Some((error.to_string(), mend))
        }
        Ok(_) => Some((secret_file::check(file).err()?, format!("chmod 600 {name}"))),
    }
}

/// Whether the file itself holds a password, a provider's key or the sealing key.
fn holds_secrets(config: &Config, file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let is_secret = |url: &str| match url::Url::parse(url) {
        Ok(url) => url.password().is_some() || url.query().is_some() || url.path().len() > 1,
        Err(_) => true,
    };
    let database = config.database.url.expose_secret();
    let has_password = url::Url::parse(database).is_ok_and(|url| url.password().is_some());
    let nodes = config.networks.iter().flat_map(|(_, network)| {
        let all = std::iter::once(&network.rpc_url).chain(&network.rpc_urls).chain(&network.ws_url);
        all.chain(&network.ws_urls).chain(&network.rpc_proxy).map(ExposeSecret::expose_secret)
    });
    let nodes = nodes.filter(|url| !url.is_empty() && is_secret(url));
    let key = config.webhooks.secret_key.as_ref().map(ExposeSecret::expose_secret);
    let database = Some(database).filter(|_| has_password);
    nodes.chain(key).chain(database).any(|secret| text.contains(secret))
}
