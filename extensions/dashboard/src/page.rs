//! What all pages share, and the error pages.

use std::fmt::Display;
use std::str::FromStr;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::{StatusCode, header, request::Parts};
use axum::response::{Html, IntoResponse, Response};
use purser_api::web::{ApiError, Id, PathId};
use purser_model::{Cursor, Invalid, Network, Operator, PageRequest, Timestamp};
use purser_service::{ServiceError, Unauthorized};
use ulid::Ulid;

use super::text::{moment_of, picked};

/// How many payments that wait for approval are counted for the navigation.
pub const WAITING_COUNTED: u32 = 100;

/// The section of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Home,
    Accounts,
    Transfers,
    Approvals,
    Webhooks,
    Keys,
    Actions,
}

/// The pages of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    Overview,
    Keys,
    History,
    Settings,
}

/// Each with its words and the end of its address.
pub const ACCOUNT_TABS: [(Tab, &str, &str); 4] = [
    (Tab::Overview, "Overview", ""),
    (Tab::Keys, "Keys", "/keys"),
    (Tab::History, "History", "/history"),
    (Tab::Settings, "Settings", "/settings"),
];

/// The frame around every page.
pub struct Frame {
    pub operator: Operator,
    pub section: Section,
    /// The name of this page's forms: see `once`.
    pub once: Ulid,
    /// A notice of what was just done.
    pub notice: Option<String>,
    /// How many payments wait for approval, for the navigation.
    waiting: u32,
}

impl Frame {
    pub fn new(operator: &Operator, section: Section, waiting: u32) -> Self {
        Self { operator: operator.clone(), section, once: Ulid::generate(), notice: None, waiting }
    }

    /// The count beside Approvals, unless nothing waits.
    pub fn waiting(&self) -> Option<String> {
        match self.waiting {
            0 => None,
            count if count >= WAITING_COUNTED => Some(format!("{WAITING_COUNTED}+")),
            count => Some(count.to_string()),
        }
    }

    pub fn with_notice(self, notice: Option<String>) -> Self {
        Self { notice, ..self }
    }

    pub fn is_live(&self) -> bool {
        self.operator.network == Network::Live
    }

    pub fn current(&self, section: Section) -> &'static str {
        if self.section == section { "page" } else { "false" }
    }
}

/// Why a form was refused: shown beside the field at fault.
#[derive(Debug, Clone)]
pub struct Complaint {
    pub status: StatusCode,
    pub message: String,
    /// The field, without the path within it.
    pub field: String,
}

impl Complaint {
    /// The complaint about something that was filled in. Other errors have a page of their own.
    pub fn of(error: impl Into<ApiError>) -> Result<Self, PageError> {
        let error = error.into();
        if let ApiError::Service(
            ServiceError::NotFound(_) | ServiceError::Internal | ServiceError::Unauthorized(_),
        ) = error
        {
            return Err(PageError::Error(error));
        }
        let (status, message, param) = error.in_words();
        let param = param.unwrap_or_default();
        let field = param.split(['.', '[']).next().unwrap_or_default().to_owned();
        Ok(Self { status, message, field })
    }

    /// Whether the complaint is about this field.
    pub fn is_about(&self, field: &str) -> bool {
        self.field == field
    }
}

/// Renders a page. A refused form is shown again with the complaint.
pub fn page(template: &impl Template, complaint: Option<&Complaint>) -> Response {
    let status = complaint.map_or(StatusCode::OK, |complaint| complaint.status);
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot render a page");
            PageError::Error(ApiError::Service(ServiceError::Internal)).into_response()
        }
    }
}

/// How far long work is. The page loads itself again until that leads elsewhere.
#[derive(Template)]
#[template(path = "progress.html")]
pub struct ProgressPage {
    pub frame: Frame,
    pub title: &'static str,
    pub words: String,
    /// How many of how many are done, if that can be counted.
    pub done: Option<(u64, u64)>,
    /// A page that does not load itself again.
    pub back: String,
}

/// A header, because it says the same to every browser, and leaves the page itself without a clock.
const LOADS_AGAIN: (header::HeaderName, &str) = (header::REFRESH, "2");

