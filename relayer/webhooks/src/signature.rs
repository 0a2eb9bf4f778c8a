//! Proves to a receiver that a delivery is ours and unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use purser_model::{EventId, Timestamp, WebhookSecret};

/// `X-Service-Signature`: lower-case hex of the HMAC-SHA256 of the raw body, keyed with the whole text `whsec_...`.
pub fn service_signature(secret: &WebhookSecret, body: &[u8]) -> String {
    hex::encode(hmac(secret.expose().as_bytes(), &[body]))
}

/// `webhook-signature` of Standard Webhooks: for each secret `v1,` and the base64 of the HMAC-SHA256 of
/// `ID.UNIX_SECONDS.BODY`, keyed with the bytes behind `whsec_`; separated by a space.
pub fn standard_signature(secrets: &[&WebhookSecret], id: EventId, at: Timestamp, body: &[u8]) -> String {
    let head = format!("{id}.{}.", at.unix_seconds());
    let sign = |secret: &&WebhookSecret| {
        format!("v1,{}", STANDARD.encode(hmac(secret.bytes(), &[head.as_bytes(), body])))
    };
    secrets.iter().map(sign).collect::<Vec<_>>().join(" ")
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification's own libraries.
    #[test]
    fn the_published_example_is_reproduced() {
        let hmac = hmac(
            &STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64"),
            &[b"msg_p5jXN8AQM9LWM0D4loKWxJek", b".", b"1614265330", b".", br#"{"test": 2432232314}"#],
        );
        assert_eq!(STANDARD.encode(hmac), "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    /// RFC 4231, test case 2.
    #[test]
    fn hmac_is_that_of_the_rfc() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex::encode(hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"])), expected);
    }

    #[test]
    fn two_secrets_sign_side_by_side() {
        let (new, old) = (WebhookSecret::new(&[1; 32]), WebhookSecret::new(&[2; 32]));
        let (id, at) = (EventId::from_bytes([3; 16]), Timestamp::from_unix_seconds(1_700_000_000));
        let both = standard_signature(&[&new, &old], id, at, b"{}");
        let alone = [standard_signature(&[&new], id, at, b"{}"), standard_signature(&[&old], id, at, b"{}")];
        assert_eq!(both, alone.join(" "));
        assert_ne!(alone[0], standard_signature(&[&new], id, at, b"{ }"));
        assert_ne!(service_signature(&new, b"{}"), service_signature(&old, b"{}"));
        assert_eq!(service_signature(&new, b"{}").len(), 64);
    }
}
