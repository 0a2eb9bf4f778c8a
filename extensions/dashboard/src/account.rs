//! One account: its balance, its policy, its keys, and its history.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord, RequestRandom, shown_once};
use purser_model::{
    AccountChange, AccountId, Address, ApiKey, CounterpartyKind, CreateKey, EntryKind, EntryOutcome,
    HaltScope, HistoryFilter, KeyHolder, KeyId, Label, Page, PageRequest, PolicyReason, PolicyUpdate, Rule,
    Tags, entries,
};
use purser_service::{
    AccountView, EntryView, Limits, NewKey, PendingView, PolicyView, Resource, ServiceError, Services,
    accounts, halts, history, keys, policies,
};

use super::attention::who_halted;
use super::chart::Chart;
use super::form::Form;
use super::history::named;
use super::names::Names;
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, Tab, page, see};
use super::policy::{FieldChange, PAYEES, after_change, compared, rows, version_of, waits_in_words};
use super::qr::QrCode;
use super::session::Signed;
use super::text::{filters, percent};

/// How many keys, and how many history entries, the page itself shows.
const KEYS: u32 = 50;
const ENTRIES: u32 = 10;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    tab: Tab,
    view: AccountView,
    /// The key that asked for the halt, if there is one.
    halted_for: Option<String>,
    limits: Limits,
    policy: PolicyView,
    /// How long the end of its pause waits, if it does.
    unpausing_waits: Option<String>,
    keys: Vec<ApiKey>,
    older_keys: Option<String>,
    entries: Vec<EntryView>,
    names: Names,
    charts: Vec<Chart>,
    qr: QrCode,
    metadata: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
}

impl AccountPage {
    fn used_percent(&self) -> Option<u64> {
        let day = self.limits.max_daily_spend;
        day.limit.map(|cap| percent(day.used.0, cap.0))
    }

    fn policy_rows(&self) -> [(&'static str, String); Rule::ALL.len()] {
        rows(&self.policy.policy.0)
    }

    fn pending_rows(&self, pending: &PendingView) -> Vec<FieldChange> {
        compared(&self.policy.policy.0, &pending.policy.0)
    }

    /// The allowlist, for its own row of the policy: kind and address of each entry. `None`: another row, anyone or nobody.
    fn payees(&self, field: &str) -> Option<Vec<(&'static str, String)>> {
        let listed = entries(&self.policy.policy.0.allowlist).filter(|listed| !listed.is_empty())?;
        let words = |(kind, address): (CounterpartyKind, Address)| (kind.as_str(), address.to_string());
        (field == PAYEES).then(|| listed.into_iter().map(words).collect())
    }

    /// The revoked keys, and the others.
    fn keys_apart(&self) -> (Vec<&ApiKey>, Vec<&ApiKey>) {
        self.keys.iter().partition(|key| key.revoked_at.is_some())
    }

    /// Whether the account has limits beside its policy.
    fn is_bound(&self) -> bool {
        self.limits.max_30_day_spend.limit.is_some()
            || self.limits.budget.is_some()
            || self.policy.bounds().by_grant_only
    }
}

/// The account as it was last seen, while the chain does not answer.
#[derive(Template)]
#[template(path = "account_away.html")]
struct AccountAwayPage {
    frame: Frame,
    view: AccountView,
    keys: Vec<ApiKey>,
    older_keys: Option<String>,
    entries: Vec<EntryView>,
    names: Names,
    complaint: Option<Complaint>,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notices = [
        (
            "made",
            "The account is on the chain. Send USDC to its token account, and make an API key for its agent.",
        ),
        ("changed", "The policy is in force, on the chain."),
        ("waits", "The change loosens something, so it waits; see below until when."),
        ("dropped", "The pending policy was dropped."),
    ];
    answer(&services, &signed, id, Shows::tab(Tab::Overview, notice(&asked, notices))).await
}

pub async fn show_keys(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let shows = Shows::tab(Tab::Keys, notice(&asked, [("revoked", "The key was revoked.")]));
    answer(&services, &signed, id, Shows { keys: asked.page(KEYS), ..shows }).await
}

pub async fn show_settings(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let shows = Shows::tab(Tab::Settings, notice(&asked, [("tagged", "The tags are saved.")]));
    answer(&services, &signed, id, shows).await
}

/// The sentence about the change that led here, by its parameter.
fn notice<const N: usize>(asked: &QueryParams, notices: [(&str, &str); N]) -> Option<String> {
    let said = notices.into_iter().find(|(name, _)| asked.given(name).is_some());
    said.map(|(_, text)| text.to_owned())
}

/// The tab of an account's page, and its notice and form.
struct Shows {
    tab: Tab,
    notice: Option<String>,
    keys: PageRequest,
    form: Form,
    complaint: Option<Complaint>,
}

impl Shows {
    fn tab(tab: Tab, notice: Option<String>) -> Self {
        Self { tab, notice, keys: PageRequest::first(KEYS), form: Form::default(), complaint: None }
    }

