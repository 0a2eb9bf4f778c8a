//! What a URL holds besides its route: ids in the path, and the query parameters of lists. Also the envelope of a page.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path, Request};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::error::ApiError;
use purser_model::{
    AccountId, BudgetId, Cursor, EventId, Invalid, KeyId, Page, PageRequest, TransferId, WebhookId,
};
use purser_service::{Resource, ServiceError};

/// How many items a page has where nobody says, and the most that it may have.
pub const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// An id that can stand in a path. Text that is not such an id is answered like an unknown id.
pub trait PathId: FromStr {
    const RESOURCE: Resource;
}

macro_rules! path_ids {
    ($($id:ident: $resource:ident),*) => {$(
        impl PathId for $id {
            const RESOURCE: Resource = Resource::$resource;
        }
    )*};
}

path_ids! { AccountId: Account, TransferId: Transfer, EventId: Event, WebhookId: Webhook, KeyId: Key, BudgetId: Budget }

/// The one id in a route's path.
pub struct Id<T>(pub T);

impl<S: Send + Sync, T: PathId> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let not_found = || ApiError::Service(ServiceError::NotFound(T::RESOURCE));
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| not_found())?;
        text.parse().map(Self).map_err(|_| not_found())
    }
}

impl<T: PathId> IntoParams for Id<T>
where
    T: PartialSchema,
{
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let described = ParameterBuilder::new().name("id").parameter_in(ParameterIn::Path);
        vec![described.required(Required::True).schema(Some(T::schema())).build()]
    }
}

/// Middleware: what changes something takes nothing from its query, so that `?dry_run=true` in a wrong place never pays.
pub(crate) async fn refuse_query(request: Request, next: Next) -> Result<Response, ApiError> {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let query = request.uri().query().filter(|_| changes).unwrap_or_default();
    match url::form_urlencoded::parse(query.as_bytes()).next() {
        None => Ok(next.run(request).await),
        Some((name, _)) => {
            Err(Invalid::new(name, "is no parameter of this request: send it in the body").into())
        }
    }
}

/// The query parameters of a request, each at most once.
pub struct ListQuery {
    given: HashMap<String, String>,
    /// The parameters that the list takes.
    taken: Vec<&'static str>,
}

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default())?)
    }
}

impl ListQuery {
    fn parse(query: &str) -> Result<Self, Invalid> {
        let mut parameters = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if parameters.insert(name.to_string(), value.to_string()).is_some() {
                return Err(Invalid::new(name, "is given twice"));
            }
        }
        Ok(Self { given: parameters, taken: Vec::new() })
    }

    /// Takes one parameter out.
    pub fn take(&mut self, name: &'static str) -> Option<String> {
        self.taken.push(name);
        self.given.remove(name)
    }

    /// Takes one parameter out and reads it. Invalid: its text is no such value.
    pub fn read<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Result<Option<T>, Invalid> {
        self.take(name).map(|text| Invalid::unless(name, &text)).transpose()
    }

    /// The page that is asked for, now that the filters are taken. Invalid: also any other parameter.
    pub fn page(mut self, default: u32) -> Result<PageRequest, Invalid> {
        let (limit, cursor) = (self.take("limit"), self.take("cursor"));
        let request = PageRequest::parse(limit.as_deref(), (default, LIMIT_MAX), cursor)?;
        self.finish()?;
        Ok(request)
    }

    /// Invalid: a parameter that nobody took.
    pub fn finish(self) -> Result<(), Invalid> {
        let Some(name) = self.given.into_keys().min() else { return Ok(()) };
        let known: Vec<String> = self.taken.iter().map(|name| format!("`{name}`")).collect();
        Err(Invalid::new(name, format!("is not a parameter of this list; it takes {}", known.join(", "))))
    }
}

/// Describes an optional query parameter of the form of a `T`.
pub fn query_parameter<T: ToSchema>(name: &str, description: &str) -> Parameter {
    parameter(name, description, T::schema())
}

/// Describes `limit` and `cursor`.
pub fn page_parameters(default: u32) -> Vec<Parameter> {
    let limit = ObjectBuilder::new().schema_type(Type::Integer).default(Some(default.into()));
    let limit = limit.minimum(Some(1_usize)).maximum(Some(LIMIT_MAX as usize)).build();
    let cursor = "The `cursor` of the page before, with the same filters. Left out for the first page.";
    vec![
        parameter("limit", "How many there may be on the page.", limit.into()),
        query_parameter::<Cursor>("cursor", cursor),
    ]
}

fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let described = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
    described.required(Required::False).description(Some(description)).schema(Some(schema)).build()
}

/// Describes the parameters of a list: `limit`, `cursor` and its filters.
macro_rules! list_parameters {
    ($name:ident($default:expr) { $($parameter:literal: $kind:ty = $description:literal;)* }) => {
        pub(super) enum $name {}

        impl utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                let filters = [$(crate::web::page::query_parameter::<$kind>($parameter, $description),)*];
                crate::web::page::page_parameters($default).into_iter().chain(filters).collect()
            }
        }
    };
}
pub(crate) use list_parameters;

/// A page of a list.
#[derive(Serialize, ToSchema)]
#[schema(as = Page)]
pub struct PageResponse<T> {
    /// What is on the page, in the order of the list.
    #[schema(max_items = 100)]
    pub data: Vec<T>,
    /// `null` on the last page.
    #[schema(required)]
    pub cursor: Option<Cursor>,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl<T> From<Page<T>> for PageResponse<T> {
    fn from(page: Page<T>) -> Self {
        Self { data: page.items, has_more: page.next.is_some(), cursor: page.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_once_and_unknown_ones_named() {
        let mut query = ListQuery::parse("limit=5&status=paused").expect("valid");
        assert_eq!(query.take("limit").as_deref(), Some("5"));
        assert_eq!(query.finish().expect_err("left over").param(), "status");
        assert_eq!(ListQuery::parse("limit=5&limit=6").err().expect("twice").param(), "limit");
        assert!(ListQuery::parse("").expect("empty").finish().is_ok());
    }
}
