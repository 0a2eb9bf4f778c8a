//! Passkeys: making one for the key that is signed in, signing in with one, and removing one. Each of the first two is a page with a
//! challenge for the person's device, and a form with its answer; between them a cookie holds what belongs to the challenge.

mod ceremony;

use askama::Template;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord};
use purser_model::{Ceremony, Passkey, PasskeyId};
use purser_service::audit_scope::AuditScope;
use purser_service::{Resource, ServiceError, keys};

pub use self::ceremony::Ceremonies;
use self::ceremony::{Answer, Challenge, Unproven};
use super::Desk;
use super::form::Form;
use super::page::{Complaint, Frame, PageError, QueryParams, Section, page, see};
use super::session::{
    OPEN_LINE, Reached, Signed, leading_to, next_page, open_for, reached, step_cookie, step_of, text_of,
};
use super::signed_in::{NewPasskey, Passkeys};

const SIGN_IN: &str = "/dashboard/sign-in/passkey";
const ADD: &str = "/dashboard/passkeys";

const NO_PASSKEY: &str =
    "This passkey is not valid: it is unknown or was removed, or its key has expired or was revoked.";
const NOT_MADE: &str = "The passkey that the device made is not of the kind that was asked for.";
const NO_ANSWER: &str =
    "The form came without an answer of your device: a passkey needs a script of this page.";
const BEGIN_AGAIN: &str = "This took too long, or was begun in another window. Begin again.";

/// Why there are no passkeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPasskeys {
    NoKey,
    NoName,
}

impl NoPasskeys {
    const fn in_words(self) -> &'static str {
        match self {
            Self::NoKey => {
                "This service has no passkeys: they need a key in the section [webhooks] of its configuration."
            }
            Self::NoName => {
                "This service has no passkeys: browsers bind them to a name, and server.public_url in its configuration has none."
            }
        }
    }
}

/// What checks passkeys for pages at this address, or why there are none.
pub fn offered(passkeys: &Passkeys, public_url: &str) -> Result<Ceremonies, NoPasskeys> {
    if passkeys.are_possible() { Ceremonies::at(public_url) } else { Err(NoPasskeys::NoKey) }
}

/// What a page with a challenge shows.
enum Step {
    Challenge(String),
    /// Passkeys are of another address.
    Elsewhere(String),
    Off(&'static str),
}

/// The ceremonies of the page's own address, or what it shows in place of one.
fn here<'a>(desk: &'a Desk, headers: &HeaderMap, path: &str) -> Result<&'a Ceremonies, Step> {
    let ceremonies = desk.ceremonies.as_ref().as_ref().map_err(|off| Step::Off(off.in_words()))?;
    let is_here = text_of(headers, header::HOST).is_some_and(|host| ceremonies.is_at(host));
    if is_here { Ok(ceremonies) } else { Err(Step::Elsewhere(ceremonies.place(path))) }
}

/// The page that shows a challenge, which the browser keeps the rest of.
fn with_challenge(
    desk: &Desk,
    ceremony: Ceremony,
    asked: Result<Challenge, Unproven>,
    show: impl FnOnce(Step) -> Response,
) -> Result<Response, PageError> {
    let challenge = asked.map_err(|error| {
        tracing::error!(%error, "cannot make a challenge for passkeys");
        ServiceError::Internal
    })?;
    let kept = desk.passkeys.begin(ceremony, &challenge.state)?;
    let mut answer = show(Step::Challenge(challenge.options));
    let is_https = matches!(desk.ceremonies.as_ref(), Ok(own) if own.place("").starts_with("https:"));
    let cookie = step_cookie(if is_https { Reached::Https } else { Reached::Local }, &kept);
    answer.headers_mut().append(header::SET_COOKIE, cookie.ok_or(ServiceError::Internal)?);
    Ok(answer)
}

fn refused(status: StatusCode, message: &str) -> Complaint {
    Complaint { status, message: message.to_owned(), field: "credential".to_owned() }
}

#[derive(Template)]
#[template(path = "sign_in_passkey.html")]
struct SignInPasskeyPage {
    next: String,
    step: Step,
    with_key: String,
    complaint: Option<Complaint>,
}

