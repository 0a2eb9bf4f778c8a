//! Describes the API's value formats, with their bounds.

use std::fmt::Display;

use purser_policy::{MICROS_PER_USDC, Warning};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use purser_core::schema::{account_or_address, id_of};
pub use purser_core::schema::{bounded, formed, one_of, text, written};

use crate::{
    Address, AskedPayee, BudgetId, CounterpartyKind, Cursor, EventType, GrantId, PolicyReason,
    REASON_CHARS_MAX, RECIPIENT_CHARS_MAX, Scope, Scopes, TAG_CHARS_MAX, Tag, URL_CHARS_MAX, UsdcAmount,
    amount_from_json, amount_from_text, amount_to_json,
};

/// Text without the NUL character, not blank, and without characters that override the text direction.
pub(crate) const LABEL: &str = r"^[^\u0000\u202a-\u202e\u2066-\u2069]*[^\s\u0000\u202a-\u202e\u2066-\u2069][^\u0000\u202a-\u202e\u2066-\u2069]*$";
/// The whole USDC of an amount that fits 64 bits of micro-USDC; the bound is rounded down to 18 trillion.
const WHOLE_USDC: &str = "(0*([0-9]{1,13}|1[0-7][0-9]{12}))";

/// The same, and not zero.
const SOME_WHOLE_USDC: &str = "(0*([1-9][0-9]{0,12}|1[0-7][0-9]{12}))";
/// One to six fractional digits that are not all zero. Without a lookahead, for which OpenAI refuses a whole request.
const SOME_MICROS: &str =
    "([1-9][0-9]{0,5}|0[1-9][0-9]{0,4}|00[1-9][0-9]{0,3}|000[1-9][0-9]{0,2}|0000[1-9][0-9]?|00000[1-9])";

/// A value that is answered as its text.
#[derive(Debug, Clone, Copy)]
pub struct Text<T>(pub T);

impl<T> From<T> for Text<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Writes a field as its text.
pub(crate) fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// An amount: six fractional digits.
pub type Usdc = Text<UsdcAmount>;

/// Every type of event, those that nothing subscribes to included.
pub type AnyEventType = Text<EventType>;

/// Text that is answered as it is, under a name of its own.
macro_rules! named_text {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        pub struct $name(pub String);

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }
    )*};
}

pub(crate) use named_text;

named_text! {
    /// A transaction's signature, base58.
    Signature
    /// A link to a transaction in a chain explorer.
    ExplorerLink
    /// A sentence for people.
    Message
    /// The page of an approval.
    ApprovalLink
    /// What a payment says on the chain.
    ChainMemo
    /// Where a webhook is.
    WebhookUrlText
    /// The id of a request.
    RequestIdText
    /// The other side of a payment: an account's id, or an address.
    OtherSide
}

/// Which version of its account's policy one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVersionNumber(pub u64);

/// An amount to be paid, as a text.
#[derive(Debug, Clone, Copy)]
pub struct UsdcText(pub UsdcAmount);

impl<'de> Deserialize<'de> for UsdcText {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        amount_from_text("", &String::deserialize(json)?).map(Self).map_err(D::Error::custom)
    }
}

/// Which warning.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WarningCode(pub &'static str);

/// An amount as a JSON number, exact.
#[derive(Debug, Clone, Copy)]
pub struct UsdcLimit(pub UsdcAmount);

impl Serialize for UsdcLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        amount_to_json(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UsdcLimit {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        amount_from_json("limit", &Box::<RawValue>::deserialize(json)?).map(Self).map_err(D::Error::custom)
    }
}

/// Forms of values that have no type of their own: [`written!`] says what each is.
macro_rules! forms {
    ($($name:ident)*) => {$(
        #[doc = concat!("The form of `", stringify!($name), "`.")]
        pub enum $name {}
    )*};
}

forms! {
    UsdcNumber PlainKeyText AgentScope CidrText WebhookSecretText RecipientText CounterpartyText EntryOfAllowlist
}

fn addressed(what: &str, prefix: &str) -> Object {
    formed(
        &format!("The id of {what}: `{prefix}` and its address on the chain."),
        format!("^{prefix}[1-9A-HJ-NP-Za-km-z]{{32,44}}$"),
        &format!("{prefix}7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"),
    )
}

