//! `GET /healthz`, which needs no key: whether to send requests here, and what is wrong. It shows no secret.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use purser_model::wire::schema::{Message, one_of, written};
use purser_service::Health;

const OK: &str = "ok";
const DEGRADED: &str = "degraded";
const UNWELL: &str = "unwell";

written! {
    Status = "HealthStatus": one_of(
        "`degraded`: part of the service does not work; `unwell`, with 503: send requests to another relayer.",
        [OK, DEGRADED, UNWELL]
    );
}

enum Status {}

/// How well the service is.
#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthResponse {
    #[schema(value_type = Status)]
    status: &'static str,
    /// What is not well, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Message>, max_items = 1000)]
    problems: Vec<String>,
}

/// Ask how the service is
///
/// Needs no key.
#[utoipa::path(
    get, path = "/healthz", operation_id = "get_health", tag = "Service",
    responses(
        (status = 200, body = HealthResponse, description = "The service can take requests."),
        (status = 503, body = HealthResponse, description = "Send requests to another relayer."),
    ),
    security(()),
)]
pub(super) async fn get(State(health): State<Health>) -> Response {
    let report = health.report().await;
    let problems: Vec<String> = report.problems().map(str::to_owned).collect();
    let (code, status) = match (report.unwell, problems.is_empty()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, UNWELL),
        (false, false) => (StatusCode::OK, DEGRADED),
        (false, true) => (StatusCode::OK, OK),
    };
    (code, Json(HealthResponse { status, problems })).into_response()
}
