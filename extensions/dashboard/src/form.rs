//! The contents of a form. The same code reads its fields that reads those of a REST request.

use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use purser_api::web::{ApiError, receive};
use purser_model::{Invalid, Timestamp};

use super::page::PageError;
use super::text::{moment_of, picked};

/// The fields of a form as they were filled in.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let refused = |error: ApiError| PageError::from(error).into_response();
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(refused(ApiError::UnsupportedMediaType));
        }
        let bytes = receive(request.into_body()).await.map_err(refused)?;
        Self::parse(&bytes).map_err(|invalid| refused(invalid.into()))
    }
}

impl Form {
    /// A form with these values.
    pub fn of(fields: Vec<(&str, String)>) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        let read = |(name, value): (std::borrow::Cow<str>, std::borrow::Cow<str>)| {
            if value.contains('\0') {
                return Err(Invalid::new(name, "must not contain the NUL character"));
            }
            Ok((name.into_owned(), value.into_owned()))
        };
        url::form_urlencoded::parse(bytes).map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Every field with what was filled in.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a field; empty when it was not filled in.
    pub fn text<'a>(&'a self, name: &'a str) -> &'a str {
        self.all(name).next().unwrap_or_default().trim()
    }

    /// The value of a field, if it was filled in.
    pub fn given<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// The moment that a date picker sent, or an RFC 3339 text.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, Invalid> {
        self.given(name).map(|text| moment_of(name, text)).transpose()
    }

    /// The same for a date picker; empty if nothing was picked.
    pub fn picked(&self, name: &str) -> String {
        picked(self.text(name))
    }

    /// Every value under this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_trimmed_and_empty_ones_are_not_given() {
        let form = Form::parse(b"name=+Ada+&empty=++&many=1&many=2").expect("a form");
        assert_eq!((form.text("name"), form.given("empty"), form.given("missing")), ("Ada", None, None));
        assert_eq!(form.all("many").collect::<Vec<_>>(), ["1", "2"]);
        assert!(Form::parse(b"name=a%00b").is_err());
    }
}
