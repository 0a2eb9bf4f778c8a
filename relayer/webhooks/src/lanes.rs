//! How many attempts may be under way: in all, for one operator, and to one endpoint.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use purser_base::shares::{Holder, Outgoing, Share, Shares};
use purser_model::{Webhook, WebhookId};

/// An endpoint whose last attempt took this long is slow, whatever it answered.
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// Attempts under way to one endpoint, and to one whose last attempt failed.
const HEALTHY_AT_ONCE: usize = 8;
const FAILING_AT_ONCE: usize = 1;

/// The places of this process: one lane for endpoints that answer well and quickly, and one for all others.
#[derive(Clone)]
pub(super) struct Lanes {
    outgoing: Outgoing,
    slow: Arc<Mutex<HashSet<WebhookId>>>,
}

/// What one endpoint may use now.
pub(super) struct Lane {
    shares: Shares,
    holder: Holder,
    pub at_once: usize,
}

impl Lanes {
    pub(super) fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, slow: Arc::default() }
    }

    pub(super) fn of(&self, webhook: &Webhook) -> Lane {
        let is_failing = webhook.health.failures > 0;
        let is_slow = is_failing || self.slow().contains(&webhook.id);
        Lane {
            shares: if is_slow { self.outgoing.slow.clone() } else { self.outgoing.quick.clone() },
            holder: Some(webhook.operator_id),
            at_once: if is_failing { FAILING_AT_ONCE } else { HEALTHY_AT_ONCE },
        }
    }

    /// Notes how long an attempt took.
    pub(super) fn took(&self, id: WebhookId, elapsed: Duration) {
        if elapsed >= SLOW_AFTER {
            self.slow().insert(id);
        } else {
            self.slow().remove(&id);
        }
    }

    fn slow(&self) -> MutexGuard<'_, HashSet<WebhookId>> {
        self.slow.lock()
    }
}

impl Lane {
    /// Takes up to `wanted` places: those that are free now, and if `patient` it waits for the first.
    pub(super) async fn take(&self, wanted: usize, patient: bool) -> Vec<Share> {
        let mut places = Vec::new();
        if patient {
            places.push(self.shares.take(self.holder).await);
        }
        while places.len() < wanted
            && let Some(place) = self.shares.try_take(self.holder)
        {
            places.push(place);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{
        DestinationRules, EndpointHealth, EventType, OperatorId, Subscription, Timestamp, WebhookStatus,
        WebhookUrl,
    };

    const FILES: u64 = 65_536;

    fn webhook(operator: u8, failures: u32) -> Webhook {
        let at = Timestamp::from_unix_seconds(0);
        Webhook {
            id: WebhookId::from_bytes([operator; 16]),
            operator_id: OperatorId::from_bytes([operator; 16]),
            url: WebhookUrl::parse("https://example.com/", &DestinationRules::default()).expect("public"),
            subscription: Subscription::new(vec![EventType::TransferSettled], Vec::new(), None)
                .expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth { failures, failing_since: (failures > 0).then_some(at) },
            previous_secret_until: None,
            watches_since: at,
            created_at: at,
            updated_at: at,
        }
    }

    #[tokio::test]
    async fn receivers_of_two_operators_that_answer_slowly_take_no_place_of_those_that_are_quick() {
        let lanes = Lanes::new(Outgoing::of_files(FILES));
        // Before it is known that they are slow, they share with the others.
        let unknown = [1, 2].map(|operator| lanes.of(&webhook(operator, 0)));
        let first = futures::future::join_all(unknown.iter().map(|lane| lane.take(10_000, true))).await;
        let victim = lanes.of(&webhook(3, 0));
        assert_eq!(victim.take(HEALTHY_AT_ONCE, true).await.len(), HEALTHY_AT_ONCE);
        drop(first);
        for operator in [1, 2] {
            lanes.took(webhook(operator, 0).id, Duration::from_millis(9_500));
        }
        let mut taken = Vec::new();
        for operator in [1, 2] {
            let lane = lanes.of(&webhook(operator, 0));
            assert_eq!(lane.at_once, HEALTHY_AT_ONCE, "slow is not failing");
            taken.extend(lane.take(10_000, true).await);
        }
        assert_eq!(taken.len(), 64 + 32, "of 128 places");
        assert_eq!(victim.take(10_000, true).await.len(), 256, "half of the quick lane, as if it were alone");
        lanes.took(webhook(1, 0).id, Duration::from_millis(20));
        assert_eq!(lanes.of(&webhook(1, 0)).take(8, true).await.len(), 8, "quick again");
    }

    #[tokio::test]
    async fn endpoints_that_fail_share_the_slow_lane_and_have_one_attempt_at_a_time() {
        let lanes = Lanes::new(Outgoing::of_files(FILES));
        let failing = lanes.of(&webhook(1, 3));
        let taken = failing.take(10_000, true).await;
        assert_eq!((taken.len(), failing.at_once), (64, FAILING_AT_ONCE));
        assert!(lanes.of(&webhook(1, 3)).take(1, false).await.is_empty());
        assert_eq!(lanes.of(&webhook(2, 3)).take(1, true).await.len(), 1, "another operator");
        assert_eq!(lanes.of(&webhook(1, 0)).take(8, true).await.len(), 8, "the operator's own healthy ones");
        drop(taken);
        assert_eq!(failing.take(1, false).await.len(), 1);
    }
}
