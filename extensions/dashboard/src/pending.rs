//! Every looser policy that waits, of all accounts and whoever sealed it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_model::{Asking, PendingPolicy, Timestamp};
use purser_service::{Services, policies};

use super::names::{Names, Shown};
use super::page::{Frame, PageError, QueryParams, Section, page};
use super::policy::{FieldChange, compared};
use super::session::Signed;
use super::text::filters;

/// How many are listed, and of how many the chain is asked what they change.
const LISTED: u32 = 200;
const COMPARED: usize = 20;

#[derive(Template)]
#[template(path = "pending.html")]
struct PendingPage {
    frame: Frame,
    waiting: Vec<Waiting>,
    names: Names,
    /// There are more than are listed.
    is_partial: bool,
}

struct Waiting {
    pending: PendingPolicy,
    /// Who asked for it here.
    asking: Option<Asking>,
    effective_at: Timestamp,
    /// What would change; `None`: the chain was not asked, or shows it no more.
    changes: Option<Vec<FieldChange>>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let listed = policies::list_waiting(&services.inside, operator, LISTED).await?;
    let mut shown = Shown::default();
    let mut waiting = Vec::new();
    for (index, (pending, asking)) in listed.into_iter().enumerate() {
        let id = pending.account_id;
        shown.account(id);
        if let Some(asking) = &asking {
            shown.key(asking.key_id);
        }
        let current =
            if index < COMPARED { policies::get(&services.inside, operator, id).await.ok() } else { None };
        let changes = current.and_then(|current| {
            let rows = compared(&current.policy.0, &current.pending?.policy.0);
            Some(rows.into_iter().filter(FieldChange::is_changed).collect())
        });
        waiting.push(Waiting { effective_at: pending.effective_at(), pending, asking, changes });
    }
    let notice = asked.given("dropped").map(|_| "The pending policy was dropped.".to_owned());
    let shown = PendingPage {
        frame: signed.frame(Section::Approvals).with_notice(notice),
        is_partial: waiting.len() >= LISTED as usize,
        names: shown.named(&services, operator).await?,
        waiting,
    };
    Ok(page(&shown, None))
}
