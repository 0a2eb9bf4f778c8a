use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::web::accept;
use crate::web::actions_as_file;
use crate::web::auth::OperatorOnly;
use crate::web::error::ApiError;
use crate::web::page::{LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::{ActionName, ActionObject, ActionResponse};
use purser_model::{ActionFilter, ActionId, Invalid, KeyId, Timestamp};
use purser_service::{Inside, actions};

list_parameters!(ActionsParameters(LIMIT_DEFAULT) {
    "action_id": ActionId = "Only this one, as other answers name it.";
    "action": ActionName = "Only this operation.";
    "object_id": ActionObject = "Only what changed or made this.";
    "key_id": KeyId = "Only what this key did, over the API or signed in with it.";
    "since": Timestamp = "Only what began after this time.";
    "until": Timestamp = "Only what began up to this time.";
});

fn filter(query: &mut ListQuery) -> Result<ActionFilter, Invalid> {
    Ok(ActionFilter {
        id: query.read("action_id")?,
        name: query.read("action")?,
        object_id: query.read("object_id")?,
        key_id: query.read("key_id")?,
        since: query.read("since")?,
        until: query.read("until")?,
    })
}

/// List actions
///
/// What was changed through the service, by whom and from where, newest first: each written before its change began. What was
/// refused changed nothing and is not here; a payment is a transfer, not an action. How each ended is announced as
/// `action.recorded`. With `Accept: text/csv` all that the filters let through, as one file; `limit` and `cursor` are refused then.
/// As a workbook (`Accept: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`), at most 10,000 rows.
#[utoipa::path(
    get, path = "/v1/actions", operation_id = "list_actions", tag = "Actions",
    params(ActionsParameters),
    responses((status = 200, description = "A page of actions, or all of them as a file.", content(
        (PageResponse<ActionResponse> = "application/json"),
        (String = "text/csv"),
        (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ))),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    headers: HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    let filter = filter(&mut query)?;
    let mut answer = if let Some(format) = accept::wanted_file(&headers) {
        query.finish()?;
        actions_as_file((format, operator.id), actions::all(&inside, &operator, filter)).await?
    } else {
        let request = query.page(LIMIT_DEFAULT)?;
        let page = actions::list(&inside, &operator, &filter, request).await?;
        let page: PageResponse<ActionResponse> = page.map(ActionResponse::from).into();
        Json(page).into_response()
    };
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}
