//! How the configuration is read, what is checked of it as a whole, and what an error says.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use config::{Environment, File, FileFormat};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;

use super::Config;
use purser_chain::TAG_BUCKETS_MAX;

/// The default file.
const FILE: &str = "purser.toml";
const PREFIX: &str = "PURSER__";

/// What is wrong with the configuration, where, and how to fix it, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// `None` when only the environment was read.
    pub(super) file: Option<PathBuf>,
    /// Dotted; empty when the file as a whole is at fault.
    pub(super) key: String,
    pub(super) problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, key, problem } = self;
        let variable = format!("{PREFIX}{}", key.replace('.', "__").to_uppercase());
        match (file, key.is_empty()) {
            (Some(file), true) => write!(f, "configuration {}: {problem}", file.display()),
            (None, true) => write!(f, "configuration by the environment: {problem}"),
            (Some(file), false) => {
                let file = file.display();
                write!(
                    f,
                    "configuration: `{key}`: {problem} (in {file}, or as {variable} in the environment)"
                )
            }
            (None, false) => {
                write!(
                    f,
                    "configuration: `{key}`: {problem} (as {variable} in the environment; there is no {FILE} here)"
                )
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// The sections of a build's extensions, each read by its extension. Refuses unknown keys, and has a default for what is not given.
pub trait Sections: DeserializeOwned {
    /// Their names.
    const NAMES: &'static [&'static str];

    /// The keypair file with which an extension signs refusals. They are kept until they are signed, and the key moves no money.
    fn refusals_key(&self) -> Option<&Path> {
        None
    }
}

impl Config {
    /// Reads `file` and the process's environment, with the sections of extensions. Without a named file it reads `purser.toml` if
    /// there is one, and otherwise the environment alone.
    pub fn read<S: Sections>(file: Option<&Path>) -> Result<(Self, S), ConfigError> {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::read_with(Self::file_of(file).as_deref(), environment.collect())
    }

    /// The file that [`Config::read`] reads, if any.
    pub fn file_of(named: Option<&Path>) -> Option<PathBuf> {
        named.map(Path::to_owned).or_else(|| Some(PathBuf::from(FILE)).filter(|file| file.exists()))
    }

    /// Reads this text, and no environment.
    pub fn parse<S: Sections>(text: &str) -> Result<(Self, S), ConfigError> {
        Self::of(None, text, HashMap::new())
    }

    /// Reads `file` and this environment.
    pub fn read_with<S: Sections>(
        file: Option<&Path>,
        environment: HashMap<String, String>,
    ) -> Result<(Self, S), ConfigError> {
        let error =
            |problem: String| ConfigError { file: file.map(Path::to_owned), key: String::new(), problem };
        let text = match file {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|cause| error(format!("cannot be read ({cause}); name another with --config")))?,
            None if environment.keys().any(|name| name.starts_with(PREFIX)) => String::new(),
            None => {
                let problem = format!(
                    "there is none, and no {FILE} here: name a file with --config, make one with `purser init`, or say \
                     everything as {PREFIX}SECTION__KEY"
                );
                return Err(error(problem));
            }
        };
        Self::of(file, &text, environment)
    }

    pub(super) fn of<S: Sections>(
        file: Option<&Path>,
        text: &str,
        environment: HashMap<String, String>,
    ) -> Result<(Self, S), ConfigError> {
        let error =
            |key: String, problem: String| ConfigError { file: file.map(Path::to_owned), key, problem };
        let values = config::Config::builder()
            .add_source(File::from_str(text, FileFormat::Toml))
            .add_source(
                Environment::with_prefix("PURSER")
                    .prefix_separator("__")
                    .separator("__")
                    .source(Some(environment)),
            )
            .build()
            .map_err(|cause| error(String::new(), problem(&cause)))?;
        let values = values.cache.into_table().map_err(|cause| error(String::new(), problem(&cause)))?;
        let (of_extensions, own): (config::Map<_, _>, _) =
            values.into_iter().partition(|(name, _)| S::NAMES.contains(&name.as_str()));
        let config: Self = typed(own).map_err(|(key, problem)| {
            let is_section = !key.is_empty() && !key.contains('.');
            let known = S::NAMES.iter().map(|name| format!(", `{name}`"));
            let known = if is_section && problem.contains("expected one of") {
                known.collect()
            } else {
                String::new()
            };
            error(key, problem + &known)
        })?;
        let sections = typed(of_extensions).map_err(|(key, problem)| error(key, problem))?;
        config.check().map_err(|(key, problem)| error(key.into_owned(), problem.to_owned()))?;
        Ok((config, sections))
    }

    fn check(&self) -> Result<(), (Cow<'static, str>, &'static str)> {
        if self.networks.iter().next().is_none() {
            return Err(("networks".into(), "has neither `test` nor `live`"));
        }
        for (network, config) in self.networks.iter() {
            let key = |name: &str| Cow::Owned(format!("networks.{network}.{name}"));
            if config.rpc_urls.iter().any(|url| url.expose_secret().is_empty()) {
                return Err((key("rpc_urls"), "has an empty entry"));
            }
            if config.ws_urls.len() > config.rpc_urls.len() {
                return Err((key("ws_urls"), "has more entries than rpc_urls"));
            }
            let most = config.priority_fee_micro_lamports_max;
            if most.is_some_and(|most| most < config.priority_fee_micro_lamports) {
                return Err((
                    key("priority_fee_micro_lamports_max"),
                    "is less than priority_fee_micro_lamports",
                ));
            }
        }
        if self.server.public_url.as_deref().is_some_and(|url| !is_public_url(url)) {
            return Err((
                "server.public_url".into(),
                "must begin with https://, or with http:// for a loopback address",
            ));
        }
        if self.server.stop_delay_seconds > 300 {
            return Err(("server.stop_delay_seconds".into(), "must be at most 300"));
        }
        if !(1..=600).contains(&self.server.request_timeout_seconds) {
            return Err(("server.request_timeout_seconds".into(), "must be from 1 to 600"));
        }
        if self.transfers.deadline_seconds >= self.server.request_timeout_seconds {
            return Err((
                "transfers.deadline_seconds".into(),
                "must be below server.request_timeout_seconds",
            ));
        }
        if self.quotas.tag_buckets_per_account > u32::from(TAG_BUCKETS_MAX) {
            return Err(("quotas.tag_buckets_per_account".into(), "must be at most 290"));
        }
        if !(100..=3_600_000).contains(&self.indexer.interval_ms) {
            return Err(("indexer.interval_ms".into(), "must be from 100 to 3600000"));
        }
        self.retention.check().map_err(|(key, problem)| (key.into(), problem))?;
        if self.webhooks.secret_key.is_some() && self.webhooks.secret_key_file.is_some() {
            return Err((
                "webhooks.secret_key".into(),
                "must not be given together with webhooks.secret_key_file",
            ));
        }
        Ok(())
    }
}

/// Wallets take no link without TLS.
fn is_public_url(text: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(text) else { return false };
    let is_local = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.query().is_none()
        && url.fragment().is_none()
        && (url.scheme() == "https" || url.scheme() == "http" && is_local)
}

/// Reads values as a type that says what they are. Otherwise the key that is wrong, and what is wrong with it.
fn typed<T: DeserializeOwned>(values: config::Map<String, config::Value>) -> Result<T, (String, String)> {
    let values = config::Value::new(None, config::ValueKind::Table(values));
    serde_path_to_error::deserialize(values).map_err(|cause| {
        let key = match cause.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        (key, problem(cause.inner()))
    })
}

/// In one line, without the key, which is named beside it.
pub(super) fn problem(cause: &config::ConfigError) -> String {
    match cause {
        config::ConfigError::At { error, .. } => problem(error),
        config::ConfigError::Type { unexpected, expected, .. } => {
            format!("is {unexpected}, and must be {expected}")
        }
        other => other.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
