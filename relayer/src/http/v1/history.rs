use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, TryStreamExt};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{
    AccountId, EntryKind, EntryOutcome, HistoryFilter, HistoryStatus, Invalid, PageRequest, PlacedEntry,
    Principal,
};
use crate::http::accept;
use crate::http::code::Code;
use crate::http::csv::{self, CsvRow};
use crate::http::error::{ApiError, rejection_code};
use crate::http::page::{Id, ListQuery, PageResponse, list_parameters};
use crate::service::{EntryView, History};
use crate::wire::schema::{
    self, ChainMemo, ExplorerLink, Message, OtherSide, Signature, Text, Usdc, one_of, written,
};

const LIMIT_DEFAULT: u32 = 25;
const ALL: &str = "all";

written! {
    Direction = "Direction": one_of("Seen from the account.", ["in", "out"]);
    HistoryStatus = "EntryStatus": one_of("Whether money moved.", Self::ALL.map(Self::as_str));
    StatusFilter = "EntryStatusFilter": one_of("Whether money moved, or both.", ["settled", "rejected", ALL]);
}

enum Direction {}
enum StatusFilter {}

/// A line of an account's history. Every field is there; what does not apply is `null`.
#[derive(Serialize, ToSchema)]
#[schema(as = Entry)]
pub struct EntryResponse {
    id: schema::EntryId,
    #[serde(rename = "type")]
    kind: EntryKind,
    #[schema(value_type = Direction)]
    direction: &'static str,
    status: HistoryStatus,
    amount_usdc: Usdc,
    /// The other side: an account id, or a token account. `null` unless it was one party alone.
    #[schema(value_type = Option<OtherSide>, required)]
    counterparty: Option<String>,
    /// Of a transfer, and of a deposit that one transfer made.
    #[schema(value_type = Option<ChainMemo>, required)]
    memo: Option<String>,
    /// Of a transfer, and of a deposit that one transfer made.
    #[schema(required)]
    transfer_id: Option<schema::TransferId>,
    /// Of what is settled.
    #[schema(required)]
    tx_signature: Option<Signature>,
    /// Of what is settled.
    #[schema(required)]
    solana_explorer_url: Option<ExplorerLink>,
    /// Of what was rejected.
    #[schema(value_type = Option<Code>, required)]
    error: Option<Code>,
    /// Of what was rejected.
    #[schema(value_type = Option<Message>, required)]
    message: Option<String>,
    /// When it happened.
    created_at: schema::Timestamp,
    /// When it came into the history, which is in this order: later than that of every entry that was there before.
    visible_at: schema::Timestamp,
}

impl CsvRow for EntryResponse {
    const HEAD: &'static [&'static str] = &[
        "id",
        "type",
        "direction",
        "status",
        "amount_usdc",
        "counterparty",
        "memo",
        "transfer_id",
        "tx_signature",
        "solana_explorer_url",
        "error",
        "message",
        "created_at",
        "visible_at",
    ];

    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.counterparty, &mut self.memo, &mut self.message].into_iter().flatten()
    }
}

impl From<EntryView> for EntryResponse {
    fn from(view: EntryView) -> Self {
        let EntryView { placed: PlacedEntry { entry, visible_at, .. }, explorer } = view;
        let bare = Self {
            id: entry.id.into(),
            kind: entry.kind,
            direction: entry.kind.direction(),
            status: entry.outcome.status(),
            amount_usdc: entry.amount.into(),
            counterparty: entry.counterparty.map(|party| party.to_string()),
            memo: entry.memo.map(|memo| memo.as_str().to_owned()),
            transfer_id: entry.transfer_id.map(Text),
            tx_signature: None,
            solana_explorer_url: None,
            error: None,
            message: None,
            created_at: entry.created_at.into(),
            visible_at: visible_at.into(),
        };
        match entry.outcome {
            EntryOutcome::Settled { signature, .. } => Self {
                solana_explorer_url: Some(explorer.of(&signature).into()),
                tx_signature: Some(signature.into()),
                ..bare
            },
            EntryOutcome::Rejected { reason, message } => {
                Self { error: Some(rejection_code(reason)), message: Some(message), ..bare }
            }
        }
    }
}

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
fn asked(
    principal: &Principal,
    account_id: AccountId,
    mut query: ListQuery,
) -> Result<(HistoryFilter, PageRequest), Invalid> {
    let filter = filter(&mut query)?;
    let bound = filter.text(principal.operator_id(), account_id);
    let request = query.page(LIMIT_DEFAULT, &bound)?;
    Ok((filter, request))
}

list_parameters!(HistoryParameters(LIMIT_DEFAULT) {
    "status": StatusFilter = "`all` if it is left out.";
    "type": EntryKind = "Only entries of this kind.";
    "since": schema::Timestamp = "Only what has a `visible_at` after this time.";
    "until": schema::Timestamp = "Only what has a `visible_at` up to this time.";
});

/// List an account's history
///
/// Transfers settled and rejected, deposits and withdrawals, the latest visible first. With `Accept: text/csv` all that the
/// filters let through, as one file; `limit` and `cursor` are refused then.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/transactions", operation_id = "list_transactions", tag = "History",
    params(Id<AccountId>, HistoryParameters),
    responses((status = 200, description = "A page of the history, or all of it as CSV.", content(
        (PageResponse<EntryResponse> = "application/json"),
        (String = "text/csv"),
    ))),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(history): State<History>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    if accept::is_wanted(&headers, "text/csv") {
        let filter = filter(&mut query)?;
        query.finish()?;
        let pages = history.all(&principal, account_id, filter).await?;
        return Ok(by_accept(as_csv(account_id, pages)));
    }
    let (filter, request) = asked(&principal, account_id, query)?;
    let page = history.list(&principal, account_id, filter, request).await?;
    let page: PageResponse<EntryResponse> = page.map(EntryResponse::from).into();
    Ok(by_accept(Json(page).into_response()))
}

/// An account's history as a file.
pub fn as_csv<E: std::fmt::Display + Send + 'static>(
    account_id: AccountId,
    pages: impl Stream<Item = Result<Vec<EntryView>, E>> + Send + 'static,
) -> Response {
    let rows = pages.map_ok(|page| page.into_iter().map(EntryResponse::from).collect());
    csv::answer(&account_id.to_string(), rows)
}

/// Says that the answer depends on `Accept`.
fn by_accept(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    answer
}
