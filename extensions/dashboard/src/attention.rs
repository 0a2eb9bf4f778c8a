//! What needs attention, in lines that lead to it. However many accounts one thing is true of, it takes a few lines.

use std::time::Duration;

use purser_approvals::Approvals;
use purser_model::{
    AccountStatus, ActionFilter, ActionId, ActionOutcome, Address, ApprovalFilter, ApprovalState, HaltScope,
    Limit, ListedAction, OpenDefence, PageRequest, Timestamp, UsdcAmount, Webhook, WebhookStatus,
    has_no_limit, usdc_text,
};
use purser_service::{
    APPROVAL_OLD, AccountView, BudgetView, Condition, Part, Report, SeenBudget, ServiceError, Services,
    Severity, actions, budgets, is_near, policies, signers,
};

use super::session::Signed;
use super::text::moment_text;

/// How many accounts and webhooks are checked: as many accounts as an operator may have, unless its quota was raised.
pub const LOOKED_AT: u32 = 1_000;
/// How many of the payments that wait for a person are counted.
const APPROVALS: u32 = 100;
/// How many changes of many accounts are looked through for one that was cut, how old they are at least, and at most.
const BULK_CHANGES: u32 = 50;
const BULK_CHANGE_TAKES: Duration = Duration::from_secs(600);
const BULK_CHANGE_IS_NEWS: Duration = Duration::from_secs(86_400);
/// How many accounts are named of which the same is true.
const NAMED: usize = 5;

pub struct Attention {
    pub condition: Condition,
    pub what: String,
    /// The moment that ends the sentence.
    pub at: Option<Timestamp>,
    pub link: Option<String>,
    /// The command that ends it.
    pub command: Option<String>,
    /// Shown in red and before the others of its severity.
    pub is_severe: bool,
}

impl Attention {
    fn new(condition: Condition, what: String) -> Self {
        let is_severe = condition.is_urgent() || condition == Condition::AccountUnlimited;
        Self { condition, what, at: None, link: None, command: None, is_severe }
    }

    fn of_defence(defence: &OpenDefence, operator: &Address) -> Self {
        let (what, mend) = (defence.in_words(), defence.mend(operator));
        match defence {
            OpenDefence::NoLooseningDelay | OpenDefence::NoGuardian => {
                let open = Self::new(Condition::DefenceOpen, what.to_owned());
                Self { command: Some(mend), ..open }
            }
            OpenDefence::AdminKeyHere(_) => {
                let open = Self::new(Condition::DefenceOpen, format!("{what} Fix: {mend}."));
                Self { is_severe: true, ..open }
            }
        }
    }

    /// A few words, where the sentence has the details.
    pub fn title(&self) -> &'static str {
        match self.condition {
            Condition::DatabaseUnwell => "Database problem",
            Condition::TaskEnded => "Part of the service stopped",
            Condition::NodesUnwell => "Solana nodes do not answer",
            Condition::ClockSkewed => "Clock is off",
            Condition::WebsocketUnwell => "Websocket problem",
            Condition::AuthorityRotated => "Keys do not match the chain",
            Condition::FeePayerEmpty => "Out of SOL",
            Condition::FeePayerLow => "Low on SOL",
            Condition::SignerUnavailable => "A key cannot sign",
            Condition::AccountsUnread => "State not known now",
            Condition::OperatorHalted => "All accounts halted",
            Condition::AccountHalted => "Account halted",
            Condition::BudgetUsedUp => "Budget used up",
            Condition::WebhookFailing => "Webhook failing",
            Condition::EventsUndelivered => "Undelivered events",
            Condition::ApprovalOld => "Payments wait for a long time",
            Condition::BulkChangeCut => "Bulk change interrupted",
            Condition::AccountNearCap => "Near the daily limit",
            Condition::BudgetNearlyUsedUp => "Budget nearly used up",
            Condition::AccountPaused => "Account paused",
            Condition::BalanceLow => "Low balance",
            Condition::AccountUnlimited => "No limit at all",
            Condition::ApprovalWaits => "Payments wait for approval",
            Condition::PolicyWaits => "Looser policy waits",
            Condition::WebhookDisabled => "Webhook disabled",
            Condition::DefenceOpen if self.is_severe => "Admin key on the server",
            Condition::DefenceOpen => "Defence missing",
        }
    }

    /// The most severe first.
    fn rank(&self) -> u8 {
        match self.condition.severity() {
            Severity::Page => 0,
            Severity::Note if self.is_severe => 1,
            Severity::Ticket => 2,
            Severity::Note => 3,
        }
    }

    fn at(self, link: String) -> Self {
        Self { link: Some(link), ..self }
    }

    /// Ends the sentence with this moment.
    fn ending(self, at: Timestamp) -> Self {
        Self { at: Some(at), ..self }
    }
}

