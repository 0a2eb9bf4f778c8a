//! The audit log as a page and as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use purser_api::web::{FileFormat, actions_as_file};
use purser_model::{ActionFilter, ActionOutcome, ActionWord, Invalid, ListedAction, Page};
use purser_service::{ExplorerUrl, Services, actions};

use super::days::{Day, by_day};
use super::names::{Names, Shown};
use super::page::{Frame, PageError, QueryParams, Section, page};
use super::session::Signed;
use super::text::filters;
use super::which::{Unclear, Which, which};

const LIMIT: u32 = 50;
const PATH: &str = "/dashboard/actions";
/// The filters beside the one by object.
const OTHERS: [&str; 5] = ["action_id", "action", "key_id", "since", "until"];

#[derive(Template)]
#[template(path = "actions.html")]
struct ActionsPage {
    frame: Frame,
    days: Vec<Day<ListedAction>>,
    names: Names,
    /// Where transactions are shown; `None`: the network is not served any more.
    explorer: Option<ExplorerUrl>,
    asked: QueryParams,
    /// The filter by object may mean several accounts, or nothing: nothing is listed then.
    unclear: Option<Unclear>,
    next: Option<String>,
    csv: String,
    xlsx: String,
}

/// Where an object is shown, if it has a page.
fn link(id: &ActionWord) -> Option<String> {
    let id = id.to_string();
    let section = match id.split('_').next().unwrap_or_default() {
        "acct" => "accounts",
        "whk" => "webhooks",
        "txn" => "transfers",
        "bdg" => "budgets",
        _ => return None,
    };
    Some(format!("/dashboard/{section}/{id}"))
}

/// An operation's name, in words.
fn words(name: &ActionWord) -> String {
    name.to_string().replace('_', " ")
}

fn filter(asked: &QueryParams, object_id: Option<ActionWord>) -> Result<ActionFilter, Invalid> {
    Ok(ActionFilter {
        id: asked.read("action_id")?,
        name: asked.read("action")?,
        object_id,
        key_id: asked.read("key_id")?,
        since: asked.moment("since")?,
        until: asked.moment("until")?,
    })
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let (object_id, unclear) = object(&services, &signed, &asked).await?;
    let filter = filter(&asked, object_id.clone())?;
    let request = asked.page(LIMIT);
    let listed = match &unclear {
        Some(_) => Page { items: Vec::new(), next: None },
        None => actions::list(&services.inside, &signed.operator, &filter, request).await?,
    };
    let ids = listed.items.iter().flat_map(|one| [&one.action.object_id, &one.action.made_id]).flatten();
    let mut shown = Shown::default();
    for id in ids.map(ActionWord::to_string) {
        _ = id.parse().map(|id| shown.account(id));
        _ = id.parse().map(|id| shown.key(id));
    }
    let names = shown.named(&services, &signed.operator).await?;
    let of_object = object_id.as_ref().map_or_else(String::new, ActionWord::to_string);
    let file = |ending| asked.with(&format!("{PATH}.{ending}"), &OTHERS, ("object_id", &of_object));
    let shown = ActionsPage {
        frame: signed.frame(Section::Actions),
        next: asked.next(PATH, listed.next.as_ref()),
        csv: file("csv"),
        xlsx: file("xlsx"),
        days: by_day(listed.items, |listed| listed.action.created_at, listed.next.is_some()),
        names,
        explorer: actions::explorer(&services.inside, &signed.operator).ok(),
        asked,
        unclear,
    };
    Ok(page(&shown, None))
}

/// The object that the filter means: an account by its name or address, or anything by its id.
async fn object(
    services: &Services,
    signed: &Signed,
    asked: &QueryParams,
) -> Result<(Option<ActionWord>, Option<Unclear>), PageError> {
    let which = which(services, signed, asked, ("object_id", PATH, &OTHERS)).await?;
    Ok(match which {
        Which::Unclear(unclear) if unclear.choices.is_empty() => match asked.read("object_id") {
            Ok(id) => (id, None),
            Err(_) => (None, Some(unclear)),
        },
        which => {
            let (account, unclear) = which.parts();
            (account.and_then(|id| id.to_string().parse().ok()), unclear)
        }
    })
}

/// All actions that the filters let through.
pub async fn file(
    State(services): State<Arc<Services>>,
    signed: Signed,
    uri: Uri,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let filter = filter(&asked, asked.read("object_id")?)?;
    let pages = actions::all(&services.inside, &signed.operator, filter);
    let format = FileFormat::of_path(uri.path());
    Ok(actions_as_file((format, signed.operator.id), pages).await?)
}
