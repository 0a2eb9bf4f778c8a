//! Budgets, as they stand on the chain. They are made with the admin's wallet, and named in the policies of accounts.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_relayer::domain::{Cursor, PageLimit, PageRequest};
use purser_relayer::service::{BudgetView, Services, budgets_filter};

use super::page::{Frame, PageError, QueryParams, Section, page};
use super::session::Signed;
use super::text::filters;

const LIMIT: u32 = 50;

#[derive(Template)]
#[template(path = "budgets.html")]
struct BudgetsPage {
    frame: Frame,
    budgets: Vec<BudgetView>,
    next: Option<String>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let bound = budgets_filter(signed.operator.id);
    let after = asked.given("cursor").map(|text| Cursor::parse(text, &bound)).transpose()?;
    let request = PageRequest { limit: PageLimit::parse(None, LIMIT, LIMIT)?, after };
    let budgets = services.budgets.list(&signed.operator, request).await?;
    let frame = Frame::new(&signed.operator, Section::Accounts);
    let next = asked.next("/dashboard/budgets", budgets.next.as_ref());
    Ok(page(&BudgetsPage { frame, budgets: budgets.items, next }, None))
}
