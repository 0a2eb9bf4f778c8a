//! Values as JSON, with their OpenAPI schemas, for crates that answer with them. The feature `schema` turns it on; the payment engine
//! does without.

use std::fmt::Display;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{KnownFormat, RefOr, Schema, SchemaFormat};

pub use {serde, utoipa};

use crate::{
    Address, IDEMPOTENCY_KEY_CHARS_MAX, IdempotencyKey, Invalid, MEMO_CHARS_MAX, Memo, RECIPIENT_CHARS_MAX,
    Recipient, Timestamp,
};

/// Text without the NUL character, which the databases cannot store as text.
const NO_NUL: &str = r"^[^\u0000]*$";
const ULID: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";
const ULID_EXAMPLE: &str = "01JD5Z8K40C5B8H1S2E7G9PMAW";

/// A schema, or a reference to one.
pub type Described = RefOr<Schema>;

/// Describes types with their own written form, each under its name.
#[macro_export]
macro_rules! written {
    ($($kind:ty = $name:literal: $schema:expr $(, of $($part:ty),*)? $(, like $other:ty)?;)*) => {$(
        impl $crate::schema::utoipa::PartialSchema for $kind {
            fn schema() -> $crate::schema::Described {
                $crate::schema::Described::T($schema.into())
            }
        }

        impl $crate::schema::utoipa::ToSchema for $kind {
            fn name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            $(fn schemas(schemas: &mut Vec<(String, $crate::schema::Described)>) {
                use $crate::schema::utoipa::{PartialSchema, ToSchema};
                $(schemas.push((<$part>::name().into_owned(), <$part>::schema()));)*
            })?

            $(fn schemas(schemas: &mut Vec<(String, $crate::schema::Described)>) {
                <$other as $crate::schema::utoipa::ToSchema>::schemas(schemas);
            })?
        }
    )*};
}
pub use written;

/// Reads a value from a JSON text. The parser's error carries the value's own, for [`Invalid::from_parser`].
pub fn read<'de, T, E: Display, D: Deserializer<'de>>(
    json: D,
    parse: impl FnOnce(String) -> Result<T, E>,
) -> Result<T, D::Error> {
    parse(String::deserialize(json)?).map_err(|error| D::Error::custom(Invalid::new("", error.to_string())))
}

/// Text, to be described.
pub fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// Text of this form.
pub fn formed(description: &str, pattern: impl Into<String>, example: &str) -> Object {
    text().description(Some(description)).pattern(Some(pattern)).examples([example]).build()
}

/// One of these words.
pub fn one_of(description: &str, words: impl IntoIterator<Item = &'static str>) -> Object {
    text().description(Some(description)).enum_values(Some(words)).build()
}

/// Text of so many characters.
pub fn bounded(description: &str, chars: (usize, usize), pattern: &str, example: &str) -> Object {
    let (least, most) = chars;
    let pattern = Some(pattern);
    let builder = text().description(Some(description)).min_length(Some(least)).max_length(Some(most));
    builder.pattern(pattern).examples([example]).build()
}

/// An id of a thing, behind its prefix.
pub fn id_of(what: &str, prefix: &str) -> Object {
    formed(
        &format!("The id of {what}. Opaque; compare it as text."),
        format!("^{prefix}{ULID}$"),
        &format!("{prefix}{ULID_EXAMPLE}"),
    )
}

/// The pattern of an account id, or of an address.
pub fn account_or_address() -> String {
    format!("^({}{ULID}|[1-9A-HJ-NP-Za-km-z]{{32,44}})$", crate::AccountId::PREFIX)
}

as_text! { Address Timestamp }

/// Values that are read by a `parse` of their own.
macro_rules! parsed {
    ($($name:ident)*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                Self::parse(String::deserialize(json)?).map_err(D::Error::custom)
            }
        }
    )*};
}

parsed! { IdempotencyKey Memo Recipient }

written! {
    Address = "SolanaAddress": formed(
        "A Solana address, base58.", "^[1-9A-HJ-NP-Za-km-z]{32,44}$", "7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"
    );
    Timestamp = "Timestamp": text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("ISO 8601 with an offset; answers are in UTC, with six digits of a second."))
        .examples(["2026-01-31T12:00:00.000000Z"]).build();
    Memo = "Memo": bounded(
        "Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none.",
        (0, MEMO_CHARS_MAX), NO_NUL, "invoice 4711"
    );
    IdempotencyKey = "IdempotencyKey": bounded(
        "The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours.",
        (1, IDEMPOTENCY_KEY_CHARS_MAX), NO_NUL, "order-4711"
    );
    Recipient = "Recipient": bounded(
        "Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and failed. For a wallet, \
         the address of its USDC token account.",
        (0, RECIPIENT_CHARS_MAX), NO_NUL, "acct_01JD5Z8K40C5B8H1S2E7G9PMAW"
    );
}
