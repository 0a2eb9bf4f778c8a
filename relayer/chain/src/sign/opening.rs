//! Makes a signer from where its key is.

use crate::ChainError;
use crate::sign::remote::RemoteSigner;
use crate::sign::signer::{FileSigner, Signer};
use crate::sign::source::KeySource;
use std::sync::Arc;
use zeroize::Zeroizing;

impl KeySource {
    /// The key's signer, as `role`. Asks no service yet.
    pub fn open(&self, role: &'static str) -> Result<Arc<dyn Signer>, ChainError> {
        Ok(match self {
            Self::File(path) => Arc::new(FileSigner::from_file(role, path)?),
            Self::Variable(name) => Arc::new(from_variable(role, name)?),
            Self::Remote(key) => {
                let (feature, is_built) = key.service.feature();
                if !is_built {
                    let kind = key.service.kind();
                    let problem = format!(
                        "{role}: a key of kind \"{kind}\" needs a purser that is built with the cargo feature \
                         `{feature}`, and this one is not"
                    );
                    return Err(ChainError::Misconfigured(problem));
                }
                if let Some(credential) = key.service.credential() {
                    credential
                        .read()
                        .map_err(|problem| ChainError::Misconfigured(format!("{role}: {problem}")))?;
                }
                Arc::new(RemoteSigner::new(role, key.clone()))
            }
        })
    }
}

fn from_variable(role: &str, name: &str) -> Result<FileSigner, ChainError> {
    let wrong =
        |reason: &str| ChainError::Misconfigured(format!("{role}: environment variable {name} {reason}"));
    let text = Zeroizing::new(std::env::var(name).map_err(|_| wrong("is not set"))?);
    let text = text.trim();
    let bytes = if text.starts_with('[') {
        serde_json::from_str::<Vec<u8>>(text).ok()
    } else {
        bs58::decode(text).into_vec().ok()
    };
    let bytes = Zeroizing::new(bytes.unwrap_or_default());
    FileSigner::from_bytes(&bytes).map_err(|_| wrong("holds no keypair of 64 bytes"))
}
