//! Events: a schema for each type, the union of them all, and what the service sends to webhooks.

use std::borrow::Cow;

use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Type};
use utoipa::openapi::{
    Components, ContentBuilder, PathItem, Ref, RefOr, Required, ResponseBuilder, Schema, SecurityRequirement,
};
use utoipa::{PartialSchema, ToSchema};

use super::open::WORD_CHARS_MAX;
use purser_model::EventType;
use purser_model::wire::events::envelope;
use purser_model::wire::schema::{reference, written};

/// An event of any type, as it is delivered.
pub(crate) enum AnyEvent {}

/// The event that a test of a webhook makes.
pub(crate) enum WebhookTestEvent {}

/// An event of a type that a client does not know yet.
enum OtherEvent {}

impl PartialSchema for AnyEvent {
    fn schema() -> RefOr<Schema> {
        let any_of = AnyOfBuilder::new()
            .description(Some("What happened. Told apart by `type`; there may be others later."));
        let add = |any_of: AnyOfBuilder, event_type: EventType| {
            any_of.item(Ref::from_schema_name(event_type.schema_name()))
        };
        let any_of = EventType::ALL.into_iter().fold(any_of, add);
        RefOr::T(any_of.item(reference::<OtherEvent>()).build().into())
    }
}

impl ToSchema for AnyEvent {
    fn name() -> Cow<'static, str> {
        "Event".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        for event_type in EventType::ALL {
            add(event_type, schemas);
        }
        schemas.push((OtherEvent::name().into_owned(), OtherEvent::schema()));
    }
}

written! {
    OtherEvent = "OtherEvent": other_event();
}

fn other_event() -> Schema {
    let kind = ObjectBuilder::new().schema_type(Type::String).max_length(Some(WORD_CHARS_MAX));
    let data = ObjectBuilder::new().schema_type(Type::Object);
    envelope(
        "An event of a type that this document does not know yet.",
        kind.description(Some("Another type.")),
        data.description(Some("Its fields depend on `type`.")),
    )
}

impl PartialSchema for WebhookTestEvent {
    fn schema() -> RefOr<Schema> {
        EventType::WebhookTest.described().0.into()
    }
}

impl ToSchema for WebhookTestEvent {
    fn name() -> Cow<'static, str> {
        EventType::WebhookTest.schema_name().into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(EventType::WebhookTest.described().1);
    }
}

/// Adds the envelope of a type, and every schema that it refers to.
fn add(event_type: EventType, schemas: &mut Vec<(String, RefOr<Schema>)>) {
    let (envelope, refers_to) = event_type.described();
    schemas.push((event_type.schema_name(), envelope.into()));
    schemas.extend(refers_to);
}

const HEADERS: [(&str, &str, &str); 5] = [
    (
        "X-Service-Signature",
        "^[0-9a-f]{64}$",
        "Lower-case hex of HMAC-SHA256 over the raw body, by the whole secret.",
    ),
    (
        "X-Service-Signature-Previous",
        "^[0-9a-f]{64}$",
        "The same with the previous secret, for 24 hours after a rotation.",
    ),
    ("webhook-id", "^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$", "The event's id, the same at every attempt."),
    ("webhook-timestamp", "^[0-9]{1,12}$", "Unix seconds of this attempt."),
    (
        "webhook-signature",
        "^v1,[A-Za-z0-9+/=]{44}( v1,[A-Za-z0-9+/=]{44})*$",
        "As Standard Webhooks defines it.",
    ),
];

/// The requests that the service sends, by event type.
pub(super) fn webhooks(components: &mut Components) -> Paths {
    let mut paths = Paths::new();
    for event_type in EventType::ALL {
        let words: Vec<&str> = event_type.as_str().split('.').collect();
        let schema = RefOr::<Schema>::Ref(Ref::from_schema_name(event_type.schema_name()));
        let body = RequestBodyBuilder::new()
            .content("application/json", ContentBuilder::new().schema(Some(schema)).build())
            .required(Some(Required::True))
            .build();
        let answered = "Received. Answer at once, and work on it afterwards.";
        let otherwise = "Not delivered: tried again after 30 seconds, 5 minutes, 30 minutes and 2 hours.";
        let operation = OperationBuilder::new()
            .operation_id(Some(format!("on_{}", words.join("_"))))
            .summary(Some(event_type.as_str()))
            .description(Some(event_type.fires_when()))
            .tag("Webhooks")
            .securities(Some([SecurityRequirement::default()]))
            // Nobody calls them: generators of clients would make methods of them, and some make what does not compile.
            .extensions(Some(ExtensionsBuilder::new().add("x-internal", true).build()))
            .parameters(Some(HEADERS.map(header)))
            .request_body(Some(body))
            .response("2XX", ResponseBuilder::new().description(answered))
            .response("default", ResponseBuilder::new().description(otherwise));
        paths
            .paths
            .insert(event_type.as_str().to_owned(), PathItem::new(HttpMethod::Post, operation.build()));
        let mut schemas = Vec::new();
        add(event_type, &mut schemas);
        components.schemas.extend(schemas);
    }
    paths
}

fn header((name, pattern, description): (&str, &str, &str)) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build();
    let required = if name.ends_with("-Previous") { Required::False } else { Required::True };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(required)
        .description(Some(description))
        .schema(Some(text))
        .build()
}
