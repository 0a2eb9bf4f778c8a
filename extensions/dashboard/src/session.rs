//! Signing in and out, and who is signed in. A request that changes something must come from one of our own pages.

use askama::Template;
use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use purser_api::web::{ApiError, ClientAddress, log_caller, receive, request_name};
use purser_model::{
    CEREMONY_MAX, Operator, PasskeyUse, PlainKey, PolicyUpdate, Principal, Scope, Scopes, SessionId,
    SessionToken,
};
use purser_service::{Forbidden, ServiceError, Unauthorized};

use super::Desk;
use super::form::Form;
use super::page::{
    Complaint, Frame, PageError, QueryParams, Section, WAITING_COUNTED, page, see, unauthorized,
};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Over https. No other site, subdomains included, can set a cookie with this name.
const COOKIE: &str = "__Host-purser";
/// Over http on this machine, where a browser does not accept a cookie of the name above.
const LOCAL_COOKIE: &str = "purser";
/// What a browser keeps between the two steps of a passkey, likewise.
const STEP_COOKIES: [&str; 2] = ["__Host-purser-passkey", "purser-passkey"];
const HOME: &str = "/dashboard";

const NO_KEY: &str = "This key is not valid: it is unknown, has expired or was revoked.";
const OTHER_CELL: &str = "This key belongs to another cell of the service, which has its own dashboard. Ask the people who run it for \
     its address.";
pub const OPEN_LINE: &str = "A key is not taken over plain http, where anybody on the way can read it. Reach this page over https, or \
     on the machine itself, through a tunnel for instance.";

/// The operator who is signed in.
#[derive(Clone)]
pub struct Signed {
    pub operator: Operator,
    pub principal: Principal,
    /// The session that asks.
    pub session: SessionId,
    /// How many payments wait for approval, as far as they are counted.
    pub waiting: u32,
}

impl Signed {
    /// The frame of a page of this section.
    pub fn frame(&self, section: Section) -> Frame {
        Frame::new(&self.operator, section, self.waiting)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Signed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        parts.extensions.get().cloned().ok_or_else(|| unauthorized().into_response())
    }
}

/// How the browser reached the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    Https,
    /// Over http, on the machine that the browser runs on.
    Local,
    /// Over http, across an untrusted network.
    Open,
}

/// Read from the `Origin` of a form, which the browser writes.
pub fn reached(origin: &str) -> Reached {
    if origin.starts_with("https://") {
        return Reached::Https;
    }
    match origin.strip_prefix("http://") {
        Some(host) if is_local(host) => Reached::Local,
        Some(_) | None => Reached::Open,
    }
}

/// Whether `host`, with or without a port, is a name of this machine.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost"
        || name == "::1"
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

pub fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Middleware: refuses a change unless one of our own pages sent it.
pub async fn from_own_pages(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let scheme = desk.guard.scheme_of(request.headers(), request.extensions());
    if !reads && !is_from_own_page(request.headers(), scheme) {
        return PageError::OtherPage.into_response();
    }
    next.run(request).await
}

/// A browser states which site a form comes from, and no page can forge it: in `Sec-Fetch-Site` if the connection is secure,
/// and in `Origin`. If neither says that it is ours, it is not. `scheme`: over which the browser reached us, where that is known.
fn is_from_own_page(headers: &HeaderMap, scheme: Option<&str>) -> bool {
    if let Some(site) = text_of(headers, SEC_FETCH_SITE) {
        return site == "same-origin";
    }
    let origin = text_of(headers, header::ORIGIN).and_then(|origin| origin.split_once("://"));
    let (Some((from, origin)), Some(host)) = (origin, text_of(headers, header::HOST)) else { return false };
    host.eq_ignore_ascii_case(origin) && scheme.is_none_or(|scheme| scheme.eq_ignore_ascii_case(from))
}

/// The browser's session token.
pub fn token_of(headers: &HeaderMap) -> Option<SessionToken> {
    SessionToken::parse(cookie_of(headers, [COOKIE, LOCAL_COOKIE])?)
}

/// What the browser keeps of a challenge.
pub fn step_of(headers: &HeaderMap) -> Option<&str> {
    cookie_of(headers, STEP_COOKIES)
}

/// A cookie by its two names. The one without a prefix counts on this machine alone, where no other site can set it.
fn cookie_of<'a>(headers: &'a HeaderMap, [secure, local]: [&str; 2]) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let is_local = text_of(headers, header::HOST).is_some_and(is_local);
    let names = |name: &str| name == secure || (name == local && is_local);
    let mut values = pairs.filter(|(name, _)| names(name)).map(|(_, value)| value);
    let value = values.next()?;
    // Two of them: somebody set another one beside ours.
    if values.next().is_some() { None } else { Some(value) }
}

