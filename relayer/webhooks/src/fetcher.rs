//! Asks other people's servers, with the same guard as deliveries.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use tokio::time::{Instant, timeout_at};

use super::client::{beginning, guarded, reason};
use super::resolver::Resolve;
use purser_model::{DestinationRules, Unanswered, WebhookUrl};

/// A request to somebody else's server.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    pub method: Method,
    pub url: &'a WebhookUrl,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<String>,
    /// How much of the answer's body is read.
    pub bytes_max: usize,
}

/// Its answer.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body was longer, or broke off.
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFetched {
    /// Nobody was asked: the operator has as many requests under way as it may have.
    NoRoom,
    Unanswered(Unanswered),
}

/// Sends such requests.
#[async_trait]
pub trait Fetch: Send + Sync + 'static {
    /// Sends the request once, and waits for its answer at most so long.
    async fn fetch(&self, asked: Asked<'_>, patience: Duration) -> Result<Fetched, NotFetched>;
}

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
            // Such servers are many, and a connection that is kept takes a file.
            .pool_max_idle_per_host(0)
            .build()?;
        Ok(Self { http, rules })
    }
}

#[async_trait]
impl Fetch for Fetcher {
    async fn fetch(&self, asked: Asked<'_>, patience: Duration) -> Result<Fetched, NotFetched> {
        let Asked { method, url, headers, body, bytes_max } = asked;
        // The resolver is not asked about hosts that are addresses already.
        if url.check(&self.rules).is_err() {
            return Err(NotFetched::Unanswered(Unanswered::Refused));
        }
        let deadline = Instant::now() + patience;
        let mut request = self.http.request(method, url.as_str());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = match timeout_at(deadline, request.send()).await {
            Err(_) => return Err(NotFetched::Unanswered(Unanswered::TimedOut)),
            Ok(Err(error)) => {
                return Err(reason(&error).map_or(NotFetched::NoRoom, NotFetched::Unanswered));
            }
            Ok(Ok(answer)) => answer,
        };
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let (body, is_cut) = beginning(answer, bytes_max, deadline).await;
        Ok(Fetched { status, headers, body, is_cut })
    }
}
