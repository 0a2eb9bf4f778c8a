//! Requests to servers that callers name, for doors: with the guard of deliveries, and in places that operators share.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::HeaderMap;
use tokio::time::timeout;

use crate::domain::{DestinationRules, Invalid, OperatorId, Unanswered, WebhookUrl};
use crate::lookup::LOOKED_UP_FOR;
use crate::shares::{Share, Shares};

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

/// Asks servers that callers name.
#[derive(Clone)]
pub struct Fetches {
    places: Shares,
    rules: Arc<DestinationRules>,
    fetch: Arc<dyn Fetch>,
}

/// One place of an operator among those that ask such servers, given back on drop.
pub struct FetchPlace {
    _place: Share,
    operator: OperatorId,
    fetch: Arc<dyn Fetch>,
}

impl Fetches {
    pub(super) fn new(places: Shares, rules: Arc<DestinationRules>, fetch: Arc<dyn Fetch>) -> Self {
        Self { places, rules, fetch }
    }

    /// Parses the URL of a server. Invalid: it may not be reached.
    pub fn parse_url(&self, text: &str) -> Result<WebhookUrl, Invalid> {
        WebhookUrl::parse(text, &self.rules)
    }

    /// Waits for a place.
    pub async fn take_place(
        &self,
        operator: OperatorId,
        patience: Duration,
    ) -> Result<FetchPlace, NotFetched> {
        let place = timeout(patience, self.places.take(Some(operator))).await;
        let place = place.map_err(|_| NotFetched::NoRoom)?;
        Ok(FetchPlace { _place: place, operator, fetch: self.fetch.clone() })
    }
}

impl FetchPlace {
    /// See [`Fetch::fetch`].
    pub async fn fetch(&self, asked: Asked<'_>, patience: Duration) -> Result<Fetched, NotFetched> {
        LOOKED_UP_FOR.scope(self.operator, self.fetch.fetch(asked, patience)).await
    }
}
