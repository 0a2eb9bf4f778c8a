//! The JSON request body: read within a size and a time, walked once for what JSON leaves open, then parsed into its type.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use utoipa::ToSchema;

use super::BODY_BYTES_MAX;
use super::error::ApiError;
use purser_model::{Invalid, no_json, param_of, read_body};

/// How deep objects and arrays may nest.
const DEPTH_MAX: usize = 32;
/// How long a client may take to send its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A request body of `application/json` that is exactly a `T`: each refusal is one of our errors and names the parameter.
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let JsonText(bytes) = JsonText::from_request(request, state).await?;
        Ok(Self(read_body(&bytes)?))
    }
}

/// The text of a request body of `application/json`: well-formed, without duplicate fields, ready to be parsed into its type.
pub struct JsonText(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::UnsupportedMediaType);
        }
        let bytes = receive(request.into_body()).await?;
        walk(&bytes)?;
        Ok(Self(bytes))
    }
}

/// Middleware for an extension that reads JSON by itself: hands on what [`JsonText`] takes.
pub async fn check_json(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match JsonText::from_request(Request::from_parts(head.clone(), body), &()).await {
        Ok(JsonText(text)) => next.run(Request::from_parts(head, Body::from(text))).await,
        Err(error) => error.into_response(),
    }
}

/// The body of a request without parameters: none, or an empty JSON object.
pub struct NoFields;

/// An object without fields.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl<S: Send + Sync> FromRequest<S> for NoFields {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let bytes = receive(request.into_body()).await?;
        if bytes.is_empty() {
            return Ok(Self);
        }
        if !is_json {
            return Err(ApiError::UnsupportedMediaType);
        }
        walk(&bytes)?;
        read_body(&bytes).map(|Nothing {}| Self).map_err(ApiError::from)
    }
}

/// Reads all of a body, within a size and a time.
pub async fn receive(body: Body) -> Result<Bytes, ApiError> {
    let read = tokio::time::timeout(BODY_TIMEOUT, read(body)).await;
    read.map_err(|_| ApiError::BodyTimeout)?
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Whether the body is encoded, in any way: bodies are short, and are read as they are.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    !encodings.all(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

async fn read(body: Body) -> Result<Bytes, ApiError> {
    let mut request = Request::new(body);
    DefaultBodyLimit::max(BODY_BYTES_MAX).apply(&mut request);
    Bytes::from_request(request, &()).await.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => ApiError::BodyTooLarge,
        _ => Invalid::new("body", "was cut off").into(),
    })
}

/// Editors and spreadsheets write it before UTF-8, where JSON has no place for it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Invalid (400): not one JSON value in UTF-8, a byte order mark, a duplicate field, NUL in text, too deep.
fn walk(bytes: &[u8]) -> Result<(), Invalid> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(Invalid::new("body", "begins with a byte order mark: send UTF-8 without one"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let complaint = RefCell::default();
    (JsonWalk { depth: 0, complaint: &complaint }).deserialize(tracked).map_err(|error| {
        match complaint.take() {
            Some(message) => Invalid::new(param_of(&track.path()), message),
            None => no_json(&track.path(), &error),
        }
    })?;
    json.end().map_err(|_| Invalid::new("body", "must be one JSON object and nothing after it"))
}

/// Visits a whole JSON value and keeps nothing: it refuses what the typed parse would let through.
struct JsonWalk<'a> {
    depth: usize,
    /// What is wrong, in our own words.
    complaint: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for JsonWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl JsonWalk<'_> {
    fn refuse<E: de::Error>(&self, message: String) -> E {
        let error = E::custom(&message);
        self.complaint.replace(Some(message));
        error
    }

    fn deeper<E: de::Error>(&self) -> Result<Self, E> {
        if self.depth >= DEPTH_MAX {
            return Err(self.refuse(format!("is more than {DEPTH_MAX} levels deep")));
        }
        Ok(Self { depth: self.depth + 1, complaint: self.complaint })
    }
}

impl<'de> Visitor<'de> for JsonWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    // Skipped: the numbers that matter are read from their text.
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        if text.contains('\0') {
            return Err(self.refuse("must not contain the NUL character".into()));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(self.deeper()?)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name.contains('\0') {
                return Err(self.refuse("has a field whose name contains the NUL character".into()));
            }
            map.next_value_seed(self.deeper()?)?;
            if let Some(twice) = names.replace(name) {
                return Err(self.refuse(format!("has the field `{twice}` twice")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Probe {
        name: Option<String>,
        list: Option<Vec<String>>,
        number: Option<Box<RawValue>>,
        #[allow(dead_code)]
        anything: Option<serde_json::Value>,
    }

    fn refused(text: &[u8]) -> String {
        let error = walk(text).and_then(|()| read_body::<Probe>(text)).expect_err("must be refused");
        error.param().to_owned()
    }

    #[test]
    fn a_number_keeps_its_text() {
        let probe: Probe =
            read_body(br#"{"name":"n","list":["a"],"number":18446744073709.551615}"#).expect("valid");
        assert_eq!(probe.number.expect("given").get(), "18446744073709.551615");
        assert_eq!((probe.name.as_deref(), probe.list.map(|list| list.len())), (Some("n"), Some(1)));
    }

    #[test]
    fn each_refusal_names_its_parameter() {
        assert_eq!(refused(br#"{"name":5}"#), "name");
        assert_eq!(refused(br#"{"list":["a",5]}"#), "list[1]");
        assert_eq!(refused(br#"{"colour":"red"}"#), "colour");
        assert_eq!(refused(br#"{"name":"a\u0000b"}"#), "name");
        assert_eq!(refused(br#"{"anything":{"a":{"b":1,"b":2}}}"#), "anything.a");
        assert_eq!(refused(br#"{"anything":{"a\u0000":1}}"#), "anything");
    }

    #[test]
    fn body_that_is_not_one_json_object_is_refused() {
        let bomb = [b"[".repeat(30_000), b"]".repeat(30_000)].concat();
        let nested = [br#"{"anything":"#.to_vec(), b"[".repeat(40), b"]".repeat(40), b"}".to_vec()].concat();
        let cases: [&[u8]; 12] = [
            b"\xef\xbb\xbf{}",
            b"",
            b"[\"name\",null,null,null]",
            b"null",
            b"{",
            b"[]",
            b"{} {}",
            b"\xff",
            b"{\"name\":\"\xff\"}",
            b"{\"name\":\"a\",\"name\":\"b\"}",
            &bomb,
            &nested,
        ];
        for text in cases {
            let read = walk(text).and_then(|()| read_body::<Probe>(text));
            assert!(read.is_err(), "{:?}", String::from_utf8_lossy(&text[..text.len().min(40)]));
        }
    }
}