    /// A form that was refused, on its tab.
    fn refused(tab: Tab, form: Form, complaint: Complaint) -> Self {
        Self { form, complaint: Some(complaint), ..Self::tab(tab, None) }
    }
}

async fn listed_keys(
    services: &Services,
    signed: &Signed,
    id: AccountId,
    wanted: PageRequest,
) -> Result<Page<ApiKey>, PageError> {
    Ok(keys::list(&services.inside, &signed.operator, KeyHolder::Agent(id), wanted).await?)
}

fn older_keys(id: AccountId, keys: &Page<ApiKey>) -> Option<String> {
    QueryParams::default().next(&format!("/dashboard/accounts/{id}/keys"), keys.next.as_ref())
}

async fn newest_entries(
    services: &Services,
    signed: &Signed,
    id: AccountId,
) -> Result<Vec<EntryView>, PageError> {
    let all = HistoryFilter::default();
    Ok(history::list(&services.inside, &signed.principal, id, all, PageRequest::first(ENTRIES)).await?.items)
}

async fn answer(
    services: &Services,
    signed: &Signed,
    id: AccountId,
    shows: Shows,
) -> Result<Response, PageError> {
    let (operator, principal) = (&signed.operator, &signed.principal);
    let Shows { tab, notice, keys: wanted, form, complaint } = shows;
    let is_overview = tab == Tab::Overview;
    let keys = async {
        match tab {
            Tab::Keys => listed_keys(services, signed, id, wanted.clone()).await,
            Tab::Overview | Tab::History | Tab::Settings => Ok(Page { items: Vec::new(), next: None }),
        }
    };
    let newest = async {
        match is_overview {
            true => newest_entries(services, signed, id).await,
            false => Ok(Vec::new()),
        }
    };
    let on_chain = async {
        tokio::try_join!(
            accounts::get(&services.inside, principal, id),
            services.transfers.limits(principal, id),
            policies::get(&services.inside, operator, id),
        )
    };
    let (on_chain, keys, entries) = tokio::join!(on_chain, keys, newest);
    let frame = signed.frame(Section::Accounts).with_notice(notice);
    let (view, limits, policy) = match on_chain {
        Err(ServiceError::ChainUnavailable { .. }) => {
            let (keys, entries) = tokio::try_join!(
                listed_keys(services, signed, id, wanted),
                newest_entries(services, signed, id),
            )?;
            let away = AccountAwayPage {
                frame,
                view: accounts::known(&services.inside, operator, id).await?,
                older_keys: older_keys(id, &keys),
                keys: keys.items,
                names: named(&entries).named(services, operator).await?,
                entries,
                complaint,
            };
            return Ok(page(&away, away.complaint.as_ref()));
        }
        read => read?,
    };
    let (keys, entries) = (keys?, entries?);
    let halted_for = who_halted(services, signed, view.halt_action).await?;
    let unpausing_waits = match policy.policy.0.paused && view.halt.is_none() {
        true => policies::compare(&services.inside, operator, id, &unpausing(None))
            .await
            .ok()
            .and_then(|to| to.waits),
        false => None,
    };
    let charts = match is_overview {
        true => Chart::of_account(services, (operator.id, view.account.id), view.as_of).await?.into(),
        false => Vec::new(),
    };
    let shown = AccountPage {
        frame,
        tab,
        qr: QrCode::of(&view.account.token_account.to_string()),
        metadata: view.account.metadata.as_ref().map(|metadata| metadata.json().get().to_owned()),
        names: named(&entries).named(services, operator).await?,
        charts,
        view,
        halted_for,
        limits,
        policy,
        unpausing_waits: unpausing_waits.map(waits_in_words),
        older_keys: older_keys(id, &keys),
        keys: keys.items,
        entries,
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// Ends a pause, at this version of the policy.
fn unpausing(expected_version: Option<u64>) -> PolicyUpdate {
    PolicyUpdate { paused: Some(false), expected_version, ..PolicyUpdate::default() }
}

/// Pauses or unpauses an account; an unpause only applies to the version that was shown.
pub async fn pause(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    let update = match form.text("paused") {
        "false" => {
            let reason = form.given("reason").map(str::to_owned).map(PolicyReason::parse).transpose()?;
            PolicyUpdate { reason, ..unpausing(Some(version_of(&form)?)) }
        }
        _ => PolicyUpdate { paused: Some(true), ..PolicyUpdate::default() },
    };
    let by = (signed.principal.key_id(), &scope);
    match policies::change(&services.inside, &signed.operator, id, update, by, policies::UpdateMode::Merge)
        .await
    {
        Ok(change) => Ok(after_change(id, &change)),
        Err(error) => {
            answer(&services, &signed, id, Shows::refused(Tab::Overview, form, Complaint::of(error)?)).await
        }
    }
}

/// Gives the account these tags, and no others.
pub async fn change_tags(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    let words = form.text("tags").split([',', ' ']).filter(|word| !word.is_empty());
    let changed = match Tags::parse(words) {
        Ok(tags) => {
            let change = AccountChange { tags: Some(tags), ..AccountChange::default() };
            accounts::update(&services.inside, &signed.operator, id, change, &scope)
                .await
                .map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match changed {
        Ok(_) => Ok(see(&format!("/dashboard/accounts/{id}/settings?tagged=1"))),
        Err(error) => {
            answer(&services, &signed, id, Shows::refused(Tab::Settings, form, Complaint::of(error)?)).await
        }
    }
}

/// Halts an account, independent of its policy. Resuming takes the admin's own wallet.
pub async fn halt(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
) -> Result<Response, PageError> {
    match halts::halt_account(&services.inside, &signed.operator, id, &scope).await {
        Ok(_) => Ok(see(&format!("/dashboard/accounts/{id}?halted=1"))),
        Err(error) => {
            let shows = Shows::refused(Tab::Settings, Form::default(), Complaint::of(error)?);
            answer(&services, &signed, id, shows).await
        }
    }
}

pub async fn drop_pending(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    policies::drop_pending(&services.inside, &signed.operator, id, &scope).await?;
    Ok(match form.text("from") {
        "pending" => see("/dashboard/pending?dropped=1"),
        _ => see(&format!("/dashboard/accounts/{id}?dropped=1")),
    })
}

/// A key, shown once.
#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    frame: Frame,
    account: AccountId,
    new: NewKey,
}

pub async fn create_key(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    RequestRandom(drawn): RequestRandom,
    form: Form,
) -> Result<Response, PageError> {
    let name = form.given("name").map(Label::parse).transpose();
    let asked = name.and_then(|name| {
        Ok(CreateKey { name, expires_at: form.moment("expires_at")?, ..CreateKey::default() })
    });
    let made = match asked {
        Ok(asked) => {
            let holder = KeyHolder::Agent(id);
            keys::create(&services.inside, &signed.principal, holder, asked, drawn, &scope)
                .await
                .map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(new) => {
            let frame = signed.frame(Section::Accounts);
            Ok(shown_once(page(&KeyPage { frame, account: id, new }, None)))
        }
        Err(error) => {
            answer(&services, &signed, id, Shows::refused(Tab::Keys, form, Complaint::of(error)?)).await
        }
    }
}

/// Revokes a key of this account.
pub async fn revoke_key(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    let key: KeyId = form.text("key").parse().map_err(|_| ServiceError::NotFound(Resource::Key))?;
    keys::revoke(&services.inside, &signed.principal, key, &scope).await?;
    Ok(see(&format!("/dashboard/accounts/{id}/keys?revoked=1")))
}
