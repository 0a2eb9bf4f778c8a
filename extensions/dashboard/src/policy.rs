//! Changing a policy: filled in, compared with the current one, then carried out. Also every earlier version.

use std::sync::{Arc, LazyLock};

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord};
use purser_model::wire::PolicyVersion;
use purser_model::{
    AccountId, AllowedRecipients, Invalid, PolicyUpdate, Rule, RuleValue, SpendingPolicy, Warning,
    request_fingerprint,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{
    AccountBounds, AccountView, Forbidden, PolicyComparison, PolicyView, ServiceError, Services, accounts,
    policies,
};
use serde_json::{Map, Value, json};

use super::form::Form;
use super::known_budgets::{KnownBudgets, month_text};
use super::names::{Names, Shown};
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, page, see};
use super::session::Signed;
use super::text::{field_text, filters, typed_text, value_text};

const VERSIONS: u32 = 25;
/// The name of the allowlist among the fields of a policy.
pub const PAYEES: &str = Rule::AllowedCounterparties.title();

#[derive(Template)]
#[template(path = "policy.html")]
struct PolicyPage {
    frame: Frame,
    view: AccountView,
    budgets: KnownBudgets,
    form: Form,
    comparison: Option<Compared>,
    /// What the admin types where it alone may do this.
    command: Option<String>,
    complaint: Option<Complaint>,
}

/// What a change would do.
struct Compared {
    /// Stands for the fields that are compared; the form gives it back.
    fields: String,
    /// The fields were edited since they were compared: nothing was changed, and they are compared anew.
    is_anew: bool,
    rows: Vec<FieldChange>,
    /// The delay in seconds, if the change loosens something and must wait.
    waits: Option<u32>,
    /// It changes what binds the account beside its policy, which does not wait.
    binds: bool,
    /// Rules that can never match.
    warnings: Vec<&'static str>,
}

impl PolicyPage {
    /// An empty limit is none.
    fn needs_limits(&self) -> bool {
        false
    }

    /// The fields of the form, for the step that only confirms them.
    fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.form.fields().filter(|(name, _)| !["step", "compared"].contains(name))
    }
}

impl Compared {
    /// How long it waits, if it does.
    fn waits_in_words(&self) -> Option<String> {
        self.waits.map(waits_in_words)
    }
}

