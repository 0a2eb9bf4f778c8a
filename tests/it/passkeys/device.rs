//! A person's device in software: makes one passkey and signs challenges with it, honestly or not.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;

/// One passkey. A test changes what the device says of itself.
#[derive(Clone)]
pub struct Device {
    key: SigningKey,
    pub credential_id: Vec<u8>,
    /// How often it signed; zero for ever for devices that do not count.
    pub counter: Option<u32>,
    /// What the service calls the owner.
    pub user: String,
    pub rp_id: String,
    pub origin: String,
    /// What it says that the answer is: `webauthn.get` by itself.
    pub kind: &'static str,
    pub is_present: bool,
    pub is_verified: bool,
}

impl Device {
    /// A device whose browser shows a page of `origin`.
    pub fn at(origin: &str) -> Device {
        let key = SigningKey::from_slice(&drawn()).expect("a scalar");
        let (_, host) = origin.split_once("://").expect("an origin");
        Device {
            key,
            credential_id: drawn()[..20].to_vec(),
            counter: Some(0),
            user: String::new(),
            rp_id: host.split(':').next().expect("a host").to_owned(),
            origin: origin.to_owned(),
            kind: "",
            is_present: true,
            is_verified: true,
        }
    }

    fn data(&mut self, more: u8) -> Vec<u8> {
        let mut data = Sha256::digest(self.rp_id.as_bytes()).to_vec();
        let flag = |is: bool, flag| if is { flag } else { 0 };
        data.push(flag(self.is_present, USER_PRESENT) | flag(self.is_verified, USER_VERIFIED) | more);
        self.counter = self.counter.map(|counter| counter + 1);
        data.extend(self.counter.unwrap_or(0).to_be_bytes());
        data
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> Vec<u8> {
        let kind = if self.kind.is_empty() { kind } else { self.kind };
        let said =
            json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false });
        said.to_string().into_bytes()
    }

    /// Makes the passkey: the answer to `navigator.credentials.create`.
    pub fn makes(&mut self, options: &Value) -> String {
        let options = &options["publicKey"];
        self.user = options["user"]["id"].as_str().expect("a user").to_owned();
        let mut data = self.data(HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.credential_id.len()).expect("short").to_be_bytes());
        data.extend(&self.credential_id);
        let point = self.key.verifying_key().to_encoded_point(false);
        // {1: 2, 3: -7, -1: 1, -2: x, -3: y} in CBOR: a key of ES256 on P-256.
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(point.x().expect("a point"));
        data.extend([0x22, 0x58, 0x20]);
        data.extend(point.y().expect("a point"));
        // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(u8::try_from(data.len()).expect("short"));
        object.extend(data);
        let client_data = self.client_data("webauthn.create", &options["challenge"]);
        self.answer(json!({ "attestationObject": text(&object), "clientDataJSON": text(&client_data) }))
    }

    /// Signs a challenge: the answer to `navigator.credentials.get`.
    pub fn signs(&mut self, options: &Value) -> String {
        let client_data = self.client_data("webauthn.get", &options["publicKey"]["challenge"]);
        let data = self.data(0);
        let signed = [data.as_slice(), &Sha256::digest(&client_data)].concat();
        let signature: Signature = self.key.sign(&signed);
        self.answer(json!({
            "authenticatorData": text(&data), "clientDataJSON": text(&client_data),
            "signature": text(signature.to_der().as_bytes()), "userHandle": self.user,
        }))
    }

    /// Loses its key, and goes on with another.
    pub fn forgets_its_key(&mut self) {
        self.key = SigningKey::from_slice(&drawn()).expect("a scalar");
    }

    fn answer(&self, response: Value) -> String {
        let id = text(&self.credential_id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response }).to_string()
    }
}

/// Never the same.
fn drawn() -> [u8; 32] {
    Sha256::digest(ulid::Ulid::generate().to_bytes()).into()
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
