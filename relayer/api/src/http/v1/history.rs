use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::web::accept;
use crate::web::auth::AnyKey;
use crate::web::page::{Id, ListQuery, PageResponse, list_parameters};
use crate::web::{ApiError, EntryResponse, entries_as_file};
use purser_model::wire::schema::{one_of, written};
use purser_model::{AccountId, EntryKind, HistoryFilter, Invalid, PageRequest, Timestamp};
use purser_service::{Inside, history};

const LIMIT_DEFAULT: u32 = 25;
const ALL: &str = "all";

written! {
    StatusFilter = "EntryStatusFilter": one_of("Whether money moved, or both.", ["settled", "rejected", ALL]);
}

enum StatusFilter {}

fn filter(query: &mut ListQuery) -> Result<HistoryFilter, Invalid> {
    let status = |text: String| match text.parse() {
        Ok(status) => Ok(Some(status)),
        Err(_) if text == ALL => Ok(None),
        Err(_) => Err(Invalid::new("status", "must be `settled`, `rejected` or `all`")),
    };
    Ok(HistoryFilter {
        status: query.take("status").map_or(Ok(None), status)?,
        kind: query.read("type")?,
        since: query.read("since")?,
        until: query.read("until")?,
    })
}

/// The filters of the request, and which page it asks for.
fn asked(mut query: ListQuery) -> Result<(HistoryFilter, PageRequest), Invalid> {
    let filter = filter(&mut query)?;
    let request = query.page(LIMIT_DEFAULT)?;
    Ok((filter, request))
}

list_parameters!(HistoryParameters(LIMIT_DEFAULT) {
    "status": StatusFilter = "`all` if it is left out.";
    "type": EntryKind = "Only entries of this kind.";
    "since": Timestamp = "Only what has a `visible_at` after this time.";
    "until": Timestamp = "Only what has a `visible_at` up to this time.";
});

/// List an account's history
///
/// Transfers settled and rejected, deposits and withdrawals, the latest visible first. With `Accept: text/csv` all that the
/// filters let through, as one file; `limit` and `cursor` are refused then. As a workbook (`Accept:
/// application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`), at most 10,000 rows.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/transactions", operation_id = "list_transactions", tag = "History",
    params(Id<AccountId>, HistoryParameters),
    responses((status = 200, description = "A page of the history, or all of it as a file.", content(
        (PageResponse<EntryResponse> = "application/json"),
        (String = "text/csv"),
        (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ))),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    if let Some(format) = accept::wanted_file(&headers) {
        let filter = filter(&mut query)?;
        query.finish()?;
        let pages = history::all(&inside, &principal, account_id, filter).await?;
        return Ok(by_accept(entries_as_file((format, principal.operator().id), account_id, pages).await?));
    }
    let (filter, request) = asked(query)?;
    let page = history::list(&inside, &principal, account_id, filter, request).await?;
    let page: PageResponse<EntryResponse> = page.map(EntryResponse::from).into();
    Ok(by_accept(Json(page).into_response()))
}

/// Says that the answer depends on `Accept`.
fn by_accept(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    answer
}
