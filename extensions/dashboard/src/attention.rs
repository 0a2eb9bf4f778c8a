//! What needs attention, in lines that lead to it. However many accounts one thing is true of, it takes a few lines.

use purser_model::{
    AccountStatus, ActionFilter, ActionId, ApprovalFilter, ApprovalState, HaltScope, Limit, Timestamp,
    UsdcAmount, Webhook, WebhookStatus, has_no_limit,
};
use purser_service::{AccountView, BudgetView, Part, Report, ServiceError, Services};

use super::known_budgets::KnownBudgets;
use super::page::first_page;
use super::session::Signed;
use super::text::{percent, usdc_text};

/// How many accounts and webhooks are checked: as many accounts as an operator may have, unless its quota was raised.
pub const LOOKED_AT: u32 = 1_000;
/// How many of the payments that wait for a person are counted.
const APPROVALS: u32 = 100;
/// From this share of its cap on, an account needs attention.
const NEAR_PERCENT: u64 = 80;
/// How many accounts are named of which the same is true.
const NAMED: usize = 5;

pub struct Attention {
    pub what: String,
    /// The moment that ends the sentence.
    pub at: Option<Timestamp>,
    pub link: Option<String>,
    pub is_urgent: bool,
}

/// What is true of an account.
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

    fn is_urgent(self) -> bool {
        match self {
            Self::Halted | Self::NearCap => true,
            Self::Paused | Self::Low | Self::Unlimited => false,
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

    /// What is said of this account, if it is true of it.
    fn of(self, account: &AccountView, webhooks: &[Webhook]) -> Option<String> {
        let name = account.account.name.as_str();
        match self {
            // That of the operator is said once.
            Self::Halted => {
                let halt = account.halt.filter(|halt| halt.scope == HaltScope::Account)?;
                Some(format!("{name} is halted by {}.", halt.by.in_words()))
            }
            Self::Paused => {
                let is_paused = account.halt.is_none() && account.status == Some(AccountStatus::Paused);
                is_paused.then(|| format!("{name} is paused."))
            }
            Self::NearCap => {
                let (cap, spent) = cap_of(account).zip(account.spent)?;
                let is_near = !spent.is_zero() && percent(spent, cap) >= NEAR_PERCENT;
                let (spent, cap) = (usdc_text(spent), usdc_text(cap));
                is_near.then(|| format!("{name} has spent {spent} of {cap} USDC in 24 hours."))
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
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
    report: &Report,
    all_are_halted: bool,
) -> Result<Vec<Attention>, ServiceError> {
    let operator = &signed.operator;
    let webhooks = services.webhooks.list(operator, first_page(LOOKED_AT)?).await?.items;
    let undelivered = services.webhooks.undelivered(operator).await?;
    let concerns = |part: &&Part| part.network.is_none_or(|network| network == operator.network);
    let problems = report.parts.iter().filter(concerns).flat_map(|part| &part.problems);
    let mut found: Vec<Attention> = problems
        .map(|problem| Attention { what: problem.clone(), at: None, link: None, is_urgent: true })
        .collect();
    found.extend(unknown(accounts));
    found.extend(services.signers.low_on_sol(operator.network).into_iter().map(|(wallet, lamports)| {
        let what = format!(
            "The relayer's wallet {wallet} can spend only {lamports} lamports on fees and rent: send it SOL."
        );
        Attention { what, at: None, link: None, is_urgent: true }
    }));
    let defences = services.signers.open_defences(operator).await;
    found.extend(defences.into_iter().map(|defence| {
        let what = format!("{} To mend it: {}", defence.in_words(), defence.mend(&operator.address));
        Attention { what, at: None, link: None, is_urgent: false }
    }));
    // Where all are halted, no account's own state stops it.
    let concerns = Concern::ALL.into_iter().filter(|concern| !all_are_halted || *concern == Concern::Low);
    found.extend(concerns.flat_map(|concern| of_accounts(concern, accounts, &webhooks)));
    for webhook in &webhooks {
        let link = Some(format!("/dashboard/webhooks/{}", webhook.id));
        if undelivered.contains(&webhook.id) {
            let what = format!("Events were not delivered to {}.", webhook.url.as_str());
            let link = link.clone().map(|link| format!("{link}?status=undelivered"));
            found.push(Attention { what, at: None, link, is_urgent: true });
        }
        let url = webhook.url.as_str();
        match (webhook.status, webhook.health.failing_since) {
            (WebhookStatus::Disabled { since, .. }, _) => {
                let what = format!("Webhook {url} is disabled since");
                found.push(Attention { what, at: Some(since), link, is_urgent: false });
            }
            (WebhookStatus::Enabled, Some(since)) => {
                let what = format!("Every delivery to {url} has failed since");
                found.push(Attention { what, at: Some(since), link, is_urgent: true });
            }
            (WebhookStatus::Enabled, None) => {}
        }
    }
    found.extend(of_budgets(&KnownBudgets::of(services, operator).await));
    found.extend(asked(services, signed).await?);
    found.extend(waiting(services, signed, accounts).await?);
    found.sort_by_key(|attention| !attention.is_urgent);
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
    Some(Attention { what, at: None, link: None, is_urgent: true })
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
    let is_urgent = concern.is_urgent();
    let line = |what, link| Attention { what, at: None, link: Some(link), is_urgent };
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

/// A line for each budget that is used up, or nearly: it stops all the accounts that pay through it.
fn of_budgets(budgets: &KnownBudgets) -> Vec<Attention> {
    let of = |budget: &BudgetView| {
        let limits = [(budget.daily, "24 hours"), (budget.month, "30 days")].into_iter();
        let near = limits.filter_map(|(limit, span)| {
            let cap = limit
                .limit
                .filter(|cap| !limit.used.is_zero() && percent(limit.used, *cap) >= NEAR_PERCENT)?;
            Some((
                limit.used >= cap,
                format!("{} of {} USDC in {span}", usdc_text(limit.used), usdc_text(cap)),
            ))
        });
        // One that is used up comes before one that is nearly so.
        let (is_used_up, spent) = near.max_by_key(|(is_used_up, _)| *is_used_up)?;
        let number = budget.number;
        let what = match is_used_up {
            true => {
                format!("Budget {number} is used up, and stops the accounts that pay through it: {spent}.")
            }
            false => format!("Budget {number} is nearly used up: {spent}."),
        };
        let link = Some(format!("/dashboard/budgets/{}", budget.id));
        Some(Attention { what, at: None, link, is_urgent: true })
    };
    budgets.all().iter().filter_map(of).collect()
}

/// One line for all the payments about which a person is asked.
async fn asked(services: &Services, signed: &Signed) -> Result<Option<Attention>, ServiceError> {
    let filter = ApprovalFilter { account: None, state: Some(ApprovalState::Pending) };
    let waiting = services.approvals.list(&signed.principal, filter, first_page(APPROVALS)?).await?;
    let ends = waiting.items.iter().filter_map(|view| view.transfer.approval.requested());
    let Some(first) = ends.map(|requested| requested.expires_at).min() else { return Ok(None) };
    let what = match (waiting.items.len(), waiting.next.is_some()) {
        (_, true) => format!("More than {APPROVALS} payments wait for a person, the first of them until"),
        (1, false) => "A payment waits for a person until".to_owned(),
        (count, false) => format!("{count} payments wait for a person, the first of them until"),
    };
    let link = Some("/dashboard/approvals?state=pending".to_owned());
    Ok(Some(Attention { what, at: Some(first), link, is_urgent: false }))
}

/// One line for all the policies that wait.
async fn waiting(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Option<Attention>, ServiceError> {
    let waiting = services.policies.list_waiting(&signed.operator, LOOKED_AT).await?;
    let Some(first) = waiting.first() else { return Ok(None) };
    let id = first.pending.account_id;
    let known = accounts.iter().find(|view| view.account.id == id);
    let name = known.map_or_else(|| id.to_string(), |view| view.account.name.as_str().to_owned());
    let what = match waiting.len() {
        1 => format!("A looser policy waits for {name} until"),
        count => format!("{count} looser policies wait, the first of them, for {name}, until"),
    };
    let link = Some("/dashboard/pending".to_owned());
    Ok(Some(Attention { what, at: Some(first.effective_at()), link, is_urgent: false }))
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
    let of_all = |view: &&AccountView| view.halt.is_some_and(|halt| halt.scope == HaltScope::Operator);
    let Some(AccountView { halt: Some(halt), halt_action: action, .. }) = accounts.iter().find(of_all) else {
        return Ok(None);
    };
    let asked = who_halted(services, signed, *action).await?.map(|asked| format!(", asked for by {asked}"));
    let said = format!(
        "Every account is halted by {}{}. Only the admin's wallet lets them pay again: anchor run resume-all.",
        halt.by.in_words(),
        asked.unwrap_or_default()
    );
    Ok(Some(HaltOfAll { said, action: *action }))
}

/// The key that asked for a halt by this action; `None` where no request did, as far as is known.
pub async fn who_halted(
    services: &Services,
    signed: &Signed,
    action: Option<ActionId>,
) -> Result<Option<String>, ServiceError> {
    let Some(id) = action else { return Ok(None) };
    let filter = ActionFilter { id: Some(id), ..ActionFilter::default() };
    let found = services.actions.list(&signed.operator, &filter, first_page(1)?).await?;
    let asked = found.items.into_iter().next();
    Ok(asked.and_then(|listed| listed.key_name.or(Some(listed.key_hint?.as_str().to_owned()))))
}
