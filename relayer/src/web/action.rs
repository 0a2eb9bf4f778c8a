//! An action as it is answered, and the record as a file.

use axum::response::Response;
use futures::{Stream, TryStreamExt};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::csv::{self, CsvRow};
use crate::domain::{AccountName, ActionOutcome, KeyHint, ListedAction};
use crate::wire::schema::{self, RequestIdText, Signature, Text, anything, one_of, text, written};

/// No body that is kept has more fields: each takes at least four of its 2,000 bytes.
const FIELDS_MAX: usize = 500;

written! {
    ActionOutcome = "ActionOutcome": one_of(
        "`unknown` while it runs, and for ever where the service ended on the way or could not tell how much was done.",
        Self::ALL.map(Self::as_str)
    );
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

pub enum ActionName {}
pub enum ActionObject {}
enum SessionText {}
enum ClientAddressText {}
enum AskedFields {}

/// Something that was changed through the service. Every field is there; what does not apply is `null`.
#[derive(Serialize, ToSchema)]
#[schema(as = Action)]
pub struct ActionResponse {
    id: schema::ActionId,
    #[schema(value_type = ActionName)]
    action: String,
    outcome: ActionOutcome,
    /// The key of the request, or of the session; `null` for the command line on the server.
    #[schema(required)]
    key_id: Option<schema::KeyId>,
    #[schema(value_type = Option<AccountName>, required)]
    key_name: Option<String>,
    #[schema(required)]
    key_hint: Option<KeyHint>,
    /// Where it came from the dashboard.
    #[schema(value_type = Option<SessionText>, required)]
    session_id: Option<String>,
    /// The client's address.
    #[schema(value_type = Option<ClientAddressText>, required)]
    address: Option<String>,
    /// What was changed.
    #[schema(value_type = Option<ActionObject>, required)]
    object_id: Option<String>,
    /// What was made.
    #[schema(value_type = Option<ActionObject>, required)]
    made_id: Option<String>,
    /// What stood in place of what was asked for, where that is known and short.
    #[schema(value_type = Option<AskedFields>, required)]
    before: Option<Box<RawValue>>,
    /// What was asked for: the body of the request, up to 2,000 bytes.
    #[schema(value_type = Option<AskedFields>, required)]
    after: Option<Box<RawValue>>,
    /// Of the change on the chain.
    #[schema(required)]
    tx_signature: Option<Signature>,
    /// As in the header `X-Request-Id` of its answer.
    #[schema(value_type = Option<RequestIdText>, required)]
    request_id: Option<String>,
    /// When it began.
    created_at: schema::Timestamp,
}

impl From<ListedAction> for ActionResponse {
    fn from(listed: ListedAction) -> Self {
        let ListedAction { action, key_name, key_hint } = listed;
        Self {
            id: action.id.into(),
            action: action.name.to_string(),
            outcome: action.outcome,
            key_id: action.key_id.map(Text),
            key_name,
            key_hint,
            session_id: action.session_id.map(|id| id.to_string()),
            address: action.address.map(|address| address.to_string()),
            object_id: action.object_id.map(|id| id.to_string()),
            made_id: action.made_id.map(|id| id.to_string()),
            before: action.before,
            after: action.after,
            tx_signature: action.tx_signature.map(Signature::from),
            request_id: action.request_id.map(|id| id.to_string()),
            created_at: action.created_at.into(),
        }
    }
}

impl CsvRow for ActionResponse {
    fn head() -> impl Iterator<Item = &'static str> {
        [
            "id",
            "action",
            "outcome",
            "key_id",
            "key_name",
            "key_hint",
            "session_id",
            "address",
            "object_id",
            "made_id",
            "before",
            "after",
            "tx_signature",
            "request_id",
            "created_at",
        ]
        .into_iter()
    }

    // The objects begin with a brace.
    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
        self.key_name.iter_mut()
    }
}

/// The record as a file.
pub fn actions_as_csv<E: std::fmt::Display + Send + 'static>(
    pages: impl Stream<Item = Result<Vec<ListedAction>, E>> + Send + 'static,
) -> Response {
    csv::answer("actions", pages.map_ok(|page| page.into_iter().map(ActionResponse::from).collect()))
}
