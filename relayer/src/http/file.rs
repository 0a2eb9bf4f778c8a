//! Answers that are to be kept as files: written while they are read, so that none is in memory as a whole.

use std::fmt::Display;
use std::io;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::Stream;

/// An answer of these pieces, to be kept as `name`. Should one fail, it breaks off and cannot be taken for whole.
pub(super) fn answer(
    name: &str,
    media_type: &'static str,
    pieces: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
) -> Response {
    let mut answer = Body::from_stream(pieces).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    answer
}

/// What a piece that could not be read is.
pub(super) fn broken(error: impl Display) -> io::Error {
    tracing::warn!(%error, "a list broke off");
    io::Error::other("the list broke off")
}
