//! Headers: those that many routes take, and those of answers.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Components, RefOr, Response, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::{component, needs_key};
use crate::web::headers::request_header;
use purser_model::wire::schema::RequestIdText;

pub(super) const X_REQUEST_ID: &str = "X-Request-Id";
pub(super) const RETRY_AFTER: &str = "Retry-After";
pub(super) const WWW_AUTHENTICATE: &str = "WWW-Authenticate";
pub(crate) const LAST_EVENT_ID_CHARS_MAX: usize = 512;
const RATE_LIMIT: [(&str, &str); 3] = [
    ("RateLimit-Limit", "How many requests this key may make at once."),
    ("RateLimit-Remaining", "How many of them are left."),
    (
        "RateLimit-Reset",
        "Seconds until all of them are available again; on a 429, until the next request is accepted.",
    ),
];

/// `If-Match`: the version of a policy.
pub(crate) enum IfMatch {}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let version = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r#"^(\*|[0-9]{1,19}|(W/)?"[0-9]{1,19}")$"#));
        let description = "The version that is to be changed, and no other: an `ETag`, also a weak one (`W/\"7\"`); `*` names none. As `expected_version` in the body; \
                           with both given, both say the same. `paused: true` applies to any version, also beside other \
                           fields, which apply to this one alone: a stop waits for nobody.";
        vec![request_header("If-Match", description, version.build().into())]
    }
}

/// `Last-Event-ID`: where a stream resumes.
pub(crate) enum LastEventId {}

impl IntoParams for LastEventId {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let id =
            ObjectBuilder::new().schema_type(Type::String).max_length(Some(LAST_EVENT_ID_CHARS_MAX)).build();
        let description =
            "For a stream: the last `id` that was read; the stream continues after it. Of no use for a list.";
        vec![request_header("Last-Event-ID", description, id.into())]
    }
}

/// Adds the headers of answers as components.
pub(super) fn describe(components: &mut Components) {
    let seconds = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0_usize)).build();
    let mut add = |name: &str, header: Header| {
        components.headers.insert(name.to_owned(), RefOr::T(header));
    };
    let header = |schema: RefOr<Schema>, description: &str| {
        HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
    };
    let request_id = RefOr::Ref(utoipa::openapi::Ref::from_schema_name(RequestIdText::name()));
    add(X_REQUEST_ID, header(request_id, "The request's id, to quote when you ask about it."));
    add(RETRY_AFTER, header(seconds().into(), "Seconds after which to send it again."));
    let bearer = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["Bearer"])).build();
    add(WWW_AUTHENTICATE, header(bearer.into(), "How to authenticate."));
    for (name, description) in RATE_LIMIT {
        add(name, header(seconds().into(), description));
    }
    let name = RequestIdText::name().into_owned();
    components.schemas.insert(name, RequestIdText::schema());
}

/// Adds the headers of every answer.
pub(super) fn add(operation: &mut Operation) {
    let guarded = needs_key(operation);
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            put(response, &[X_REQUEST_ID]);
            if guarded {
                put(response, &RATE_LIMIT.map(|(name, _)| name));
            }
        }
    }
}

/// Gives a response these header components.
pub(super) fn put(response: &mut Response, names: &[&str]) {
    for name in names {
        response.headers.insert((*name).to_owned(), component("headers", name));
    }
}

/// The three `RateLimit-*` headers.
pub(super) fn rate_limit() -> [&'static str; 3] {
    RATE_LIMIT.map(|(name, _)| name)
}
