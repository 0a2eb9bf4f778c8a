//! A seller's server: what it is asked for, with a payment or without, and what it answers.

use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use purser_model::Unanswered;
use purser_service::{Asked, FetchPlace, Fetched, NotFetched};
use serde_json::Value;

use crate::error::PurchaseError;
use crate::header::from_header;
use crate::offer::{PaidResource, RESOURCE_BYTES_MAX};
use crate::purchase::{PurchaseMethod, ResourceRequest};

/// The status that asks for a payment.
pub(crate) const PAYMENT_REQUIRED: u16 = 402;
const REQUIRED: &str = "payment-required";
const SIGNATURE: &str = "payment-signature";
const RESPONSE: &str = "payment-response";
/// Longest offer and receipt that are read, in bytes of their headers.
const OFFER_BYTES_MAX: usize = 64 * 1024;
const RECEIPT_BYTES_MAX: usize = 8 * 1024;
/// Longest place of a redirect that is passed on, in bytes.
const LOCATION_BYTES_MAX: usize = 2_048;
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
    // Some sellers send their offer in the body alone.
    let in_body = || (status == PAYMENT_REQUIRED && !is_cut && is_offer(&body)).then(|| body.clone());
    let required = decoded(REQUIRED, OFFER_BYTES_MAX).or_else(in_body);
    let receipt = decoded(RESPONSE, RECEIPT_BYTES_MAX);
    let receipt = receipt.and_then(|json| serde_json::from_slice(&json).ok());
    PaidResource {
        status,
        content_type: content_type(&headers),
        location: location(&headers),
        body: body.into(),
        is_cut,
        required,
        receipt,
    }
}

/// Whether this is a JSON object that says so of itself.
fn is_offer(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|json| json.get("x402Version").is_some())
}

fn location(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::LOCATION)?.to_str().ok()?;
    (text.len() <= LOCATION_BYTES_MAX).then(|| text.to_owned())
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

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::offer::ResourceBody;

    fn answered(status: u16, headers: &[(&'static str, &str)], body: &str) -> PaidResource {
        let header = |(name, value): &(&'static str, &str)| {
            (header::HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
        };
        let headers = headers.iter().map(header).collect();
        resource_of(Fetched { status, headers, body: body.into(), is_cut: false })
    }

    #[test]
    fn offer_is_taken_from_the_header_or_else_from_the_body_of_a_402() {
        let (of_header, of_body) =
            (r#"{"x402Version":2,"accepts":[1]}"#, r#"{"x402Version":2,"accepts":[2]}"#);
        let encoded = STANDARD.encode(of_header);
        for header in [encoded.as_str(), of_header, encoded.trim_end_matches('=')] {
            let both = answered(402, &[(REQUIRED, header)], of_body);
            assert_eq!(both.required.as_deref(), Some(of_header.as_bytes()), "{header}");
        }
        for headers in [&[][..], &[(REQUIRED, "?")]] {
            let body_alone = answered(402, headers, of_body);
            assert_eq!(body_alone.required.as_deref(), Some(of_body.as_bytes()));
            assert_eq!(body_alone.body, ResourceBody::Text(of_body.to_owned()), "it is answered as well");
        }
        for (status, body) in [(200, of_body), (402, "{}"), (402, "[]"), (402, "pay me")] {
            assert_eq!(answered(status, &[], body).required, None, "{status} {body}");
        }
    }

    #[test]
    fn redirect_says_where_to() {
        let moved = answered(307, &[("location", "https://shop.example/new")], "");
        assert_eq!(moved.location.as_deref(), Some("https://shop.example/new"));
        assert_eq!(answered(200, &[], "").location, None);
        let long = "x".repeat(LOCATION_BYTES_MAX + 1);
        assert_eq!(answered(302, &[("location", &long)], "").location, None);
    }
}
