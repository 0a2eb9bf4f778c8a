//! An operator's overview: what it has, what needs attention, who spends, what was refused, and the button that stops everything.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use purser_api::web::OnRecord;
use purser_approvals::Approvals;
use purser_model::{AccountId, AccountStatus, Limit, PageRequest, Timestamp, UsdcAmount};
use purser_service::{AccountView, Services, accounts, halts, health};

use super::attention::{Attention, HaltOfAll, LOOKED_AT, all_clear, attention, cap_of, halt_of_all};
use super::once::{FormWork, work};
use super::page::{Complaint, Frame, PageError, ProgressPage, QueryParams, Section, page, see};
use super::session::Signed;
use super::spending::{RefusedToday, Stack, by_account, refused_since_yesterday, refused_today, today};
use super::system::System;
use super::text::filters;

/// How many of those that spent the most are shown.
const TOP: usize = 10;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    sums: Sums,
    /// A halt of all.
    halt: Option<HaltOfAll>,
    attention: Vec<Attention>,
    all_clear: String,
    stack: Stack,
    refused_today: RefusedToday,
    /// How many were refused the day before.
    refused_yesterday: u64,
    system: System,
    /// Those that spent the most in 24 hours.
    accounts: Vec<AccountView>,
    refused: HashMap<AccountId, u64>,
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
    /// Those whose policy and halts were not read: the chain did not answer.
    unknown: usize,
    /// How those were when they were last seen, if all of them were.
    seen: Option<SumsSeen>,
    active: usize,
    /// Those that hold nothing.
    empty: usize,
    count: usize,
}

/// Totals of accounts that were not read now, as they were last seen.
struct SumsSeen {
    /// When the first of them was seen.
    at: Timestamp,
    spent: UsdcAmount,
    caps: UsdcAmount,
    stopped: usize,
}

impl SumsSeen {
    /// `None`: all were read now, or this process never saw one of them.
    fn over(accounts: &[AccountView]) -> Option<Self> {
        let unread = accounts.iter().filter(|account| account.policy.is_none());
        let seen: Vec<_> = unread.map(|account| account.seen.as_deref()).collect::<Option<_>>()?;
        let mut sums = Self {
            at: seen.iter().map(|seen| seen.at).min()?,
            spent: UsdcAmount::ZERO,
            caps: UsdcAmount::ZERO,
            stopped: 0,
        };
        for account in seen {
            sums.spent = sums.spent.saturating_add(account.spent);
            sums.stopped += usize::from(account.status == AccountStatus::Paused);
            if let Limit::AtMost(cap) = account.policy.max_daily_spend {
                sums.caps = sums.caps.saturating_add(cap);
            }
        }
        Some(sums)
    }
}

impl Sums {
    fn over(accounts: &[AccountView]) -> Self {
        let mut sums = Self { spent: Some(UsdcAmount::ZERO), count: accounts.len(), ..Self::default() };
        sums.seen = SumsSeen::over(accounts);
        for account in accounts {
            sums.balance = sums.balance.saturating_add(account.balance);
            sums.spent = sums.spent.zip(account.spent).map(|(sum, spent)| sum.saturating_add(spent));
            sums.empty += usize::from(account.balance.is_zero());
            sums.active += usize::from(account.status == Some(AccountStatus::Active));
            match cap_of(account) {
                Some(cap) => sums.caps = sums.caps.saturating_add(cap),
                None if account.policy.is_some() => sums.uncapped += 1,
                None => sums.unknown += 1,
            }
        }
        sums
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
    State(approvals): State<Approvals>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let listed = accounts::list(&services.inside, operator, None, PageRequest::first(LOOKED_AT)).await?;
    let accounts = listed.items;
    let report = health::report(&services.inside).await;
    let halt = halt_of_all(&services, &signed, &accounts).await?;
    let attention = attention((&services, &approvals), &signed, &accounts, &report, halt.is_some()).await?;
    let (stack, refusals, since_yesterday) = tokio::try_join!(
        Stack::of_operator(&services, operator, asked.text("days") == "30", &accounts),
        refused_today(&services, operator),
        refused_since_yesterday(&services, operator)
    )?;
    let refused_today = RefusedToday::of(&refusals, today(&services));
    // Once the chain shows it, it is said as long as it lasts.
    let stopped = asked.given("stopped").filter(|_| halt.is_none()).map(|_| {
        "Every account is stopped. Only the admin can let them pay again, with their own wallet (anchor run resume-all)."
            .to_owned()
    });
    let shown = HomePage {
        frame: signed.frame(Section::Home).with_notice(stopped),
        sums: Sums::over(&accounts),
        halt,
        attention,
        all_clear: all_clear(),
        stack,
        refused: by_account(&refusals),
        refused_yesterday: since_yesterday.saturating_sub(refused_today.total),
        refused_today,
        system: System::of(&services, operator.network, &report),
        more: listed.next.is_some(),
        accounts: top_spenders(accounts),
    };
    Ok(page(&shown, None))
}

fn top_spenders(mut accounts: Vec<AccountView>) -> Vec<AccountView> {
    accounts.retain(|view| view.spent.is_some_and(|spent| !spent.is_zero()));
    accounts.sort_by_key(|view| Reverse(view.spent));
    accounts.truncate(TOP);
    accounts
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
    let count = accounts::count(&services.inside, &signed.operator).await.ok();
    let frame = signed.frame(Section::Home);
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
            frame: signed.frame(Section::Home),
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

pub async fn stop_all(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
) -> Result<Response, PageError> {
    match halts::halt_all(&services.inside, &signed.operator, &scope).await {
        Ok(_) => Ok(see("/dashboard?stopped=1")),
        Err(error) => stop_page(&services, &signed, Some(Complaint::of(error)?)).await,
    }
}
