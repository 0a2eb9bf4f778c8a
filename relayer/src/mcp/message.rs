//! How the document describes messages of the protocol. Their contents are the protocol's.

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};

use crate::domain::schema::{one_of, reference, written};
use crate::http::error::ErrorBody;

/// The methods that are answered.
const METHODS: [&str; 6] =
    ["initialize", "notifications/initialized", "ping", "server/discover", "tools/list", "tools/call"];

pub(super) enum RpcMessage {}

pub(super) enum RpcAnswer {}

/// A request that is refused before the protocol reads it gets the error body of REST.
pub(super) enum RpcRefusal {}

written! {
    RpcMessage = "JsonRpcMessage": ObjectBuilder::new()
        .description(Some("A message of JSON-RPC 2.0; a notification is one without `id`."))
        .property("jsonrpc", one_of("The version of JSON-RPC.", ["2.0"]))
        .property("id", id("Of this request, and of its answer."))
        .property("method", one_of("The method.", METHODS))
        .property("params", object("As the method defines them."))
        .required("jsonrpc").required("method").build();
    RpcAnswer = "JsonRpcAnswer": ObjectBuilder::new()
        .description(Some("An answer of JSON-RPC 2.0: a result or an error."))
        .property("jsonrpc", one_of("The version of JSON-RPC.", ["2.0"]))
        .property("id", id("Of the request."))
        .property("result", object("As the method defines it."))
        .property("error", object("Its `code` and its `message`."))
        .required("jsonrpc").build();
    RpcRefusal = "JsonRpcRefusal": OneOfBuilder::new().item(reference::<ErrorBody>()).item(reference::<RpcAnswer>())
        .description(Some("An error of the service, or one of JSON-RPC.")).build(), of RpcAnswer;
}

fn id(description: &str) -> ObjectBuilder {
    let number_or_text = SchemaType::from_iter([Type::Integer, Type::String]);
    ObjectBuilder::new().schema_type(number_or_text).description(Some(description))
}

fn object(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().description(Some(description))
}
