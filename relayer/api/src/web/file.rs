//! Answers to be saved as files.

use std::fmt::Display;
use std::io;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::Stream;

/// The forms of a list that is saved as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Csv,
    Xlsx,
}

impl FileFormat {
    pub const ALL: [Self; 2] = [Self::Csv, Self::Xlsx];

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        }
    }

    /// By the ending of an address.
    pub fn of_path(path: &str) -> Self {
        if path.ends_with(".xlsx") { Self::Xlsx } else { Self::Csv }
    }
}

/// An answer of these pieces, to be saved as `name`. If a piece fails, the answer breaks off and no client takes it for complete.
pub fn answer(
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

/// The error for a piece that could not be read.
pub fn broken(error: impl Display) -> io::Error {
    tracing::warn!(%error, "a list was interrupted");
    io::Error::other("the list was interrupted")
}
