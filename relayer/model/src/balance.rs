//! Observed balances of accounts, and when they fall below a threshold.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::wire::schema::Usdc;
use super::{Account, AccountId, Event, Timestamp, UsdcAmount, Webhook};

/// Readings of one balance that overlap begin closer together than this.
const READING_MAX: Duration = Duration::from_secs(60);

/// An account's live balance.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Balance {
    pub account_id: AccountId,
    pub balance_usdc: Usdc,
    /// When it was read from the chain.
    pub last_updated: Timestamp,
}

/// An observed balance.
#[derive(Debug, Clone)]
pub struct BalanceSeen {
    pub balance: UsdcAmount,
    /// When the reading began.
    pub read_at: Timestamp,
    /// The latest payments that the reading shows: how much, and when it was asked for. If nobody has looked since then, the
    /// account held at least that much more before. So even an unnoticed deposit shows by the payment that it made possible.
    pub paid: Vec<(UsdcAmount, Timestamp)>,
}

/// The balance of an account as it was last read for any webhook.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    pub balance: UsdcAmount,
    pub read_at: Timestamp,
}

impl BalanceSeen {
    /// Whether it replaces the reading that is known. An equal balance does, too, for a webhook that watches only since then.
    pub fn is_news(&self, known: Option<KnownBalance>, watching: &[Webhook]) -> bool {
        known.is_none_or(|known| {
            let is_new = |webhook: &Webhook| known.read_at < webhook.watches_since;
            self.before(known).is_some() || self.is_later(known) && watching.iter().any(is_new)
        })
    }

    /// The events that announce it to webhooks that watch the account: one for each threshold that was crossed, with the webhooks
    /// that get it. A webhook compares with readings since it watches, and with none before.
    pub fn announced(
        &self,
        account: &Account,
        known: Option<KnownBalance>,
        watching: &[Webhook],
        now: Timestamp,
        random: impl Fn() -> u128,
    ) -> Vec<(Event, Vec<Webhook>)> {
        let mut crossed: BTreeMap<UsdcAmount, Vec<Webhook>> = BTreeMap::new();
        for webhook in watching {
            let known = known.filter(|known| known.read_at >= webhook.watches_since);
            let before = known.and_then(|known| self.before(known));
            let threshold = webhook.subscription.watches(account.id);
            if let Some((threshold, before)) = threshold.zip(before)
                && self.crosses(threshold, before)
            {
                crossed.entry(threshold).or_default().push(webhook.clone());
            }
        }
        let event = |threshold| Event::balance_low(account, self.balance, threshold, now, random());
        crossed.into_iter().map(|(threshold, webhooks)| (event(threshold), webhooks)).collect()
    }

    /// What the account held before. `None` when this is no news: a later reading is known, or the balance is the same.
    fn before(&self, known: KnownBalance) -> Option<UsdcAmount> {
        let paid = self.paid.iter().filter(|(_, asked_at)| known.read_at < *asked_at);
        let held = paid.fold(known.balance, |held, paid| held.max(self.balance.saturating_add(paid.0)));
        (self.is_later(known) && held != self.balance).then_some(held)
    }

    fn is_later(&self, known: KnownBalance) -> bool {
        // No reading takes so long: the clock was ahead then, and has been put right.
        known.read_at < self.read_at || known.read_at > self.read_at.after(READING_MAX)
    }

    /// Whether the balance fell below the threshold, from at or above it.
    fn crosses(&self, threshold: UsdcAmount, before: UsdcAmount) -> bool {
        before >= threshold && self.balance < threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AccountId, AccountStatus, Address, ApprovalRule, DuplicateRule, EndpointHealth, EventType, Label,
        OperatorId, Subscription, Tags, WebhookId, WebhookStatus, WebhookUrl,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_seconds(second)
    }

    fn usdc(whole: u64) -> UsdcAmount {
        UsdcAmount::from_micros(whole * 1_000_000)
    }

    fn account() -> Account {
        Account {
            id: AccountId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([2; 16]),
            name: Label::parse("Ada").expect("valid"),
            metadata: None,
            tags: Tags::default(),
            address: Address::from_bytes([3; 32]),
            token_account: Address::from_bytes([4; 32]),
            status: AccountStatus::Active,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            created_at: at(0),
        }
    }

    fn known(whole: u64, second: i64) -> Option<KnownBalance> {
        Some(KnownBalance { balance: usdc(whole), read_at: at(second) })
    }

    /// A webhook with this threshold, which watches since this second.
    fn watches(number: u8, threshold: u64, second: i64) -> Webhook {
        let low = vec![EventType::BalanceLowThreshold];
        Webhook {
            id: WebhookId::from_bytes([number; 16]),
            operator_id: account().operator_id,
            url: WebhookUrl::from_stored("https://a.example.com/").expect("valid"),
            subscription: Subscription::new(low, Vec::new(), Some(usdc(threshold))).expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth::default(),
            previous_secret_until: None,
            watches_since: at(second),
            created_at: at(0),
            updated_at: at(second),
        }
    }

    #[test]
    fn each_threshold_that_was_crossed_has_one_event_for_all_its_webhooks() {
        let seen = BalanceSeen { balance: usdc(40), read_at: at(9), paid: Vec::new() };
        let watching = [
            watches(1, 50, 1),
            watches(2, 45, 0),
            watches(3, 50, 0),
            // Not below its threshold; below it already; watching only since the balance was known.
            watches(4, 40, 0),
            watches(5, 61, 0),
            watches(6, 50, 2),
        ];
        let announced = |known| seen.announced(&account(), known, &watching, at(9), || 7);
        assert!(announced(None).is_empty() && announced(known(60, 10)).is_empty());
        let announced = announced(known(60, 1));
        let told: Vec<Vec<u8>> = announced
            .iter()
            .map(|(_, webhooks)| webhooks.iter().map(|webhook| webhook.id.bytes()[0]).collect())
            .collect();
        assert_eq!(told, [vec![2], vec![1, 3]]);
        let threshold = |event: &Event| event.data.get().contains("\"threshold_usdc\":\"45.000000\"");
        assert!(threshold(&announced[0].0) && !threshold(&announced[1].0));
    }

    #[test]
    fn only_a_later_reading_of_another_balance_is_news() {
        let seen = BalanceSeen { balance: usdc(40), read_at: at(9), paid: Vec::new() };
        let is_news = |known| seen.is_news(known, &[watches(1, 50, 8)]);
        assert!(is_news(None) && is_news(known(60, 8)));
        assert!(is_news(known(60, 70)), "of a clock that was ahead");
        assert!(!is_news(known(60, 69)));
        assert!(!is_news(known(60, 9)) && !is_news(known(60, 10)) && !is_news(known(40, 8)));
        assert!(is_news(known(40, 7)), "the webhook watches only since then");
    }
}
