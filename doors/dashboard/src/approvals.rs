//! Transfers about which a person was asked: those that wait, and what became of the others.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_relayer::domain::{
    ApprovalFilter, ApprovalState, Cursor, PageLimit, PageRequest, TransferId, TransferState,
};
use purser_relayer::service::{ApprovalView, Services, TransferView};

use super::names::Names;
use super::page::{Frame, PageError, PageId, QueryParams, Section, page, see};
use super::session::Signed;
use super::text::filters;
use super::transfers::named;

const LIMIT: u32 = 50;

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    approvals: Vec<TransferView>,
    names: Names,
    asked: QueryParams,
    next: Option<String>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let filter = ApprovalFilter { account: asked.read("account_id")?, state: asked.read("state")? };
    let bound = filter.text(signed.operator.id);
    let after = asked.given("cursor").map(|text| Cursor::parse(text, &bound)).transpose()?;
    let request = PageRequest { limit: PageLimit::parse(None, LIMIT, LIMIT)?, after };
    let approvals = services.approvals.list(&signed.principal, filter, request).await?;
    let frame = Frame::new(&signed.operator, Section::Approvals);
    let next = asked.next("/dashboard/approvals", approvals.next.as_ref());
    let names = named(&approvals.items).named(&services, &signed.operator).await?;
    Ok(page(&ApprovalsPage { frame, approvals: approvals.items, names, asked, next }, None))
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage {
    frame: Frame,
    approval: ApprovalView,
    names: Names,
}

pub async fn one(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<TransferId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notice = asked.given("rejected").map(|_| "The transfer is rejected.".to_owned());
    let approval = services.approvals.get(&signed.principal, id).await?;
    let names = named(std::slice::from_ref(&approval.transfer)).named(&services, &signed.operator).await?;
    let frame = Frame::new(&signed.operator, Section::Approvals).with_notice(notice);
    Ok(page(&ApprovalPage { frame, approval, names }, None))
}

pub async fn reject(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<TransferId>,
) -> Result<Response, PageError> {
    services.approvals.reject(&signed.principal, id).await?;
    Ok(see(&format!("/dashboard/approvals/{id}?rejected=1")))
}