fn cookie(reached: Reached, value: &str, more: &str) -> Option<HeaderValue> {
    cookie_named([COOKIE, LOCAL_COOKIE], reached, value, more)
}

/// The cookie for what belongs to a challenge, for as long as that is good; an empty one ends it.
pub fn step_cookie(reached: Reached, value: &str) -> Option<HeaderValue> {
    let seconds = if value.is_empty() { 0 } else { CEREMONY_MAX.as_secs() };
    cookie_named(STEP_COOKIES, reached, value, &format!("; Max-Age={seconds}"))
}

fn cookie_named(names: [&str; 2], reached: Reached, value: &str, more: &str) -> Option<HeaderValue> {
    let [over_https, local] = names;
    let (name, secure) = match reached {
        Reached::Https => (over_https, "; Secure"),
        Reached::Local | Reached::Open => (local, ""),
    };
    HeaderValue::from_str(&format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}")).ok()
}

/// Middleware of every page behind the sign-in.
pub async fn guard(State(desk): State<Desk>, mut request: Request, next: Next) -> Response {
    let mut signed = match signed(&desk, request.headers(), request.extensions()).await {
        Ok(signed) => signed,
        Err(ApiError::Service(ServiceError::Unauthorized(_))) => {
            let asked = request.uri().path_and_query().map_or(HOME, |path| path.as_str());
            return see(&sign_in_path(if request.method() == Method::GET { asked } else { HOME }));
        }
        Err(error) => return PageError::from(error).into_response(),
    };
    log_caller(&signed.principal);
    let is_stop;
    (request, is_stop) = match read_stop(request).await {
        Ok(read) => read,
        Err(error) => return PageError::from(error).into_response(),
    };
    let checked = if signed.principal.may_stop() && is_stop {
        desk.guard.check_stop_rate(&signed.principal, &mut request)
    } else {
        desk.guard.check_rate(&signed.principal)
    };
    if let Err(error) = checked {
        return PageError::from(error).into_response();
    }
    let path = request.extensions().get::<MatchedPath>().map_or("", |path| path.as_str());
    let needed = Scopes::of(needed(request.method(), path));
    if !signed.principal.scopes().have_one_of(needed) {
        let refusal = ServiceError::Forbidden(Forbidden::ScopeNeeded(needed));
        return PageError::from(ApiError::from(refusal)).into_response();
    }
    // A stop waits for nothing that it does not need, and without the count a page is as good.
    if !is_stop {
        let counted = desk.approvals.count_waiting(&signed.operator, WAITING_COUNTED).await;
        signed.waiting = counted.unwrap_or_default();
    }
    let address = desk.guard.client_of(request.headers(), request.extensions());
    request.extensions_mut().insert(ClientAddress(address));
    request.extensions_mut().insert(signed.principal.clone());
    request.extensions_mut().insert(IsStop(is_stop));
    request.extensions_mut().insert(signed);
    next.run(request).await
}

/// Whether a form halts or pauses, maybe among other changes, or shows what that would do to many accounts.
#[derive(Debug, Clone, Copy)]
pub struct IsStop(pub bool);

async fn read_stop(request: Request) -> Result<(Request, bool), ApiError> {
    let path = request.uri().path();
    let is_of_many = matches!(path, "/dashboard/accounts/change" | "/dashboard/accounts/change/policy");
    if request.method() != Method::POST || !is_of_many {
        let is_stop = request.method() == Method::POST
            && ["/halt", "/pause", "/stop-all"].iter().any(|form| path.ends_with(form));
        return Ok((request, is_stop));
    }
    let (parts, body) = request.into_parts();
    let body = receive(body).await?;
    let is_stop = Form::parse(&body).is_ok_and(|form| is_stop_of_many(&form));
    Ok((Request::from_parts(parts, Body::from(body)), is_stop))
}

/// Whether a form shows or carries out a halt or a pause, maybe among other changes.
fn is_stop_of_many(form: &Form) -> bool {
    let update = PolicyUpdate::from_json(form.text("change").as_bytes());
    matches!(form.text("what"), "halt" | "pause") || update.is_ok_and(|update| update.pauses())
}

