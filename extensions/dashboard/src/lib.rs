//! The dashboard: pages over the same verbs as REST, for whoever signed in with an operator key. Every page works
//! without scripts, every change is a form, and nothing is loaded from elsewhere.
//! Start at `page.rs`, then `accounts.rs`. See [decision 23](../../../docs/dev/decisions/0023-dashboard-of-pages-and-forms.md).

mod account;
mod accounts;
mod actions;
mod approvals;
mod approve;
mod assets;
mod attention;
mod budgets;
mod changes;
mod chart;
mod days;
mod form;
mod history;
mod home;
mod keys;
mod known_budgets;
mod many;
mod names;
mod once;
mod page;
mod passkeys;
mod pending;
mod policy;
mod qr;
mod record;
mod session;
mod sessions;
mod signed_in;
mod spending;
mod system;
mod text;
mod transfers;
mod webhooks;
mod which;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::http::{HeaderValue, header};
use axum::middleware;
use axum::response::Response;
use axum::routing::{any, get, post};
use purser_api::web::{ApiError, Guard};
use purser_approvals::Approvals;
use purser_bulk::Many;
use purser_model::SealingKey;
use purser_service::Services;

use self::page::PageError;
use self::passkeys::{Ceremonies, NoPasskeys};
use self::signed_in::{Passkeys, Sessions};

/// What a page may do: load its own style and script, and send forms to its own origin.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The state of the pages.
#[derive(Clone)]
struct Desk {
    services: Arc<Services>,
    approvals: Approvals,
    many: Many,
    guard: Guard,
    sessions: Sessions,
    passkeys: Passkeys,
    /// What checks passkeys, or why there are none.
    ceremonies: Arc<Result<Ceremonies, NoPasskeys>>,
}

impl FromRef<Desk> for Arc<Services> {
    fn from_ref(desk: &Desk) -> Self {
        desk.services.clone()
    }
}

impl FromRef<Desk> for Sessions {
    fn from_ref(desk: &Desk) -> Self {
        desk.sessions.clone()
    }
}

impl FromRef<Desk> for Passkeys {
    fn from_ref(desk: &Desk) -> Self {
        desk.passkeys.clone()
    }
}

impl FromRef<Desk> for Approvals {
    fn from_ref(desk: &Desk) -> Self {
        desk.approvals.clone()
    }
}

impl FromRef<Desk> for Many {
    fn from_ref(desk: &Desk) -> Self {
        desk.many.clone()
    }
}