pub async fn ask_to_sign_in(
    State(desk): State<Desk>,
    headers: HeaderMap,
    asked: QueryParams,
) -> Result<Response, PageError> {
    sign_in_page(&desk, &headers, next_page(asked.given("next")), None)
}

fn sign_in_page(
    desk: &Desk,
    headers: &HeaderMap,
    next: &str,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let show = |step| {
        let with_key = leading_to("/dashboard/sign-in", next);
        let shown = SignInPasskeyPage { next: next.to_owned(), step, with_key, complaint };
        page(&shown, shown.complaint.as_ref())
    };
    match here(desk, headers, &leading_to(SIGN_IN, next)) {
        Ok(ceremonies) => with_challenge(desk, Ceremony::SignIn, ceremonies.ask(), show),
        Err(step) => Ok(show(step)),
    }
}

/// Exchanges the answer of a person's device for a session.
pub async fn sign_in(
    State(desk): State<Desk>,
    from: Extensions,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, PageError> {
    let next = next_page(form.given("next")).to_owned();
    let complaint = match open(&desk, &headers, &from, &form).await {
        Ok(Ok(cookie)) => {
            let mut answer = see(&next);
            answer.headers_mut().append(header::SET_COOKIE, cookie);
            return Ok(over(answer));
        }
        Ok(Err(complaint)) => complaint,
        Err(ApiError::Service(ServiceError::Unauthorized(_))) => {
            refused(StatusCode::UNAUTHORIZED, NO_PASSKEY)
        }
        Err(error) => Complaint::of(error)?,
    };
    sign_in_page(&desk, &headers, &next, Some(complaint))
}

/// Ends what the browser keeps of a challenge.
fn over(mut answer: Response) -> Response {
    for reached in [Reached::Https, Reached::Local] {
        if let Some(cookie) = step_cookie(reached, "") {
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    answer
}

async fn open(
    desk: &Desk,
    headers: &HeaderMap,
    from: &Extensions,
    form: &Form,
) -> Result<Result<header::HeaderValue, Complaint>, ApiError> {
    let reached = reached(text_of(headers, header::ORIGIN).unwrap_or_default());
    let Ok(ceremonies) = here(desk, headers, SIGN_IN) else {
        return Ok(Err(refused(StatusCode::FORBIDDEN, BEGIN_AGAIN)));
    };
    if reached == Reached::Open {
        return Ok(Err(refused(StatusCode::FORBIDDEN, OPEN_LINE)));
    }
    let passkeys = &desk.passkeys;
    let Some(begun) = passkeys.begun(Ceremony::SignIn, step_of(headers)) else {
        return Ok(Err(refused(StatusCode::BAD_REQUEST, BEGIN_AGAIN)));
    };
    let Some(answer) = Answer::parse(form.text("credential")) else {
        return Ok(Err(refused(StatusCode::BAD_REQUEST, NO_ANSWER)));
    };
    let credential_id = answer.credential_id();
    let client = || desk.guard.client_of(headers, from);
    let admitted = passkeys.admit(&credential_id, begun.at, client, |passkey| {
        let checked = ceremonies.check(&answer, &begun.state, passkey);
        let refusal =
            |error: &Unproven| tracing::warn!(passkey_id = %passkey.id, %error, "a passkey was refused");
        checked.inspect_err(refusal).ok()
    });
    let hash = Passkey::counted_as(&credential_id);
    let (principal, used) = desk.guard.look_up(&hash, admitted).await?;
    open_for(desk, (&principal, Some(&used)), headers, from, reached).await.map(Ok)
}

#[derive(Template)]
#[template(path = "new_passkey.html")]
struct NewPasskeyPage {
    frame: Frame,
    step: Step,
    name: String,
    complaint: Option<Complaint>,
}

pub async fn ask(
    State(desk): State<Desk>,
    signed: Signed,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    new_page(&desk, &signed, &headers, String::new(), None).await
}

async fn new_page(
    desk: &Desk,
    signed: &Signed,
    headers: &HeaderMap,
    name: String,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let frame = signed.frame(Section::Keys);
    let show = |step| {
        let shown = NewPasskeyPage { frame, step, name, complaint };
        page(&shown, shown.complaint.as_ref())
    };
    let ceremonies = match here(desk, headers, ADD) {
        Ok(ceremonies) => ceremonies,
        Err(step) => return Ok(show(step)),
    };
    let key_id = signed.principal.key_id();
    let listed = desk.passkeys.list(&signed.principal).await?;
    let own = listed.iter().filter(|view| view.key.id == key_id);
    let known = own.map(|view| view.passkey.credential_id.as_str());
    let key = keys::own(&desk.services.inside, &signed.principal).await?;
    let of_key = key.name.as_deref().unwrap_or(key.hint.as_str());
    let shown_as = format!("{} ({of_key})", signed.operator.name.as_str());
    let asked = ceremonies.ask_for_new(key_id.bytes(), &shown_as, known);
    with_challenge(desk, making(signed), asked, show)
}

fn making(signed: &Signed) -> Ceremony {
    Ceremony::Making(signed.principal.key_id(), signed.session)
}

/// Adds what the device made to the key that is signed in.
pub async fn add(
    State(desk): State<Desk>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, PageError> {
    let complaint = match make(&desk, (&signed, &scope), &headers, &form).await {
        Ok(Ok(())) => return Ok(over(see("/dashboard/keys?added=1#passkeys"))),
        Ok(Err(complaint)) => complaint,
        Err(error) => Complaint::of(error)?,
    };
    new_page(&desk, &signed, &headers, form.text("name").to_owned(), Some(complaint)).await
}

async fn make(
    desk: &Desk,
    (signed, scope): (&Signed, &AuditScope),
    headers: &HeaderMap,
    form: &Form,
) -> Result<Result<(), Complaint>, ServiceError> {
    let Ok(ceremonies) = here(desk, headers, ADD) else {
        return Ok(Err(refused(StatusCode::FORBIDDEN, BEGIN_AGAIN)));
    };
    let passkeys = &desk.passkeys;
    let Some(begun) = passkeys.begun(making(signed), step_of(headers)) else {
        return Ok(Err(refused(StatusCode::BAD_REQUEST, BEGIN_AGAIN)));
    };
    let Some(answer) = form.given("credential") else {
        return Ok(Err(refused(StatusCode::BAD_REQUEST, NO_ANSWER)));
    };
    let made = match ceremonies.made(answer, &begun.state) {
        Ok(made) => made,
        Err(error) => {
            tracing::info!(%error, "a new passkey was refused");
            return Ok(Err(refused(StatusCode::BAD_REQUEST, NOT_MADE)));
        }
    };
    let (credential_id, credential) = (made.credential_id, made.credential);
    let new = NewPasskey { name: form.text("name").to_owned(), credential_id, credential };
    passkeys.add(&signed.principal, new, begun.at, scope).await.map(Ok)
}

/// Removes a passkey.
pub async fn remove(
    State(passkeys): State<Passkeys>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    form: Form,
) -> Result<Response, PageError> {
    let id: PasskeyId =
        form.text("passkey").parse().map_err(|_| ServiceError::NotFound(Resource::Passkey))?;
    passkeys.remove(&signed.principal, id, &scope).await?;
    Ok(see("/dashboard/keys?removed=1#passkeys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_belong_to_a_name_and_an_address_of_this_machine_is_localhost() {
        for (public_url, place, host) in [
            ("https://pay.example.com", "https://pay.example.com/x", "Pay.example.com"),
            ("https://pay.example.com/purser/", "https://pay.example.com/x", "pay.example.com"),
            ("https://pay.example.com:8443", "https://pay.example.com:8443/x", "pay.example.com:8443"),
            ("http://localhost:8080", "http://localhost:8080/x", "localhost:8080"),
            ("http://127.0.0.1:9000", "http://localhost:9000/x", "localhost:9000"),
            ("http://[::1]:9000", "http://localhost:9000/x", "localhost:9000"),
        ] {
            let ceremonies = Ceremonies::at(public_url).expect(public_url);
            assert_eq!(ceremonies.place("/x"), place);
            assert!(ceremonies.is_at(host), "{public_url}");
            assert!(!ceremonies.is_at("127.0.0.1:9000") && !ceremonies.is_at("pay.example.com.evil.example"));
        }
        for nameless in ["https://203.0.113.5", "https://[2001:db8::1]:8443", "nonsense", ""] {
            assert_eq!(Ceremonies::at(nameless).err(), Some(NoPasskeys::NoName), "{nameless}");
        }
    }
}
