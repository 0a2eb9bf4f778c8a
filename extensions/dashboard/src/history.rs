//! An account's history: filtered, searched, and as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use purser_api::web::{FileFormat, all_entries_as_file, entries_as_file};
use purser_model::{AccountId, EntryKind, EntryOutcome, HistoryFilter, Invalid, PageRequest};
use purser_service::{AccountView, EntryView, Services, accounts, history};

use super::names::{Names, Shown};
use super::page::{Frame, PageError, PageId, QueryParams, Section, Tab, page};
use super::session::Signed;
use super::text::{filters, finds};

const LIMIT: u32 = 50;
/// How many entries a search reads before it shows what it has found so far.
const SEARCHED: usize = 5_000;
/// Entries that a search reads at a time.
const SEARCHED_TOGETHER: u32 = 250;

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    frame: Frame,
    tab: Tab,
    view: AccountView,
    entries: Vec<EntryView>,
    names: Names,
    asked: QueryParams,
    searched: Option<String>,
    next: Option<String>,
    csv: String,
    xlsx: String,
}

fn filter(asked: &QueryParams) -> Result<HistoryFilter, Invalid> {
    Ok(HistoryFilter {
        status: asked.read("status")?,
        kind: asked.read("type")?,
        since: asked.moment("since")?,
        until: asked.moment("until")?,
    })
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let filter = filter(&asked)?;
    let view = accounts::known(&services.inside, &signed.operator, id).await?;
    let path = format!("/dashboard/accounts/{id}/history");
    let searched = asked.given("search").map(str::to_owned);
    let rows = if searched.is_some() { SEARCHED_TOGETHER } else { LIMIT };
    let lists = async |request| {
        Ok::<_, PageError>(history::list(&services.inside, &signed.principal, id, filter, request).await?)
    };
    let mut listed = lists(asked.page(rows)).await?;
    if let Some(wanted) = &searched {
        let mut read = listed.items.len();
        listed.items.retain(|view| holds(view, wanted));
        // A page may be longer than others: nothing that was found is left out.
        while listed.items.len() < LIMIT as usize && read < SEARCHED && listed.next.is_some() {
            let older = lists(PageRequest { limit: rows, cursor: listed.next }).await?;
            read += older.items.len();
            listed.items.extend(older.items.into_iter().filter(|view| holds(view, wanted)));
            listed.next = older.next;
        }
    }
    let names = named(&listed.items).named(&services, &signed.operator).await?;
    let (entries, next) = (listed.items, asked.next(&path, listed.next.as_ref()));
    let frame = signed.frame(Section::Accounts);
    let file = |ending| asked.same(&format!("{path}.{ending}"), &["status", "type", "since", "until"]);
    let (csv, xlsx) = (file("csv"), file("xlsx"));
    Ok(page(
        &HistoryPage { frame, tab: Tab::History, view, entries, names, asked, searched, next, csv, xlsx },
        None,
    ))
}

/// Whose names entries are shown with.
pub fn named(entries: &[EntryView]) -> Shown {
    let mut shown = Shown::default();
    for party in entries.iter().filter_map(|view| view.placed.entry.counterparty) {
        shown.counterparty(&party);
    }
    shown
}

/// Returns whether a search finds the entry by its memo or message, its signature, its other side or an id.
fn holds(view: &EntryView, wanted: &str) -> bool {
    let entry = &view.placed.entry;
    let memo = entry.memo.as_ref().map(|memo| memo.as_str().to_owned());
    let (signature, message) = match &entry.outcome {
        EntryOutcome::Settled { signature, .. } => (Some(signature.clone()), None),
        EntryOutcome::Rejected { message, .. } => (None, Some(message.clone())),
    };
    let transfer = entry.transfer_id.map(|id| id.to_string());
    let other_side = entry.counterparty.map(|party| party.to_string());
    let ids = [Some(entry.id.to_string()), transfer, other_side, signature];
    finds(wanted, [memo, message].into_iter().flatten(), ids.into_iter().flatten())
}

/// All entries that the filters let through.
pub async fn file(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    uri: Uri,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let pages = history::all(&services.inside, &signed.principal, id, filter(&asked)?).await?;
    let format = FileFormat::of_path(uri.path());
    Ok(entries_as_file((format, signed.operator.id), id, pages).await?)
}

/// The histories of all accounts that the filters let through.
pub async fn file_of_all(
    State(services): State<Arc<Services>>,
    signed: Signed,
    uri: Uri,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let pages = history::all_of_operator(&services.inside, &signed.operator, filter(&asked)?)?;
    let format = FileFormat::of_path(uri.path());
    Ok(all_entries_as_file((format, signed.operator.id), pages).await?)
}
