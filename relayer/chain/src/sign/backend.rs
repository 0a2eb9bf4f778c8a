//! Connects to signing services through `solana-keychain`, in one function for each service in this build.

use crate::sign::source::{RemoteKey, SigningService};
use solana_keychain::{SignerError, TransactionSigner};
use std::sync::Arc;

/// A client of one service, for one key.
pub type Backend = Arc<dyn TransactionSigner>;

/// Reads the service's credential and makes a client. Some services are asked for the key's address first.
pub async fn connect(key: &RemoteKey) -> Result<Backend, String> {
    match &key.service {
        #[cfg(feature = "signer-vault")]
        SigningService::Vault { url, key: name, token } => {
            let token = token.read()?;
            // Only Vault may be reached without TLS, and the configuration allows that only within this machine.
            let client = solana_keychain::vault::reqwest::Client::builder().timeout(key.time_limit);
            let public_key = key.public_key.to_string();
            let (url, name) = (url.clone(), name.clone());
            let made = solana_keychain::VaultSigner::with_client_builder(
                client,
                url,
                token.to_string(),
                name,
                public_key,
            );
            Ok(Arc::new(made.map_err(|error| describe(&error))?))
        }
        #[cfg(feature = "signer-turnkey")]
        SigningService::Turnkey { url, organization, key: id, api_public_key, api_private_key } => {
            let made = solana_keychain::TurnkeySigner::from_config(solana_keychain::TurnkeySignerConfig {
                api_public_key: api_public_key.clone(),
                api_private_key: api_private_key.read()?.to_string(),
                organization_id: organization.clone(),
                private_key_id: id.clone(),
                public_key: key.public_key.to_string(),
                api_base_url: url.clone(),
                http_client_config: Some(limits(key)),
            });
            Ok(Arc::new(made.map_err(|error| describe(&error))?))
        }
        #[cfg(feature = "signer-privy")]
        SigningService::Privy { url, app, wallet, app_secret } => {
            let made = solana_keychain::PrivySigner::from_config(solana_keychain::PrivySignerConfig {
                app_id: app.clone(),
                app_secret: app_secret.read()?.to_string(),
                wallet_id: wallet.clone(),
                api_base_url: url.clone(),
                http_client_config: Some(limits(key)),
                authorization_context: None,
                authorization_request_expiry: solana_keychain::PrivyAuthorizationRequestExpiry::Default,
            });
            let mut made = made.map_err(|error| describe(&error))?;
            made.init().await.map_err(|error| describe(&error))?;
            check_key(&made, key)?;
            Ok(Arc::new(made))
        }
        #[cfg(feature = "signer-aws-kms")]
        SigningService::AwsKms { key: id, region } => {
            let made = solana_keychain::AwsKmsSigner::from_config(solana_keychain::AwsKmsSignerConfig {
                key_id: id.clone(),
                public_key: key.public_key.to_string(),
                region: region.clone(),
            });
            Ok(Arc::new(made.await.map_err(|error| describe(&error))?))
        }
        #[cfg(feature = "signer-gcp-kms")]
        SigningService::GcpKms { key: name, url } => {
            let public_key = key.public_key.to_string();
            let made = match url {
                None => solana_keychain::GcpKmsSigner::new(name.clone(), public_key).await,
                Some(url) => {
                    // `new` does the same: this client takes whichever provider the process has.
                    let _ = rustls::crypto::ring::default_provider().install_default();
                    let client = google_cloud_kms_v1::client::KeyManagementService::builder();
                    let client = client.with_endpoint(url).build().await;
                    let client =
                        client.map_err(|_| "cannot make a client for Google Cloud KMS".to_owned())?;
                    solana_keychain::GcpKmsSigner::with_client(client, name.clone(), public_key)
                }
            };
            Ok(Arc::new(made.map_err(|error| describe(&error))?))
        }
        #[allow(unreachable_patterns, reason = "a build may have all of them")]
        other => Err(format!("this build has no feature `{}`", other.feature().0)),
    }
}

#[cfg(any(feature = "signer-turnkey", feature = "signer-privy"))]
fn limits(key: &RemoteKey) -> solana_keychain::HttpClientConfig {
    let limit = Some(key.time_limit);
    solana_keychain::HttpClientConfig { request_timeout: limit, connect_timeout: limit }
}

/// Checks the key of a service that reports which key it holds.
#[cfg(feature = "signer-privy")]
fn check_key(made: &impl solana_keychain::SolanaSigner, key: &RemoteKey) -> Result<(), String> {
    let held = made.pubkey();
    if held.to_bytes() == key.public_key.bytes() {
        Ok(())
    } else {
        Err(format!("holds the key of {held}, not the configured one"))
    }
}

/// An error for the log. The library keeps credentials and answers out of it.
pub fn describe(error: &SignerError) -> String {
    match error {
        SignerError::RemoteApiError { detail, .. }
        | SignerError::SigningFailed(detail)
        | SignerError::HttpError(detail)
        | SignerError::SerializationError(detail)
        | SignerError::ConfigError(detail) => format!("{error}: {detail}"),
        other => other.to_string(),
    }
}
