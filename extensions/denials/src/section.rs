use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use purser_chain::Signer;
use serde::de::{Deserialize, Deserializer, Error};

use crate::denials::DenialParts;

const HEAD_INTERVAL_SECONDS_MAX: u64 = 86_400;

/// `[denials]`: signed refusals.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Solana keypair file. Only its key is used, to sign refusals, and no operator names it. Without one, refusals are not
    /// signed.
    pub keypair: Option<PathBuf>,
    /// How often the head of a chain of refusals is written on Solana if the chain grew; 0: never.
    #[serde(deserialize_with = "head_interval")]
    head_interval_seconds: u64,
}

impl Default for Section {
    fn default() -> Self {
        Self { keypair: None, head_interval_seconds: 3_600 }
    }
}

impl Section {
    /// Settings for signing with this key.
    pub fn parts(&self, key: Arc<dyn Signer>) -> DenialParts {
        let seconds = Some(self.head_interval_seconds).filter(|seconds| *seconds > 0);
        DenialParts { key, head_interval: seconds.map(Duration::from_secs) }
    }
}

fn head_interval<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    let seconds = u64::deserialize(value)?;
    if seconds > HEAD_INTERVAL_SECONDS_MAX {
        return Err(D::Error::custom("must be from 0 to 86400"));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_signed_where_a_key_is_named() {
        let read = serde_json::from_str::<Section>;
        let none = read("{}").expect("valid");
        assert!(none.keypair.is_none() && none.head_interval_seconds == 3_600);
        let some = read(r#"{"keypair": "key.json", "head_interval_seconds": 0}"#).expect("valid");
        assert_eq!((some.keypair, some.head_interval_seconds), (Some("key.json".into()), 0));
        for wrong in [
            r#"{"head_interval_seconds": 86401}"#,
            r#"{"head_interval_seconds": -1}"#,
            r#"{"keypairs": "x"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
