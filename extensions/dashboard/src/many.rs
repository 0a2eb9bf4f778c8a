//! One change of many accounts: chosen, compared, then carried out for exactly those that were shown, at the versions that were shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use purser_api::web::{ApiError, Fields, HasChanged, OnRecord};
use purser_bulk::{Changed, Compared, Many, ManyChange, ManyDone, change, compare};
use purser_model::{
    AccountFilter, AccountId, Action, ActionFilter, ActionOutcome, Invalid, PageRequest, PolicyUpdate, Rule,
    Selection, Tag, Timestamp,
};
use purser_service::{RulesInForce, ServiceError, Services, Will, actions};
use serde_json::{Map, Value, json};

use super::accounts::search;
use super::form::Form;
use super::known_budgets::{KnownBudgets, month_text};
use super::once::{FormWork, work};
use super::page::{Complaint, Frame, PageError, ProgressPage, QueryParams, Section, page};
use super::policy::{
    compared, entry_of_line, flags, is_for_admin, limit_of_field, line_of_entry, sentences, typed,
    waits_in_words,
};
use super::session::Signed;
use super::text::filters;

const PATH: &str = "/dashboard/accounts/change";
/// The fields that say which accounts are meant.
const CHOOSING: [&str; 3] = ["tag", "search", "status"];
/// How many records of changes of many are looked through for one that was interrupted.
const RECORDS: u32 = 20;

#[derive(Template)]
#[template(path = "many.html")]
struct ManyPage {
    frame: Frame,
    budgets: KnownBudgets,
    form: Form,
    shown: Option<ShownChange>,
    complaint: Option<Complaint>,
}

impl ManyPage {
    fn rows(&self) -> &[Row] {
        self.shown.as_ref().map_or(&[], |shown| &shown.rows)
    }
}

/// What would be changed.
struct ShownChange {
    /// Carries it out.
    path: String,
    /// What the next form gives back: the accounts with their versions, and the change.
    accounts: String,
    change: String,
    rows: Vec<Row>,
    /// How many accounts would change, now or later.
    count: usize,
    waits: Option<String>,
    /// The admin alone may do it for some of them, with its own wallet.
    is_for_admin: bool,
    is_halt: bool,
}

/// One account.
struct Row {
    id: AccountId,
    name: String,
    /// Before and after, by field.
    changes: Vec<(&'static str, String, String)>,
    outcome: &'static str,
    /// Rules after it that can never match.
    warnings: Vec<&'static str>,
    /// Why not, or until when it waits.
    note: Option<String>,
    at: Option<Timestamp>,
}

impl Row {
    fn of(one: &Compared, outcome: &'static str, budgets: &KnownBudgets) -> Self {
        let planned = &one.planned;
        Self {
            id: planned.id,
            name: planned.name.as_ref().map_or_else(String::new, |name| name.as_str().to_owned()),
            changes: planned
                .rules
                .as_ref()
                .map_or_else(Vec::new, |(before, after)| changes(before, after, budgets)),
            outcome,
            warnings: sentences(&planned.warnings),
            note: None,
            at: None,
        }
    }