/// All routes under `/dashboard`, guarded by sessions, which in turn are guarded as keys are. `public_url`: where browsers reach them.
/// `key` marks challenges of passkeys: without it there are none.
pub fn routes(
    (services, approvals, many): (&Services, Approvals, Many),
    guard: Guard,
    public_url: &str,
    key: Option<Arc<SealingKey>>,
) -> Router {
    let (sessions, passkeys) =
        (Sessions::new(services.inside.clone()), Passkeys::new(services.inside.clone(), key));
    let ceremonies = Arc::new(passkeys::offered(&passkeys, public_url));
    let services = Arc::new(services.clone());
    let desk = Desk { services, approvals, many, guard, sessions, passkeys, ceremonies };
    Router::new()
        .route("/dashboard", get(home::show))
        .route("/dashboard/stop-all", get(home::ask_to_stop).post(home::stop_all))
        .route("/dashboard/accounts", get(accounts::show).post(accounts::create))
        .route("/dashboard/accounts/new", get(accounts::ask_to_create))
        .route("/dashboard/accounts/export", get(accounts::ask_to_export))
        .route("/dashboard/accounts/change", get(many::show).post(many::look))
        .route("/dashboard/accounts/change/policy", get(many::progress).post(many::change_policies))
        .route("/dashboard/accounts/change/halt", get(many::progress).post(many::halt))
        .route("/dashboard/accounts/{id}", get(account::show))
        .route("/dashboard/accounts/{id}/settings", get(account::show_settings))
        .route("/dashboard/accounts/{id}/tags", post(account::change_tags))
        .route("/dashboard/accounts/{id}/pause", post(account::pause))
        .route("/dashboard/accounts/{id}/halt", post(account::halt))
        .route("/dashboard/accounts/{id}/policy", get(policy::show).post(policy::change))
        .route("/dashboard/accounts/{id}/policy/drop", post(account::drop_pending))
        .route("/dashboard/accounts/{id}/policy/versions", get(policy::versions))
        .route("/dashboard/accounts/{id}/keys", get(account::show_keys).post(account::create_key))
        .route("/dashboard/accounts/{id}/keys/revoke", post(account::revoke_key))
        .route("/dashboard/accounts/{id}/history", get(history::show))
        .route("/dashboard/accounts/{id}/history.csv", get(history::file))
        .route("/dashboard/accounts/{id}/history.xlsx", get(history::file))
        .route("/dashboard/history.csv", get(history::file_of_all))
        .route("/dashboard/history.xlsx", get(history::file_of_all))
        .route("/dashboard/budgets", get(budgets::show))
        .route("/dashboard/budgets/{id}", get(budgets::one).post(budgets::change))
        .route("/dashboard/approvals", get(approvals::show))
        .route("/dashboard/approvals/{id}", get(approvals::one))
        .route("/dashboard/approvals/{id}/reject", post(approvals::reject))
        .route("/dashboard/pending", get(pending::show))
        .route("/dashboard/keys", get(keys::show).post(keys::create))
        .route("/dashboard/keys/revoke", post(keys::revoke))
        .route("/dashboard/transfers", get(transfers::show))
        .route("/dashboard/transfers/{id}", get(transfers::one))
        .route("/dashboard/preview", get(transfers::ask).post(transfers::preview))
        .route("/dashboard/webhooks", get(webhooks::list::show).post(webhooks::list::create))
        .route("/dashboard/webhooks/{id}", get(webhooks::one::show))
        .route("/dashboard/webhooks/{id}/replay", get(webhooks::one::progress).post(webhooks::one::replay))
        .route("/dashboard/webhooks/{id}/status", post(webhooks::one::change_status))
        .route("/dashboard/webhooks/{id}/test", post(webhooks::one::test))
        .route("/dashboard/webhooks/{id}/rotate", post(webhooks::one::rotate))
        .route("/dashboard/webhooks/{id}/deliveries/{event}", get(webhooks::delivery::show))
        .route("/dashboard/sign-out", post(session::sign_out))
        .route("/dashboard/actions", get(actions::show))
        .route("/dashboard/actions.csv", get(actions::file))
        .route("/dashboard/actions.xlsx", get(actions::file))
        .route("/dashboard/passkeys", get(passkeys::ask).post(passkeys::add))
        .route("/dashboard/passkeys/remove", post(passkeys::remove))
        .route("/dashboard/sessions/end", post(sessions::end))
        .route("/dashboard/sessions/end-others", post(sessions::end_others))
        .route_layer(middleware::from_fn_with_state(desk.clone(), record::record))
        .route_layer(middleware::from_fn_with_state(desk.clone(), once::once))
        .route_layer(middleware::from_fn_with_state(desk.clone(), session::guard))
        .route("/dashboard/sign-in", get(session::ask).post(session::sign_in))
        .route("/dashboard/sign-in/passkey", get(passkeys::ask_to_sign_in).post(passkeys::sign_in))
        .route("/dashboard/assets/{name}", get(assets::serve))
        .route_layer(middleware::from_fn_with_state(desk.clone(), session::from_own_pages))
        .route("/dashboard/", any(nothing))
        .route("/dashboard/{*rest}", any(nothing))
        .merge(approve::routes())
        .route_layer(middleware::map_response(as_page))
        .with_state(desk)
}

/// A path that leads to no page.
async fn nothing() -> PageError {
    ApiError::RouteNotFound.into()
}

/// Headers of every answer of the dashboard.
async fn as_page(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    // A form states its origin only if the page allows it.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}