/// The scopes of which a page or form needs one, as the operation of REST that does the same.
fn needed(method: &Method, path: &str) -> &'static [Scope] {
    if matches!(*method, Method::GET | Method::HEAD) {
        return &[Scope::Read];
    }
    match path.strip_prefix("/dashboard").unwrap_or_default() {
        "/sign-out" | "/sessions/end" | "/sessions/end-others" | "/passkeys" | "/passkeys/remove" => {
            &Scope::ALL
        }
        "/preview" => &[Scope::Read, Scope::Pay],
        "/accounts/change" => &[Scope::Read],
        "/stop-all" | "/accounts/change/halt" | "/accounts/{id}/halt" => &[Scope::Halt],
        "/accounts/change/policy"
        | "/accounts/{id}/pause"
        | "/accounts/{id}/policy"
        | "/accounts/{id}/policy/drop"
        | "/budgets/{id}" => &[Scope::Policy],
        "/approvals/{id}/reject" => &[Scope::RejectApprovals, Scope::Policy],
        "/keys" | "/accounts/{id}/keys" => &[Scope::Pay, Scope::Policy, Scope::Halt, Scope::RejectApprovals],
        "/keys/revoke" | "/accounts/{id}/keys/revoke" => &Scope::ALL,
        _ => &[Scope::Admin],
    }
}

async fn signed(desk: &Desk, headers: &HeaderMap, from: &Extensions) -> Result<Signed, ApiError> {
    let token = token_of(headers).ok_or(ServiceError::Unauthorized(Unauthorized::MissingKey))?;
    let from = || desk.guard.client_of(headers, from);
    let resumed = desk.sessions.resume(&token, from);
    match desk.guard.look_up(&token.hash(), resumed).await? {
        principal @ Principal::Operator { .. } => {
            let session = SessionId::of(&token.hash());
            Ok(Signed { operator: principal.operator().clone(), principal, session, waiting: 0 })
        }
        Principal::Agent { .. } => Err(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded).into()),
    }
}

fn sign_in_path(next: &str) -> String {
    leading_to("/dashboard/sign-in", next)
}