/// The text where nothing needs attention.
pub fn all_clear() -> String {
    let said = Condition::ALL.iter().map(|condition| condition.all_clear());
    let said: Vec<&str> = said.filter(|said| !said.is_empty()).collect();
    format!("Nothing needs attention: {}.", said.join(", "))
}

/// The conditions of one account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    Halted,
    NearCap,
    Paused,
    Low,
    /// Its policy allows any payment.
    Unlimited,
}

impl Concern {
    const ALL: [Self; 5] = [Self::Halted, Self::NearCap, Self::Paused, Self::Low, Self::Unlimited];

    fn condition(self) -> Condition {
        match self {
            Self::Halted => Condition::AccountHalted,
            Self::NearCap => Condition::AccountNearCap,
            Self::Paused => Condition::AccountPaused,
            Self::Low => Condition::BalanceLow,
            Self::Unlimited => Condition::AccountUnlimited,
        }
    }

    /// For the accounts that are not named: what is true of them, and where they are listed.
    fn of_others(self, count: usize) -> (String, &'static str) {
        let accounts = if count == 1 { "1 more account" } else { &format!("{count} more accounts") };
        match self {
            Self::Halted => (format!("Halted: {accounts}."), "/dashboard/accounts?status=paused"),
            Self::NearCap => (format!("Near the cap: {accounts}."), "/dashboard/accounts?sort=spent"),
            Self::Paused => (format!("Paused: {accounts}."), "/dashboard/accounts?status=paused"),
            Self::Unlimited => (format!("Without any limit: {accounts}."), "/dashboard/accounts"),
            Self::Low => (format!("Below a threshold: {accounts}."), "/dashboard/accounts?sort=low"),
        }
    }

    /// The line about this account, if the condition holds, or held when the chain last answered.
    fn of(self, account: &AccountView, webhooks: &[Webhook]) -> Option<String> {
        let name = account.account.name.as_str();
        let last = account.seen.as_ref();
        let as_seen = last.map_or_else(String::new, |seen| format!(", as of {}", moment_text(seen.at)));
        match self {
            // That of the operator is said once.
            Self::Halted => {
                let halt = account.halt.or(last.and_then(|seen| seen.halt));
                let halt = halt.filter(|halt| halt.scope == HaltScope::Account)?;
                Some(format!("{name} is halted by {}{as_seen}.", halt.by.in_words()))
            }
            Self::Paused => {
                let status = account.status.or(last.map(|seen| seen.status));
                let is_halted = account.halt.is_some() || last.is_some_and(|seen| seen.halt.is_some());
                let is_paused = !is_halted && status == Some(AccountStatus::Paused);
                is_paused.then(|| format!("{name} is paused{as_seen}."))
            }
            Self::NearCap => {
                let (cap, spent) = cap_of(account).zip(account.spent)?;
                let near = is_near(spent, cap);
                let (spent, cap) = (usdc_text(spent), usdc_text(cap));
                near.then(|| format!("{name} has spent {spent} of {cap} USDC in 24 hours."))
            }
            Self::Unlimited => {
                let policy = account.policy.as_ref().filter(|policy| !policy.paused)?;
                let is_open = has_no_limit(policy) && account.budget.is_none();
                is_open.then(|| format!("{name} may pay anyone any amount: its policy has no limit."))
            }
            Self::Low => {
                let watched = webhooks.iter().filter_map(|one| one.subscription.watches(account.account.id));
                let threshold = watched.max().filter(|threshold| account.balance < *threshold)?;
                let (balance, threshold) = (usdc_text(account.balance), usdc_text(threshold));
                Some(format!("{name} holds {balance} USDC, below its threshold of {threshold}."))
            }
        }
    }
}

