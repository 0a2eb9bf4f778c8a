//! Budgets, as they stand on the chain. They are made with the admin's wallet, and named in the policies of accounts; their caps are
//! changed here, compared first.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord};
use purser_model::wire::schema::Usdc;
use purser_model::{
    BudgetId, Invalid, Limit, Page, PageRequest, Timestamp, UpdateBudget, UsdcAmount, request_fingerprint,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{
    AccountView, BudgetComparison, BudgetUse, BudgetView, Caps, ServiceError, Services, accounts, budgets,
};

use super::accounts::TOGETHER;
use super::form::Form;
use super::known_budgets::month_text;
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, page, see};
use super::policy::{FieldChange, limit_of_form, sentences, waits_in_words};
use super::session::Signed;
use super::text::{filters, limit_text, percent, typed_text};

const LIMIT: u32 = 50;
const PATH: &str = "/dashboard/budgets";

#[derive(Template)]
#[template(path = "budgets.html")]
struct BudgetsPage {
    frame: Frame,
    budgets: Vec<BudgetView>,
    /// When they were seen, while the chain does not answer.
    seen_at: Option<Timestamp>,
    /// A number above those that are listed.
    free: u64,
    next: Option<String>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let request = asked.page(LIMIT);
    let is_first = request.cursor.is_none();
    let (budgets, seen_at) = match budgets::list(&services.inside, &signed.operator, request).await {
        Ok(budgets) => (budgets, None),
        Err(error @ ServiceError::ChainUnavailable { .. }) if is_first => {
            let seen = budgets::last_seen(&services.inside, &signed.operator);
            let Some(at) = seen.iter().map(|seen| seen.at).min() else { return Err(error.into()) };
            (Page { items: seen.into_iter().map(|seen| seen.view).collect(), next: None }, Some(at))
        }
        Err(error) => return Err(error.into()),
    };
    let shown = BudgetsPage {
        frame: signed.frame(Section::Accounts),
        free: budgets.items.last().map_or(1, |last| last.number.saturating_add(1)),
        next: asked.next(PATH, budgets.next.as_ref()),
        budgets: budgets.items,
        seen_at,
    };
    Ok(page(&shown, None))
}

#[derive(Template)]
#[template(path = "budget.html")]
struct BudgetPage {
    frame: Frame,
    budget: BudgetView,
    /// When it was seen, while the chain does not answer.
    seen_at: Option<Timestamp>,
    /// Those that pay through it.
    accounts: Vec<AccountView>,
    /// Of how many accounts it is not known now: the chain did not answer.
    unknown: usize,
    form: Form,
    comparison: Option<ComparedCaps>,
    complaint: Option<Complaint>,
}

/// What a change would do.
struct ComparedCaps {
    /// Stands for the caps that were compared; the form gives it back.
    caps: String,
    /// Something was edited since it was compared: nothing was changed, and it is compared anew.
    is_anew: bool,
    rows: [FieldChange; 2],
    /// Rules that can never match.
    warnings: Vec<&'static str>,
    /// How long it waits, if it does.
    waits: Option<String>,
}

/// How much of a cap is used.
struct Used {
    span: &'static str,
    used: UsdcAmount,
    cap: Option<UsdcAmount>,
    left: Option<UsdcAmount>,
    percent: Option<u64>,
    frees_at: Option<Timestamp>,
}

impl Used {
    fn of(budget: &BudgetUse) -> [Self; 2] {
        let BudgetUse { max_daily_spend: day, max_30_day_spend: month } = *budget;
        let used = |span, used: UsdcAmount, (cap, left): (Option<Usdc>, Option<Usdc>), frees_at| Self {
            span,
            used,
            cap: cap.map(|cap| cap.0),
            left: left.map(|left| left.0),
            percent: cap.map(|cap| percent(used, cap.0)),
            frees_at,
        };
        let of_month = month.used.map_or(UsdcAmount::ZERO, |used| used.0);
        [
            used("24 hours", day.used.0, (day.limit, day.remaining), day.frees_at),
            used("30 days", of_month, (month.limit, month.remaining), month.frees_at),
        ]
    }
}

impl BudgetPage {
    fn uses(&self) -> [Used; 2] {
        Used::of(&self.budget.limits)
    }
}

pub async fn one(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<BudgetId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notices = [
        ("changed", "The caps are in force, on the chain."),
        ("waits", "The change raises something, so it waits; see below until when."),
    ];
    let notice = notices.into_iter().find(|(name, _)| asked.given(name).is_some());
    let budget = get_or_seen(&services, &signed, id).await?;
    let BudgetView { max_daily_spend, max_30_day_spend, .. } = &budget.0;
    let form = Form::of(vec![
        ("max_daily_spend", typed_text(max_daily_spend.0)),
        ("max_30_day_spend", max_30_day_spend.map_or_else(String::new, |cap| typed_text(cap.0))),
    ]);
    let notice = notice.map(|(_, text)| text.to_owned());
    answer(&services, &signed, budget, notice, form, None, None).await
}

