//! One account: its balance, its policy, its keys, and its history.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, Draw, shown_once};
use purser_model::{
    AccountChange, AccountId, AccountName, ApiKey, CreateKey, Cursor, EntryKind, EntryOutcome, HaltScope,
    HistoryFilter, KeyHolder, KeyId, PageLimit, PageRequest, PolicyReason, PolicyUpdate, Tags, UsdcAmount,
};
use purser_service::{
    AccountView, EntryView, LimitsView, NewKey, PendingView, PolicyView, Services, keys_filter,
};

use super::attention::who_halted;
use super::chart::Chart;
use super::form::Form;
use super::history::named;
use super::names::Names;
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, first_page, page, see};
use super::policy::{FieldChange, after_change, compared, rows, version_of, waits_in_words};
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
    view: AccountView,
    /// The key that asked for the halt, if there is one.
    halted_for: Option<String>,
    limits: LimitsView,
    policy: PolicyView,
    /// How long the end of its pause waits, if it does.
    unpausing_waits: Option<String>,
    keys: Vec<ApiKey>,
    older_keys: Option<String>,
    entries: Vec<EntryView>,
    names: Names,
    charts: [Chart; 2],
    qr: QrCode,
    metadata: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
}

impl AccountPage {
    fn used_percent(&self) -> Option<u64> {
        self.limits.daily.limit.map(|cap| percent(self.limits.daily.used, cap))
    }

    fn policy_rows(&self) -> [(&'static str, String); 5] {
        rows(&self.policy.policy)
    }

    fn pending_rows(&self, pending: &PendingView) -> Vec<FieldChange> {
        compared(&self.policy.policy, &pending.policy)
    }

    /// Whether anything binds it beside its policy.
    fn is_bound(&self) -> bool {
        self.limits.month.is_some() || self.limits.budget.is_some() || self.policy.bounds.by_grant_only
    }

    fn remaining(&self) -> Option<UsdcAmount> {
        self.limits.daily.remaining()
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notice = [
        (
            "made",
            "The account is on the chain. Send USDC to its token account, and make a key for its agent.",
        ),
        ("changed", "The policy is in force, on the chain."),
        ("waits", "The change loosens something, so it is pending; see below until when."),
        ("dropped", "The pending policy was dropped."),
        ("revoked", "The key is revoked."),
        ("tagged", "The tags are saved."),
    ];
    let notice = notice.into_iter().find(|(name, _)| asked.given(name).is_some());
    let notice = notice.map(|(_, text)| text.to_owned());
    let bound = keys_filter(signed.operator.id, KeyHolder::Agent(id));
    let after = asked.given("cursor").map(|text| Cursor::parse(text, &bound)).transpose()?;
    answer(&services, &signed, id, (notice, after), Form::default(), None).await
}

async fn answer(
    services: &Services,
    signed: &Signed,
    id: AccountId,
    (notice, keys_after): (Option<String>, Option<Cursor>),
    form: Form,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let (operator, principal) = (&signed.operator, &signed.principal);
    let all = HistoryFilter::default();
    let wanted = PageRequest { limit: PageLimit::parse(None, KEYS, KEYS)?, after: keys_after };
    let (view, limits, policy, keys, entries) = tokio::try_join!(
        services.accounts.get(principal, id),
        services.transfers.limits(principal, id),
        services.policies.get(operator, id),
        services.keys.list(operator, KeyHolder::Agent(id), wanted),
        services.history.list(principal, id, all, first_page(ENTRIES)?),
    )?;
    let halted_for = who_halted(services, signed, view.halt_action).await?;
    let unpausing_waits = match policy.policy.paused && view.halt.is_none() {
        true => services.policies.compare(operator, id, &unpausing(None)).await.ok().and_then(|to| to.waits),
        false => None,
    };
    let shown = named(&entries.items);
    let names = shown.named(services, operator).await?;
    let shown = AccountPage {
        frame: Frame::new(&signed.operator, Section::Accounts).with_notice(notice),
        qr: QrCode::of(&view.account.token_account.to_string()),
        metadata: view.account.metadata.as_ref().map(|metadata| metadata.json().get().to_owned()),
        charts: Chart::of_account(services, principal, id, view.as_of).await?,
        view,
        halted_for,
        limits,
        policy,
        unpausing_waits: unpausing_waits.map(waits_in_words),
        older_keys: QueryParams::default().next(&format!("/dashboard/accounts/{id}"), keys.next.as_ref()),
        keys: keys.items,
        entries: entries.items,
        names,
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
    match services.policies.patch(&signed.operator, id, update, signed.principal.key_id()).await {
        Ok(change) => Ok(after_change(id, &change)),
        Err(error) => answer(&services, &signed, id, (None, None), form, Some(Complaint::of(error)?)).await,
    }
}

/// Gives the account these tags, and no others.
pub async fn change_tags(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    let words = form.text("tags").split([',', ' ']).filter(|word| !word.is_empty());
    let changed = match Tags::parse(words) {
        Ok(tags) => {
            let change = AccountChange { tags: Some(tags), ..AccountChange::default() };
            services.accounts.update(&signed.operator, id, change).await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match changed {
        Ok(_) => Ok(see(&format!("/dashboard/accounts/{id}?tagged=1"))),
        Err(error) => answer(&services, &signed, id, (None, None), form, Some(Complaint::of(error)?)).await,
    }
}

/// Halts an account, independent of its policy. Resuming takes the admin's own wallet.
pub async fn halt(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
) -> Result<Response, PageError> {
    match services.halts.halt_account(&signed.operator, id).await {
        Ok(_) => Ok(see(&format!("/dashboard/accounts/{id}?halted=1"))),
        Err(error) => {
            answer(&services, &signed, id, (None, None), Form::default(), Some(Complaint::of(error)?)).await
        }
    }
}

pub async fn drop_pending(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    services.policies.drop_pending(&signed.operator, id).await?;
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
    PageId(id): PageId<AccountId>,
    Draw(drawn): Draw,
    form: Form,
) -> Result<Response, PageError> {
    let name = form.given("name").map(AccountName::parse).transpose();
    let asked = name.and_then(|name| {
        Ok(CreateKey { name, expires_at: form.moment("expires_at")?, ..CreateKey::default() })
    });
    let made = match asked {
        Ok(asked) => {
            let holder = KeyHolder::Agent(id);
            services.keys.create(&signed.principal, holder, asked, drawn).await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(new) => {
            let frame = Frame::new(&signed.operator, Section::Accounts);
            Ok(shown_once(page(&KeyPage { frame, account: id, new }, None)))
        }
        Err(error) => answer(&services, &signed, id, (None, None), form, Some(Complaint::of(error)?)).await,
    }
}

/// Revokes a key of this account.
pub async fn revoke_key(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<AccountId>,
    form: Form,
) -> Result<Response, PageError> {
    use purser_service::{Resource, ServiceError};
    let key: KeyId = form.text("key").parse().map_err(|_| ServiceError::NotFound(Resource::Key))?;
    services.keys.revoke(&signed.principal, key).await?;
    Ok(see(&format!("/dashboard/accounts/{id}?revoked=1")))
}
