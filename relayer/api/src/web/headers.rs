//! Headers of requests that routes describe.

use purser_model::IdempotencyKey;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema};

/// `Idempotency-Key`: the name of the request.
pub enum IdempotencyKeyHeader {}

impl IntoParams for IdempotencyKeyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description =
            "The idempotency key, where it is not in the body. With both given, both say the same.";
        vec![request_header("Idempotency-Key", description, IdempotencyKey::schema())]
    }
}

/// Describes an optional header.
pub(crate) fn request_header(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let described = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    described.required(Required::False).description(Some(description)).schema(Some(schema)).build()
}
