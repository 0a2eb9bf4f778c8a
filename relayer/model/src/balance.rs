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
    /// The latest payments that the reading shows.
    pub paid: Vec<PaidBefore>,
}

/// A payment before a reading. If nobody has looked since it was requested, the account held at least that much more
/// before it. So even an unnoticed deposit shows by the payment that it made possible.
#[derive(Debug, Clone, Copy)]
pub struct PaidBefore {
    pub amount: UsdcAmount,
    pub asked_at: Timestamp,
}

/// The previously known balance of an account.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    pub balance: UsdcAmount,
    pub read_at: Timestamp,
}

impl BalanceSeen {
    /// Whether it replaces what a webhook knew of the account.
    pub fn is_news(&self, known: Option<KnownBalance>) -> bool {
        known.is_none_or(|known| self.before(known).is_some())
    }

    /// The events that announce it to webhooks that watch the account, given what each knew: one for each threshold that was
    /// crossed, with the webhooks that get it.
    pub fn announced(
        &self,
        account: &Account,
        watching: &[(Webhook, Option<KnownBalance>)],
        now: Timestamp,
        random: impl Fn() -> u128,
    ) -> Vec<(Event, Vec<Webhook>)> {
        let mut crossed: BTreeMap<UsdcAmount, Vec<Webhook>> = BTreeMap::new();
        for (webhook, known) in watching {
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
        let paid = self.paid.iter().filter(|paid| known.read_at < paid.asked_at);
        let held = paid.fold(known.balance, |held, paid| held.max(self.balance.saturating_add(paid.amount)));
        // No reading takes so long: the clock was ahead then, and has been put right.
        let is_later = known.read_at < self.read_at || known.read_at > self.read_at.after(READING_MAX);
        (is_later && held != self.balance).then_some(held)
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
        AccountId, AccountName, AccountStatus, Address, ApprovalRule, DuplicateRule, EndpointHealth,
        EventType, OperatorId, Provisioning, Subscription, Tags, WebhookId, WebhookStatus, WebhookUrl,
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
            name: AccountName::parse("Ada").expect("valid"),
            metadata: None,
            tags: Tags::default(),
            address: Address::from_bytes([3; 32]),
            token_account: Address::from_bytes([4; 32]),
            status: AccountStatus::Active,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            provisioning: Provisioning::Ready,
            created_at: at(0),
        }
    }

    /// A webhook with this threshold, and what it knows.
    fn watches(number: u8, threshold: u64, known: Option<(u64, i64)>) -> (Webhook, Option<KnownBalance>) {
        let low = vec![EventType::BalanceLowThreshold];
        let webhook = Webhook {
            id: WebhookId::from_bytes([number; 16]),
            operator_id: account().operator_id,
            url: WebhookUrl::from_stored("https://a.example.com/").expect("valid"),
            subscription: Subscription::new(low, Vec::new(), Some(usdc(threshold))).expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth::default(),
            previous_secret_until: None,
            created_at: at(0),
            updated_at: at(0),
        };
        let known =
            known.map(|(balance, second)| KnownBalance { balance: usdc(balance), read_at: at(second) });
        (webhook, known)
    }

    #[test]
    fn each_threshold_that_was_crossed_has_one_event_for_all_its_webhooks() {
        let seen = BalanceSeen { balance: usdc(40), read_at: at(9), paid: Vec::new() };
        let known = Some((60, 1));
        let watching = [
            watches(1, 50, known),
            watches(2, 45, known),
            watches(3, 50, known),
            // Not below its threshold; below it already; knows nothing yet; knows better.
            watches(4, 40, known),
            watches(5, 50, Some((49, 1))),
            watches(6, 50, None),
            watches(7, 50, Some((60, 10))),
        ];
        let announced = seen.announced(&account(), &watching, at(9), || 7);
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
        let known = |balance, second| watches(1, 50, Some((balance, second))).1;
        assert!(seen.is_news(None) && seen.is_news(known(60, 8)));
        assert!(seen.is_news(known(60, 70)), "of a clock that was ahead");
        assert!(!seen.is_news(known(60, 69)));
        assert!(!seen.is_news(known(60, 9)) && !seen.is_news(known(60, 10)) && !seen.is_news(known(40, 8)));
    }
}
