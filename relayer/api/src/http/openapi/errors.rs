//! Errors: an example of each code, made by the code that answers it, and which codes each route can answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{Components, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::{component, headers, needs_key};
use crate::web::error::Code;
use crate::web::error_body::ErrorBody;
use crate::web::headers::ONCE;
use crate::web::request_id::RequestId;
use crate::web::unpaid::example_ulid;

/// The extension in which a route names the codes that do not follow from its shape.
const ERRORS: &str = "x-errors";

/// Adds an example of every code.
pub(super) fn describe(components: &mut Components) {
    for code in Code::ALL.iter().copied() {
        let (when, _) = code.description();
        let example = ExampleBuilder::new().summary(when).value(Some(example_of(code))).build();
        components.examples.insert(code.as_str().to_owned(), RefOr::T(example));
    }
    components.schemas.insert(ErrorBody::name().into_owned(), ErrorBody::schema());
    let mut named = Vec::new();
    ErrorBody::schemas(&mut named);
    components.schemas.extend(named);
    // No route answers with it: it is for methods that a path does not have.
    response_of(&BTreeSet::from([Code::MethodNotAllowed]), components);
}

/// Adds the errors that a route can answer.
pub(super) fn add(operation: &mut Operation, components: &mut Components) {
    let mut by_status: BTreeMap<u16, BTreeSet<Code>> = BTreeMap::new();
    for code in codes_of(operation) {
        by_status.entry(code.status().as_u16()).or_default().insert(code);
    }
    for (status, codes) in by_status {
        let response = response_of(&codes, components);
        operation.responses.responses.entry(status.to_string()).or_insert(response);
    }
}

/// Every code that an operation can answer: those that it names, and those that follow from its shape.
fn codes_of(operation: &mut Operation) -> BTreeSet<Code> {
    let named = operation.extensions.as_mut().and_then(|extensions| extensions.remove(ERRORS));
    let named: Vec<String> = named.and_then(|named| serde_json::from_value(named).ok()).unwrap_or_default();
    let mut codes: BTreeSet<Code> =
        Code::ALL.iter().copied().filter(|code| named.iter().any(|name| name == code.as_str())).collect();
    let parameters = operation.parameters.iter().flatten();
    let has_id = parameters.into_iter().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    });
    if operation.extensions.as_mut().is_some_and(|extensions| extensions.remove(ONCE).is_some()) {
        codes.extend([Code::IdempotencyConflict, Code::IdempotencyInProgress]);
    }
    codes.extend([Code::InternalError, Code::Timeout]);
    if needs_key(operation) {
        codes.extend([Code::InvalidRequest, Code::Unauthorized, Code::Forbidden]);
        codes.extend([Code::RateLimited, Code::ServiceUnavailable]);
    }
    if has_id {
        codes.insert(Code::NotFound);
    }
    if operation.request_body.is_some() {
        codes.extend([Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType]);
    }
    codes
}

/// The response with these codes, which all have one status, as a component.
fn response_of(codes: &BTreeSet<Code>, components: &mut Components) -> RefOr<Response> {
    let name = codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(".");
    if !components.responses.contains_key(&name) {
        let lines = codes.iter().map(|code| {
            let (when, what_to_do) = code.description();
            format!("`{}`: {when} {what_to_do}", code.as_str())
        });
        let examples = codes.iter().map(|code| (code.as_str(), component("examples", code.as_str())));
        let content = ContentBuilder::new()
            .schema(Some(component::<utoipa::openapi::Schema>("schemas", &ErrorBody::name())))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(lines.collect::<Vec<_>>().join("\n\n"))
            .content("application/json", content)
            .build();
        headers::put(&mut response, &headers_of(codes));
        components.responses.insert(name.clone(), RefOr::T(response));
    }
    component("responses", &name)
}

fn headers_of(codes: &BTreeSet<Code>) -> Vec<&'static str> {
    let mut names = vec![headers::X_REQUEST_ID];
    let has = |code: Code| codes.contains(&code);
    if has(Code::Unauthorized) {
        names.push(headers::WWW_AUTHENTICATE);
    }
    if has(Code::RateLimited) || has(Code::ServiceUnavailable) || has(Code::IdempotencyInProgress) {
        names.push(headers::RETRY_AFTER);
    }
    // These are answered before the key is checked, or after the answer was given up.
    if ![Code::Unauthorized, Code::Timeout, Code::MethodNotAllowed].into_iter().any(has) {
        names.extend(headers::rate_limit());
    }
    names
}

/// The body of a code, as the service makes it.
pub(super) fn example_of(code: Code) -> Value {
    let (body, _) = code.example().into_body(RequestId::of(example_ulid(1)));
    serde_json::to_value(body).unwrap_or_default()
}