    fn failed(self, error: &ServiceError) -> Self {
        let (_, message, _) = ApiError::from(error.clone()).in_words();
        Self { outcome: "failed", note: Some(message), ..self }
    }
}

fn changes(
    before: &RulesInForce,
    after: &RulesInForce,
    budgets: &KnownBudgets,
) -> Vec<(&'static str, String, String)> {
    let fields = compared(&before.policy, &after.policy).into_iter();
    let mut rows: Vec<_> = fields.map(|change| (change.field, change.before, change.after)).collect();
    let month = |rules: &RulesInForce| month_text(rules.bounds.max_30_day_spend);
    let budget = |rules: &RulesInForce| budgets.text(rules.bounds.budget);
    let halted = |rules: &RulesInForce| if rules.is_halted { "Yes" } else { "No" }.to_owned();
    rows.push(("30-day limit", month(before), month(after)));
    rows.push(("Budget", budget(before), budget(after)));
    rows.push(("Halted", halted(before), halted(after)));
    rows.retain(|(_, before, after)| before != after);
    rows
}

/// The change that the form asks for, as the body of a PATCH; `None`: a halt.
fn asked(form: &Form) -> Result<Option<Map<String, Value>>, Invalid> {
    let mut fields = Map::new();
    match form.text("what") {
        "halt" => return Ok(None),
        "pause" => drop(fields.insert("paused".to_owned(), true.into())),
        "unpause" => drop(fields.insert("paused".to_owned(), false.into())),
        _ => {
            for name in typed().map(Rule::name).chain(["max_30_day_spend"]) {
                if form.given(name).is_some() {
                    let limit =
                        if form.text(name) == "none" { Value::Null } else { limit_of_field(form, name)? };
                    fields.insert(name.to_owned(), limit);
                }
            }
            match form.text("budget_id") {
                "" => {}
                "none" => drop(fields.insert("budget_id".to_owned(), Value::Null)),
                budget => drop(fields.insert("budget_id".to_owned(), budget.into())),
            }
            for name in flags().map(Rule::name) {
                match form.text(name) {
                    "yes" => drop(fields.insert(name.to_owned(), true.into())),
                    "no" => drop(fields.insert(name.to_owned(), false.into())),
                    _ => {}
                }
            }
            let lines = form.text("allowed_counterparties").lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty()).map(entry_of_line);
            match form.text("allowed") {
                "anyone" => drop(fields.insert("allowed_counterparties".to_owned(), Value::Null)),
                "only" => drop(fields.insert("allowed_counterparties".to_owned(), Value::from_iter(lines))),
                _ => {}
            }
            if fields.is_empty() {
                return Err(Invalid::new("what", "changes nothing: fill in what is to become otherwise"));
            }
        }
    }
    fields.extend(form.given("reason").map(|reason| ("reason".to_owned(), json!(reason))));
    Ok(Some(fields))
}

fn change_of(fields: Option<&Map<String, Value>>) -> Result<ManyChange, Invalid> {
    let Some(fields) = fields else { return Ok(ManyChange::Halt) };
    let json = Value::Object(fields.clone()).to_string();
    Ok(ManyChange::Policy(PolicyUpdate::from_json(json.as_bytes())?))
}

async fn selected(services: &Services, signed: &Signed, form: &Form) -> Result<Selection, ApiError> {
    let filter = AccountFilter {
        status: form.given("status").map(|word| Invalid::unless("status", word)).transpose()?,
        tag: form.given("tag").map(|tag| Invalid::unless::<Tag>("tag", tag)).transpose()?,
    };
    let Some(wanted) = form.given("search") else { return Ok(Selection::Filtered(filter)) };
    let found = search(services, &signed.operator, filter, wanted).await?;
    Ok(Selection::Named(found.into_iter().map(|id| (id, None)).collect()))
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let known = CHOOSING.map(|name| (name, asked.text(name).to_owned()));
    let budgets = KnownBudgets::of(&services, &signed.operator).await;
    Ok(answer(&signed, budgets, Form::of(known.into()), None, None))
}

fn answer(
    signed: &Signed,
    budgets: KnownBudgets,
    form: Form,
    shown: Option<ShownChange>,
    complaint: Option<Complaint>,
) -> Response {
    let frame = signed.frame(Section::Accounts);
    let shown = ManyPage { frame, budgets, form, shown, complaint };
    page(&shown, shown.complaint.as_ref())
}

/// Shows what the change would do.
pub async fn look(
    State(services): State<Arc<Services>>,
    State(many): State<Many>,
    signed: Signed,
    form: Form,
) -> Result<Response, PageError> {
    let budgets = KnownBudgets::of(&services, &signed.operator).await;
    Ok(match look_at((&services, &many), &signed, &form, &budgets).await {
        Ok(shown) => answer(&signed, budgets, form, Some(shown), None),
        Err(error) => answer(&signed, budgets, form, None, Some(Complaint::of(error)?)),
    })
}

async fn look_at(
    (services, many): (&Services, &Many),
    signed: &Signed,
    form: &Form,
    budgets: &KnownBudgets,
) -> Result<ShownChange, ApiError> {
    let fields = asked(form)?;
    let change = change_of(fields.as_ref())?;
    let selection = selected(services, signed, form).await?;
    let all = compare(many, &signed.operator, &selection, &change, true).await?;
    let would_change = |one: &&Compared| matches!(one.planned.will, Ok(Will::Apply | Will::Wait));
    let named = |one: &Compared| format!("{}-{}", one.planned.id, one.planned.expected_version);
    let waiting = all.iter().find(|one| matches!(one.planned.will, Ok(Will::Wait)));
    let row = |one: &Compared| match &one.planned.will {
        Ok(Will::Apply) => Row::of(one, "changes", budgets),
        Ok(Will::Wait) => Row::of(one, "waits", budgets),
        Ok(Will::BeUnchanged) => Row::of(one, "no change needed", budgets),
        Err(error) => Row::of(one, "failed", budgets).failed(error),
    };
    let refused = all.iter().filter_map(|one| one.planned.will.clone().err());
    let is_for_admin = refused.map(ApiError::from).any(|error| is_for_admin(&error));
    let is_halt = fields.is_none();
    Ok(ShownChange {
        path: format!("{PATH}/{}", if is_halt { "halt" } else { "policy" }),
        accounts: all.iter().filter(would_change).map(named).collect::<Vec<_>>().join(" "),
        change: fields.map_or_else(String::new, |fields| Value::Object(fields).to_string()),
        count: all.iter().filter(would_change).count(),
        waits: waiting.map(|one| waits_in_words(one.planned.delay_seconds)),
        rows: all.iter().map(row).collect(),
        is_for_admin,
        is_halt,
    })
}

