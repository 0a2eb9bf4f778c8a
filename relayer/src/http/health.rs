//! `GET /healthz`, which needs no key: that the process answers, and what is not well. Names no operator.

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::service::Signers;

#[derive(Serialize)]
pub(super) struct HealthResponse {
    /// `ok`; or `degraded`: part of what is served does not work.
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// 200 whatever is wrong with keys: neither a restart nor another relayer mends it.
pub(super) async fn get(State(signers): State<Signers>) -> Json<HealthResponse> {
    let problems = signers.problems();
    let status = if problems.is_empty() { "ok" } else { "degraded" };
    Json(HealthResponse { status, problems })
}
