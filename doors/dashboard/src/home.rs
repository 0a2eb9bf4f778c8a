//! An operator's overview: what it has, what needs attention, and the button that stops everything.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use purser_relayer::domain::{
    AccountId, ActionFilter, HaltScope, Limit, PageLimit, PageRequest, Timestamp, UsdcAmount, Webhook,
    WebhookStatus,
};
use purser_relayer::service::{AccountView, Part, ServiceError, Services};

use super::once::{FormWork, work};
use super::page::{Complaint, Frame, PageError, ProgressPage, QueryParams, Section, page, see};
use super::session::Signed;
use super::text::{filters, percent, usdc_text};

/// How many accounts and webhooks are checked: as many accounts as an operator may have, unless its quota was raised.
const LOOKED_AT: u32 = 1_000;
/// From this share of its cap on, an account needs attention.
const NEAR_PERCENT: u64 = 80;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    sums: Sums,
    attention: Vec<Attention>,
    accounts: Vec<AccountView>,
    /// Whether there are more accounts than were checked.
    more: bool,
}

/// Totals of the accounts that were checked.
#[derive(Default)]
struct Sums {
    balance: UsdcAmount,
    spent: Option<UsdcAmount>,
    /// Of the accounts that have a cap.
    caps: UsdcAmount,
    uncapped: usize,
    active: usize,
    /// Those that hold nothing.
    empty: usize,
    count: usize,
}

struct Attention {
    what: String,
    /// The moment that ends the sentence.
    at: Option<Timestamp>,
    link: Option<String>,
    is_urgent: bool,
}

impl Sums {
    fn over(accounts: &[AccountView]) -> Self {
        let mut sums = Self { spent: Some(UsdcAmount::ZERO), count: accounts.len(), ..Self::default() };
        for account in accounts {
            sums.balance = sums.balance.saturating_add(account.balance);
            sums.spent = sums.spent.zip(account.spent).map(|(sum, spent)| sum.saturating_add(spent));
            sums.empty += usize::from(account.balance.is_zero());
            sums.active += usize::from(account.status.as_str() == "active");
            match cap_of(account) {
                Some(cap) => sums.caps = sums.caps.saturating_add(cap),
                None => sums.uncapped += 1,
            }
        }
        sums
    }
}

fn cap_of(account: &AccountView) -> Option<UsdcAmount> {
    match account.policy.as_ref()?.max_daily_spend {
        Limit::AtMost(cap) => Some(cap),
        Limit::Unlimited => None,
    }
}

pub fn first_page(limit: u32) -> Result<PageRequest, ServiceError> {
    Ok(PageRequest { limit: PageLimit::parse(None, limit, limit)?, after: None })
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let stopped = asked.given("stopped").is_some();
    let notice = stopped.then(|| {
        "Every account is stopped. Only the admin's wallet lets them pay again (anchor run resume-all)."
            .into()
    });
    let frame = Frame::new(&signed.operator, Section::Home).with_notice(notice);
    let accounts = services.accounts.list(&signed.operator, None, first_page(LOOKED_AT)?).await?;
    let attention = attention(&services, &signed, &accounts.items).await?;
    let shown = HomePage {
        frame,
        sums: Sums::over(&accounts.items),
        attention,
        more: accounts.next.is_some(),
        accounts: accounts.items.into_iter().take(10).collect(),
    };
    Ok(page(&shown, None))
}

