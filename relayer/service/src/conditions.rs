//! Everything that may need somebody's attention, in one table. The dashboard's first page shows it, `purser_conditions` counts it,
//! and the alert rules ask for it: a test compares `deploy/prometheus/alerts.yml` and `docs/run/operating.md` with this table.

use std::time::Duration;

use super::BudgetView;
use super::last_seen::SeenAccount;
use purser_model::{HaltScope, UsdcAmount};

/// From this share of a cap on, it is nearly used up.
const NEAR_PERCENT: u64 = 80;
/// From this age on, a payment has waited long for a person.
pub const APPROVAL_OLD: Duration = Duration::from_secs(3_600);

/// How soon somebody has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// At once: its alert wakes somebody.
    Page,
    /// Within the day.
    Ticket,
    /// Worth knowing. It is on the dashboard, and has no alert.
    Note,
}

impl Severity {
    /// The label of its alerts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Ticket => "ticket",
            Self::Note => "note",
        }
    }
}

/// Declares the table. `counted`: in `purser_conditions`; otherwise the metrics that say it already.
macro_rules! conditions {
    ($($(#[$about:meta])* $name:ident = $word:literal, $severity:ident, [$($series:literal),*], $clear:literal;)*) => {
        /// Something that may need somebody's attention.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Condition {
            $($(#[$about])* $name,)*
        }

        impl Condition {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// The metrics that say it. None: it is counted in `purser_conditions`.
            pub const fn series(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($series),*],)* }
            }

            /// What a page says where nothing needs attention. Empty: it says nothing of this.
            pub const fn all_clear(self) -> &'static str {
                match self { $(Self::$name => $clear,)* }
            }
        }
    };
}

conditions! {
    /// The database takes no writes, or cannot be read.
    DatabaseUnwell = "database_unwell", Page, [], "";
    /// A task of the process has ended.
    TaskEnded = "task_ended", Page, [], "";
    /// No node of a network answers.
    NodesUnwell = "nodes_unwell", Page, [], "";
    /// The machine's clock is off the chain's.
    ClockSkewed = "clock_skewed", Ticket, ["purser_clock_skew_seconds"], "";
    /// No websocket connects, or nodes refuse subscriptions.
    WebsocketUnwell = "websocket_unwell", Ticket,
        ["purser_websocket_connected", "purser_websocket_topics_missing"], "";
    /// Operators name no key of this relayer.
    AuthorityRotated = "authority_rotated", Ticket, ["purser_operators_rotated"], "";
    /// A wallet cannot pay a fee.
    FeePayerEmpty = "fee_payer_empty", Page, ["purser_fee_payer_spendable_lamports"], "";
    /// A wallet is low on SOL.
    FeePayerLow = "fee_payer_low", Ticket, ["purser_fee_payer_spendable_lamports"], "";
    /// A key cannot sign now.
    SignerUnavailable = "signer_unavailable", Page, [], "";
    /// The chain did not answer for accounts, so what is true of them is not known.
    AccountsUnread = "accounts_unread", Ticket, [], "";
    /// Every account of an operator is halted.
    OperatorHalted = "operator_halted", Page, [], "";
    /// An account is halted.
    AccountHalted = "account_halted", Ticket, [], "no account is stopped";
    /// A budget is used up, and stops the accounts that pay through it.
    BudgetUsedUp = "budget_used_up", Ticket, [], "no budget is used up";
    /// Every delivery to an endpoint fails.
    WebhookFailing = "webhook_failing", Ticket, [], "";
    /// Events were given up on.
    EventsUndelivered = "events_undelivered", Ticket, ["purser_webhook_attempts_total"], "every event was delivered";
    /// A payment has waited for a person for an hour.
    ApprovalOld = "approval_old", Ticket, [], "";
    /// A change of many accounts ended on the way.
    BulkChangeCut = "bulk_change_cut", Note, [], "";
    /// An account has spent most of its daily cap.
    AccountNearCap = "account_near_cap", Note, [], "none is near its cap";
    /// A budget is nearly used up.
    BudgetNearlyUsedUp = "budget_nearly_used_up", Note, [], "";
    /// An account is paused by its policy.
    AccountPaused = "account_paused", Note, [], "";
    /// An account is below a threshold that a webhook watches.
    BalanceLow = "balance_low", Note, [], "no balance is below a threshold that a webhook watches";
    /// A policy allows any payment.
    AccountUnlimited = "account_unlimited", Note, [], "";
    /// A payment waits for a person.
    ApprovalWaits = "approval_waits", Note, [], "no payment waits for a person";
    /// A looser policy waits for its delay.
    PolicyWaits = "policy_waits", Note, [], "";
    /// A webhook is disabled.
    WebhookDisabled = "webhook_disabled", Note, [], "";
    /// The operator does without a defence.
    DefenceOpen = "defence_open", Note, [], "";
}

