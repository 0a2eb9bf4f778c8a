//! An account's history: filtered, searched, and as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use futures::TryStreamExt;

use super::page::{Frame, PageError, PageId, QueryParams, Section, page};
use super::session::Signed;
use super::text::filters;
use crate::domain::{
    AccountId, Cursor, EntryKind, EntryOutcome, HistoryFilter, HistoryStatus, Invalid, PageLimit,
    PageRequest, Timestamp,
};
use crate::http::csv;
use crate::http::v1::history::EntryResponse;
use crate::service::{AccountView, EntryView, ServiceError, Services};

const LIMIT: u32 = 50;
/// How many entries, the newest, a search covers.
const SEARCHED: usize = 5_000;

#[derive(Template)]
#[template(path = "dashboard/history.html")]
struct HistoryPage {
    frame: Frame,
    view: AccountView,
    entries: Vec<EntryView>,
    asked: QueryParams,
    /// The searched text, and whether the search covered the whole history.
    searched: Option<(String, bool)>,
    next: Option<String>,
    csv: String,
}

fn filter(asked: &QueryParams) -> Result<HistoryFilter, Invalid> {
    let moment = |name: &str| -> Result<Option<Timestamp>, Invalid> {
        let read = |text: &str| text.parse().map_err(|error| Invalid::new(name, format!("{error}")));
        asked.given(name).map(read).transpose()
    };
    let status = match asked.given("status") {
        None => None,
        Some("settled") => Some(HistoryStatus::Settled),
        Some("rejected") => Some(HistoryStatus::Rejected),
        Some(_) => return Err(Invalid::new("status", "must be `settled` or `rejected`")),
    };
    let kind = asked.given("type").map(|text| {
        let kind = EntryKind::from_stored(text);
        kind.ok_or_else(|| Invalid::new("type", "must be `transfer`, `deposit` or `withdrawal`"))
    });
    Ok(HistoryFilter { status, kind: kind.transpose()?, since: moment("since")?, until: moment("until")? })
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let filter = filter(&asked)?;
    let view = services.accounts.get(&signed.principal, id).await?;
    let path = format!("/dashboard/accounts/{id}/history");
    let (entries, searched, next) = match asked.given("search") {
        Some(wanted) => {
            let (found, is_whole) = search(&services, &signed, id, filter, wanted).await?;
            (found, Some((wanted.to_owned(), is_whole)), None)
        }
        None => {
            let bound = filter.text(signed.operator.id, id);
            let after = asked.given("cursor").map(|text| Cursor::parse(text, &bound)).transpose()?;
            let request = PageRequest { limit: PageLimit::parse(None, LIMIT, LIMIT)?, after };
            let listed = services.history.list(&signed.principal, id, filter, request).await?;
            let next = asked.next(&path, listed.next.as_ref());
            (listed.items, None, next)
        }
    };
    let frame = Frame::new(&signed.operator, Section::Accounts);
    let csv = asked.same(&format!("{path}.csv"), &["status", "type", "since", "until"]);
    Ok(page(&HistoryPage { frame, view, entries, asked, searched, next, csv }, None))
}

/// Entries whose signature, memo, message, other side or ids contain the text: the newest, up to one page of them.
async fn search(
    services: &Services,
    signed: &Signed,
    id: AccountId,
    filter: HistoryFilter,
    wanted: &str,
) -> Result<(Vec<EntryView>, bool), ServiceError> {
    let wanted = wanted.to_lowercase();
    let mut pages = std::pin::pin!(services.history.all(&signed.principal, id, filter).await?);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(entries) = pages.try_next().await? {
        looked_at += entries.len();
        found.extend(entries.into_iter().filter(|view| holds(view, &wanted)));
        if found.len() >= LIMIT as usize || looked_at >= SEARCHED {
            found.truncate(LIMIT as usize);
            return Ok((found, false));
        }
    }
    Ok((found, true))
}

fn holds(view: &EntryView, wanted: &str) -> bool {
    let entry = &view.placed.entry;
    let texts = [
        Some(entry.id.to_string()),
        entry.transfer_id.map(|id| id.to_string()),
        entry.counterparty.map(|party| party.to_string()),
        entry.memo.as_ref().map(|memo| memo.as_str().to_owned()),
        Some(match &entry.outcome {
            EntryOutcome::Settled { signature, .. } => signature.clone(),
            EntryOutcome::Rejected { message, .. } => message.clone(),
        }),
    ];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(wanted))
}

/// All entries that the filters let through.
pub async fn file(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let pages = services.history.all(&signed.principal, id, filter(&asked)?).await?;
    let rows = pages.map_ok(|page| page.into_iter().map(EntryResponse::from).collect());
    Ok(csv::answer(&id.to_string(), rows))
}
