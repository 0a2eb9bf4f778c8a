//! Where a key of ours is, as the configuration says it.

use crate::domain::Address;
use std::path::PathBuf;
use std::time::Duration;
use zeroize::Zeroizing;

/// Where one key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A Solana keypair file.
    File(PathBuf),
    /// A variable of the environment, which holds what such a file does, or the same 64 bytes in base58.
    Variable(String),
    /// A service that keeps it and signs.
    Remote(RemoteKey),
}

/// A key that another service keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteKey {
    /// Whatever the service signs is held against it.
    pub public_key: Address,
    /// For one signature, connecting included.
    pub time_limit: Duration,
    pub service: SigningService,
}

/// The service, and how it knows the key and us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningService {
    /// The transit engine of HashiCorp Vault, at its usual path.
    Vault {
        url: String,
        key: String,
        token: Credential,
    },
    /// Credentials and address are those of AWS's own tools.
    AwsKms {
        key: String,
        region: Option<String>,
    },
    /// Credentials are those of Google's own tools. `url` for another address than Google's.
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

/// Where a secret is that opens a service. Read again whenever the service refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    File(PathBuf),
    Variable(String),
}

impl SigningService {
    /// As the configuration calls it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Vault { .. } => "vault",
            Self::AwsKms { .. } => "aws-kms",
            Self::GcpKms { .. } => "gcp-kms",
            Self::Turnkey { .. } => "turnkey",
            Self::Privy { .. } => "privy",
        }
    }

    /// The cargo feature that brings it, and whether this build has it.
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
    /// The file that holds the key, or what opens the service that does.
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
    /// The secret itself, or which place has none.
    pub fn read(&self) -> Result<Zeroizing<String>, String> {
        let (place, text) = match self {
            Self::File(path) => {
                let place = format!("file {}", path.display());
                crate::secret_file::check(path).map_err(|problem| format!("{place}: {problem}"))?;
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
