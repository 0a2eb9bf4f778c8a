//! Every event of a database is on its way to the webhook that wants it, once, whatever died between the two.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::patience::Deadline;
use super::relayer::Relayer;
use crate::operator::Operator;
use crate::receiver::Receiver;

const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(10);
/// The event types that the webhook subscribes to.
const TYPES: [&str; 3] = ["transfer.initiated", "transfer.settled", "transfer.rejected"];

/// A webhook of the operator, and who receives its events.
pub(super) struct Announced {
    receiver: Receiver,
    /// The operator's API key.
    key: String,
    webhook: String,
}

impl Announced {
    pub async fn to_webhook_of(operator: &Operator) -> Announced {
        let receiver = Receiver::start();
        let body = json!({ "url": receiver.url("/events"), "events": TYPES });
        let made = operator.client.post("/v1/webhooks", &body).await.has_status(201);
        let key = operator.client.key().to_owned();
        Announced { receiver, key, webhook: made.text_of("id").to_owned() }
    }

    /// Says how the deliveries of this relayer's database differ from its events, if they still do at the deadline.
    pub async fn is_missing_in(&self, relayer: &Arc<Relayer>, deadline: &Deadline) -> Option<String> {
        loop {
            let found = self.compares(relayer).await;
            if found.is_none() || deadline.has_passed() {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn compares(&self, relayer: &Arc<Relayer>) -> Option<String> {
        let Some(deliveries) = self.lists(relayer, &format!("webhooks/{}/deliveries?", self.webhook)).await
        else {
            return Some("the deliveries cannot be listed".to_owned());
        };
        let mut written = BTreeSet::new();
        for event_type in TYPES {
            let Some(events) = self.lists(relayer, &format!("events?type={event_type}&")).await else {
                return Some("the events cannot be listed".to_owned());
            };
            written.extend(events.iter().map(|event| text(event, "id")));
        }
        let prepared: BTreeSet<String> =
            deliveries.iter().map(|delivery| text(delivery, "event_id")).collect();
        if written != prepared {
            let (missing, foreign) = (written.difference(&prepared), prepared.difference(&written));
            return Some(format!(
                "events without a delivery {:?}, deliveries without an event {:?}",
                missing.collect::<Vec<_>>(),
                foreign.collect::<Vec<_>>()
            ));
        }
        if deliveries.len() != prepared.len() {
            return Some("an event is delivered to one webhook by two deliveries".to_owned());
        }
        // Each that is delivered was received.
        let received: BTreeSet<String> =
            self.receiver.all_received().iter().map(|it| it.event_id()).collect();
        let delivered = deliveries.iter().filter(|delivery| delivery["status"] == "delivered");
        let unheard: Vec<String> = delivered
            .map(|delivery| text(delivery, "event_id"))
            .filter(|id| !received.contains(id))
            .collect();
        (!unheard.is_empty()).then(|| format!("delivered, and never received: {unheard:?}"))
    }

    /// All pages of a list. `None`: the relayer does not answer, or does not know the webhook.
    async fn lists(&self, relayer: &Arc<Relayer>, list: &str) -> Option<Vec<Value>> {
        let http = reqwest::Client::new();
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let url = format!("{}/v1/{list}limit=100{cursor}", relayer.url()?);
            let answer = http.get(url).bearer_auth(&self.key).timeout(PATIENCE).send().await.ok()?;
            let page: Value = answer.error_for_status().ok()?.json().await.ok()?;
            all.extend(page["data"].as_array()?.iter().cloned());
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some(all),
            }
        }
    }
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}
