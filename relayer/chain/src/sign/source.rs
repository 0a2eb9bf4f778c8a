//! Where one of our keys is, by the configuration.

use purser_model::Address;
use std::path::PathBuf;
use std::time::Duration;
use zeroize::Zeroizing;

/// Where one key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A Solana keypair file.
    File(PathBuf),
    /// An environment variable with the contents of a keypair file, or the same 64 bytes in base58.
    Variable(String),
    /// A service that holds the key and signs.
    Remote(RemoteKey),
}

/// A key that another service holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteKey {
    /// Every signature of the service is checked against it.
    pub public_key: Address,
    /// Limit for one signature, including the connect.
    pub time_limit: Duration,
    pub service: SigningService,
}

/// The service, with its name for the key and our credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningService {
    /// The transit engine of HashiCorp Vault, at its usual path.
    Vault {
        url: String,
        key: String,
        token: Credential,
    },
    /// Takes credentials and address from AWS's own tools.
    AwsKms {
        key: String,
        region: Option<String>,
    },
    /// Takes credentials from Google's own tools. `url` replaces Google's address.
    GcpKms {
        key: String,
        url: Option<String>,
    },
    Turnkey {
        url: Option<String>,
        organization: String,
        key: String,
        api_public_key: String,
        api_private_key: Credential,
    },
    Privy {
        url: Option<String>,
        app: String,
        wallet: String,
        app_secret: Credential,
    },
}

/// Where the service's secret is. Read again whenever the service refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    File(PathBuf),
    Variable(String),
}

impl SigningService {
    /// Its name in the configuration.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Vault { .. } => "vault",
            Self::AwsKms { .. } => "aws-kms",
            Self::GcpKms { .. } => "gcp-kms",
            Self::Turnkey { .. } => "turnkey",
            Self::Privy { .. } => "privy",
        }
    }

    /// The cargo feature that provides it, and whether this build has it.
    pub const fn feature(&self) -> (&'static str, bool) {
        match self {
            Self::Vault { .. } => ("signer-vault", cfg!(feature = "signer-vault")),
            Self::AwsKms { .. } => ("signer-aws-kms", cfg!(feature = "signer-aws-kms")),
            Self::GcpKms { .. } => ("signer-gcp-kms", cfg!(feature = "signer-gcp-kms")),
            Self::Turnkey { .. } => ("signer-turnkey", cfg!(feature = "signer-turnkey")),
            Self::Privy { .. } => ("signer-privy", cfg!(feature = "signer-privy")),
        }
    }

    pub const fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Vault { token, .. } => Some(token),
            Self::Turnkey { api_private_key, .. } => Some(api_private_key),
            Self::Privy { app_secret, .. } => Some(app_secret),
            Self::AwsKms { .. } | Self::GcpKms { .. } => None,
        }
    }
}

impl KeySource {
    /// The file that holds the key, or the credential of the service that holds it.
    pub const fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Variable(_) => None,
            Self::Remote(key) => match key.service.credential() {
                Some(Credential::File(path)) => Some(path),
                Some(Credential::Variable(_)) | None => None,
            },
        }
    }
}

impl Credential {
    /// The secret, or an error that names the place without one.
    pub fn read(&self) -> Result<Zeroizing<String>, String> {
        let (place, text) = match self {
            Self::File(path) => {
                let place = format!("file {}", path.display());
                purser_base::secret_file::check(path).map_err(|problem| format!("{place}: {problem}"))?;
                let text = std::fs::read_to_string(path);
                (place, text.map_err(|error| error.to_string()))
            }
            Self::Variable(name) => {
                let text = std::env::var(name).map_err(|_| "is not set".to_owned());
                (format!("environment variable {name}"), text)
            }
        };
        let text = Zeroizing::new(text.map_err(|problem| format!("{place}: {problem}"))?);
        let text = Zeroizing::new(text.trim().to_owned());
        if text.is_empty() { Err(format!("{place} is empty")) } else { Ok(text) }
    }
}