/// From zero to the most whole USDC that 64 bits of micro-USDC hold.
fn usdc_number(description: &str) -> ObjectBuilder {
    let whole = usize::try_from(u64::MAX / MICROS_PER_USDC).ok();
    let number = ObjectBuilder::new().schema_type(Type::Number).description(Some(description));
    number.minimum(Some(0_usize)).maximum(whole)
}

written! {
    BudgetId = "BudgetId": addressed("a budget", Self::PREFIX);
    GrantId = "GrantId": addressed("a grant", Self::PREFIX);
    RequestIdText = "RequestId": id_of("a request, to quote when you ask about it", "req_");

    Message = "Message": text().max_length(Some(4_096))
        .description(Some("A sentence for people. Its wording may change: decide by codes, never by it.")).build();

    Usdc = "Usdc": formed(
        "USDC as a decimal string with six fractional digits.", r"^[0-9]{1,14}\.[0-9]{6}$", "12.500000"
    );
    UsdcText = "UsdcText": formed(
        "USDC as a decimal string: at least `0.000001`, at most six fractional digits, no sign, exponent or spaces.",
        format!(r"^({SOME_WHOLE_USDC}(\.[0-9]{{1,6}})?|0+\.{SOME_MICROS})$"), "12.50"
    );
    UsdcLimit = "UsdcLimit": usdc_number("USDC as an exact JSON number, with at most six fractional digits.")
        .examples([json!(25)]).build();
    UsdcNumber = "UsdcNumber": usdc_number_or_text();
    Signature = "TransactionSignature": formed(
        "The signature of a Solana transaction, base58.", "^[1-9A-HJ-NP-Za-km-z]{64,88}$",
        "5UfDuX7hXqTqQGxJ3sFk1o4oD6WQy1xWQk8vQq4YHnFPtUoQmCwF4bV8H5kZbYdR3sEo2gJ1aWn7VtC9LpXzK6Mr"
    );
    ApprovalLink = "ApprovalUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .description(Some("A page without a key. Whoever has the link sees the payment; to approve takes an approver's wallet.")).build();
    ExplorerLink = "ExplorerUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .description(Some("A link to the transaction in a chain explorer.")).build();
    Cursor = "Cursor": formed(
        "Where the next page begins. Opaque, and good only for the list and the filters that it came from.",
        "^[A-Za-z0-9_-]{12,512}$", "AUFCQ0RFRkdIYWNjdF8w"
    );
    PolicyVersionNumber = "PolicyVersion": ObjectBuilder::new().schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).minimum(Some(0_usize))
        .description(Some("Counts the changes of a policy.")).examples([json!(7)]).build();

    RecipientText = "RecipientText": formed(
        "Who is to be paid: an account id, or the address of a USDC token account.",
        account_or_address(), "acct_01JD5Z8K40C5B8H1S2E7G9PMAW"
    );

    AskedPayee = "Payee": asked_payee(), of RecipientText, Address;

    Tag = "Tag": bounded(
        "A word of yours, by which accounts are chosen: lower-case letters, digits and `.`, `_`, `:`, `/`, `-`.",
        (1, TAG_CHARS_MAX), "^[a-z0-9._:/-]+$", "team:research"
    );

    EventType = "EventType": one_of("What a webhook can subscribe to.", Self::SUBSCRIBABLE.map(Self::as_str));
    EntryOfAllowlist = "Counterparty": entry_of_allowlist(), of CounterpartyText, Address;
    AnyEventType = "AnyEventType": one_of("What happened.", EventType::ALL.map(EventType::as_str));
    OtherSide = "OtherSide": text().max_length(Some(RECIPIENT_CHARS_MAX))
        .description(Some("An account id, or the address of a token account.")).build();
    ChainMemo = "ChainMemo": text().max_length(Some(65_536))
        .description(Some("What the payment says on the chain, where others may write more than 200 characters.")).build();
    PlainKeyText = "ApiKey": formed(
        "An API key: a secret.", "^psr_(op|ag)_(test|live)_([a-z0-9]{1,16}_)?[1-9A-HJ-NP-Za-km-z]{32,44}$",
        "psr_ag_test_7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"
    );
    CidrText = "Cidr": formed(
        "A range of IPv4 or IPv6 addresses in CIDR notation, or one address.", "^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?$", "203.0.113.0/24"
    );
    AgentScope = "AgentScope": one_of("What an agent key may do.", Scopes::OF_AGENTS.list().map(Scope::as_str));
    PolicyReason = "PolicyReason": bounded(
        "Why the policy was changed, in the words of who asked for it.", (1, REASON_CHARS_MAX), LABEL, "new supplier"
    );
    WarningCode = "WarningCode": one_of("Which warning.", Warning::ALL.map(Warning::code));
    WebhookSecretText = "WebhookSecret": formed(
        "What deliveries are signed with: a secret.", "^whsec_[A-Za-z0-9+/]{40,48}={0,2}$",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
    );
    WebhookUrlText = "WebhookUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .max_length(Some(URL_CHARS_MAX)).examples([json!("https://example.com/purser")])
        .description(Some("An absolute https URL of a public host, without user name, password or fragment.")).build();
    CounterpartyText = "CounterpartyText": formed(
        "An entry of an allowlist: an account id or an address.",
        account_or_address(), "acct_01JD5Z8K40C5B8H1S2E7G9PMAW"
    );
}

