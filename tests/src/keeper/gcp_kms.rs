//! Google Cloud KMS, and the token server that authenticates its clients:
//! https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys.cryptoKeyVersions/asymmetricSign

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Answered, Desk, is};
use crate::request::Request;

const NAME: &str =
    "projects/purser/locations/europe-west3/keyRings/purser/cryptoKeys/transfer/cryptoKeyVersions/1";
const TOKEN: &str = "ya29.purser";

pub fn settings(url: &str, credentials_file: &str) -> Vec<(&'static str, String)> {
    vec![
        ("KIND", "gcp-kms".into()),
        ("KEY", NAME.into()),
        ("URL", url.into()),
        ("=GOOGLE_APPLICATION_CREDENTIALS", credentials_file.into()),
    ]
}

/// Credentials of a user whom this token server accepts.
pub fn credentials(url: &str) -> String {
    json!({
        "type": "authorized_user", "client_id": "purser.apps.googleusercontent.com", "client_secret": "hush",
        "refresh_token": "1//refresh", "token_uri": format!("{url}/token"),
    })
    .to_string()
}

pub fn answers(desk: &Desk, asked: &Request) -> Answered {
    let path = asked.path.split('?').next().unwrap_or_default();
    if (asked.method.as_str(), path) == ("POST", "/token") {
        let body = String::from_utf8_lossy(&asked.body);
        let is_refreshed = body.contains("refresh_token") && body.contains("hush");
        is(is_refreshed, true)?;
        return Ok(json!({ "access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer" }));
    }
    is(asked.header("authorization")?, &format!("Bearer {TOKEN}"))?;
    match (asked.method.as_str(), path) {
        ("POST", path) if path == format!("/v1/{NAME}:asymmetricSign") => {
            let body = asked.json()?;
            let message = body["data"].as_str().ok_or("no data")?;
            let message = STANDARD.decode(message).map_err(|_| "no base64")?;
            let signature = STANDARD.encode(desk.signs(&message));
            Ok(json!({ "signature": signature, "name": NAME, "protectionLevel": "SOFTWARE" }))
        }
        ("GET", path) if path == format!("/v1/{NAME}/publicKey") => {
            let der = STANDARD.encode(desk.public_key_der());
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
            Ok(
                json!({ "pem": pem, "algorithm": "EC_SIGN_ED25519", "name": NAME, "protectionLevel": "SOFTWARE" }),
            )
        }
        _ => Err("no such route".into()),
    }
}