async fn attention(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Vec<Attention>, ServiceError> {
    let operator = &signed.operator;
    let webhooks = services.webhooks.list(operator, first_page(LOOKED_AT)?).await?.items;
    let undelivered = services.webhooks.undelivered(operator).await?;
    let waiting = services.policies.list_waiting(operator, LOOKED_AT).await?;
    let report = services.health.report().await;
    let concerns = |part: &&Part| part.network.is_none_or(|network| network == operator.network);
    let problems = report.parts.iter().filter(concerns).flat_map(|part| &part.problems);
    let mut found: Vec<Attention> = problems
        .map(|problem| Attention { what: problem.clone(), at: None, link: None, is_urgent: true })
        .collect();
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
    found.extend(halt_of_all(services, signed, accounts).await?);
    found.extend(accounts.iter().flat_map(|account| of_account(account, &webhooks)));
    for webhook in &webhooks {
        let link = Some(format!("/dashboard/webhooks/{}", webhook.id));
        if undelivered.contains(&webhook.id) {
            let what = format!("Events were not delivered to {}.", webhook.url.as_str());
            let link = link.clone().map(|link| format!("{link}?status=undelivered"));
            found.push(Attention { what, at: None, link, is_urgent: true });
        }
        if let WebhookStatus::Disabled { since, .. } = webhook.status {
            let what = format!("Webhook {} is disabled since", webhook.url.as_str());
            found.push(Attention { what, at: Some(since), link, is_urgent: false });
        }
    }
    found.extend(waiting.into_iter().map(|(account, at)| Attention {
        what: format!("A looser policy waits for {account} until"),
        at: Some(at),
        link: Some(format!("/dashboard/accounts/{account}")),
        is_urgent: false,
    }));
    found.sort_by_key(|attention| !attention.is_urgent);
    Ok(found)
}

/// One line for a halt of the operator, which stops every account.
async fn halt_of_all(
    services: &Services,
    signed: &Signed,
    accounts: &[AccountView],
) -> Result<Option<Attention>, ServiceError> {
    let halt = accounts.iter().find_map(|view| view.halt).filter(|halt| halt.scope == HaltScope::Operator);
    let Some(halt) = halt else { return Ok(None) };
    let asked = who_halted(services, signed, None).await?.map(|asked| format!(", asked for by {asked}"));
    let what = format!(
        "Every account is halted by {}{}. Only the admin's wallet lets them pay again: anchor run resume-all.",
        halt.by.in_words(),
        asked.unwrap_or_default()
    );
    Ok(Some(Attention {
        what,
        at: None,
        link: Some("/dashboard/actions?action=halt".to_owned()),
        is_urgent: true,
    }))
}

/// The key that asked for the latest halt of this account, or of all; `None` where no request did.
pub async fn who_halted(
    services: &Services,
    signed: &Signed,
    account: Option<AccountId>,
) -> Result<Option<String>, ServiceError> {
    let (name, object) =
        (if account.is_some() { "halt_account" } else { "halt" }, account.map(|id| id.to_string()));
    let filter = ActionFilter {
        name: name.parse().ok(),
        object_id: object.and_then(|id| id.parse().ok()),
        ..ActionFilter::default()
    };
    let latest = services.actions.list(&signed.operator, &filter, first_page(1)?).await?.items.pop();
    Ok(latest.and_then(|listed| listed.key_name.or(Some(listed.key_hint?.as_str().to_owned()))))
}

fn of_account(account: &AccountView, webhooks: &[Webhook]) -> Vec<Attention> {
    let link = Some(format!("/dashboard/accounts/{}", account.account.id));
    let name = account.account.name.as_str();
    let mut found = Vec::new();
    let mut push = |what, is_urgent| found.push(Attention { what, at: None, link: link.clone(), is_urgent });
    if let Some(halt) = account.halt {
        // That of the operator is said once.
        if halt.scope == HaltScope::Account {
            push(format!("{name} is halted by {}.", halt.by.in_words()), true);
        }
    } else if account.status.as_str() == "paused" {
        push(format!("{name} is paused."), false);
    }
    if let (Some(cap), Some(spent)) = (cap_of(account), account.spent)
        && !spent.is_zero()
        && percent(spent, cap) >= NEAR_PERCENT
    {
        let (spent, cap) = (usdc_text(spent), usdc_text(cap));
        push(format!("{name} has spent {spent} of {cap} USDC in 24 hours."), true);
    }
    let low = webhooks.iter().filter_map(|webhook| webhook.subscription.watches(account.account.id)).max();
    if let Some(threshold) = low.filter(|threshold| account.balance < *threshold) {
        let (balance, threshold) = (usdc_text(account.balance), usdc_text(threshold));
        push(format!("{name} holds {balance} USDC, below its threshold of {threshold}."), false);
    }
    found
}

#[derive(Template)]
#[template(path = "stop_all.html")]
struct StopPage {
    frame: Frame,
    /// `None`: they could not be counted. Stopping works, and is offered, all the same.
    count: Option<u64>,
    complaint: Option<Complaint>,
}

impl StopPage {
    fn accounts(&self) -> String {
        match self.count {
            Some(1) => "1 account".to_owned(),
            Some(count) => format!("{count} accounts"),
            None => "every account".to_owned(),
        }
    }
}

async fn stop_page(
    services: &Services,
    signed: &Signed,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let count = services.accounts.count(&signed.operator).await.ok();
    let frame = Frame::new(&signed.operator, Section::Home);
    let shown = StopPage { frame, count, complaint };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// Shows first what the stop would do, and afterwards that it is under way.
pub async fn ask_to_stop(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let Some(name) = asked.given("working") else { return stop_page(&services, &signed, None).await };
    match work(&services, &signed, name).await? {
        FormWork::Done(answer) => Ok(answer),
        FormWork::Running => Ok(ProgressPage {
            frame: Frame::new(&signed.operator, Section::Home),
            title: "Stopping all accounts",
            words: "The chain has not confirmed it yet. It goes on if you leave this page.".to_owned(),
            done: None,
            back: "/dashboard".to_owned(),
        }
        .into_response()),
        FormWork::Left => {
            let message = "The chain did not confirm the stop, which may have been carried out all the same. \
                           Stopping again does no harm.";
            let complaint =
                Complaint { status: StatusCode::OK, message: message.to_owned(), field: String::new() };
            stop_page(&services, &signed, Some(complaint)).await
        }
    }
}

pub async fn stop_all(State(services): State<Arc<Services>>, signed: Signed) -> Result<Response, PageError> {
    match services.halts.halt_all(&signed.operator).await {
        Ok(_) => Ok(see("/dashboard?stopped=1")),
        Err(error) => stop_page(&services, &signed, Some(Complaint::of(error)?)).await,
    }
}