/// An object that says what kind of address one is.
fn said(kind: CounterpartyKind, what: &str) -> Object {
    let schema = ObjectBuilder::new().schema_type(Type::Object).description(Some(what));
    let schema = schema.property(kind.as_str(), reference::<Address>()).required(kind.as_str());
    schema.additional_properties(Some(AdditionalProperties::FreeForm(false))).build()
}

fn asked_payee() -> Schema {
    let wallet = "A wallet. Its associated USDC token account is paid, if it has one and still owns it.";
    OneOfBuilder::new()
        .description(Some("Who is to be paid. An address as a text is that of a USDC token account."))
        .item(reference::<RecipientText>())
        .item(said(CounterpartyKind::Wallet, wallet))
        .build()
        .into()
}

fn entry_of_allowlist() -> Schema {
    let description = "An account id stands for that account. A plain address is read as what it already is in the policy, \
                       as a token account if one stands there, and otherwise as a wallet if it can be a key.";
    OneOfBuilder::new()
        .description(Some(description))
        .item(reference::<CounterpartyText>())
        .item(said(CounterpartyKind::Wallet, "Whatever token account this address owns."))
        .item(said(CounterpartyKind::TokenAccount, "This token account alone."))
        .build()
        .into()
}

/// The schema of an object, changed: that of a type which differs from it a little.
pub fn changed<T: PartialSchema>(change: impl FnOnce(&mut Object)) -> Schema {
    match T::schema() {
        RefOr::T(Schema::Object(mut object)) => {
            change(&mut object);
            object.into()
        }
        RefOr::T(other) => other,
        RefOr::Ref(other) => AnyOfBuilder::new().item(other).build().into(),
    }
}

/// Removes `null` from the values that a schema allows.
pub fn forbid_null(schema: &mut RefOr<Schema>) {
    let RefOr::T(inner) = schema else { return };
    match inner {
        Schema::OneOf(choice) => {
            choice.items.retain(|item| !is_null(item));
            if let [only] = choice.items.as_slice() {
                *schema = only.clone();
            }
        }
        Schema::Object(object) => forbid_null_type(&mut object.schema_type),
        Schema::Array(array) => forbid_null_type(&mut array.schema_type),
        _ => {}
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null))
}

fn forbid_null_type(schema_type: &mut SchemaType) {
    if let SchemaType::Array(types) = schema_type {
        types.retain(|kind| *kind != Type::Null);
        if let [only] = types.as_slice() {
            *schema_type = SchemaType::Type(only.clone());
        }
    }
}

/// Any JSON value.
pub fn anything() -> Object {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).build()
}

fn usdc_number_or_text() -> Schema {
    let text = formed("The same as a decimal string.", format!(r"^{WHOLE_USDC}(\.[0-9]{{1,6}})?$"), "12.50");
    let number = usdc_number("An exact JSON number.").build();
    AnyOfBuilder::new()
        .item(number)
        .item(text)
        .description(Some("USDC with at most six fractional digits."))
        .examples([Value::from(25)])
        .build()
        .into()
}

/// A reference to another type's schema.
pub fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}