impl Condition {
    /// Whether an alert is due for it, or only a line on the dashboard.
    pub fn is_urgent(self) -> bool {
        self.severity() != Severity::Note
    }

    /// That a part of the relayer is unwell, by the part's name.
    pub fn of_part(part: &str) -> Option<Self> {
        match part {
            "database" => Some(Self::DatabaseUnwell),
            "tasks" => Some(Self::TaskEnded),
            "nodes" => Some(Self::NodesUnwell),
            "clock" => Some(Self::ClockSkewed),
            "websocket" => Some(Self::WebsocketUnwell),
            "authorities" => Some(Self::AuthorityRotated),
            "sol" => Some(Self::FeePayerEmpty),
            "signers" => Some(Self::SignerUnavailable),
            _ => None,
        }
    }

    /// Whether the account was halted itself, apart from its operator.
    pub(crate) fn is_halted(seen: &SeenAccount) -> bool {
        seen.halt.is_some_and(|halt| halt.scope == HaltScope::Account)
    }

    /// How a budget stands: used up, nearly so, or neither.
    pub fn of_budget(budget: &BudgetView) -> Option<(Self, &'static str, UsdcAmount, UsdcAmount)> {
        let (day, month) = (budget.limits.max_daily_spend, budget.limits.max_30_day_spend);
        let limits = [(day.limit, Some(day.used), "24 hours"), (month.limit, month.used, "30 days")];
        let near = limits.into_iter().filter_map(|(limit, used, span)| {
            let (cap, used) = (limit?.0, used?.0);
            let condition = match is_near(used, cap) {
                true if used >= cap => Self::BudgetUsedUp,
                true => Self::BudgetNearlyUsedUp,
                false => return None,
            };
            Some((condition, span, used, cap))
        });
        // One that is used up comes before one that is nearly so.
        near.min_by_key(|(condition, ..)| *condition)
    }
}

/// Whether most of a cap is used.
pub fn is_near(used: UsdcAmount, cap: UsdcAmount) -> bool {
    let share = u128::from(used.micros()).saturating_mul(100);
    !used.is_zero() && share >= u128::from(cap.micros()).saturating_mul(u128::from(NEAR_PERCENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = include_str!("../../../deploy/prometheus/alerts.yml");
    const PAGE: &str = include_str!("../../../docs/run/operating.md");

    /// The rules, each from its name on.
    fn rules() -> impl Iterator<Item = &'static str> {
        RULES.split("- alert: ").skip(1)
    }

    fn asked_by(condition: Condition) -> Vec<String> {
        let series = condition.series().iter().map(|series| (*series).to_owned());
        let counted =
            format!("purser_conditions{{condition=\"{condition}\"}}", condition = condition.as_str());
        if condition.series().is_empty() { vec![counted] } else { series.collect() }
    }

    #[test]
    fn each_condition_has_a_rule_of_its_severity_and_notes_have_none() {
        for condition in Condition::ALL {
            let severity = format!("severity: {} ", condition.severity().as_str());
            for series in asked_by(*condition) {
                let has_rule = rules().any(|rule| rule.contains(&series) && rule.contains(&severity));
                assert_eq!(has_rule, condition.is_urgent(), "{condition:?}: {series}");
            }
        }
    }

    #[test]
    fn rules_ask_for_no_condition_that_there_is_not() {
        let words: Vec<&str> = Condition::ALL.iter().map(|condition| condition.as_str()).collect();
        let asked: Vec<&str> =
            RULES.split("condition=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(!asked.is_empty());
        for word in asked {
            assert!(words.contains(&word), "{word}");
        }
    }

    #[test]
    fn each_condition_that_is_counted_is_described_for_operators() {
        for condition in Condition::ALL.iter().filter(|condition| condition.series().is_empty()) {
            let row = format!("`{}`", condition.as_str());
            assert_eq!(PAGE.contains(&row), condition.is_urgent(), "{condition:?}");
        }
    }

    #[test]
    fn a_budget_is_near_its_cap_from_80_percent_on() {
        let usdc = UsdcAmount::from_micros;
        for (used, cap, near) in
            [(0, 0, false), (79, 100, false), (80, 100, true), (u64::MAX, u64::MAX, true), (1, 0, true)]
        {
            assert_eq!(is_near(usdc(used), usdc(cap)), near, "{used} of {cap}");
        }
    }
}
