use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use purser_api::web::{
    ApiError, Code, LIMIT_DEFAULT, ListQuery, OperatorOnly, PageResponse, file, is_wanted, page_parameters,
    query_parameter,
};
use purser_model::wire::schema::written;
use purser_model::wire::{DenialDocument, DenialSignature};
use purser_model::{Denial, Invalid};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use crate::denials::Denials;

const NDJSON: &str = "application/x-ndjson";

written! {
    DenialNumber = "DenialNumber": number();
}

enum DenialNumber {}

fn number() -> Object {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0_usize));
    number.description(Some("Counts the denials of an operator, from 1.")).build()
}

/// A refusal that is signed. Its bytes are those of RFC 8785, in pages as in files.
#[derive(Serialize, ToSchema)]
#[schema(as = SignedDenial)]
pub struct SignedDenialResponse {
    /// What is signed.
    denial: DenialDocument,
    signature: DenialSignature,
}

pub enum DenialsParameters {}

impl IntoParams for DenialsParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let above = query_parameter::<DenialNumber>("above", "Only those with a higher number.");
        page_parameters(LIMIT_DEFAULT).into_iter().chain([above]).collect()
    }
}

/// List signed refusals
///
/// Each transfer of the operator that was rejected, within seconds, in a chain: the last first. With
/// `Accept: application/x-ndjson` all of them in the order of their numbers, as one file with a line for each, for
/// `purser audit --denials`; `limit` and `cursor` are refused then. Kept for ever.
#[utoipa::path(
    get, path = "/v1/denials", operation_id = "list_denials", tag = "History",
    params(DenialsParameters),
    responses((status = 200, description = "A page of denials, or all of them as lines.", content(
        (PageResponse<SignedDenialResponse> = "application/json"),
        (String = "application/x-ndjson"),
    ))),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::NotConfigured]))),
)]
pub async fn list(
    State(denials): State<Denials>,
    OperatorOnly(operator): OperatorOnly,
    headers: HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    let above = above(&mut query)?;
    let mut answer = if is_wanted(&headers, NDJSON) {
        query.finish()?;
        let pages = denials.all(&operator, above)?;
        let pieces = pages.map(|page| page.map(lines).map_err(file::broken));
        file::answer(&format!("denials-{}.jsonl", operator.address), NDJSON, pieces)
    } else {
        let request = query.page(LIMIT_DEFAULT)?;
        let page = denials.list(&operator, above, request).await?;
        let page: PageResponse<Box<RawValue>> = page.map(|denial| denial.line()).into();
        Json(page).into_response()
    };
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}

fn lines(denials: Vec<Denial>) -> Vec<u8> {
    let mut text = Vec::new();
    for denial in denials {
        text.extend_from_slice(denial.line().get().as_bytes());
        text.push(b'\n');
    }
    text
}

fn above(query: &mut ListQuery) -> Result<u64, Invalid> {
    let wrong = || Invalid::new("above", "must be a whole number");
    let Some(text) = query.take("above") else { return Ok(0) };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(wrong)
}
