//! What a URL says besides its route: ids in the path, and the query parameters of lists. And the envelope of a page.

use std::collections::HashMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;
use crate::domain::{
    AccountId, Cursor, EventId, Invalid, KeyId, Page, PageLimit, PageRequest, TransferId, WebhookId,
};
use crate::service::{Resource, ServiceError};

/// An id that can stand in a path. Text that is no such id is answered as an unknown id is.
pub(crate) trait PathId: FromStr {
    const RESOURCE: Resource;
}

impl PathId for AccountId {
    const RESOURCE: Resource = Resource::Account;
}

impl PathId for TransferId {
    const RESOURCE: Resource = Resource::Transfer;
}

impl PathId for EventId {
    const RESOURCE: Resource = Resource::Event;
}

impl PathId for WebhookId {
    const RESOURCE: Resource = Resource::Webhook;
}

impl PathId for KeyId {
    const RESOURCE: Resource = Resource::Key;
}

/// The one id in a route's path.
pub(crate) struct Id<T>(pub T);

impl<S: Send + Sync, T: PathId> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let not_found = || ApiError::Service(ServiceError::NotFound(T::RESOURCE));
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| not_found())?;
        text.parse().map(Self).map_err(|_| not_found())
    }
}

/// The query parameters of a request, each at most once.
pub(crate) struct Query(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default())?)
    }
}

impl Query {
    fn parse(query: &str) -> Result<Self, Invalid> {
        let mut parameters = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if parameters.insert(name.to_string(), value.to_string()).is_some() {
                return Err(Invalid::new(name, "is given twice"));
            }
        }
        Ok(Self(parameters))
    }

    /// The same parameters from where no URL is.
    pub(crate) fn of(parameters: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(parameters.into_iter().collect())
    }

    /// Takes one parameter out.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes `limit` and `cursor`, the latter of the list that `filter` describes.
    pub(super) fn page(&mut self, default: u32, max: u32, filter: &str) -> Result<PageRequest, Invalid> {
        let limit = PageLimit::parse(self.take("limit").as_deref(), default, max)?;
        let after = self.take("cursor").map(|text| Cursor::parse(&text, filter)).transpose()?;
        Ok(PageRequest { limit, after })
    }

    /// Invalid: a parameter that nobody took.
    pub(super) fn finish(self) -> Result<(), Invalid> {
        match self.0.into_keys().min() {
            None => Ok(()),
            Some(name) => Err(Invalid::new(name, "is not a parameter of this list")),
        }
    }
}

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct PageResponse<T> {
    pub data: Vec<T>,
    /// `null` on the last page.
    #[schema(required)]
    pub cursor: Option<String>,
    pub has_more: bool,
}

impl<T> From<Page<T>> for PageResponse<T> {
    fn from(page: Page<T>) -> Self {
        let cursor = page.next.map(|next| next.text());
        Self { data: page.items, has_more: cursor.is_some(), cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_once_and_unknown_ones_named() {
        let mut query = Query::parse("limit=5&status=paused").expect("valid");
        assert_eq!(query.take("limit").as_deref(), Some("5"));
        assert_eq!(query.finish().expect_err("left over").param(), "status");
        assert_eq!(Query::parse("limit=5&limit=6").err().expect("twice").param(), "limit");
        assert!(Query::parse("").expect("empty").finish().is_ok());
    }
}
