//! Describes the values of purchases, with their bounds.

use purser_model::URL_CHARS_MAX;
use purser_model::wire::schema::{anything, one_of, text, written};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder};
use utoipa::openapi::{RefOr, Schema, SchemaFormat};

use crate::offer::RESOURCE_BYTES_MAX;
use crate::purchase::PurchaseMethod;

/// Where something is bought.
pub(crate) enum ResourceUrlText {}

/// What a seller asks for.
pub(crate) enum OfferJson {}

/// A signed payment.
#[derive(Serialize)]
pub(crate) struct PaymentJson(pub Box<RawValue>);

/// A resource as text.
#[derive(Serialize)]
pub(crate) struct ResourceBodyText(pub String);

written! {
    ResourceUrlText = "ResourceUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .max_length(Some(URL_CHARS_MAX)).examples([json!("https://example.com/report")])
        .description(Some("An absolute https URL of a public host, without user name, password or fragment.")).build();
    ResourceBodyText = "ResourceBody": text().max_length(Some(RESOURCE_BYTES_MAX.div_ceil(3) * 4)).build();
    OfferJson = "X402Offer": offer_or_text();
    PaymentJson = "X402PaymentPayload": ObjectBuilder::new()
        .additional_properties(Some(RefOr::T(Schema::Object(anything()))))
        .description(Some("A payment as x402 has it: `x402Version`, `accepted`, `payload`, and what the offer says of `resource` and `extensions`."))
        .build();
    PurchaseMethod = "Method": one_of("How a resource is asked for.", Self::ALL.map(Self::as_str));
}

fn offer_or_text() -> Schema {
    let object = ObjectBuilder::new().additional_properties(Some(RefOr::T(Schema::Object(anything()))));
    let text = text()
        .max_length(Some(65_536))
        .description(Some("The same as JSON in a text, or in base64 as in the header `PAYMENT-REQUIRED`."));
    AnyOfBuilder::new()
        .item(object.description(Some("The object that the seller sent.")).build())
        .item(text.build())
        .description(Some(
            "An x402 offer (`PaymentRequired`), as the seller sent it: an object with `x402Version`, 2, and `accepts`.",
        ))
        .build()
        .into()
}