pub async fn attention(
    (services, approvals): (&Services, &Approvals),
    signed: &Signed,
    accounts: &[AccountView],
    report: &Report,
    all_are_halted: bool,
) -> Result<Vec<Attention>, ServiceError> {
    let operator = &signed.operator;
    let webhooks = services.webhooks.list(operator, PageRequest::first(LOOKED_AT)).await?.items;
    let undelivered = services.webhooks.undelivered(operator).await?;
    let concerns = |part: &&Part| part.network.is_none_or(|network| network == operator.network);
    let mut found = Vec::new();
    for part in report.parts.iter().filter(concerns) {
        let condition = Condition::of_part(part.name).unwrap_or(Condition::TaskEnded);
        found.extend(part.problems.iter().map(|problem| Attention::new(condition, problem.clone())));
    }
    found.extend(unknown(accounts));
    found
        .extend(signers::low_on_sol(&services.inside, operator.network).into_iter().map(|(wallet, lamports)| {
        let what = format!(
            "The relayer's wallet {wallet} can spend only {lamports} lamports on fees and rent: send it SOL."
        );
        Attention::new(Condition::FeePayerLow, what)
    }));
    let defences = signers::open_defences(&services.inside, operator).await;
    found.extend(defences.iter().map(|defence| Attention::of_defence(defence, &operator.address)));
    // Where all are halted, no account's own state stops it.
    let concerns = Concern::ALL.into_iter().filter(|concern| !all_are_halted || *concern == Concern::Low);
    found.extend(concerns.flat_map(|concern| of_accounts(concern, accounts, &webhooks)));
    for webhook in &webhooks {
        let (url, link) = (webhook.url.as_str(), format!("/dashboard/webhooks/{}", webhook.id));
        if undelivered.contains(&webhook.id) {
            let what = format!("Events were not delivered to {url}.");
            let link = format!("{link}?status=undelivered");
            found.push(Attention::new(Condition::EventsUndelivered, what).at(link));
        }
        match (webhook.status, webhook.health.failing_since) {
            (WebhookStatus::Disabled { since, .. }, _) => {
                let what = format!("Webhook {url} is disabled since");
                found.push(Attention::new(Condition::WebhookDisabled, what).ending(since).at(link));
            }
            (WebhookStatus::Enabled, Some(since)) => {
                let what = format!("Every delivery to {url} has failed since");
                found.push(Attention::new(Condition::WebhookFailing, what).ending(since).at(link));
            }
            (WebhookStatus::Enabled, None) => {}
        }
    }
    found.extend(of_budgets(services, signed, accounts).await?);
    found.extend(asked((services, approvals), signed).await?);
    found.extend(waiting(services, signed, accounts).await?);
    found.extend(cut(services, signed).await?);
    found.sort_by_key(Attention::rank);
    Ok(found)
}

/// That nobody knows how the accounts are.
fn unknown(accounts: &[AccountView]) -> Option<Attention> {
    let unread = accounts.iter().filter(|account| account.policy.is_none()).count();
    let what = match unread {
        0 => return None,
        1 => {
            "The chain did not answer for 1 account: whether it is stopped, and its caps, are not known now."
                .to_owned()
        }
        more => format!(
            "The chain did not answer for {more} accounts: whether they are stopped, and their caps, are not known now."
        ),
    };
    Some(Attention::new(Condition::AccountsUnread, what))
}

