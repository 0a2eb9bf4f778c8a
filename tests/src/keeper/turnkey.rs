//! Turnkey, where an API key stamps every request: https://docs.turnkey.com/api-reference/activities/sign-transaction

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use solana_sdk::signer::Signer;

use super::{Answered, Desk, is};
use crate::request::Request;

pub const PRIVATE_KEY: &str = "487f361ddfd73440e707f4daa6775b376859e8a3c9f29b3bb694a12927c0213c";
const ORGANIZATION: &str = "c7d2c2a1-9d3f-4f52-9f52-3a6c7a1e0001";
const KEY_ID: &str = "a1b2c3d4-0000-4000-8000-000000000001";

/// In compressed form, as Turnkey writes its API keys.
fn api_key() -> (VerifyingKey, String) {
    let secret = hex::decode(PRIVATE_KEY).expect("hex");
    let key = *SigningKey::from_slice(&secret).expect("a key").verifying_key();
    let text = hex::encode(key.to_encoded_point(true).as_bytes());
    (key, text)
}

pub fn settings(url: &str, private_key_file: &str) -> Vec<(&'static str, String)> {
    vec![
        ("KIND", "turnkey".into()),
        ("URL", url.into()),
        ("ORGANIZATION", ORGANIZATION.into()),
        ("KEY", KEY_ID.into()),
        ("API_PUBLIC_KEY", api_key().1),
        ("CREDENTIAL_FILE", private_key_file.into()),
    ]
}

pub fn answers(desk: &Desk, asked: &Request) -> Answered {
    check_stamp(asked)?;
    let body = asked.json()?;
    is(&body["organizationId"], &json!(ORGANIZATION))?;
    match asked.route() {
        ("POST", "/public/v1/submit/sign_transaction") => {
            is(&body["type"], &json!("ACTIVITY_TYPE_SIGN_TRANSACTION_V2"))?;
            let timestamp = body["timestampMs"].as_str().and_then(|text| text.parse::<u64>().ok());
            timestamp.ok_or("no timestampMs")?;
            let parameters = &body["parameters"];
            is(&parameters["signWith"], &json!(KEY_ID))?;
            is(&parameters["type"], &json!("TRANSACTION_TYPE_SOLANA"))?;
            let unsigned = parameters["unsignedTransaction"].as_str().ok_or("no unsignedTransaction")?;
            let unsigned = hex::decode(unsigned).map_err(|_| "no hex")?;
            let signed = hex::encode(desk.signs_transaction(&unsigned)?);
            Ok(json!({ "activity": {
                "id": "01990000-0000-7000-8000-000000000000", "organizationId": ORGANIZATION,
                "status": "ACTIVITY_STATUS_COMPLETED", "type": "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
                "result": { "signTransactionResult": { "signedTransaction": signed } },
            } }))
        }
        ("POST", "/public/v1/query/whoami") => Ok(json!({
            "organizationId": ORGANIZATION, "organizationName": "Purser", "userId": "u", "username": "purser",
        })),
        ("POST", "/public/v1/query/get_private_key") => {
            is(&body["privateKeyId"], &json!(KEY_ID))?;
            let public_key = hex::encode(desk.keypair.pubkey().to_bytes());
            Ok(json!({ "privateKey": {
                "privateKeyId": KEY_ID, "publicKey": public_key, "privateKeyName": "purser", "curve": "CURVE_ED25519",
                "addresses": [{ "format": "ADDRESS_FORMAT_SOLANA", "address": desk.address() }],
            } }))
        }
        _ => Err("no such route".into()),
    }
}

/// Checks the stamp: made by the one API key over the body as received.
fn check_stamp(asked: &Request) -> Result<(), String> {
    let stamp = URL_SAFE_NO_PAD.decode(asked.header("x-stamp")?).map_err(|_| "a stamp in no base64url")?;
    let stamp: Value = serde_json::from_slice(&stamp).map_err(|_| "a stamp in no JSON")?;
    let (key, text) = api_key();
    is(&stamp["publicKey"], &json!(text))?;
    is(&stamp["scheme"], &json!("SIGNATURE_SCHEME_TK_API_P256"))?;
    let signature =
        stamp["signature"].as_str().and_then(|text| hex::decode(text).ok()).ok_or("no signature")?;
    let signature = Signature::from_der(&signature).map_err(|_| "a signature in no DER")?;
    key.verify(&asked.body, &signature).map_err(|_| "a stamp of another body".to_owned())
}
