//! Requests to servers that callers name, for extensions: with the guard of deliveries, and in places that operators share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use purser_base::lookup::LOOKED_UP_FOR;
use purser_base::shares::{Share, Shares};
use purser_model::{DestinationRules, Invalid, OperatorId, WebhookUrl};
use purser_webhooks::{Asked, Fetch, Fetched, NotFetched};

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
