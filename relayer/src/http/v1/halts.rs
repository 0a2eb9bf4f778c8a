use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Halt;
use crate::http::auth::OperatorOnly;
use crate::http::body::NoFields;
use crate::http::error::ApiError;
use crate::service::{HaltView, Halts};

/// A halt that is in force on an account.
#[derive(Debug, Serialize, ToSchema)]
pub struct HaltBody {
    by: &'static str,
    scope: &'static str,
}

impl From<Halt> for HaltBody {
    fn from(halt: Halt) -> Self {
        Self { by: halt.by.as_str(), scope: halt.scope.as_str() }
    }
}

/// The operator, halted.
#[derive(Serialize)]
pub struct HaltResponse {
    halted: bool,
    halted_by: &'static str,
    tx_signature: String,
}

impl From<HaltView> for HaltResponse {
    fn from(view: HaltView) -> Self {
        Self { halted: true, halted_by: view.halted_by.as_str(), tx_signature: view.tx_signature }
    }
}

/// `POST /v1/halt`
pub async fn create(
    State(halts): State<Halts>,
    OperatorOnly(operator): OperatorOnly,
    NoFields: NoFields,
) -> Result<Json<HaltResponse>, ApiError> {
    Ok(Json(halts.halt(&operator).await?.into()))
}