/// The budget or, while the chain does not answer, how this process saw it last and when.
async fn get_or_seen(
    services: &Services,
    signed: &Signed,
    id: BudgetId,
) -> Result<(BudgetView, Option<Timestamp>), ServiceError> {
    match budgets::get(&services.inside, &signed.operator, id).await {
        Ok(budget) => Ok((budget, None)),
        Err(error @ ServiceError::ChainUnavailable { .. }) => {
            let seen = budgets::last_seen(&services.inside, &signed.operator);
            let seen = seen.into_iter().find(|seen| seen.view.budget_id == id).ok_or(error)?;
            Ok((seen.view, Some(seen.at)))
        }
        Err(error) => Err(error),
    }
}

async fn answer(
    services: &Services,
    signed: &Signed,
    (budget, seen_at): (BudgetView, Option<Timestamp>),
    notice: Option<String>,
    form: Form,
    comparison: Option<ComparedCaps>,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let mut accounts =
        accounts::list(&services.inside, &signed.operator, None, PageRequest::first(TOGETHER)).await?.items;
    let unknown = accounts.iter().filter(|view| view.policy.is_none()).count();
    let named = |view: &AccountView| view.budget.or_else(|| view.seen.as_ref().and_then(|seen| seen.budget));
    accounts.retain(|view| named(view) == Some(budget.budget_id));
    let shown = BudgetPage {
        frame: signed.frame(Section::Accounts).with_notice(notice),
        budget,
        seen_at,
        accounts,
        unknown,
        form,
        comparison,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// Shows what other caps would do, and sets them once exactly that was confirmed, as for a policy.
pub async fn change(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<BudgetId>,
    form: Form,
) -> Result<Response, PageError> {
    let (comparison, complaint) = match carry_out(&services, (&signed, &scope), id, &form).await {
        Ok(CapsOutcome::Done(response)) => return Ok(response),
        Ok(CapsOutcome::Compared(compared)) => (Some(compared), None),
        Err(error) => (None, Some(Complaint::of(error)?)),
    };
    let budget = get_or_seen(&services, &signed, id).await?;
    answer(&services, &signed, budget, None, form, comparison, complaint).await
}

enum CapsOutcome {
    Compared(ComparedCaps),
    Done(Response),
}

async fn carry_out(
    services: &Services,
    (signed, scope): (&Signed, &AuditScope),
    id: BudgetId,
    form: &Form,
) -> Result<CapsOutcome, ApiError> {
    let update = update(form)?;
    let BudgetComparison { before, after, warnings, waits } =
        budgets::compare(&services.inside, &signed.operator, id, update).await?;
    let caps = fingerprint(&before, &after);
    let is_confirmed = form.text("step") == "change";
    if is_confirmed && form.text("compared") == caps {
        let done = budgets::update(&services.inside, &signed.operator, id, update, scope).await?;
        let what = if done.waits() { "waits" } else { "changed" };
        return Ok(CapsOutcome::Done(see(&format!("{PATH}/{id}?{what}=1"))));
    }
    let row = |field, before, after| FieldChange { field, before, after };
    let day = |caps: &Caps| limit_text(Limit::AtMost(caps.max_daily_spend));
    let month = |caps: &Caps| month_text(caps.max_30_day_spend);
    let rows =
        [row("Daily limit", day(&before), day(&after)), row("30-day limit", month(&before), month(&after))];
    let waits = waits.map(waits_in_words);
    let warnings = sentences(&warnings);
    Ok(CapsOutcome::Compared(ComparedCaps { caps, is_anew: is_confirmed, rows, warnings, waits }))
}

/// The caps that the form asks for.
fn update(form: &Form) -> Result<UpdateBudget, Invalid> {
    let cap = |name| limit_of_form(form, name)?.map(|text| Invalid::unless(name, text)).transpose();
    let day: Option<UsdcAmount> = cap("max_daily_spend")?;
    if day.is_none() {
        let message = "must be an amount: a budget has a limit for 24 hours";
        return Err(Invalid::new("max_daily_spend", message));
    }
    let month = cap("max_30_day_spend")?.map_or(Limit::Unlimited, Limit::AtMost);
    Ok(UpdateBudget { max_daily_spend: day, max_30_day_spend: Some(month) })
}

/// Stands for the caps before and after.
fn fingerprint(before: &Caps, after: &Caps) -> String {
    let text = |caps: &Caps| format!("{} {}", caps.max_daily_spend, month_text(caps.max_30_day_spend));
    request_fingerprint(&text(before), "", text(after).as_bytes()).to_hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_cap_for_24_hours_and_may_have_one_for_30_days() {
        let form = |day: &str, month: &str| {
            Form::of(vec![("max_daily_spend", day.to_owned()), ("max_30_day_spend", month.to_owned())])
        };
        let read = update(&form("12.5", "")).expect("caps");
        assert_eq!(read.max_daily_spend, Some(UsdcAmount::from_micros(12_500_000)));
        assert_eq!(read.max_30_day_spend, Some(Limit::Unlimited));
        let read = update(&form("0.000001", "2")).expect("caps");
        assert_eq!(read.max_30_day_spend, Some(Limit::AtMost(UsdcAmount::from_micros(2_000_000))));
        for (day, month, field) in [
            ("", "2", "max_daily_spend"),
            ("ten", "", "max_daily_spend"),
            ("1,250", "", "max_daily_spend"),
            ("1", "12,50", "max_30_day_spend"),
            ("1", "none", "max_30_day_spend"),
        ] {
            assert_eq!(update(&form(day, month)).expect_err("refused").param(), field, "{day} {month}");
        }
    }
}
