//! OpenTelemetry traces, for the collector that the environment names: how long requests and their steps took. A span carries
//! the same ids as a log line of the request, and none of its contents. Only in builds with the cargo feature `otel`; others have
//! just the request's span, for the log. See [decision 27](../../docs/dev/decisions/0027-admin-listener-and-traces.md).

#[cfg(feature = "otel")]
mod export;
#[cfg(not(feature = "otel"))]
mod nowhere;

#[cfg(feature = "otel")]
pub use export::{Traces, answered, begin};
#[cfg(not(feature = "otel"))]
pub use nowhere::{Traces, answered, begin};

use tokio::runtime::Handle;

pub use purser_core::STEP;

/// The name of each request's span.
pub const REQUEST: &str = "request";

pub use purser_core::step;

/// The first of these variables that is set names the collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const PROTOCOL: &str = "http/protobuf";

/// Why traces cannot be exported as the environment asks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracesError {
    #[error(
        "{0} asks for traces, and this build has none of them: build with the cargo feature `otel`, or set OTEL_SDK_DISABLED=true"
    )]
    NotInThisBuild(&'static str),
    #[error("{variable} is `{value}`, and traces are sent as `{PROTOCOL}` alone")]
    Protocol { variable: &'static str, value: String },
    #[error("traces cannot be exported: {0}")]
    Exporter(String),
}

/// The exporter, if the environment asks for one.
pub fn of_environment(runtime: &Handle) -> Result<Option<Traces>, TracesError> {
    asked()?.map(|_| Traces::start(runtime)).transpose()
}

/// The variable that asks for traces, if one does and this build has them.
pub fn asked() -> Result<Option<&'static str>, TracesError> {
    match asked_by(|name| std::env::var(name).ok())? {
        Some(by) if !cfg!(feature = "otel") => Err(TracesError::NotInThisBuild(by)),
        by => Ok(by),
    }
}

fn asked_by(variable: impl Fn(&str) -> Option<String>) -> Result<Option<&'static str>, TracesError> {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is = |name, word: &str| given(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let Some(by) = ENDPOINTS.into_iter().find(|name| given(name).is_some()) else { return Ok(None) };
    match PROTOCOLS.into_iter().find_map(|name| Some((name, given(name)?))) {
        Some((variable, value)) if value != PROTOCOL => Err(TracesError::Protocol { variable, value }),
        Some(_) | None => Ok(Some(by)),
    }
}

#[cfg(test)]
mod tests;
