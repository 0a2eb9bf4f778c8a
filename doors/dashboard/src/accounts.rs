//! The list of accounts, and creating one.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_relayer::domain::{AccountName, AccountStatus, Cursor, PageLimit, PageRequest};
use purser_relayer::service::{AccountView, CreateAccount, Services, accounts_filter};
use purser_relayer::web::{ApiError, Draw};

use super::form::Form;
use super::page::{Complaint, Frame, PageError, QueryParams, Section, page, see};
use super::policy::first_policy;
use super::session::Signed;
use super::text::filters;

const LIMIT: u32 = 50;

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage {
    frame: Frame,
    accounts: Vec<AccountView>,
    status: Option<AccountStatus>,
    next: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
}

impl AccountsPage {
    fn aria_current(&self, status: &str) -> &'static str {
        if self.status.map_or("", AccountStatus::as_str) == status { "true" } else { "false" }
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    answer(&services, &signed, &asked, Form::default(), None).await
}

async fn answer(
    services: &Services,
    signed: &Signed,
    asked: &QueryParams,
    form: Form,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let status = asked.read("status")?;
    let filter = accounts_filter(operator.id, status);
    let after = asked.given("cursor").map(|text| Cursor::parse(text, &filter)).transpose()?;
    let request = PageRequest { limit: PageLimit::parse(None, LIMIT, LIMIT)?, after };
    let accounts = services.accounts.list(operator, status, request).await?;
    let shown = AccountsPage {
        frame: Frame::new(&signed.operator, Section::Accounts),
        next: asked.next("/dashboard/accounts", accounts.next.as_ref()),
        accounts: accounts.items,
        status,
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

pub async fn create(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
    Draw(drawn): Draw,
    form: Form,
) -> Result<Response, PageError> {
    let name = AccountName::parse(form.text("name"));
    let created = match name.and_then(|name| Ok((name, first_policy(&form)?))) {
        Ok((name, policy)) => {
            let new = CreateAccount { name, metadata: None, policy };
            services.accounts.create(signed.operator.clone(), new, drawn).await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match created {
        Ok(view) => Ok(see(&format!("/dashboard/accounts/{}?made=1", view.account.id))),
        Err(error) => answer(&services, &signed, &asked, form, Some(Complaint::of(error)?)).await,
    }
}
