//! Who changed what: the record as a page and as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_relayer::domain::{
    ActionFilter, ActionOutcome, ActionWord, Cursor, Invalid, ListedAction, PageLimit, PageRequest,
};
use purser_relayer::service::Services;
use purser_relayer::web::actions_as_csv;

use super::names::{Names, Shown};
use super::page::{Frame, PageError, QueryParams, Section, page};
use super::session::Signed;
use super::text::filters;

const LIMIT: u32 = 50;
const PATH: &str = "/dashboard/actions";

#[derive(Template)]
#[template(path = "actions.html")]
struct ActionsPage {
    frame: Frame,
    actions: Vec<ListedAction>,
    names: Names,
    asked: QueryParams,
    next: Option<String>,
    csv: String,
}

/// Where an object is shown, if it has a page.
fn link(id: &ActionWord) -> Option<String> {
    let id = id.to_string();
    let section = match id.split('_').next().unwrap_or_default() {
        "acct" => "accounts",
        "whk" => "webhooks",
        "txn" => "transfers",
        _ => return None,
    };
    Some(format!("/dashboard/{section}/{id}"))
}

/// An operation's name, in words.
fn words(name: &ActionWord) -> String {
    name.to_string().replace('_', " ")
}

fn filter(asked: &QueryParams) -> Result<ActionFilter, Invalid> {
    Ok(ActionFilter {
        id: asked.read("action_id")?,
        name: asked.read("action")?,
        object_id: asked.read("object_id")?,
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
    let filter = filter(&asked)?;
    let bound = filter.text(signed.operator.id);
    let after = asked.given("cursor").map(|text| Cursor::parse(text, &bound)).transpose()?;
    let request = PageRequest { limit: PageLimit::parse(None, LIMIT, LIMIT)?, after };
    let listed = services.actions.list(&signed.operator, &filter, request).await?;
    let ids = listed.items.iter().flat_map(|one| [&one.action.object_id, &one.action.made_id]).flatten();
    let mut shown = Shown::default();
    for id in ids.map(ActionWord::to_string) {
        _ = id.parse().map(|id| shown.account(id));
        _ = id.parse().map(|id| shown.key(id));
    }
    let names = shown.named(&services, &signed.operator).await?;
    let shown = ActionsPage {
        frame: Frame::new(&signed.operator, Section::Actions),
        next: asked.next(PATH, listed.next.as_ref()),
        csv: asked
            .same(&format!("{PATH}.csv"), &["action_id", "action", "object_id", "key_id", "since", "until"]),
        actions: listed.items,
        names,
        asked,
    };
    Ok(page(&shown, None))
}

/// All actions that the filters let through.
pub async fn file(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    Ok(actions_as_csv(services.actions.all(&signed.operator, filter(&asked)?)))
}