/// A delay.
pub fn waits_in_words(seconds: u32) -> String {
    let seconds = u64::from(seconds);
    let (count, unit) = match seconds {
        seconds if seconds.is_multiple_of(86_400) => (seconds / 86_400, "day"),
        seconds if seconds.is_multiple_of(3_600) => (seconds / 3_600, "hour"),
        seconds if seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A field before and after.
pub struct FieldChange {
    pub field: &'static str,
    pub before: String,
    pub after: String,
}

impl FieldChange {
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// What binds an account beside its policy, before and after.
pub fn compared_bounds(
    before: &AccountBounds,
    after: &AccountBounds,
    budgets: &KnownBudgets,
) -> [FieldChange; 2] {
    let row = |field, before, after| FieldChange { field, before, after };
    [
        row("30-day limit", month_text(before.max_30_day_spend), month_text(after.max_30_day_spend)),
        row("Budget", budgets.text(before.budget), budgets.text(after.budget)),
    ]
}

/// Two policies side by side.
pub fn compared(before: &SpendingPolicy, after: &SpendingPolicy) -> Vec<FieldChange> {
    let rows = rows(before).into_iter().zip(rows(after));
    rows.map(|((field, before), (_, after))| FieldChange { field, before, after }).collect()
}

/// Every field of a policy in words.
pub fn rows(policy: &SpendingPolicy) -> [(&'static str, String); Rule::ALL.len()] {
    Rule::AS_SET.map(|rule| (rule.title(), value_text(&policy.value(rule))))
}

/// Lists the rules that have a form field, with their default values. A pause has its own button.
fn in_forms() -> impl Iterator<Item = (Rule, RuleValue<'static, AllowedRecipients>)> {
    static OPEN: LazyLock<SpendingPolicy> = LazyLock::new(SpendingPolicy::default);
    let rules = Rule::AS_SET.into_iter().filter(|rule| *rule != Rule::Paused);
    rules.map(|rule| (rule, OPEN.value(rule)))
}

/// Lists the rules whose value is typed.
pub fn typed() -> impl Iterator<Item = Rule> {
    let is_typed = |value: &RuleValue<_>| !matches!(value, RuleValue::Flag(_) | RuleValue::Payees(_));
    in_forms().filter(move |(_, value)| is_typed(value)).map(|(rule, _)| rule)
}

/// Lists the rules that are on or off.
pub fn flags() -> impl Iterator<Item = Rule> {
    in_forms().filter(|(_, value)| matches!(value, RuleValue::Flag(_))).map(|(rule, _)| rule)
}

/// Lists the fields that show their own error: those of the rules, and `more`.
pub fn fields_and(more: &[&'static str]) -> Vec<&'static str> {
    in_forms().map(|(rule, _)| rule.name()).chain(more.iter().copied()).collect()
}

/// The fields of what binds an account beside its policy, each with the hidden one that says how the form was filled in.
const BOUNDS: [(&str, &str); 2] =
    [("max_30_day_spend", "seen_max_30_day_spend"), ("budget_id", "seen_budget_id")];

/// The form, filled in with the current policy.
fn form_of(policy: &SpendingPolicy, version: u64, bounds: &AccountBounds) -> Form {
    let is_listed = policy.value(Rule::AllowedCounterparties).is_set();
    let mut fields = vec![
        ("expected_version", version.to_string()),
        ("allowed", if is_listed { "only" } else { "anyone" }.to_owned()),
    ];
    fields.extend(in_forms().filter_map(|(rule, _)| Some((rule.name(), field_text(&policy.value(rule))?))));
    let month = bounds.max_30_day_spend.map_or_else(String::new, typed_text);
    let budget = bounds.budget.map_or_else(String::new, |budget| budget.to_string());
    for ((name, seen), value) in BOUNDS.into_iter().zip([month, budget]) {
        fields.extend([(name, value.clone()), (seen, value)]);
    }
    Form::of(fields)
}

/// The version that a form was filled in for.
pub fn version_of(form: &Form) -> Result<u64, Invalid> {
    let text = form.text("expected_version");
    text.parse().map_err(|_| Invalid::new("expected_version", "must be the version that was looked at"))
}

/// The change that the form asks for, in the form of a PATCH body.
fn update(form: &Form) -> Result<PolicyUpdate, Invalid> {
    let mut fields = policy_fields(form)?;
    fields.extend(bound_fields(form)?);
    fields.insert("expected_version".to_owned(), version_of(form)?.into());
    fields.extend(form.given("reason").map(|reason| ("reason".to_owned(), reason.into())));
    PolicyUpdate::from_json(Value::Object(fields).to_string().as_bytes())
}

/// The policy of a new account. Having no limit, or paying anyone, is said and never left out.
pub fn first_policy(form: &Form) -> Result<PolicyUpdate, Invalid> {
    let mut fields = policy_fields(form)?;
    for name in typed().map(Rule::name) {
        match form.text(name) {
            "" => return Err(Invalid::new(name, "must be an amount, or `none` for no limit")),
            "none" => _ = fields.insert(name.to_owned(), Value::Null),
            _ => {}
        }
    }
    if form.given("allowed").is_none() {
        return Err(Invalid::new("allowed_counterparties", "must be chosen: anyone, or only those below"));
    }
    PolicyUpdate::from_json(Value::Object(fields).to_string().as_bytes())
}

/// Stands for the version, the fields that a form was compared with, and what bound the account beside its policy then, which has no
/// version.
fn fingerprint(form: &Form, bounds: &AccountBounds) -> Result<String, Invalid> {
    let mut fields = policy_fields(form)?;
    fields.extend(bound_fields(form)?);
    let fields = Value::Object(fields).to_string();
    let version = version_of(form)?;
    let budget = bounds.budget.map_or_else(String::new, |budget| budget.to_string());
    let stood = format!("{version} {} {budget}", month_text(bounds.max_30_day_spend));
    Ok(request_fingerprint(&stood, "", fields.as_bytes()).to_hex())
}

/// A limit as it was typed, if it was.
pub fn limit_of_form<'a>(form: &'a Form, name: &'a str) -> Result<Option<&'a str>, Invalid> {
    match form.given(name) {
        // To some it parts thousands, to others decimals.
        Some(text) if text.contains(',') => Err(Invalid::new(
            name,
            "must be typed without a comma: 12.5 for twelve and a half, 12500 for twelve thousand five hundred",
        )),
        text => Ok(text),
    }
}

/// The same as JSON; null where nothing was typed.
pub fn limit_of_field(form: &Form, name: &str) -> Result<Value, Invalid> {
    Ok(limit_of_form(form, name)?.map_or(Value::Null, Value::from))
}

/// What is to bind an account beside its policy, in the form of JSON: only what was edited, so that nothing is put over what somebody
/// else set since.
fn bound_fields(form: &Form) -> Result<Map<String, Value>, Invalid> {
    let mut fields = Map::new();
    for (name, seen) in BOUNDS {
        let is_edited = form.all(name).next().is_some_and(|text| text.trim() != form.text(seen));
        if is_edited {
            fields.insert(name.to_owned(), limit_of_field(form, name)?);
        }
    }
    Ok(fields)
}

/// What the admin types to bind the account as the form says.
fn command(form: &Form, view: &AccountView) -> Option<String> {
    let fields = bound_fields(form).ok()?;
    let mut command = format!("anchor run set-bounds -- --account {}", view.account.address);
    for (name, option) in [("max_30_day_spend", "--max-30-days"), ("budget_id", "--budget")] {
        if let Some(value) = fields.get(name) {
            let value = value.as_str().unwrap_or("none");
            command.push_str(&format!(" {option} {}", value.strip_prefix("bdg_").unwrap_or(value)));
        }
    }
    Some(command + " --yes")
}

/// A line of an allowlist.
pub fn entry_of_line(line: &str) -> Value {
    match line.split_once(char::is_whitespace) {
        Some((kind, address)) => json!({ kind.trim(): address.trim() }),
        None => Value::from(line),
    }
}

/// The line that such an entry was.
pub fn line_of_entry(entry: &Value) -> String {
    let kind_and_address = entry.as_object().and_then(|entry| entry.iter().next());
    match kind_and_address {
        Some((kind, address)) => format!("{kind} {}", address.as_str().unwrap_or_default()),
        None => entry.as_str().unwrap_or_default().to_owned(),
    }
}

/// The fields of a policy as the form has them, in the form of JSON.
fn policy_fields(form: &Form) -> Result<Map<String, Value>, Invalid> {
    let lines = form.text("allowed_counterparties").lines().map(str::trim).filter(|line| !line.is_empty());
    let allowed = match form.text("allowed") {
        "only" => Value::from_iter(lines.map(entry_of_line)),
        _ => Value::Null,
    };
    let mut fields = Map::new();
    for name in typed().map(Rule::name) {
        fields.insert(name.to_owned(), limit_of_field(form, name)?);
    }
    for name in flags().map(Rule::name) {
        fields.insert(name.to_owned(), form.given(name).is_some().into());
    }
    fields.insert("allowed_counterparties".to_owned(), allowed);
    Ok(fields)
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
) -> Result<Response, PageError> {
    let current = policies::get(&services.inside, &signed.operator, id).await?;
    let form = form_of(&current.policy.0, current.version.0, &current.bounds());
    answer(&services, &signed, id, form, PolicyAnswer::Asked).await
}

/// What the form is shown again for.
enum PolicyAnswer {
    Asked,
    Compared(Compared),
    Refused { complaint: Complaint, is_for_admin: bool },
}

async fn answer(
    services: &Services,
    signed: &Signed,
    id: AccountId,
    form: Form,
    answer: PolicyAnswer,
) -> Result<Response, PageError> {
    let view = accounts::get(&services.inside, &signed.principal, id).await?;
    let (comparison, complaint, is_for_admin) = match answer {
        PolicyAnswer::Asked => (None, None, false),
        PolicyAnswer::Compared(compared) => (Some(compared), None, false),
        PolicyAnswer::Refused { complaint, is_for_admin } => (None, Some(complaint), is_for_admin),
    };
    let shown = PolicyPage {
        frame: signed.frame(Section::Accounts),
        budgets: KnownBudgets::of(services, &signed.operator).await,
        command: command(&form, &view).filter(|_| is_for_admin),
        view,
        form,
        comparison,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// Shows what the change would do, and carries it out once exactly that was confirmed. Fields that nobody saw compared are
/// compared and not applied.
pub async fn change(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    if form.text("step") == "edit" {
        return answer(&services, &signed, id, form, PolicyAnswer::Asked).await;
    }
    match carry_out(&services, (&signed, &scope), id, &form).await {
        Ok(FormOutcome::Done(response)) => Ok(response),
        Ok(FormOutcome::Compared(compared)) => {
            answer(&services, &signed, id, form, PolicyAnswer::Compared(compared)).await
        }
        Err(error) => {
            let is_for_admin = is_for_admin(&error);
            let refused = PolicyAnswer::Refused { complaint: Complaint::of(error)?, is_for_admin };
            answer(&services, &signed, id, form, refused).await
        }
    }
}

/// Whether the admin alone may do it, with its own wallet.
pub fn is_for_admin(error: &ApiError) -> bool {
    matches!(error, ApiError::Service(ServiceError::Forbidden(Forbidden::AdminNeeded)))
}

enum FormOutcome {
    Compared(Compared),
    Done(Response),
}

async fn carry_out(
    services: &Services,
    (signed, scope): (&Signed, &AuditScope),
    id: AccountId,
    form: &Form,
) -> Result<FormOutcome, ApiError> {
    let update = update(form)?;
    let PolicyComparison { before, after, bounds_before, bounds_after, warnings, waits } =
        policies::compare(&services.inside, &signed.operator, id, &update).await?;
    let fields = fingerprint(form, &bounds_before)?;
    let is_confirmed = form.text("step") == "change";
    if is_confirmed && form.text("compared") == fields {
        let by = (signed.principal.key_id(), scope);
        let change =
            policies::change(&services.inside, &signed.operator, id, update, by, policies::UpdateMode::Merge)
                .await?;
        return Ok(FormOutcome::Done(after_change(id, &change)));
    }
    let budgets = KnownBudgets::of(services, &signed.operator).await;
    let mut rows = compared(&before, &after);
    let bounds = compared_bounds(&bounds_before, &bounds_after, &budgets);
    let binds = bounds.iter().any(FieldChange::is_changed);
    rows.extend(bounds);
    let warnings = sentences(&warnings);
    Ok(FormOutcome::Compared(Compared { fields, is_anew: is_confirmed, rows, waits, binds, warnings }))
}

/// Warnings, for people.
pub fn sentences(warnings: &[Warning]) -> Vec<&'static str> {
    warnings.iter().map(|warning| warning.sentence()).collect()
}

/// Where to go after a change of policy.
pub fn after_change(id: AccountId, changed: &PolicyView) -> Response {
    let what = if changed.effective_at.is_some() { "waits" } else { "changed" };
    see(&format!("/dashboard/accounts/{id}?{what}=1"))
}

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage {
    frame: Frame,
    id: AccountId,
    versions: Vec<PolicyVersion>,
    names: Names,
    next: Option<String>,
}

impl VersionsPage {
    /// Every field of a version's policy, if it was read.
    fn words(&self, version: &PolicyVersion) -> Option<String> {
        let rows = rows(&version.policy.as_ref()?.0);
        Some(rows.map(|(field, value)| format!("{field}: {value}")).join("\n"))
    }
}

pub async fn versions(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let request = asked.page(VERSIONS);
    let versions = policies::versions(&services.inside, &signed.operator, id, request).await?;
    let mut shown = Shown::default();
    shown.account(id);
    versions.items.iter().filter_map(|one| one.key_id).for_each(|key| shown.key(key));
    let names = shown.named(&services, &signed.operator).await?;
    let shown = VersionsPage {
        frame: signed.frame(Section::Accounts),
        id,
        next: asked.next(&format!("/dashboard/accounts/{id}/policy/versions"), versions.next.as_ref()),
        versions: versions.items,
        names,
    };
    Ok(page(&shown, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{Address, AllowlistEntry, BudgetId, Counterparties, Limit, UsdcAmount};

    #[test]
    fn stored_policy_is_read_back_from_its_form() {
        let address = Address::from_bytes([0; 32]);
        let policy = SpendingPolicy {
            max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(1_500_000)),
            require_memo: true,
            allowlist: AllowedRecipients::only(vec![address.bytes()], vec![address.bytes()]),
            ..SpendingPolicy::default()
        };
        let bounds = |cap: Option<u64>, budget: Option<BudgetId>| AccountBounds {
            max_30_day_spend: cap.map(UsdcAmount::from_micros),
            budget,
            by_grant_only: false,
        };
        let bound = bounds(Some(50_000_000), Some(BudgetId(address)));
        let read = update(&form_of(&policy, 7, &bound)).expect("its own form");
        assert_eq!(read.expected_version, Some(7));
        // What was not edited is not asked for, and what is gone from the form neither.
        assert_eq!((read.max_30_day_spend, read.budget), (None, None));
        let entries = vec![AllowlistEntry::Wallet(address), AllowlistEntry::TokenAccount(address)];
        assert_eq!(read.allowed_counterparties, Some(Counterparties::Only(entries)));
        assert_eq!(read.merge(Some(policy.allowlist.clone()), &SpendingPolicy::default()), policy);
        let open =
            update(&form_of(&SpendingPolicy::default(), 7, &bounds(None, None))).expect("its own form");
        assert_eq!(open.allowed_counterparties, Some(Counterparties::Anyone));
    }

    #[test]
    fn what_binds_an_account_is_asked_for_where_it_was_edited() {
        let budget = BudgetId(Address::from_bytes([3; 32]));
        let read = |fields: &[(&str, &str)]| {
            let version = [("expected_version", "1".to_owned())];
            let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned()));
            update(&Form::of(version.into_iter().chain(fields).collect()))
        };
        let id = budget.to_string();
        let named = read(&[("max_30_day_spend", "60"), ("budget_id", id.as_str())]).expect("both");
        assert_eq!(named.max_30_day_spend, Some(Limit::AtMost(UsdcAmount::from_micros(60_000_000))));
        assert_eq!(named.budget, Some(Some(budget)));
        let lifted = [
            ("max_30_day_spend", ""),
            ("seen_max_30_day_spend", "60"),
            ("budget_id", ""),
            ("seen_budget_id", id.as_str()),
        ];
        let lifted = read(&lifted).expect("none of both");
        assert_eq!((lifted.max_30_day_spend, lifted.budget), (Some(Limit::Unlimited), Some(None)));
        let refused = read(&[("max_30_day_spend", "1,000")]).expect_err("a comma");
        assert_eq!(refused.param(), "max_30_day_spend");
    }

    #[test]
    fn mistakes_in_the_form_are_named() {
        for (fields, field) in [
            (&[("expected_version", "x")][..], "expected_version"),
            (&[("expected_version", "1"), ("max_daily_spend", "ten")], "max_daily_spend"),
            (&[("expected_version", "1"), ("max_daily_spend", "12,50")], "max_daily_spend"),
            (&[("expected_version", "1"), ("max_single_transfer", "1,250.00")], "max_single_transfer"),
            (
                &[("expected_version", "1"), ("allowed", "only"), ("allowed_counterparties", "you")],
                "allowed_counterparties[0]",
            ),
            (&[("expected_version", "1"), ("reason", "a\u{202e}b")], "reason"),
        ] {
            let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            assert_eq!(update(&Form::of(fields)).expect_err("refused").param(), field);
        }
    }
}
