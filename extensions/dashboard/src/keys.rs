//! The operator's own keys, and who is signed in with them.

use std::collections::{HashMap, HashSet};

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord, RequestRandom, shown_once};
use purser_model::{
    ApiKey, CreateKey, Invalid, KeyHolder, KeyId, Label, Scope, Scopes, SessionId, Timestamp,
};
use purser_service::{NewKey, Resource, ServiceError, Services, keys};

use super::Desk;
use super::form::Form;
use super::names::{Names, Shown};
use super::page::{Complaint, Frame, PageError, QueryParams, Section, page, see};
use super::session::Signed;
use super::signed_in::{PasskeyView, SessionView};
use super::text::filters;

/// How many keys a page shows, newest first.
const KEYS: u32 = 50;
const PATH: &str = "/dashboard/keys";

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<ApiKey>,
    /// Those of them that the session's key may revoke.
    revocable: HashSet<KeyId>,
    /// Of who made them.
    names: Names,
    next: Option<String>,
    now: Timestamp,
    /// The key that opened the session.
    own: KeyId,
    /// What it may give to others.
    scopes: Vec<Scope>,
    sessions: Vec<SessionView>,
    /// The one that reads this.
    session: SessionId,
    passkeys: Vec<PasskeyView>,
    form: Form,
    complaint: Option<Complaint>,
}

/// What a key with this scope may do.
const fn about(scope: &Scope) -> &'static str {
    match scope {
        Scope::Read => "Reads everything, changes nothing.",
        Scope::Pay => "Makes and previews payments, within each account's policy.",
        Scope::Policy => "Changes and pauses policies, drops looser ones that wait.",
        Scope::Halt => "Halts accounts. Only the admin can resume them.",
        Scope::RejectApprovals => "Rejects payments that wait. No API key approves one.",
        Scope::Admin => "All of these, and accounts, webhooks and API keys.",
    }
}

impl KeysPage {
    fn is_chosen(&self, scope: &Scope) -> bool {
        self.form.all("scopes").any(|chosen| chosen == scope.as_str())
    }
}

pub async fn show(
    State(desk): State<Desk>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notices = [
        ("revoked", "The key is revoked."),
        ("ended", "What you ended is signed out."),
        ("added", "The passkey signs in from now on."),
        ("removed", "The passkey is removed, and what it had signed in is signed out."),
    ];
    let notice = notices.into_iter().find(|(name, _)| asked.given(name).is_some());
    let notice = notice.map(|(_, text)| text.to_owned());
    answer(&desk, &signed, &asked, notice, Form::default(), None).await
}

/// Those that the caller's key may revoke: itself, and what it made, directly or through others.
async fn revocable(
    services: &Services,
    signed: &Signed,
    keys: &[ApiKey],
) -> Result<HashSet<KeyId>, ServiceError> {
    let own = signed.principal.key_id();
    // Most keys have few makers.
    let mut of_maker = HashMap::new();
    let mut revocable = HashSet::new();
    for key in keys {
        let may = match key.made_by {
            _ if key.id == own => true,
            None => false,
            Some(maker) => match of_maker.get(&maker) {
                Some(may) => *may,
                None => {
                    let may = keys::is_own_or_made(&services.inside, &signed.principal, maker).await?;
                    of_maker.insert(maker, may);
                    may
                }
            },
        };
        if may {
            revocable.insert(key.id);
        }
    }
    Ok(revocable)
}

async fn answer(
    desk: &Desk,
    signed: &Signed,
    asked: &QueryParams,
    notice: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let services = &desk.services;
    let request = asked.page(KEYS);
    let listed = keys::list(&desk.services.inside, &signed.operator, KeyHolder::Operator, request).await?;
    let mut shown = Shown::default();
    listed.items.iter().filter_map(|key| key.made_by).for_each(|maker| shown.key(maker));
    let shown = KeysPage {
        frame: signed.frame(Section::Keys).with_notice(notice),
        revocable: revocable(services, signed, &listed.items).await?,
        names: shown.named(services, &signed.operator).await?,
        next: QueryParams::default().next(PATH, listed.next.as_ref()),
        keys: listed.items,
        now: desk.services.inside.clock.now(),
        own: signed.principal.key_id(),
        scopes: signed.principal.scopes().grantable().collect(),
        sessions: desk.sessions.list(&signed.principal).await?,
        session: signed.session,
        passkeys: desk.passkeys.list(&signed.principal).await?,
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// A key, shown once.
#[derive(Template)]
#[template(path = "operator_key.html")]
struct OperatorKeyPage {
    frame: Frame,
    new: NewKey,
}

pub async fn create(
    State(desk): State<Desk>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    RequestRandom(drawn): RequestRandom,
    form: Form,
) -> Result<Response, PageError> {
    let made = match asked(&form) {
        Ok(asked) => {
            let made = keys::create(
                &desk.services.inside,
                &signed.principal,
                KeyHolder::Operator,
                asked,
                drawn,
                &scope,
            );
            made.await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(new) => {
            let frame = signed.frame(Section::Keys);
            Ok(shown_once(page(&OperatorKeyPage { frame, new }, None)))
        }
        Err(error) => {
            let asked = QueryParams::default();
            answer(&desk, &signed, &asked, None, form, Some(Complaint::of(error)?)).await
        }
    }
}

/// A form without scopes is refused: it would give all that the session's key has.
fn asked(form: &Form) -> Result<CreateKey, Invalid> {
    let scopes: Vec<String> = form.all("scopes").map(str::to_owned).collect();
    Ok(CreateKey {
        name: form.given("name").map(Label::parse).transpose()?,
        expires_at: form.moment("expires_at")?,
        allowed_cidrs: None,
        scopes: Some(Scopes::parse(&scopes)?),
    })
}

pub async fn revoke(
    State(desk): State<Desk>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    form: Form,
) -> Result<Response, PageError> {
    let key: KeyId = form.text("key").parse().map_err(|_| ServiceError::NotFound(Resource::Key))?;
    match keys::revoke(&desk.services.inside, &signed.principal, key, &scope).await {
        Ok(()) => Ok(see("/dashboard/keys?revoked=1")),
        Err(error) => {
            let (asked, form) = (QueryParams::default(), Form::default());
            answer(&desk, &signed, &asked, None, form, Some(Complaint::of(error)?)).await
        }
    }
}
