use std::time::Duration;

use purser_core::words;
use serde::Deserialize;
use utoipa::ToSchema;

use super::amount::given_amount;
use super::wire::schema::{UsdcNumber, WebhookUrlText, changed, forbid_null, written};
use super::{
    AccountId, DeliveryState, Event, EventType, Invalid, OperatorId, Subject, Timestamp, UsdcAmount,
    WebhookId, WebhookUrl,
};

/// Most webhooks of one operator.
pub const WEBHOOKS_MAX: u32 = 100;
/// Most accounts that one webhook may name.
pub const WEBHOOK_ACCOUNTS_MAX: usize = 1_000;
/// How long a replaced secret still signs.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// A webhook is disabled after this long without a success and this many failed attempts in a row.
pub const FAILING_MAX: Duration = Duration::from_secs(5 * 24 * 60 * 60);
pub const FAILURES_MAX: u32 = 10;

/// A registered endpoint, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub operator_id: OperatorId,
    pub url: WebhookUrl,
    pub subscription: Subscription,
    pub status: WebhookStatus,
    pub health: EndpointHealth,
    /// Until when the previous secret also signs.
    pub previous_secret_until: Option<Timestamp>,
    /// Since when it watches the balances that it does: earlier readings are nothing to it.
    pub watches_since: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Whether events are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookStatus {
    Enabled,
    /// Events that happen meanwhile are kept as undelivered, for a replay.
    Disabled {
        reason: DisabledReason,
        since: Timestamp,
    },
}

words! {
    /// A webhook's status without its facts.
    pub enum Delivering = "WebhookStatus": "Whether events are delivered." {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}

impl WebhookStatus {
    /// Without its facts.
    pub const fn delivering(&self) -> Delivering {
        match self {
            Self::Enabled => Delivering::Enabled,
            Self::Disabled { .. } => Delivering::Disabled,
        }
    }

    /// `enabled` or `disabled`.
    pub const fn as_str(&self) -> &'static str {
        self.delivering().as_str()
    }
}

/// What to change of a webhook. What is left out stays as it is.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhook {
    #[schema(value_type = Option<WebhookUrlText>)]
    pub url: Option<String>,
    /// The event types to send.
    #[schema(min_items = 1)]
    pub events: Option<Vec<EventType>>,
    /// The accounts whose events to send; empty for all of the operator.
    #[schema(max_items = 1000)]
    pub account_ids: Option<Vec<AccountId>>,
    /// Below which balance `balance.low_threshold` fires; it is needed for that, and more than 0. `null` for none.
    #[serde(rename = "low_balance_threshold_usdc", default, deserialize_with = "given_amount")]
    #[schema(value_type = Option<UsdcNumber>)]
    pub threshold: Option<Option<UsdcAmount>>,
    pub status: Option<Delivering>,
}

/// A new webhook: what to change of one that has nothing yet.
pub enum CreateWebhook {}

written! {
    CreateWebhook = "CreateWebhook": changed::<UpdateWebhook>(|body| {
        body.description = Some("A new webhook. It is enabled.".to_owned());
        body.properties.remove("status");
        body.required = ["url", "events"].map(str::to_owned).to_vec();
        for name in &body.required {
            body.properties.entry(name.clone()).and_modify(forbid_null);
        }
    }), like UpdateWebhook;
}

words! {
    /// Who disabled a webhook.
    pub enum DisabledReason = "DisabledReason":
        "Who disabled a webhook: the operator, or the service after days of failures only." {
        /// The operator.
        Requested = "requested",
        /// The service, after days of nothing but failures.
        Failing = "failing",
    }
}

/// An endpoint's health according to its latest attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndpointHealth {
    /// Failed attempts since the last success.
    pub failures: u32,
    /// When the first of them failed.
    pub failing_since: Option<Timestamp>,
}

impl EndpointHealth {
    /// Why a webhook with this health must be disabled now, if it must: it is enabled, and has failed for very long without a
    /// success.
    pub fn disables(&self, is_enabled: bool, now: Timestamp) -> Option<DisabledReason> {
        let is_hopeless = self.failures >= FAILURES_MAX
            && self.failing_since.is_some_and(|since| since.after(FAILING_MAX) <= now);
        (is_enabled && is_hopeless).then_some(DisabledReason::Failing)
    }
}

/// Which events a webhook receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    events: Vec<EventType>,
    accounts: Vec<AccountId>,
    threshold: Option<UsdcAmount>,
}

impl Subscription {
    /// An empty `accounts` means all. Invalid: no events, an event that cannot be subscribed to, more than 1,000
    /// accounts, a threshold of zero, or `balance.low_threshold` without one.
    pub fn new(
        mut events: Vec<EventType>,
        mut accounts: Vec<AccountId>,
        threshold: Option<UsdcAmount>,
    ) -> Result<Self, Invalid> {
        if events.is_empty() {
            return Err(Invalid::new("events", "must name at least one event type"));
        }
        if let Some(at) = events.iter().position(|event| !EventType::SUBSCRIBABLE.contains(event)) {
            return Err(Invalid::new(format!("events[{at}]"), "cannot be subscribed to"));
        }
        if accounts.len() > WEBHOOK_ACCOUNTS_MAX {
            let message = format!("must name at most {WEBHOOK_ACCOUNTS_MAX} accounts");
            return Err(Invalid::new("account_ids", message));
        }
        if threshold == Some(UsdcAmount::ZERO) {
            return Err(Invalid::new("low_balance_threshold_usdc", "must be more than 0"));
        }
        events.sort_unstable();
        events.dedup();
        accounts.sort_unstable();
        accounts.dedup();
        if events.contains(&EventType::BalanceLowThreshold) && threshold.is_none() {
            let message = "is required for `balance.low_threshold`";
            return Err(Invalid::new("low_balance_threshold_usdc", message));
        }
        Ok(Self { events, accounts, threshold })
    }