/// The accounts that were shown, with the versions that were.
fn shown_accounts(form: &Form) -> Result<Selection, Invalid> {
    let read = |text: &str| {
        let (id, version) = text.rsplit_once('-')?;
        Some((id.parse().ok()?, Some(version.parse().ok()?)))
    };
    let named: Option<BTreeMap<AccountId, Option<u64>>> =
        form.text("accounts").split_ascii_whitespace().map(read).collect();
    named.map(Selection::Named).ok_or_else(|| Invalid::new("accounts", "must be those that were shown"))
}

#[derive(Template)]
#[template(path = "many_done.html")]
struct DonePage {
    frame: Frame,
    rows: Vec<Row>,
    changed: usize,
    /// Those whose change is looser, and has to wait.
    waiting: usize,
    failed: usize,
}

impl DonePage {
    fn rows(&self) -> &[Row] {
        &self.rows
    }
}

pub async fn change_policies(
    State(services): State<Arc<Services>>,
    State(many): State<Many>,
    signed: Signed,
    on_record: OnRecord,
    form: Form,
) -> Result<Response, PageError> {
    let update = PolicyUpdate::from_json(form.text("change").as_bytes())?;
    let fields = Fields::of_json(form.text("change").as_bytes());
    carry_out((&services, &many), (&signed, &on_record), &form, (ManyChange::Policy(update), fields)).await
}

pub async fn halt(
    State(services): State<Arc<Services>>,
    State(many): State<Many>,
    signed: Signed,
    on_record: OnRecord,
    form: Form,
) -> Result<Response, PageError> {
    carry_out((&services, &many), (&signed, &on_record), &form, (ManyChange::Halt, None)).await
}

async fn carry_out(
    (services, many): (&Services, &Many),
    (signed, on_record): (&Signed, &OnRecord),
    form: &Form,
    (asked, fields): (ManyChange, Option<Fields>),
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let _turn = many.turn(operator, &asked).await;
    let all = compare(many, operator, &shown_accounts(form)?, &asked, false).await?;
    let of = (operator, on_record);
    let changed = change(many, of, &asked, fields.as_ref(), all).await;
    let budgets = KnownBudgets::of(services, operator).await;
    let rows: Vec<Row> = changed.iter().map(|one| done(one, &budgets)).collect();
    let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
    let (has_changed, waiting, failed) = (count("changed"), count("waits"), count("failed"));
    let frame = signed.frame(Section::Accounts);
    let shown = page(&DonePage { frame, changed: has_changed, waiting, failed, rows }, None);
    Ok((Extension(HasChanged(true)), shown).into_response())
}

fn done(Changed { compared, done }: &Changed, budgets: &KnownBudgets) -> Row {
    let row = |outcome| Row::of(compared, outcome, budgets);
    match done {
        Ok(ManyDone::Applied { .. }) => row("changed"),
        Ok(ManyDone::Waits { effective_at }) => Row { at: *effective_at, ..row("waits") },
        Ok(ManyDone::Unchanged) => row("no change needed"),
        Err(error) => row("failed").failed(error),
    }
}

/// What was entered for the session's latest change that was interrupted, as far as it is on record.
async fn find_entered(services: &Services, signed: &Signed) -> Result<Form, PageError> {
    let mut latest: Option<Action> = None;
    for name in ["change_policies", "halt_accounts"] {
        let filter = ActionFilter {
            name: name.parse().ok(),
            key_id: Some(signed.principal.key_id()),
            ..ActionFilter::default()
        };
        let listed =
            actions::list(&services.inside, &signed.operator, &filter, PageRequest::first(RECORDS)).await?;
        let is_interrupted = |action: &Action| {
            action.session_id == Some(signed.session) && action.outcome == ActionOutcome::Unknown
        };
        let found = listed.items.into_iter().map(|listed| listed.action).find(is_interrupted);
        latest = latest.into_iter().chain(found).max_by_key(|action| action.id);
    }
    let recorded = latest.and_then(|action| serde_json::from_str(action.after?.get()).ok());
    Ok(recorded.map_or_else(Form::default, |recorded| entered(&recorded)))
}

