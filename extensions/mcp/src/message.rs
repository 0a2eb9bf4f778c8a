//! How the document describes messages of the protocol. Their contents are the protocol's.

use std::borrow::Cow;

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The methods that are answered.
const METHODS: [&str; 6] =
    ["initialize", "notifications/initialized", "ping", "server/discover", "tools/list", "tools/call"];

pub(crate) enum RpcMessage {}

pub(crate) enum RpcAnswer {}

/// A request that is refused before the protocol reads it gets the error body of REST.
pub(crate) enum RpcRefusal {}

impl PartialSchema for RpcMessage {
    fn schema() -> RefOr<Schema> {
        let message = ObjectBuilder::new()
            .description(Some("A message of JSON-RPC 2.0; a notification is one without `id`."))
            .property("jsonrpc", one_of("The version of JSON-RPC.", &["2.0"]))
            .property("id", id("Of this request, and of its answer."))
            .property("method", one_of("The method.", &METHODS))
            .property("params", object("As the method defines them."));
        message.required("jsonrpc").required("method").build().into()
    }
}

impl ToSchema for RpcMessage {
    fn name() -> Cow<'static, str> {
        "JsonRpcMessage".into()
    }
}

impl PartialSchema for RpcAnswer {
    fn schema() -> RefOr<Schema> {
        let answer = ObjectBuilder::new()
            .description(Some("An answer of JSON-RPC 2.0: a result or an error."))
            .property("jsonrpc", one_of("The version of JSON-RPC.", &["2.0"]))
            .property("id", id("Of the request."))
            .property("result", object("As the method defines it."))
            .property("error", object("Its `code` and its `message`."));
        answer.required("jsonrpc").build().into()
    }
}

impl ToSchema for RpcAnswer {
    fn name() -> Cow<'static, str> {
        "JsonRpcAnswer".into()
    }
}

impl PartialSchema for RpcRefusal {
    fn schema() -> RefOr<Schema> {
        let refusal = OneOfBuilder::new()
            .item(Ref::from_schema_name("ErrorBody"))
            .item(Ref::from_schema_name(RpcAnswer::name()))
            .description(Some("An error of the service, or one of JSON-RPC."));
        RefOr::T(Schema::from(refusal.build()))
    }
}

impl ToSchema for RpcRefusal {
    fn name() -> Cow<'static, str> {
        "JsonRpcRefusal".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((RpcAnswer::name().into_owned(), RpcAnswer::schema()));
    }
}

fn one_of(description: &str, words: &[&str]) -> ObjectBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    text.enum_values(Some(words.iter().copied()))
}

fn id(description: &str) -> ObjectBuilder {
    let number_or_text = SchemaType::from_iter([Type::Integer, Type::String]);
    ObjectBuilder::new().schema_type(number_or_text).description(Some(description))
}

fn object(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().description(Some(description))
}
