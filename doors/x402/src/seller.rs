//! A seller's server: what it is asked for, with a payment or without, and what it answers.

use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use purser_relayer::domain::Unanswered;
use purser_relayer::service::{Asked, FetchPlace, Fetched, NotFetched};

use crate::error::PurchaseError;
use crate::header::from_header;
use crate::offer::{PaidResource, RESOURCE_BYTES_MAX};
use crate::purchase::{PurchaseMethod, ResourceRequest};

const REQUIRED: &str = "payment-required";
const SIGNATURE: &str = "payment-signature";
const RESPONSE: &str = "payment-response";
/// Longest offer and receipt that are read, in bytes of their headers.
const OFFER_BYTES_MAX: usize = 64 * 1024;
const RECEIPT_BYTES_MAX: usize = 8 * 1024;
/// Longest content type that is passed on, in characters.
const CONTENT_TYPE_CHARS_MAX: usize = 256;

/// Asks for the resource once, with the header `PAYMENT-SIGNATURE` if there is a payment. NotFetched: there was no answer.
/// NoRoom: nobody was asked.
pub(crate) async fn ask(
    place: &FetchPlace,
    asked: &ResourceRequest,
    payment: Option<String>,
    patience: Duration,
) -> Result<PaidResource, PurchaseError> {
    let body = asked.body.clone();
    let content_type = body.is_some().then(|| ("content-type", "application/json".to_owned()));
    let payment = payment.map(|payment| (SIGNATURE, payment));
    let asked = Asked {
        method: method(asked.method),
        url: &asked.url,
        headers: content_type.into_iter().chain(payment).collect(),
        body,
        bytes_max: RESOURCE_BYTES_MAX,
    };
    Ok(resource_of(place.fetch(asked, patience).await?))
}

fn resource_of(answer: Fetched) -> PaidResource {
    let Fetched { status, headers, body, is_cut } = answer;
    let decoded = |name, bytes_max| {
        let value = headers.get(name).filter(|value| value.len() <= bytes_max)?;
        from_header(value.as_bytes())
    };
    let required = decoded(REQUIRED, OFFER_BYTES_MAX);
    let receipt = decoded(RESPONSE, RECEIPT_BYTES_MAX);
    let receipt = receipt.and_then(|json| serde_json::from_slice(&json).ok());
    PaidResource {
        status,
        content_type: content_type(&headers),
        body: body.into(),
        is_cut,
        required,
        receipt,
    }
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.chars().take(CONTENT_TYPE_CHARS_MAX).collect())
}

const fn method(method: PurchaseMethod) -> Method {
    match method {
        PurchaseMethod::Get => Method::GET,
        PurchaseMethod::Post => Method::POST,
        PurchaseMethod::Put => Method::PUT,
        PurchaseMethod::Patch => Method::PATCH,
        PurchaseMethod::Delete => Method::DELETE,
    }
}

impl From<NotFetched> for PurchaseError {
    fn from(error: NotFetched) -> Self {
        let NotFetched::Unanswered(unanswered) = error else { return Self::NoRoom };
        Self::NotFetched(match unanswered {
            Unanswered::Refused => "is at an address that this service does not connect to.",
            Unanswered::NotResolved => "has a host name that does not resolve.",
            Unanswered::NotConnected => "takes no connection.",
            Unanswered::TimedOut => "did not answer in time.",
            Unanswered::Broken => "broke off its answer.",
        })
    }
}
