//! Every form that changes something is on record, as the operation of REST that does the same.

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use purser_api::web::{Act, Fields, on_record};

use super::Desk;
use super::form::Form;
use super::page::PageError;
use super::session::{IsStop, Signed};

/// Fields that belong to the form, not to what is asked for.
const OF_THE_FORM: [&str; 7] =
    ["once", "step", "compared", "accounts", "credential", "seen_max_30_day_spend", "seen_budget_id"];

/// The operation that a form is. A form that is not known here is on record by its path. `None`: it changes nothing.
fn operation(path: &str) -> Option<&str> {
    Some(match path {
        "/preview" | "/accounts/change" => return None,
        "/stop-all" => "halt",
        "/accounts" => "create_account",
        "/accounts/change/policy" => "change_policies",
        "/accounts/change/halt" => "halt_accounts",
        "/accounts/{id}/tags" => "update_account",
        "/accounts/{id}/halt" => "halt_account",
        "/accounts/{id}/pause" | "/accounts/{id}/policy" => "update_policy",
        "/accounts/{id}/policy/drop" => "drop_pending_policy",
        "/budgets/{id}" => "update_budget",
        "/accounts/{id}/keys" => "create_key",
        "/keys" => "create_operator_key",
        "/keys/revoke" | "/accounts/{id}/keys/revoke" => "revoke_key",
        "/approvals/{id}/reject" => "reject_approval",
        "/webhooks" => "create_webhook",
        "/webhooks/{id}/status" => "update_webhook",
        "/webhooks/{id}/test" => "test_webhook",
        "/webhooks/{id}/rotate" => "rotate_secret",
        "/webhooks/{id}/replay" => "replay_events",
        "/sign-out" => "sign_out",
        "/passkeys" => "add_passkey",
        "/passkeys/remove" => "remove_passkey",
        "/sessions/end" => "end_session",
        "/sessions/end-others" => "end_other_sessions",
        other => other,
    })
}

/// The same with the letters that a name on record has.
fn name_of(path: &str) -> Option<String> {
    let named = operation(path)?.trim_matches('/');
    Some(named.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect())
}

fn read(body: &[u8]) -> Option<Fields> {
    let form = Form::parse(body).ok()?;
    Some(Fields::of_form(form.fields().filter(|(name, _)| !OF_THE_FORM.contains(name))))
}

/// Middleware of the pages behind the sign-in: see the module.
pub async fn record(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let path = path.as_deref().and_then(|path| path.strip_prefix("/dashboard")).unwrap_or_default();
    let named = if *request.method() == Method::POST { name_of(path) } else { None };
    let Some(name) = named else { return next.run(request).await };
    let session_id = request.extensions().get::<Signed>().map(|signed| signed.session);
    let is_stop = request.extensions().get::<IsStop>().is_some_and(|IsStop(is_stop)| *is_stop);
    let act = Act { name, session_id, is_stop, read };
    on_record(&desk.services.inside, act, request, next)
        .await
        .unwrap_or_else(|error| PageError::from(error).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_nobody_named_is_on_record_by_its_path() {
        assert_eq!(name_of("/stop-all").as_deref(), Some("halt"));
        assert_eq!(name_of("/budgets/{id}/close").as_deref(), Some("budgets__id__close"));
        assert_eq!(name_of("/preview"), None);
    }
}
