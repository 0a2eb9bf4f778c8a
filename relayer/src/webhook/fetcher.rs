//! Fetches resources from other people's servers, with the same guard as deliveries.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Method};
use tokio::time::{Instant, timeout_at};

use super::client::{beginning, guarded, reason};
use crate::domain::{
    DestinationRules, PaidResource, PurchaseMethod, RESOURCE_BYTES_MAX, ResourceRequest, Unanswered,
    from_header,
};
use crate::service::{Fetch, Resolve, ServiceError};

const REQUIRED: &str = "payment-required";
const SIGNATURE: &str = "payment-signature";
const RESPONSE: &str = "payment-response";
/// Longest offer and receipt that are read, in bytes of their headers.
const OFFER_BYTES_MAX: usize = 64 * 1024;
const RECEIPT_BYTES_MAX: usize = 8 * 1024;
/// Longest content type that is passed on, in characters.
const CONTENT_TYPE_CHARS_MAX: usize = 256;

/// HTTP, to destinations that the rules allow.
pub struct Fetcher {
    http: Client,
    rules: Arc<DestinationRules>,
}

impl Fetcher {
    /// Errors: the TLS roots cannot be set up.
    pub fn new(resolve: Arc<dyn Resolve>, rules: Arc<DestinationRules>) -> Result<Self, reqwest::Error> {
        let http = guarded(resolve, rules.clone())
            .user_agent(concat!("Purser/", env!("CARGO_PKG_VERSION")))
            // Sellers are many, and a connection that is kept takes a file.
            .pool_max_idle_per_host(0)
            .build()?;
        Ok(Self { http, rules })
    }
}

#[async_trait]
impl Fetch for Fetcher {
    async fn fetch(
        &self,
        asked: &ResourceRequest,
        payment: Option<String>,
        patience: Duration,
    ) -> Result<PaidResource, ServiceError> {
        // The resolver is not asked about hosts that are addresses already.
        if asked.url.check(&self.rules).is_err() {
            return Err(not_fetched(Unanswered::Refused));
        }
        let deadline = Instant::now() + patience;
        let mut request = self.http.request(method(asked.method), asked.url.as_str());
        if let Some(body) = &asked.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(payment) = payment {
            request = request.header(SIGNATURE, payment);
        }
        let answer = match timeout_at(deadline, request.send()).await {
            Err(_) => return Err(not_fetched(Unanswered::TimedOut)),
            Ok(Err(error)) => return Err(reason(&error).map_or(ServiceError::NoRoom, not_fetched)),
            Ok(Ok(answer)) => answer,
        };
        let status = answer.status().as_u16();
        let decoded = |name, bytes_max| {
            let value = answer.headers().get(name).filter(|value| value.len() <= bytes_max)?;
            from_header(value.as_bytes())
        };
        let required = decoded(REQUIRED, OFFER_BYTES_MAX);
        let receipt = decoded(RESPONSE, RECEIPT_BYTES_MAX);
        let receipt = receipt.and_then(|json| serde_json::from_slice(&json).ok());
        let content_type = content_type(answer.headers());
        let (bytes, is_cut) = beginning(answer, RESOURCE_BYTES_MAX, deadline).await;
        Ok(PaidResource { status, content_type, body: bytes.into(), is_cut, required, receipt })
    }
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
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

const fn not_fetched(unanswered: Unanswered) -> ServiceError {
    ServiceError::NotFetched(match unanswered {
        Unanswered::Refused => "is at an address that this service does not connect to.",
        Unanswered::NotResolved => "has a host name that does not resolve.",
        Unanswered::NotConnected => "takes no connection.",
        Unanswered::TimedOut => "did not answer in time.",
        Unanswered::Broken => "broke off its answer.",
    })
}
