//! `GET /healthz`, which needs no key: whether to send requests here, and what is wrong. It shows no secret.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use purser_core::words;
use purser_model::wire::schema::Message;
use purser_service::{Inside, health};

words! {
    enum Status = "HealthStatus":
        "`degraded`: part of the service does not work; `unwell`, with 503: send requests to another relayer." {
        Ok = "ok",
        Degraded = "degraded",
        Unwell = "unwell",
    }
}

/// How well the service is.
#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthResponse {
    status: Status,
    /// What is not well, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    problems: Vec<Message>,
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
pub(super) async fn get(State(inside): State<Arc<Inside>>) -> Response {
    let report = health::report(&inside).await;
    let problems: Vec<Message> = report.problems().map(Message::from).collect();
    let (code, status) = match (report.unwell, problems.is_empty()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, Status::Unwell),
        (false, false) => (StatusCode::OK, Status::Degraded),
        (false, true) => (StatusCode::OK, Status::Ok),
    };
    (code, Json(HealthResponse { status, problems })).into_response()
}
