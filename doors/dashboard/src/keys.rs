//! The operator's own keys, and who is signed in with them.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_relayer::domain::{ApiKey, Invalid, KeyHolder, KeyId, Scope, SessionId, Timestamp};
use purser_relayer::service::{
    CreateKey, NewKey, PasskeyView, Resource, ServiceError, Services, SessionView,
};
use purser_relayer::web::{ApiError, Draw, shown_once};

use super::form::Form;
use super::page::{Complaint, Frame, PageError, QueryParams, Section, first_page, page, see};
use super::session::Signed;
use super::text::filters;

/// How many keys the page shows, newest first.
const KEYS: u32 = 100;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<ApiKey>,
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

impl KeysPage {
    fn key(&self, id: &KeyId) -> Option<&ApiKey> {
        self.keys.iter().find(|key| key.id == *id)
    }

    /// Itself, and what it made, directly or through others.
    fn may_revoke(&self, key: &ApiKey) -> bool {
        let mut above = Some(key);
        while let Some(at) = above {
            if at.id == self.own {
                return true;
            }
            above = at.made_by.as_ref().and_then(|maker| self.key(maker));
        }
        false
    }

    fn is_chosen(&self, scope: &Scope) -> bool {
        self.form.all("scopes").any(|chosen| chosen == scope.as_str())
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
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
    answer(&services, &signed, notice, Form::default(), None).await
}

async fn answer(
    services: &Services,
    signed: &Signed,
    notice: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let shown = KeysPage {
        frame: Frame::new(&signed.operator, Section::Keys).with_notice(notice),
        keys: services.keys.list(&signed.operator, KeyHolder::Operator, first_page(KEYS)?).await?.items,
        now: services.keys.now(),
        own: signed.principal.key_id(),
        scopes: signed.principal.scopes().grantable().collect(),
        sessions: services.sessions.list(&signed.principal).await?,
        session: signed.session,
        passkeys: services.passkeys.list(&signed.principal).await?,
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
    State(services): State<Arc<Services>>,
    signed: Signed,
    Draw(drawn): Draw,
    form: Form,
) -> Result<Response, PageError> {
    let made = match asked(&form) {
        Ok(asked) => {
            let made = services.keys.create(&signed.principal, KeyHolder::Operator, asked, drawn);
            made.await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(new) => {
            let frame = Frame::new(&signed.operator, Section::Keys);
            Ok(shown_once(page(&OperatorKeyPage { frame, new }, None)))
        }
        Err(error) => answer(&services, &signed, None, form, Some(Complaint::of(error)?)).await,
    }
}

/// A form without scopes is refused: it would give all that the session's key has.
fn asked(form: &Form) -> Result<CreateKey, Invalid> {
    let name = form.given("name").map(str::to_owned);
    let ends = form.moment("expires_at")?.map(|at| at.to_string());
    let scopes = form.all("scopes").map(str::to_owned).collect();
    CreateKey::parse(name, ends, None, Some(scopes))
}

pub async fn revoke(
    State(services): State<Arc<Services>>,
    signed: Signed,
    form: Form,
) -> Result<Response, PageError> {
    let key: KeyId = form.text("key").parse().map_err(|_| ServiceError::NotFound(Resource::Key))?;
    match services.keys.revoke(&signed.principal, key).await {
        Ok(()) => Ok(see("/dashboard/keys?revoked=1")),
        Err(error) => answer(&services, &signed, None, Form::default(), Some(Complaint::of(error)?)).await,
    }
}
