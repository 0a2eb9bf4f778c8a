//! AWS KMS, which checks a signature over each request: https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html and
//! https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Answered, Desk, is};
use crate::request::Request;

const KEY: &str = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const REGION: &str = "eu-central-1";
const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

pub fn settings(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("KIND", "aws-kms".into()),
        ("KEY", KEY.into()),
        ("REGION", REGION.into()),
        ("=AWS_ENDPOINT_URL_KMS", url.into()),
        ("=AWS_ACCESS_KEY_ID", ACCESS_KEY.into()),
        ("=AWS_SECRET_ACCESS_KEY", SECRET.into()),
        ("=AWS_EC2_METADATA_DISABLED", "true".into()),
    ]
}

pub fn answers(desk: &Desk, asked: &Request) -> Answered {
    is(asked.route(), ("POST", "/"))?;
    is(asked.header("content-type")?, "application/x-amz-json-1.1")?;
    check_signature(asked)?;
    let body = asked.json()?;
    is(&body["KeyId"], &json!(KEY))?;
    match asked.header("x-amz-target")? {
        "TrentService.Sign" => {
            is(&body["MessageType"], &json!("RAW"))?;
            is(&body["SigningAlgorithm"], &json!("ED25519_SHA_512"))?;
            let message = body["Message"].as_str().ok_or("no Message")?;
            let message = STANDARD.decode(message).map_err(|_| "no base64")?;
            let signature = STANDARD.encode(desk.signs(&message));
            Ok(json!({ "KeyId": KEY, "Signature": signature, "SigningAlgorithm": "ED25519_SHA_512" }))
        }
        "TrentService.DescribeKey" => Ok(json!({ "KeyMetadata": {
            "AWSAccountId": "111122223333", "Arn": KEY, "KeyId": "1234abcd-12ab-34cd-56ef-1234567890ab",
            "Enabled": true, "KeyState": "Enabled", "KeyManager": "CUSTOMER", "Origin": "AWS_KMS",
            "KeySpec": "ECC_NIST_EDWARDS25519", "KeyUsage": "SIGN_VERIFY", "MultiRegion": false,
            "SigningAlgorithms": ["ED25519_SHA_512", "ED25519_PH_SHA_512"],
        } })),
        "TrentService.GetPublicKey" => Ok(json!({
            "KeyId": KEY, "KeySpec": "ECC_NIST_EDWARDS25519", "KeyUsage": "SIGN_VERIFY",
            "PublicKey": STANDARD.encode(desk.public_key_der()),
            "SigningAlgorithms": ["ED25519_SHA_512", "ED25519_PH_SHA_512"],
        })),
        other => Err(format!("no such target {other}")),
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key's");
    hmac.update(text.as_bytes());
    hmac.finalize().into_bytes().to_vec()
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Checks the Signature Version 4, recomputed from the request as received.
fn check_signature(asked: &Request) -> Result<(), String> {
    let authorization = asked.header("authorization")?;
    let fields = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
    let field = |name: &str| {
        let mut fields = fields.split(',').filter_map(|field| field.trim().split_once('='));
        fields.find(|(found, _)| *found == name).map(|(_, value)| value).ok_or(format!("no {name}"))
    };
    let time = asked.header("x-amz-date")?;
    let day = time.get(..8).ok_or("no day")?;
    let scope = format!("{day}/{REGION}/kms/aws4_request");
    is(field("Credential")?, &format!("{ACCESS_KEY}/{scope}"))?;
    let names = field("SignedHeaders")?;
    for needed in ["host", "x-amz-date", "x-amz-target"] {
        if !names.split(';').any(|name| name == needed) {
            return Err(format!("{needed} is not signed"));
        }
    }
    let mut headers = String::new();
    for name in names.split(';') {
        headers.push_str(&format!("{name}:{}\n", asked.header(name)?));
    }
    let request = format!("POST\n/\n\n{headers}\n{names}\n{}", hash(&asked.body));
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(request.as_bytes()));
    let parts = [day, REGION, "kms", "aws4_request"];
    let key = parts.iter().fold(format!("AWS4{SECRET}").into_bytes(), |key, part| hmac(&key, part));
    is(field("Signature")?, &hex::encode(hmac(&key, &to_sign)))
}
