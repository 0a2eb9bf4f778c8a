//! WebAuthn, by the library that checks it. Nothing else here knows that library.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_model::{CEREMONY_MAX, Passkey};
use serde_json::json;
use url::{Host, Url};
/// Why an answer does not count, or a challenge cannot be made.
pub use webauthn_rs::prelude::WebauthnError as Unproven;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey as Credential, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Uuid,
};
use webauthn_rs::{Webauthn, WebauthnBuilder};

use super::NoPasskeys;

/// What a browser is asked, and what has to be known of that when it answers.
pub struct Challenge {
    /// For the browser, in JSON.
    pub options: String,
    pub state: String,
}

/// A device's answer to a challenge to sign in, unchecked.
pub struct Answer {
    credential: PublicKeyCredential,
    /// The id of the key that it signs in as.
    pub user: [u8; 16],
}

impl Answer {
    /// `None`: it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let credential: PublicKeyCredential = serde_json::from_str(text).ok()?;
        let user = credential.get_user_unique_id()?.try_into().ok()?;
        Some(Self { credential, user })
    }

    /// What the device calls the passkey.
    pub fn credential_id(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.credential.get_credential_id())
    }
}

/// A passkey that a device made.
pub struct Made {
    pub credential_id: String,
    pub credential: String,
}

/// Passkeys of one address.
pub struct Ceremonies {
    webauthn: Webauthn,
    /// As browsers reach it, with nothing after the port.
    origin: Url,
}

impl Ceremonies {
    /// For pages at this address. Browsers bind a passkey to a name, and to the loopback addresses' `localhost`.
    pub fn at(public_url: &str) -> Result<Self, NoPasskeys> {
        let mut origin = Url::parse(public_url).map_err(|_| NoPasskeys::NoName)?;
        let is_loopback = match origin.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(_)) | None => false,
        };
        if is_loopback {
            origin.set_host(Some("localhost")).map_err(|_| NoPasskeys::NoName)?;
        }
        origin.set_path("");
        let name = origin.domain().ok_or(NoPasskeys::NoName)?;
        let built = WebauthnBuilder::new(name, &origin)
            .and_then(|builder| builder.rp_name("Purser").timeout(CEREMONY_MAX).build());
        let webauthn = built.map_err(|_| NoPasskeys::NoName)?;
        Ok(Self { webauthn, origin })
    }

    /// The address of one of its pages.
    pub fn place(&self, path: &str) -> String {
        format!("{}{path}", self.origin.as_str().trim_end_matches('/'))
    }

    /// Whether a page that was asked of `host` is at that address.
    pub fn is_at(&self, host: &str) -> bool {
        let (_, own) = self.origin.as_str().trim_end_matches('/').split_once("://").unwrap_or_default();
        own.eq_ignore_ascii_case(host)
    }

    /// Asks for any passkey that the device has of this address.
    pub fn ask(&self) -> Result<Challenge, Unproven> {
        let (mut options, state) = self.webauthn.start_discoverable_authentication()?;
        // Else the browser would wait for a text field to be filled in.
        options.mediation = None;
        Ok(Challenge { options: serde_json::to_string(&options)?, state: serde_json::to_string(&state)? })
    }

    /// Checks an answer, and gives the passkey's credential after that.
    pub fn check(&self, answer: &Answer, state: &str, passkey: &Passkey) -> Result<String, Unproven> {
        let state: DiscoverableAuthentication = serde_json::from_str(state)?;
        let mut credential: Credential = serde_json::from_str(&passkey.credential)?;
        if answer.user != passkey.key_id.bytes() {
            return Err(Unproven::InvalidUserUniqueId);
        }
        let proven =
            self.webauthn.finish_discoverable_authentication_v2(&answer.credential, state, &credential)?;
        credential.update_credential(&proven);
        Ok(serde_json::to_string(&credential)?)
    }

    /// Asks for a new passkey, which the device shows by `name` and keeps by `user`. A device with one that is `known` makes no other.
    pub fn ask_for_new<'a>(
        &self,
        user: [u8; 16],
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Result<Challenge, Unproven> {
        let user = Uuid::from_bytes(user);
        let (options, state) = self.webauthn.start_passkey_registration(user, name, name, None)?;
        let mut options = serde_json::to_value(options)?;
        let asked = &mut options["publicKey"];
        // It signs in without a name, so the device has to find it by itself.
        asked["authenticatorSelection"]["residentKey"] = json!("required");
        asked["authenticatorSelection"]["requireResidentKey"] = json!(true);
        // Not in the state, which a cookie holds: the database refuses one that it has.
        asked["excludeCredentials"] = known.map(|id| json!({ "type": "public-key", "id": id })).collect();
        Ok(Challenge { options: options.to_string(), state: serde_json::to_string(&state)? })
    }

    /// Checks what a device made.
    pub fn made(&self, answer: &str, state: &str) -> Result<Made, Unproven> {
        let state: PasskeyRegistration = serde_json::from_str(state)?;
        let answer: RegisterPublicKeyCredential = serde_json::from_str(answer)?;
        let credential = self.webauthn.finish_passkey_registration(&answer, &state)?;
        Ok(Made {
            credential_id: URL_SAFE_NO_PAD.encode(credential.cred_id()),
            credential: serde_json::to_string(&credential)?,
        })
    }
}