    /// The types, each once.
    pub fn events(&self) -> &[EventType] {
        &self.events
    }

    /// The accounts observed, each once; empty for all.
    pub fn accounts(&self) -> &[AccountId] {
        &self.accounts
    }

    /// The balance below which `balance.low_threshold` fires.
    pub fn threshold(&self) -> Option<UsdcAmount> {
        self.threshold
    }

    /// The threshold that this subscription watches on `account`, if any.
    pub fn watches(&self, account: AccountId) -> Option<UsdcAmount> {
        let subscribed = self.events.contains(&EventType::BalanceLowThreshold);
        self.threshold.filter(|_| subscribed && self.covers(account))
    }

    fn covers(&self, account: AccountId) -> bool {
        self.accounts.is_empty() || self.accounts.contains(&account)
    }

    fn wants(&self, event: &Event) -> bool {
        let covered = match event.subject {
            Subject::Transfer { account_id, .. } | Subject::Account { account_id } => self.covers(account_id),
            Subject::Balance { account_id, threshold } => {
                self.covers(account_id) && self.threshold == Some(threshold)
            }
            Subject::Operator => self.accounts.is_empty(),
            Subject::Webhook(_) => false,
        };
        covered && self.events.contains(&event.event_type)
    }
}

impl Webhook {
    /// The first state of this event's delivery to this webhook; `None` when the event does not concern it.
    pub fn delivery_of(&self, event: &Event, now: Timestamp) -> Option<DeliveryState> {
        let concerned = match event.subject {
            Subject::Webhook(id) => id == self.id,
            Subject::Transfer { .. }
            | Subject::Balance { .. }
            | Subject::Account { .. }
            | Subject::Operator => self.subscription.wants(event),
        };
        // One announcement may contain events of several operators.
        (concerned && self.operator_id == event.operator_id).then(|| match self.status {
            WebhookStatus::Enabled => DeliveryState::due(now),
            WebhookStatus::Disabled { .. } => DeliveryState::Undelivered { since: now },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: EventType = EventType::TransferSettled;
    const LOW: EventType = EventType::BalanceLowThreshold;

    fn usdc(whole: u64) -> UsdcAmount {
        UsdcAmount::from_micros(whole * 1_000_000)
    }

    #[test]
    fn a_subscription_is_of_known_form() {
        let refused = |events: &[EventType], threshold| {
            Subscription::new(events.to_vec(), Vec::new(), threshold).expect_err("refused").param().to_owned()
        };
        assert_eq!(refused(&[], None), "events");
        assert_eq!(refused(&[SETTLED, EventType::WebhookTest], None), "events[1]");
        assert_eq!(refused(&[LOW], None), "low_balance_threshold_usdc");
        assert_eq!(refused(&[SETTLED], Some(UsdcAmount::ZERO)), "low_balance_threshold_usdc");
        let twice = Subscription::new(vec![SETTLED, SETTLED], Vec::new(), None).expect("valid");
        assert_eq!(twice.events(), [SETTLED]);
    }

    #[test]
    fn a_threshold_is_watched_on_the_accounts_named() {
        let (one, other) = (AccountId::from_bytes([1; 16]), AccountId::from_bytes([2; 16]));
        let named = Subscription::new(vec![LOW], vec![one], Some(usdc(5))).expect("valid");
        assert_eq!((named.watches(one), named.watches(other)), (Some(usdc(5)), None));
        let all = Subscription::new(vec![LOW], Vec::new(), Some(usdc(5))).expect("valid");
        assert_eq!(all.watches(other), Some(usdc(5)));
        let silent = Subscription::new(vec![SETTLED], Vec::new(), Some(usdc(5))).expect("valid");
        assert_eq!(silent.watches(one), None);
    }

    #[test]
    fn only_an_enabled_webhook_that_failed_often_and_for_days_is_disabled() {
        let start = Timestamp::from_unix_seconds(1_800_000_000);
        let days = |days: u64| start.after(Duration::from_secs(days * 24 * 60 * 60));
        let failed = |failures| EndpointHealth { failures, failing_since: Some(start) };
        assert_eq!(failed(FAILURES_MAX).disables(true, days(4)), None);
        assert_eq!(failed(FAILURES_MAX).disables(true, days(5)), Some(DisabledReason::Failing));
        assert_eq!(failed(FAILURES_MAX).disables(false, days(5)), None);
        assert_eq!(failed(FAILURES_MAX - 1).disables(true, days(9)), None);
        assert_eq!(EndpointHealth::default().disables(true, days(9)), None);
    }
}