/// What may leave an account in 24 hours, if that is capped.
pub fn cap_of(account: &AccountView) -> Option<UsdcAmount> {
    match account.policy.as_ref()?.max_daily_spend {
        Limit::AtMost(cap) => Some(cap),
        Limit::Unlimited => None,
    }
}

/// A line for each account of which this is true, up to a few, and one for the others.
fn of_accounts(concern: Concern, accounts: &[AccountView], webhooks: &[Webhook]) -> Vec<Attention> {
    let line = |what, link| Attention::new(concern.condition(), what).at(link);
    let mut all = accounts.iter().filter_map(|account| {
        let what = concern.of(account, webhooks)?;
        Some(line(what, format!("/dashboard/accounts/{}", account.account.id)))
    });
    let mut lines: Vec<Attention> = all.by_ref().take(NAMED).collect();
    let others = all.count();
    if others > 0 {
        let (what, link) = concern.of_others(others);
        lines.push(line(what, link.to_owned()));
    }
    lines
}

/// A line for each budget that is used up, or nearly: it stops all the accounts that pay through it. While the chain does not answer,
/// as it was last seen.
async fn of_budgets(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Vec<Attention>, ServiceError> {
    let listed = budgets::list(&services.inside, &signed.operator, PageRequest::first(LOOKED_AT)).await;
    let (budgets, is_now) = match listed {
        Ok(page) => (page.items.into_iter().map(|view| (view, String::new())).collect(), true),
        Err(_) => {
            let of = |seen: SeenBudget| (seen.view, format!(", as of {}", moment_text(seen.at)));
            (
                budgets::last_seen(&services.inside, &signed.operator)
                    .into_iter()
                    .map(of)
                    .collect::<Vec<_>>(),
                false,
            )
        }
    };
    let of = |(budget, as_seen): &(BudgetView, String)| {
        let (condition, span, used, cap) = Condition::of_budget(budget)?;
        let (number, used, cap) = (budget.number, usdc_text(used), usdc_text(cap));
        let said = match condition == Condition::BudgetUsedUp {
            true => "is used up, and stops the accounts that pay through it",
            false => "is nearly used up",
        };
        let what = format!("Budget {number} {said}: {used} of {cap} USDC in {span}{as_seen}.");
        Some(Attention::new(condition, what).at(format!("/dashboard/budgets/{}", budget.budget_id)))
    };
    let mut found: Vec<Attention> = budgets.iter().filter_map(of).collect();
    // Not every node lists budgets. Where there are none, nothing is missed.
    let has_budgets = !budgets.is_empty() || accounts.iter().any(|account| account.budget.is_some());
    if !is_now && has_budgets {
        let what = "The chain did not answer for budgets: what they have left is not known now.";
        found.push(Attention::new(Condition::AccountsUnread, what.to_owned()));
    }
    Ok(found)
}

/// One line for all the payments about which a person is asked.
async fn asked(
    (services, approvals): (&Services, &Approvals),
    signed: &Signed,
) -> Result<Option<Attention>, ServiceError> {
    let filter = ApprovalFilter { account: None, state: Some(ApprovalState::Pending) };
    let waiting = approvals.list(&signed.principal, filter, PageRequest::first(APPROVALS)).await?;
    let ends = waiting.items.iter().filter_map(|view| view.transfer.approval.requested());
    let Some(first) = ends.map(|requested| requested.expires_at).min() else { return Ok(None) };
    let since = waiting.items.iter().map(|view| view.transfer.created_at).min();
    let is_old = since.is_some_and(|since| since.after(APPROVAL_OLD) <= services.inside.clock.now());
    let condition = if is_old { Condition::ApprovalOld } else { Condition::ApprovalWaits };
    let what = match (waiting.items.len(), waiting.next.is_some()) {
        (_, true) => format!("More than {APPROVALS} payments wait for approval, the first of them until"),
        (1, false) => "A payment waits for approval until".to_owned(),
        (count, false) => format!("{count} payments wait for approval, the first of them until"),
    };
    let link = "/dashboard/approvals?state=pending".to_owned();
    Ok(Some(Attention::new(condition, what).ending(first).at(link)))
}

/// One line for all the policies that wait.
async fn waiting(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Option<Attention>, ServiceError> {
    let waiting = policies::list_waiting(&services.inside, &signed.operator, LOOKED_AT).await?;
    let Some((first, _)) = waiting.first() else { return Ok(None) };
    let id = first.account_id;
    let known = accounts.iter().find(|view| view.account.id == id);
    let name = known.map_or_else(|| id.to_string(), |view| view.account.name.as_str().to_owned());
    let what = match waiting.len() {
        1 => format!("A looser policy waits for {name} until"),
        count => format!("{count} looser policies wait, the first of them, for {name}, until"),
    };
    let attention = Attention::new(Condition::PolicyWaits, what).ending(first.effective_at());
    Ok(Some(attention.at("/dashboard/pending".to_owned())))
}

/// One line for the newest change of many accounts of a day that ended on the way, as after a crash.
async fn cut(services: &Services, signed: &Signed) -> Result<Option<Attention>, ServiceError> {
    let now = services.inside.clock.now();
    let filter = ActionFilter {
        name: "change_policies".parse().ok(),
        since: Some(now.before(BULK_CHANGE_IS_NEWS)),
        until: Some(now.before(BULK_CHANGE_TAKES)),
        ..ActionFilter::default()
    };
    let changes =
        actions::list(&services.inside, &signed.operator, &filter, PageRequest::first(BULK_CHANGES)).await?;
    let of = |listed: &&ListedAction| listed.action.outcome == ActionOutcome::Unknown;
    let Some(ListedAction { action, .. }) = changes.items.iter().find(of) else { return Ok(None) };
    let what = "A change of many accounts ended on the way: the versions of their policies say how far it came. It began at";
    let link = format!("/dashboard/actions?action_id={}", action.id);
    let attention = Attention::new(Condition::BulkChangeCut, what.to_owned());
    Ok(Some(attention.ending(action.created_at).at(link)))
}

/// A halt of the operator, which stops every account.
pub struct HaltOfAll {
    /// What is said of it.
    pub said: String,
    pub action: Option<ActionId>,
}

pub async fn halt_of_all(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Option<HaltOfAll>, ServiceError> {
    // Now or, while the chain does not answer, when it was last seen.
    let halt_of = |view: &AccountView| view.halt.or_else(|| view.seen.as_ref()?.halt);
    let of_all = |view: &&AccountView| halt_of(view).is_some_and(|halt| halt.scope == HaltScope::Operator);
    let Some((view, halt)) = accounts.iter().find(of_all).and_then(|view| Some((view, halt_of(view)?)))
    else {
        return Ok(None);
    };
    let asked = who_halted(services, signed, view.halt_action).await?;
    let asked = asked.map(|asked| format!(", asked for by {asked}"));
    let seen = view.seen.as_ref().map(|seen| format!(", as of {}", moment_text(seen.at)));
    let said = format!(
        "Every account is halted by {}{}{}. Only the admin can resume them, with their own wallet: anchor run resume-all.",
        halt.by.in_words(),
        asked.unwrap_or_default(),
        seen.unwrap_or_default()
    );
    Ok(Some(HaltOfAll { said, action: view.halt_action }))
}

/// The key that asked for a halt by this action; `None` where no request did, as far as is known.
pub async fn who_halted(
    services: &Services,
    signed: &Signed,
    action: Option<ActionId>,
) -> Result<Option<String>, ServiceError> {
    let Some(id) = action else { return Ok(None) };
    let filter = ActionFilter { id: Some(id), ..ActionFilter::default() };
    let found = actions::list(&services.inside, &signed.operator, &filter, PageRequest::first(1)).await?;
    let asked = found.items.into_iter().next();
    Ok(asked.and_then(|listed| listed.key_name.or(Some(listed.key_hint?.as_str().to_owned()))))
}