/// The form as it was filled in, from the fields that are on record of what it asked for.
fn entered(recorded: &Map<String, Value>) -> Form {
    let text = |name: &str| recorded.get(name).and_then(Value::as_str);
    let mut fields: Vec<(&str, String)> =
        CHOOSING.iter().filter_map(|name| Some((*name, text(name)?.to_owned()))).collect();
    let change = text("change").and_then(|json| serde_json::from_str::<Map<String, Value>>(json).ok());
    let Some(change) = change else {
        fields.push(("what", "halt".to_owned()));
        return Form::of(fields);
    };
    for (name, value) in &change {
        match (name.as_str(), value) {
            ("paused", Value::Bool(paused)) => {
                fields.push(("what", if *paused { "pause" } else { "unpause" }.to_owned()));
            }
            (name, Value::Bool(is_on)) => {
                fields.push((name, if *is_on { "yes" } else { "no" }.to_owned()));
            }
            ("allowed_counterparties", Value::Array(entries)) => {
                let lines: Vec<String> = entries.iter().map(line_of_entry).collect();
                fields.push(("allowed", "only".to_owned()));
                fields.push(("allowed_counterparties", lines.join("\n")));
            }
            ("allowed_counterparties", _) => fields.push(("allowed", "anyone".to_owned())),
            (name, Value::Null) => fields.push((name, "none".to_owned())),
            (name, Value::String(text)) => fields.push((name, text.clone())),
            (name, other) => fields.push((name, other.to_string())),
        }
    }
    Form::of(fields)
}

/// That it is under way, and then what became of it.
pub async fn progress(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let budgets = KnownBudgets::of(&services, &signed.operator).await;
    let Some(name) = asked.given("working") else {
        return Ok(answer(&signed, budgets, Form::default(), None, None));
    };
    match work(&services, &signed, name).await? {
        FormWork::Done(answer) => Ok(answer),
        FormWork::Running => Ok(ProgressPage {
            frame: signed.frame(Section::Accounts),
            title: "Changing many accounts",
            words: "The chain confirms one account after the other. It goes on if you leave this page."
                .to_owned(),
            done: None,
            back: "/dashboard/actions".to_owned(),
        }
        .into_response()),
        FormWork::Left => {
            let message = "It was interrupted, and some of the accounts may be changed. Look again: those that are \
                           so already stay as they are.";
            let complaint = Complaint {
                status: axum::http::StatusCode::OK,
                message: message.to_owned(),
                field: String::new(),
            };
            let form = find_entered(&services, &signed).await?;
            Ok(answer(&signed, budgets, form, None, Some(complaint)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_filled_in_again_as_it_was_from_what_is_on_record_of_it() {
        let of_rules = [
            ("what", "rules"),
            ("max_single_transfer", "12.50"),
            ("max_daily_spend", "none"),
            ("budget_id", "none"),
            ("require_memo", "no"),
            ("allowed", "only"),
            ("allowed_counterparties", "acct_1\nwallet 9xyz"),
            ("reason", "spring"),
        ];
        let forms: [&[(&str, &str)]; 5] = [
            &of_rules,
            &[("tag", "fleet"), ("what", "rules"), ("allowed", "anyone"), ("max_30_day_spend", "7")],
            &[("search", "Ben & co"), ("what", "pause"), ("reason", "a leak")],
            &[("status", "paused"), ("what", "unpause")],
            &[("tag", "fleet"), ("what", "halt")],
        ];
        for fields in forms {
            let form = Form::of(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect());
            let change = asked(&form).expect("a change");
            let mut recorded = Map::new();
            recorded.extend(CHOOSING.map(|name| (name.to_owned(), json!(form.text(name)))));
            let change = change.map(|change| Value::Object(change).to_string());
            recorded.extend(change.map(|change| ("change".to_owned(), json!(change))));
            let again = entered(&recorded);
            for (name, value) in fields.iter().filter(|field| **field != ("what", "rules")) {
                assert_eq!(again.text(name), *value, "{name}: {again:?}");
            }
            assert_eq!(asked(&again).expect("a change"), asked(&form).expect("a change"));
        }
    }
}
