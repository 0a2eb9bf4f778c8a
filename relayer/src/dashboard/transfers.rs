//! Transfers in every state, and a preview of one.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::form::Form;
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, page};
use super::session::Signed;
use super::text::filters;
use crate::domain::{
    AccountId, Checks, Cursor, IdempotencyKey, Invalid, PageLimit, PageRequest, RuleCheck, TransferFilter,
    TransferId, TransferState, TransferStatus,
};
use crate::http::error::ApiError;
use crate::http::v1::transfers::CreateTransferBody;
use crate::service::{Preview, Services, TransferView};

const LIMIT: u32 = 50;

#[derive(Template)]
#[template(path = "dashboard/transfers.html")]
struct TransfersPage {
    frame: Frame,
    transfers: Vec<TransferView>,
    asked: QueryParams,
    next: Option<String>,
}

fn filter(asked: &QueryParams) -> Result<TransferFilter, Invalid> {
    let account = asked.given("account_id").map(str::parse::<AccountId>).transpose();
    let key = asked.given("idempotency_key").map(IdempotencyKey::parse).transpose()?;
    Ok(TransferFilter {
        account: account.map_err(|error| Invalid::new("account_id", error.to_string()))?,
        status: asked.given("status").map(str::parse::<TransferStatus>).transpose()?,
        idempotency_key: key,
        ..TransferFilter::default()
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
    let transfers = services.transfers.list(&signed.principal, filter, request).await?;
    let frame = Frame::new(&signed.operator, Section::Transfers);
    let next = asked.next("/dashboard/transfers", transfers.next.as_ref());
    Ok(page(&TransfersPage { frame, transfers: transfers.items, asked, next }, None))
}

#[derive(Template)]
#[template(path = "dashboard/transfer.html")]
struct TransferPage {
    frame: Frame,
    view: TransferView,
}

impl TransferPage {
    fn checks(&self) -> &[RuleCheck] {
        match &self.view.transfer.state {
            TransferState::Rejected(rejection) => &rejection.checks.0,
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Failed(_) => &[],
        }
    }
}

pub async fn one(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<TransferId>,
) -> Result<Response, PageError> {
    let view = services.transfers.get(&signed.principal, id).await?;
    Ok(page(&TransferPage { frame: Frame::new(&signed.operator, Section::Transfers), view }, None))
}

#[derive(Template)]
#[template(path = "dashboard/preview.html")]
struct PreviewPage {
    frame: Frame,
    form: Form,
    verdict: Option<PreviewVerdict>,
    complaint: Option<Complaint>,
}

/// The result of a preview.
struct PreviewVerdict {
    /// Why it would be refused; `None`: it would be paid.
    refused: Option<String>,
    checks: Checks,
}

impl From<Preview> for PreviewVerdict {
    fn from(preview: Preview) -> Self {
        match preview {
            Preview::Allowed(checks) => Self { refused: None, checks },
            Preview::Rejected(rejection) => {
                Self { refused: Some(rejection.message), checks: rejection.checks }
            }
            Preview::Failing(failure, checks) => Self { refused: Some(failure.message), checks },
        }
    }
}

pub async fn ask(signed: Signed, asked: QueryParams) -> Response {
    let form = Form::of(vec![("from", asked.given("from").unwrap_or_default().to_owned())]);
    let frame = Frame::new(&signed.operator, Section::Transfers);
    page(&PreviewPage { frame, form, verdict: None, complaint: None }, None)
}

pub async fn preview(
    State(services): State<Arc<Services>>,
    signed: Signed,
    form: Form,
) -> Result<Response, PageError> {
    let frame = Frame::new(&signed.operator, Section::Transfers);
    let (verdict, complaint) = match judge(&services, &signed, &form).await {
        Ok(preview) => (Some(PreviewVerdict::from(preview)), None),
        Err(error) => (None, Some(complaint_of(error)?)),
    };
    let shown = PreviewPage { frame, form, verdict, complaint };
    Ok(page(&shown, shown.complaint.as_ref()))
}

async fn judge(services: &Services, signed: &Signed, form: &Form) -> Result<Preview, ApiError> {
    let body: CreateTransferBody = form.body(&["from", "to", "amount", "memo"])?;
    Ok(services.transfers.preview(&signed.principal, body.into_preview(None)?).await?)
}

/// An unknown account or recipient is an error in its field, not a missing page.
fn complaint_of(error: ApiError) -> Result<Complaint, PageError> {
    use crate::service::{Resource, ServiceError};
    match error {
        ApiError::Service(ServiceError::NotFound(Resource::Payer)) => {
            Complaint::of(Invalid::new("from", "is not one of your accounts"))
        }
        ApiError::Service(ServiceError::InvalidRecipient(message)) => {
            let complaint = Complaint::of(ServiceError::InvalidRecipient(message))?;
            Ok(Complaint { field: "to".to_owned(), ..complaint })
        }
        error => Complaint::of(error),
    }
}
