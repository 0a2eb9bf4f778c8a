//! An action as it is answered and announced: what was asked for in it as a JSON object.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::schema::{RequestIdText, Signature, anything, named_text, text, written};
use crate::{ActionId, ActionOutcome, KeyHint, KeyId, Label, ListedAction, Timestamp};

/// Longer objects are not kept, in bytes.
const JSON_BYTES_MAX: usize = 2_000;

/// No body that is kept has more fields: each takes at least four of its 2,000 bytes.
const FIELDS_MAX: usize = 500;

written! {
    ActionName = "ActionName": text().max_length(Some(64)).pattern(Some("^[A-Za-z0-9_]+$"))
        .description(Some("An operation of this API by its id, or `sign_in`, `sign_out`, `end_session`, `end_other_sessions`, `add_passkey` and `remove_passkey` of the dashboard."))
        .examples([serde_json::json!("revoke_key")]).build();
    ActionObject = "ActionObject": text().max_length(Some(64)).pattern(Some("^[A-Za-z0-9_]+$"))
        .description(Some("The id of an account, a key, a webhook, a transfer, a session or a passkey."))
        .examples([serde_json::json!("acct_01JD5Z8K40C5B8H1S2E7G9PMAW")]).build();
    SessionText = "SessionId": text().pattern(Some("^ses_[0-9a-f]{16}$"))
        .description(Some("A dashboard session. It opens nothing.")).build();
    ClientAddressText = "ClientAddress": text().max_length(Some(45))
        .description(Some("An IPv4 or IPv6 address.")).build();
    AskedFields = "AskedFields": ObjectBuilder::new().max_properties(Some(FIELDS_MAX))
        .additional_properties(Some(RefOr::T(Schema::Object(anything()))))
        .description(Some("The fields of a request's body, as they were sent.")).build();
}

named_text! {
    /// An operation by its id.
    ActionName
    /// The id of what was changed or made.
    ActionObject
    /// A dashboard session.
    SessionText
    /// Where a request came from.
    ClientAddressText
}

/// The fields of a body, as they were sent.
#[derive(Serialize)]
pub struct AskedFields(Box<RawValue>);

/// Something that was changed through the service. Every field is there; what does not apply is `null`.
#[derive(Serialize, ToSchema)]
#[schema(as = Action)]
pub struct ActionResponse {
    id: ActionId,
    action: ActionName,
    outcome: ActionOutcome,
    /// The key of the request, or of the session; `null` for the command line on the server.
    #[schema(required)]
    key_id: Option<KeyId>,
    #[schema(value_type = Option<Label>, required)]
    pub key_name: Option<String>,
    #[schema(required)]
    key_hint: Option<KeyHint>,
    /// Where it came from the dashboard.
    #[schema(required)]
    session_id: Option<SessionText>,
    /// The client's address.
    #[schema(required)]
    address: Option<ClientAddressText>,
    /// What was changed.
    #[schema(required)]
    object_id: Option<ActionObject>,
    /// What was made.
    #[schema(required)]
    made_id: Option<ActionObject>,
    /// What was asked for: the body of the request, up to 2,000 bytes.
    #[schema(required)]
    after: Option<AskedFields>,
    /// Of the change on the chain.
    #[schema(required)]
    tx_signature: Option<Signature>,
    /// As in the header `X-Request-Id` of its answer.
    #[schema(required)]
    request_id: Option<RequestIdText>,
    /// When it began.
    created_at: Timestamp,
    /// Of the passkey that opened its session, also where that was removed since.
    #[schema(value_type = Option<Label>, required)]
    pub passkey_name: Option<String>,
}

impl From<ListedAction> for ActionResponse {
    fn from(listed: ListedAction) -> Self {
        let ListedAction { action, key_name, key_hint, passkey_name } = listed;
        Self {
            id: action.id,
            action: action.name.to_string().into(),
            outcome: action.outcome,
            key_id: action.key_id,
            key_name,
            key_hint,
            session_id: action.session_id.map(|id| id.to_string().into()),
            address: action.address.map(|address| address.to_string().into()),
            object_id: action.object_id.map(|id| id.to_string().into()),
            made_id: action.made_id.map(|id| id.to_string().into()),
            after: action.after.map(AskedFields),
            tx_signature: action.tx_signature.map(Signature::from),
            request_id: action.request_id.map(|id| id.to_string().into()),
            created_at: action.created_at,
            passkey_name,
        }
    }
}

/// The fields of an object, each as it was written: no number is read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    /// Of a body. `None`: it is not an object.
    pub fn of_json(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// Of a form, whose fields are texts; what stands there several times is a list.
    pub fn of_form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut given: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, text) in fields {
            given.entry(name).or_default().push(text);
        }
        let mut all = Self::default();
        for (name, texts) in given {
            match texts[..] {
                [text] => all.set(name, text),
                _ => all.set(name, &texts),
            }
        }
        all
    }

    /// Of what is answered as an object.
    pub fn of(answered: &impl Serialize) -> Self {
        serde_json::to_vec(answered).ok().and_then(|json| Self::of_json(&json)).unwrap_or_default()
    }

    /// Those of both that are not the same.
    pub fn differing(before: &Self, after: &Self) -> (Self, Self) {
        let differs = |name: &str| {
            before.0.get(name).map(|json| json.get()) != after.0.get(name).map(|json| json.get())
        };
        let those = |fields: &Self| {
            let fields = fields.0.iter().filter(|(name, _)| differs(name));
            Self(fields.map(|(name, json)| (name.clone(), json.clone())).collect())
        };
        (those(before), those(after))
    }

    /// How long they are as JSON.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, json)| name.len() + json.get().len() + 4).sum()
    }

    /// Each with its JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, json)| (name.as_str(), &**json))
    }

    /// The object; `None` if it is empty or long.
    pub fn json(&self) -> Option<Box<RawValue>> {
        let json = to_raw_value(&self.0).ok()?;
        (!self.0.is_empty() && json.get().len() <= JSON_BYTES_MAX).then_some(json)
    }

    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Serialize) {
        if let Ok(json) = to_raw_value(&value) {
            self.0.insert(name.to_owned(), json);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_were_written() {
        let asked = Fields::of_json(br#"{"max_daily_spend": 12.500000, "reason":"a"}"#).expect("an object");
        assert_eq!(asked.json().expect("short").get(), r#"{"max_daily_spend":12.500000,"reason":"a"}"#);
    }

    #[test]
    fn what_is_no_object_or_long_is_not_kept() {
        for body in ["", "[]", "1", "{", "\"a\""] {
            assert!(Fields::of_json(body.as_bytes()).is_none(), "{body}");
        }
        assert!(Fields::of_json(b"{}").expect("an object").json().is_none());
        let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(2_000));
        assert!(Fields::of_json(long.as_bytes()).expect("an object").json().is_none());
        let form = Fields::of_form([("scopes", "read"), ("scopes", "pay"), ("name", "a\u{0}<b>")]);
        assert_eq!(form.json().expect("short").get(), r#"{"name":"a\u0000<b>","scopes":["read","pay"]}"#);
    }
}
