//! What a link to an approval shows, to whoever has it: a page, and on a phone the transaction that an approver's wallet signs (a
//! transaction request of Solana Pay). Nothing here approves: the program asks for the approver's own signature, and where the service
//! pays and has signed already, nothing lands without it either.

use std::sync::Arc;

use askama::Template;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_api::web::ApiError;
use purser_approvals::{Approvals, ForApprover, LinkedApproval};
use purser_model::{Address, TransferState};
use purser_service::{ServiceError, Services};
use serde::{Deserialize, Serialize};

use super::Desk;
use super::names::{Names, Shown};
use super::page::{PageError, page};
use super::qr::QrCode;
use super::text::{filters, short_text};

/// A wallet's request names one account.
const BODY_BYTES_MAX: usize = 1_024;

pub(super) fn routes() -> Router<Desk> {
    let for_wallets = Router::new()
        .route("/approve/{token}/pay", get(label).post(transaction).options(preflight))
        .route_layer(middleware::map_response(for_wallets));
    Router::new()
        .route("/approve/{token}", get(show))
        .merge(for_wallets)
        .route_layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

#[derive(Template)]
#[template(path = "approve.html")]
struct ApprovePage {
    linked: LinkedApproval,
    /// The payee's name, if it is the operator's own account.
    names: Names,
    /// Of the link for a wallet, while an approver can approve it.
    code: Option<QrCode>,
    /// What the code says.
    link: String,
}

impl ApprovePage {
    fn verb(&self) -> &'static str {
        match self.linked.view.transfer.state {
            TransferState::PendingApproval(_) => "wants to pay",
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. } => "is paying",
            TransferState::Settled(_) => "paid",
            TransferState::Failed(_) | TransferState::Rejected(_) => "wanted to pay",
        }
    }

    /// The payee, to be recognized. The whole address is what one compares.
    fn short_payee(&self) -> String {
        let to = &self.linked.view.transfer.request.to;
        short_text(&self.linked.asked.map_or_else(|| to.text(), |asked| asked.terms.payee.to_string()))
    }
}

async fn show(
    State(services): State<Arc<Services>>,
    State(approvals): State<Approvals>,
    Path(token): Path<String>,
) -> Result<Response, PageError> {
    let linked = approvals.linked(&token).await?;
    let state = &linked.view.transfer.state;
    let can_be_approved =
        matches!(state, TransferState::PendingApproval(wanted) if wanted.rejection.is_for_approvers());
    let page_url = linked.view.approval_url.as_deref().unwrap_or_default();
    let target: String = url::form_urlencoded::byte_serialize(format!("{page_url}/pay").as_bytes()).collect();
    let link = format!("solana:{target}");
    let code = can_be_approved.then(|| QrCode::of(&link));
    let mut shown = Shown::default();
    shown.recipient(&linked.view.transfer.request.to);
    let names = shown.named(&services, &linked.operator).await?;
    let mut answer = page(&ApprovePage { linked, names, code, link }, None);
    // The link is a secret of sorts: neither searched for, nor told to others.
    let headers = answer.headers_mut();
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// What a wallet shows before it asks for the transaction.
#[derive(Serialize)]
struct WalletLabel {
    label: String,
    icon: String,
}

#[derive(Deserialize)]
struct Asked {
    account: String,
}

#[derive(Serialize)]
struct Transaction {
    transaction: String,
    message: String,
}

/// In the form that wallets show.
#[derive(Serialize)]
struct Refused {
    message: String,
}

fn refused(status: StatusCode, message: impl Into<String>) -> Response {
    (status, Json(Refused { message: message.into() })).into_response()
}

/// Lets wallets in a browser read the answer: they ask from pages of their own.
async fn for_wallets(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Answers what a browser asks before it lets a wallet's page send JSON here.
async fn preflight() -> Response {
    let methods = (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    let headers = (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, accept, cache-control");
    (StatusCode::NO_CONTENT, [methods, headers]).into_response()
}

fn refused_by(error: ServiceError) -> Response {
    let (status, message, _) = ApiError::from(error).in_words();
    refused(status, message)
}

async fn label(State(approvals): State<Approvals>, Path(token): Path<String>) -> Response {
    let linked = match approvals.linked(&token).await {
        Ok(linked) => linked,
        Err(error) => return refused_by(error),
    };
    let page_url = linked.view.approval_url.unwrap_or_default();
    let origin = page_url.split("/approve/").next().unwrap_or_default();
    let label = format!("Purser: {}", linked.operator.name.as_str());
    let icon = format!("{origin}{}", super::assets::icon());
    Json(WalletLabel { label, icon }).into_response()
}

fn to_sign(bytes: &[u8], who_pays: &str) -> Response {
    let message =
        format!("Approve this payment. Compare what your wallet shows with what you were asked. {who_pays}");
    Json(Transaction { transaction: STANDARD.encode(bytes), message }).into_response()
}

async fn transaction(
    State(approvals): State<Approvals>,
    Path(token): Path<String>,
    body: Result<Json<Asked>, axum::extract::rejection::JsonRejection>,
) -> Response {
    let asked = body.ok().and_then(|Json(asked)| asked.account.parse::<Address>().ok());
    let Some(wallet) = asked else {
        return refused(StatusCode::BAD_REQUEST, "`account` must be the address of a wallet.");
    };
    match approvals.transaction(&token, wallet).await {
        Ok(ForApprover::Unsigned(bytes)) => to_sign(&bytes, "This wallet pays the fee and the deposit."),
        Ok(ForApprover::CoSigned(ours)) => to_sign(
            &ours.signed.bytes,
            "The service pays the fee and the deposit, if you sign within a minute.",
        ),
        Ok(ForApprover::Poor { later: true }) => refused(
            StatusCode::CONFLICT,
            "This wallet holds too little SOL, and the service pays for one wallet at a time: another approver has it now. Scan the code again in a minute.",
        ),
        Ok(ForApprover::Poor { later: false }) => refused(
            StatusCode::CONFLICT,
            "This wallet has to pay the fee and a deposit of about 0.0024 SOL, and holds too little SOL. Send it some, then scan the code again.",
        ),
        Ok(ForApprover::Stranger) => {
            refused(StatusCode::FORBIDDEN, "This wallet cannot approve this payment.")
        }
        Ok(ForApprover::Taken) => refused(
            StatusCode::CONFLICT,
            "Somebody has approved this payment already. If it is not paid, the operator has to take that grant back first.",
        ),
        Err(error) => refused_by(error),
    }
}
