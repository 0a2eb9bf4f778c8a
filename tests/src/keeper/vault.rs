//! The transit engine of HashiCorp Vault: https://developer.hashicorp.com/vault/api-docs/secret/transit

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use solana_sdk::signer::Signer;

use super::{Answered, Desk, is};
use crate::request::Request;

pub const TOKEN: &str = "hvs.CAESIJ-purser";

pub fn settings(url: &str, token_file: &str) -> Vec<(&'static str, String)> {
    vec![
        ("KIND", "vault".into()),
        ("URL", url.into()),
        ("KEY", "purser-key".into()),
        ("CREDENTIAL_FILE", token_file.into()),
    ]
}

pub fn answers(desk: &Desk, asked: &Request) -> Answered {
    is(asked.header("x-vault-token")?, TOKEN)?;
    match asked.route() {
        ("POST", "/v1/transit/sign/purser-key") => {
            let body = asked.json()?;
            let input = body["input"].as_str().ok_or("no input")?;
            let message = STANDARD.decode(input).map_err(|_| "no base64")?;
            let signature = format!("vault:v3:{}", STANDARD.encode(desk.signs(&message)));
            Ok(json!({
                "request_id": "8a9f", "lease_id": "", "renewable": false, "lease_duration": 0, "wrap_info": null,
                "warnings": null, "auth": null, "data": { "key_version": 3, "signature": signature },
            }))
        }
        ("GET", "/v1/transit/keys/purser-key") => {
            let public_key = STANDARD.encode(desk.keypair.pubkey().to_bytes());
            Ok(json!({ "data": {
                "type": "ed25519", "name": "purser-key", "supports_signing": true, "exportable": false,
                "derived": false, "latest_version": 3, "min_available_version": 0,
                "keys": { "3": { "name": "ed25519", "creation_time": "2026-01-01T00:00:00Z", "public_key": public_key } },
            } }))
        }
        _ => Err("no such route".into()),
    }
}
