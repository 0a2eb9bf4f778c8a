//! Transfers about which a person was asked: those that wait, and what became of the others.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::OnRecord;
use purser_approvals::{ApprovalView, Approvals};
use purser_model::{ApprovalEnd, ApprovalFilter, ApprovalState, Page, TransferId, TransferState};
use purser_service::{Services, TransferView};

use super::names::Names;
use super::page::{Frame, PageError, PageId, QueryParams, Section, page, see};
use super::session::Signed;
use super::text::filters;
use super::transfers::named;
use super::which::{Unclear, which};

const LIMIT: u32 = 50;
const PATH: &str = "/dashboard/approvals";
/// Every state, in the address of the list.
const ANY: &str = "any";

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    approvals: Vec<TransferView>,
    names: Names,
    asked: QueryParams,
    /// The list as it opens: what waits, and nothing else.
    is_waiting: bool,
    /// The filter by account may mean several, or none: nothing is listed then.
    unclear: Option<Unclear>,
    next: Option<String>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    State(approvals): State<Approvals>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let which = which(&services, &signed, &asked, ("account_id", PATH, &["state"])).await?;
    let (account, unclear) = which.parts();
    let state = match asked.given("state") {
        None => Some(ApprovalState::Pending),
        Some(ANY) => None,
        Some(_) => asked.read("state")?,
    };
    let filter = ApprovalFilter { account, state };
    let request = asked.page(LIMIT);
    let listed = match &unclear {
        Some(_) => Page { items: Vec::new(), next: None },
        None => approvals.list(&signed.principal, filter, request).await?,
    };
    let frame = signed.frame(Section::Approvals);
    let next = asked.next(PATH, listed.next.as_ref());
    let names = named(&listed.items).named(&services, &signed.operator).await?;
    let is_waiting = state == Some(ApprovalState::Pending);
    let shown = ApprovalsPage { frame, approvals: listed.items, names, asked, is_waiting, unclear, next };
    Ok(page(&shown, None))
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage {
    frame: Frame,
    approval: ApprovalView,
    names: Names,
}

impl ApprovalPage {
    fn is_for_approvers(&self) -> bool {
        let state = &self.approval.transfer.transfer.state;
        matches!(state, TransferState::PendingApproval(wanted) if wanted.rejection.is_for_approvers())
    }
}

pub async fn one(
    State(services): State<Arc<Services>>,
    State(approvals): State<Approvals>,
    signed: Signed,
    PageId(id): PageId<TransferId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notice = asked.given("rejected").map(|_| "The payment was rejected.".to_owned());
    let approval = approvals.get(&signed.principal, id).await?;
    let names = named(std::slice::from_ref(&approval.transfer)).named(&services, &signed.operator).await?;
    let frame = signed.frame(Section::Approvals).with_notice(notice);
    Ok(page(&ApprovalPage { frame, approval, names }, None))
}

pub async fn reject(
    State(approvals): State<Approvals>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<TransferId>,
) -> Result<Response, PageError> {
    approvals.end(&signed.principal, id, ApprovalEnd::Rejected, &scope).await?;
    Ok(see(&format!("/dashboard/approvals/{id}?rejected=1")))
}
