//! Headers that routes describe.

use purser_model::IdempotencyKey;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema};
use utoipa_axum::router::OpenApiRouter;

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

/// Marks the operations that are carried out once under their name, until the document is complete.
pub(crate) const ONCE: &str = "x-once";

/// Describes the POSTs of these routes as carried out once under their name: see `once`.
pub fn name_once<S: Clone + Send + Sync + 'static>(mut routes: OpenApiRouter<S>) -> OpenApiRouter<S> {
    let posts = routes.get_openapi_mut().paths.paths.values_mut().filter_map(|item| item.post.as_mut());
    posts.for_each(name_operation);
    routes
}

fn name_operation(operation: &mut Operation) {
    let description = "A name of the request, which is then done once: asked for again within 24 hours, it is answered as the first time.";
    let header = request_header("Idempotency-Key", description, IdempotencyKey::schema());
    operation.parameters.get_or_insert_default().push(RefOr::T(header));
    operation.extensions.get_or_insert_default().insert(ONCE.to_owned(), true.into());
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with('2')
        {
            let text = ObjectBuilder::new().schema_type(Type::String).build();
            let replayed =
                HeaderBuilder::new().schema(Some(text)).description(Some("`true` for a repeated request."));
            response.headers.insert("Idempotent-Replayed".to_owned(), RefOr::T(replayed.build()));
        }
    }
}