/// A page that leads on to another.
pub fn leading_to(path: &str, next: &str) -> String {
    if next == HOME {
        return path.to_owned();
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    format!("{path}?{query}")
}

/// Where to go after signing in: one of our own pages, whatever the address says.
pub fn next_page(asked: Option<&str>) -> &str {
    let is_ours = |path: &&str| {
        path.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    asked.filter(is_ours).unwrap_or(HOME)
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    next: String,
    /// The page for whoever has a passkey, if there are any.
    passkeys: Option<String>,
    complaint: Option<Complaint>,
}

impl SignInPage {
    fn new(desk: &Desk, next: &str, complaint: Option<Complaint>) -> Self {
        let passkeys = desk.ceremonies.is_ok().then(|| leading_to("/dashboard/sign-in/passkey", next));
        Self { next: next.to_owned(), passkeys, complaint }
    }
}

pub async fn ask(State(desk): State<Desk>, asked: QueryParams) -> Response {
    page(&SignInPage::new(&desk, next_page(asked.given("next")), None), None)
}

/// Exchanges an operator key for a session.
pub async fn sign_in(
    State(desk): State<Desk>,
    from: Extensions,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, PageError> {
    let next = next_page(form.given("next")).to_owned();
    let about_key =
        |status, message: &str| Complaint { status, message: message.to_owned(), field: "key".to_owned() };
    let complaint = match reached(text_of(&headers, header::ORIGIN).unwrap_or_default()) {
        Reached::Open => about_key(StatusCode::FORBIDDEN, OPEN_LINE),
        reached => match open(&desk, &headers, &from, &form, reached).await {
            Ok(cookie) => {
                let mut answer = see(&next);
                answer.headers_mut().append(header::SET_COOKIE, cookie);
                return Ok(answer);
            }
            Err(ApiError::Service(ServiceError::Unauthorized(Unauthorized::KeyOfOtherCell))) => {
                about_key(StatusCode::UNAUTHORIZED, OTHER_CELL)
            }
            Err(ApiError::Service(ServiceError::Unauthorized(_))) => {
                about_key(StatusCode::UNAUTHORIZED, NO_KEY)
            }
            Err(error) => Complaint { field: "key".to_owned(), ..Complaint::of(error)? },
        },
    };
    let shown = SignInPage::new(&desk, &next, Some(complaint));
    Ok(page(&shown, shown.complaint.as_ref()))
}

async fn open(
    desk: &Desk,
    headers: &HeaderMap,
    from: &Extensions,
    form: &Form,
    reached: Reached,
) -> Result<HeaderValue, ApiError> {
    let unknown = ServiceError::Unauthorized(Unauthorized::UnknownKey);
    let key = PlainKey::parse(form.text("key")).ok_or(unknown)?;
    let principal = desk.guard.find_holder(&key, headers, from).await?;
    open_for(desk, (&principal, None), headers, from, reached).await
}

/// Opens a session of this key, with the key itself or by a passkey: its cookie.
pub async fn open_for(
    desk: &Desk,
    (principal, by): (&Principal, Option<&PasskeyUse>),
    headers: &HeaderMap,
    from: &Extensions,
    reached: Reached,
) -> Result<HeaderValue, ApiError> {
    desk.guard.check_rate(principal)?;
    let sessions = &desk.sessions;
    let address = desk.guard.client_of(headers, from);
    let token = sessions.open(principal, by, address, request_name(from)).await?;
    desk.guard.remember(&token.hash());
    // Any session that the browser held before ends, whoever put it there.
    if let Some(before) = token_of(headers) {
        sessions.end(&before).await?;
    }
    cookie(reached, token.expose(), "").ok_or(ServiceError::Internal.into())
}

/// Ends the session, for every copy of the cookie.
pub async fn sign_out(State(desk): State<Desk>, headers: HeaderMap) -> Result<Response, PageError> {
    if let Some(token) = token_of(&headers) {
        desk.sessions.end(&token).await?;
    }
    let mut answer = see("/dashboard/sign-in");
    for reached in [Reached::Https, Reached::Local] {
        if let Some(cookie) = cookie(reached, "", "; Max-Age=0") {
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
            })
            .collect()
    }

    #[test]
    fn only_our_own_pages_may_change_something() {
        for (given, is_ours) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://a"), ("host", "a")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "https://a.example"), ("host", "a.example")], true),
            (&[("origin", "http://a.example:81"), ("host", "a.example:81")], true),
            (&[("origin", "http://a.example:81"), ("host", "a.example")], false),
            (&[("origin", "http://a.example.evil"), ("host", "a.example")], false),
            (&[("origin", "null"), ("host", "a.example")], false),
            (&[("host", "a.example")], false),
            (&[("origin", "http://a")], false),
            (&[], false),
        ] {
            assert_eq!(is_from_own_page(&headers(given), None), is_ours, "{given:?}");
        }
        let secure = headers(&[("origin", "https://a.example"), ("host", "a.example")]);
        assert!(is_from_own_page(&secure, Some("https")));
        assert!(!is_from_own_page(&secure, Some("http")), "another origin, though the same host");
    }

    #[test]
    fn after_signing_in_one_is_on_a_page_of_ours() {
        for path in ["/dashboard", "/dashboard/accounts/acct_1?status=all", "/dashboard?x=1"] {
            assert_eq!(next_page(Some(path)), path);
        }
        for path in [
            "",
            "/",
            "//evil.example",
            "https://evil.example/dashboard",
            "/dashboard\\evil",
            "/dashboards",
            "/dashboard/\r\nX: y",
            "javascript:alert(1)",
        ] {
            assert_eq!(next_page(Some(path)), HOME, "{path:?}");
        }
    }

    #[test]
    fn a_cookie_without_a_prefix_counts_on_this_machine_alone() {
        let token = SessionToken::new([7; 32]);
        let held = |name: &str, host: &str, more: &str| {
            let cookies = format!("other=1; {name}={}{more}", token.expose());
            token_of(&headers(&[("cookie", &cookies), ("host", host)])).is_some()
        };
        assert!(held(COOKIE, "purser.example", "") && held(COOKIE, "127.0.0.1:8080", ""));
        assert!(held(LOCAL_COOKIE, "127.0.0.1:8080", "") && held(LOCAL_COOKIE, "[::1]:8080", ""));
        assert!(
            !held(LOCAL_COOKIE, "purser.example", "") && !held(LOCAL_COOKIE, "127.0.0.1.evil.example", "")
        );
        assert!(!held(COOKIE, "127.0.0.1", &format!("; {LOCAL_COOKIE}={}", token.expose())), "two of them");
    }

    #[test]
    fn a_key_is_not_sent_over_an_open_line() {
        for (origin, expected) in [
            ("https://purser.example", Reached::Https),
            ("http://127.0.0.1:8080", Reached::Local),
            ("http://localhost", Reached::Local),
            ("http://[::1]:8080", Reached::Local),
            ("http://10.0.0.1:8080", Reached::Open),
            ("http://localhost.evil.example", Reached::Open),
            ("null", Reached::Open),
            ("", Reached::Open),
        ] {
            assert_eq!(reached(origin), expected, "{origin}");
        }
    }
}
