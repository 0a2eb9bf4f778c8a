//! `GET /healthz`, which needs no key: whether requests are well sent here, and what is not well. Tells nothing secret.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::service::{Health, Problem};

#[derive(Serialize)]
struct HealthResponse {
    /// `ok`; `degraded`: part of what is served does not work; `unwell`, with 503: requests are better sent elsewhere.
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

pub(super) async fn get(State(health): State<Health>) -> Response {
    let report = health.report().await;
    let (code, status) = match (report.unwell, report.problems.is_empty()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "unwell"),
        (false, false) => (StatusCode::OK, "degraded"),
        (false, true) => (StatusCode::OK, "ok"),
    };
    let problems = report.problems.iter().map(in_words).collect();
    (code, Json(HealthResponse { status, problems })).into_response()
}

fn in_words(problem: &Problem) -> String {
    match problem {
        Problem::DatabaseTakesNoWrites => "database: takes no writes".to_owned(),
        Problem::DatabaseCannotBeRead => "database: cannot be read".to_owned(),
        Problem::Keys(words) => words.clone(),
        Problem::NoNode(network) => format!("network {network}: no node answers"),
    }
}
