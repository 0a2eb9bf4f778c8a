//! How many attempts may be under way: in all, for one operator, and to one endpoint.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::{EndpointHealth, OperatorId, Webhook};

/// Attempts under way to all endpoints whose last attempt succeeded.
const HEALTHY_PLACES: usize = 512;
/// Attempts under way to all others: however many hang, the healthy ones have places of their own.
const FAILING_PLACES: usize = 128;
/// One operator gets at most one in this many places: slow endpoints are its own trouble.
const OPERATOR_SHARE: usize = 2;
/// Attempts under way to one endpoint.
const HEALTHY_AT_ONCE: usize = 8;
const FAILING_AT_ONCE: usize = 1;

/// The places of this process.
#[derive(Clone, Default)]
pub(super) struct Lanes {
    everybody: Places,
    operators: Arc<Mutex<HashMap<OperatorId, Places>>>,
}

#[derive(Clone)]
struct Places {
    healthy: Arc<Semaphore>,
    failing: Arc<Semaphore>,
}

/// What one endpoint may use now.
pub(super) struct Lane {
    operator: Arc<Semaphore>,
    everybody: Arc<Semaphore>,
    pub at_once: usize,
}

/// Given back on drop.
pub(super) struct LanePermit {
    _operator: OwnedSemaphorePermit,
    _everybody: OwnedSemaphorePermit,
}

impl Default for Places {
    fn default() -> Self {
        Self::one_of(1)
    }
}

impl Places {
    fn one_of(share: usize) -> Self {
        Self {
            healthy: Arc::new(Semaphore::new(HEALTHY_PLACES / share)),
            failing: Arc::new(Semaphore::new(FAILING_PLACES / share)),
        }
    }

    fn of(&self, health: &EndpointHealth) -> Arc<Semaphore> {
        if health.failures == 0 { self.healthy.clone() } else { self.failing.clone() }
    }
}

impl Lanes {
    pub(super) fn of(&self, webhook: &Webhook) -> Lane {
        let mut operators = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        let own = operators.entry(webhook.operator_id).or_insert_with(|| Places::one_of(OPERATOR_SHARE));
        let is_healthy = webhook.health.failures == 0;
        Lane {
            operator: own.of(&webhook.health),
            everybody: self.everybody.of(&webhook.health),
            at_once: if is_healthy { HEALTHY_AT_ONCE } else { FAILING_AT_ONCE },
        }
    }
}

impl Lane {
    /// Takes up to `wanted` places: those that are free now, and if `patient` it waits for the first.
    pub(super) async fn take(&self, wanted: usize, patient: bool) -> Vec<LanePermit> {
        let mut places = Vec::new();
        if patient
            && let Ok(operator) = self.operator.clone().acquire_owned().await
            && let Ok(everybody) = self.everybody.clone().acquire_owned().await
        {
            places.push(LanePermit { _operator: operator, _everybody: everybody });
        }
        while places.len() < wanted
            && let Ok(operator) = self.operator.clone().try_acquire_owned()
            && let Ok(everybody) = self.everybody.clone().try_acquire_owned()
        {
            places.push(LanePermit { _operator: operator, _everybody: everybody });
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        DestinationRules, EventType, Subscription, Timestamp, WebhookId, WebhookStatus, WebhookUrl,
    };

    fn webhook(operator: u8, failures: u32) -> Webhook {
        let at = Timestamp::from_unix_seconds(0);
        Webhook {
            id: WebhookId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([operator; 16]),
            url: WebhookUrl::parse("https://example.com/", &DestinationRules::default()).expect("public"),
            subscription: Subscription::new(vec![EventType::TransferSettled], Vec::new(), None)
                .expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth { failures, failing_since: (failures > 0).then_some(at) },
            previous_secret_until: None,
            created_at: at,
            updated_at: at,
        }
    }

    #[tokio::test]
    async fn all_operators_together_have_640_attempts_under_way() {
        let lanes = Lanes::default();
        let mut taken = Vec::new();
        for operator in 1..=4 {
            for failures in [0, 3] {
                taken.extend(lanes.of(&webhook(operator, failures)).take(10_000, false).await);
            }
        }
        assert_eq!(taken.len(), 640, "as docs/operating.md says");
    }

    #[tokio::test]
    async fn no_operator_can_take_the_places_of_the_others() {
        for (failures, share, at_once) in
            [(0, HEALTHY_PLACES / 2, HEALTHY_AT_ONCE), (3, FAILING_PLACES / 2, FAILING_AT_ONCE)]
        {
            let lanes = Lanes::default();
            let greedy = lanes.of(&webhook(1, failures));
            let taken = greedy.take(10_000, true).await;
            assert_eq!((taken.len(), greedy.at_once), (share, at_once));
            assert!(lanes.of(&webhook(1, failures)).take(1, false).await.is_empty());
            let other = lanes.of(&webhook(2, failures));
            assert_eq!(other.take(at_once, true).await.len(), at_once);
            // Failing and healthy endpoints have separate places.
            assert_eq!(lanes.of(&webhook(1, 3 - failures)).take(1, true).await.len(), 1);
            drop(taken);
            assert_eq!(greedy.take(1, false).await.len(), 1);
        }
    }
}
