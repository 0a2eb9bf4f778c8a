//! A build without the feature `otel`: asking for traces is an error, and tracing costs nothing.

use axum::http::HeaderMap;
use tokio::runtime::Handle;
use tracing::Span;
use tracing_subscriber::layer::Identity;

use super::TracesError;

/// Never constructed.
#[derive(Debug)]
pub enum Traces {}

impl Traces {
    pub fn start(_: &Handle) -> Result<Self, TracesError> {
        Err(TracesError::Exporter("they are not in this build".to_owned()))
    }

    pub fn layer(&self) -> Identity {
        match *self {}
    }

    pub async fn end(self) {
        match self {}
    }
}

pub fn begin(_: &Span, _: &HeaderMap) {}

pub fn answered(_: &Span, _: &'static str, _: Option<&str>, _: u16) {}