impl IntoResponse for ProgressPage {
    fn into_response(self) -> Response {
        ([LOADS_AGAIN], page(&self, None)).into_response()
    }
}

/// After a form was carried out: redirects to the result.
pub fn see(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path.to_owned())]).into_response()
}

/// The reason why a page cannot be shown.
#[derive(Debug)]
pub enum PageError {
    Error(ApiError),
    /// The request came from a page that is not ours.
    OtherPage,
}

impl<T: Into<ApiError>> From<T> for PageError {
    fn from(error: T) -> Self {
        Self::Error(error.into())
    }
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage {
    status: u16,
    title: &'static str,
    message: String,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::Error(ApiError::Service(ServiceError::Unauthorized(_))) => return see("/dashboard/sign-in"),
            Self::Error(ApiError::UnsupportedMediaType) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "A form is sent as `application/x-www-form-urlencoded`.".into())
            }
            Self::Error(error) => {
                let (status, message, _) = error.in_words();
                (status, message)
            }
            Self::OtherPage => (
                StatusCode::FORBIDDEN,
                "This did not come from a page of the dashboard, and nothing was done. Open the dashboard and do it there.".into(),
            ),
        };
        let title = match status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not allowed",
            StatusCode::TOO_MANY_REQUESTS => "Too many requests",
            StatusCode::SERVICE_UNAVAILABLE => "Not available right now",
            status if status.is_client_error() => "That cannot be done",
            _ => "Something went wrong",
        };
        let shown = RefusalPage { status: status.as_u16(), title, message };
        (status, Html(shown.render().unwrap_or_default())).into_response()
    }
}

/// Nobody is signed in.
pub fn unauthorized() -> PageError {
    ServiceError::Unauthorized(Unauthorized::MissingKey).into()
}

/// The one id in a page's path. Text that is not an id gets the same page as an unknown id.
pub struct PageId<T>(pub T);

impl<S: Send + Sync, T: PathId> FromRequestParts<S> for PageId<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let Id(id) = Id::from_request_parts(parts, state).await?;
        Ok(Self(id))
    }
}

/// The query parameters of the page's address.
#[derive(Default)]
pub struct QueryParams(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for QueryParams {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let query = parts.uri.query().unwrap_or_default();
        let fields: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        match fields.iter().find(|(_, value)| value.contains('\0')) {
            Some((name, _)) => {
                let invalid = Invalid::new(name, "must not contain the NUL character");
                Err(PageError::from(invalid).into_response())
            }
            None => Ok(Self(fields)),
        }
    }
}

impl QueryParams {
    /// The parameter's value, if it is not empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The same, read. Invalid: its text is no such value.
    pub fn read<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Invalid> {
        self.given(name).map(|text| Invalid::unless(name, text)).transpose()
    }

    /// The moment that a date picker sent, or an RFC 3339 text.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, Invalid> {
        self.given(name).map(|text| moment_of(name, text)).transpose()
    }

    /// The same for a date picker; empty if nothing was picked.
    pub fn picked(&self, name: &str) -> String {
        picked(self.text(name))
    }

    /// The same as text, to fill a form in again.
    pub fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// The address of another page with these of the parameters.
    pub fn same(&self, path: &str, names: &[&str]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for name in names {
            if let Some(value) = self.given(name) {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// The same with one more parameter, unless that is empty.
    pub fn with(&self, path: &str, names: &[&str], (name, value): (&str, &str)) -> String {
        let same = self.same(path, names);
        if value.is_empty() {
            return same;
        }
        let added = url::form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish();
        format!("{same}{}{added}", if same.contains('?') { '&' } else { '?' })
    }

    /// The page of a list that is asked for.
    pub fn page(&self, limit: u32) -> PageRequest {
        PageRequest { limit, cursor: self.given("cursor").map(|text| Cursor::from(text.to_owned())) }
    }

    /// The address of the next page: the same with this cursor, from its beginning.
    pub fn next(&self, path: &str, cursor: Option<&Cursor>) -> Option<String> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.0 {
            if name != "cursor" && name != "page" && !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        cursor.map(|cursor| format!("{path}?{}", query.append_pair("cursor", cursor.text()).finish()))
    }
}
