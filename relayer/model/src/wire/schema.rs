//! Describes the API's value formats, with their bounds.

use std::fmt::Display;

use purser_policy::MICROS_PER_USDC;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use crate::{
    AccountName, AccountStatus, ActionOutcome, ApprovalRule, ApprovalState, Counterparty, CounterpartyKind,
    Cursor, DeliveryStatus, DisabledReason, DuplicateRule, EntryKind, EventType, GrantOpener, GrantState,
    Hindrance, HistoryStatus, IDEMPOTENCY_KEY_CHARS_MAX, KeyHint, MEMO_CHARS_MAX, METADATA_KEYS_MAX,
    ManyOutcome, MemoFrom, Metadata, NAME_CHARS_MAX, PolicyReason, REASON_CHARS_MAX, RECIPIENT_CHARS_MAX,
    ReplayScope, Scope, Scopes, ShownStatus, TAG_CHARS_MAX, Tag, URL_CHARS_MAX, Unanswered, UsdcAmount,
    WatchedLimit, amount_from_json, amount_to_json,
};

/// Text without the NUL character, which the databases cannot store as text.
const NO_NUL: &str = r"^[^\u0000]*$";
/// Likewise, but not blank, and without characters that override the text direction.
const LABEL: &str = r"^[^\u0000\u202a-\u202e\u2066-\u2069]*[^\s\u0000\u202a-\u202e\u2066-\u2069][^\u0000\u202a-\u202e\u2066-\u2069]*$";
const ULID: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";
const ULID_EXAMPLE: &str = "01JD5Z8K40C5B8H1S2E7G9PMAW";
/// The whole USDC of an amount that fits 64 bits of micro-USDC; the bound is rounded down to 18 trillion.
const WHOLE_USDC: &str = "(0*([0-9]{1,13}|1[0-7][0-9]{12}))";

/// The same, and not zero.
const SOME_WHOLE_USDC: &str = "(0*([1-9][0-9]{0,12}|1[0-7][0-9]{12}))";
/// One to six fractional digits that are not all zero. Without a lookahead, for which OpenAI refuses a whole request.
const SOME_MICROS: &str =
    "([1-9][0-9]{0,5}|0[1-9][0-9]{0,4}|00[1-9][0-9]{0,3}|000[1-9][0-9]{0,2}|0000[1-9][0-9]?|00000[1-9])";

/// A value as it is answered: its text. It describes itself where the value cannot: `purser_core` knows no OpenAPI.
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

macro_rules! of_core {
    ($($name:ident)*) => {$(
        #[doc = concat!("[`purser_core::", stringify!($name), "`], as it is answered.")]
        pub type $name = Text<purser_core::$name>;
    )*};
}

of_core! {
    AccountId ActionId Address CheckedRule EntryId EventId HaltScope HaltedBy IdempotencyKey KeyId Memo Recipient RejectionReason
    Timestamp TransferId TransferStatus WebhookId
}

/// What stands on the chain alone, by its address.
pub type BudgetId = Text<crate::BudgetId>;
pub type GrantId = Text<crate::GrantId>;

/// An amount: six fractional digits.
pub type Usdc = Text<UsdcAmount>;

/// Every type of event, those that nothing subscribes to included.
pub type AnyEventType = Text<EventType>;

/// The other side of a payment.
pub type OtherSide = Text<Counterparty>;

/// Serialises types as their texts.
macro_rules! as_text {
    ($($kind:ty)*) => {$(
        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

as_text! { AccountStatus ActionOutcome ApprovalRule CounterpartyKind DeliveryStatus DisabledReason DuplicateRule EntryKind EventType HistoryStatus ManyOutcome MemoFrom Scope ShownStatus Unanswered WatchedLimit }

/// Text that is answered as it is, under a name of its own.
macro_rules! named_text {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize)]
        pub struct $name(String);

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }
    )*};
}

named_text! {
    /// A transaction's signature, base58.
    Signature
    /// A link to a transaction in a chain explorer.
    ExplorerLink
    /// A sentence for people.
    Message
}

impl<'de> Deserialize<'de> for CounterpartyKind {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        String::deserialize(json)?.parse().map_err(D::Error::custom)
    }
}

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
    UsdcText UsdcNumber PolicyVersionNumber RequestIdText PlainKeyText AgentScope ApprovalLink CidrText WebhookSecretText WebhookUrlText RecipientText ChainMemo CounterpartyText EntryOfAllowlist
}

/// Text, to be described.
pub fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn formed(description: &str, pattern: impl Into<String>, example: &str) -> Object {
    text().description(Some(description)).pattern(Some(pattern)).examples([json!(example)]).build()
}

fn named(what: &str, prefix: &str) -> Object {
    formed(
        &format!("The id of {what}. Opaque; compare it as text."),
        format!("^{prefix}{ULID}$"),
        &format!("{prefix}{ULID_EXAMPLE}"),
    )
}

fn addressed(what: &str, prefix: &str) -> Object {
    formed(
        &format!("The id of {what}: `{prefix}` and its address on the chain."),
        format!("^{prefix}[1-9A-HJ-NP-Za-km-z]{{32,44}}$"),
        &format!("{prefix}7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"),
    )
}

/// One of these words.
pub fn one_of(description: &str, words: impl IntoIterator<Item = &'static str>) -> Object {
    text().description(Some(description)).enum_values(Some(words)).build()
}

fn bounded(description: &str, chars: (usize, usize), pattern: &str, example: &str) -> Object {
    let (least, most) = chars;
    let pattern = Some(pattern);
    let builder = text().description(Some(description)).min_length(Some(least)).max_length(Some(most));
    builder.pattern(pattern).examples([json!(example)]).build()
}

/// From zero to the most whole USDC that 64 bits of micro-USDC hold.
fn usdc_number(description: &str) -> ObjectBuilder {
    let whole = usize::try_from(u64::MAX / MICROS_PER_USDC).ok();
    let number = ObjectBuilder::new().schema_type(Type::Number).description(Some(description));
    number.minimum(Some(0_usize)).maximum(whole)
}

/// Describes types with their own written form, each under its name.
#[macro_export]
macro_rules! written {
    ($($kind:ty = $name:literal: $schema:expr $(, of $($part:ty),*)? $(, like $other:ty)?;)*) => {$(
        impl utoipa::PartialSchema for $kind {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::RefOr::T(utoipa::openapi::Schema::from($schema))
            }
        }

        impl utoipa::ToSchema for $kind {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($name)
            }

            $(fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                $(schemas.push((<$part>::name().into_owned(), <$part as utoipa::PartialSchema>::schema()));)*
            })?

            $(fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                <$other as utoipa::ToSchema>::schemas(schemas);
            })?
        }
    )*};
}
pub use written;

written! {
    AccountId = "AccountId": named("an account", purser_core::AccountId::PREFIX);
    TransferId = "TransferId": named("a transfer", purser_core::TransferId::PREFIX);
    ActionId = "ActionId": named("an action", purser_core::ActionId::PREFIX);
    EntryId = "EntryId": named("a line of an account's history", purser_core::EntryId::PREFIX);
    EventId = "EventId": named("an event", purser_core::EventId::PREFIX);
    KeyId = "KeyId": named("an API key", purser_core::KeyId::PREFIX);
    BudgetId = "BudgetId": addressed("a budget", crate::BudgetId::PREFIX);
    GrantId = "GrantId": addressed("a grant", crate::GrantId::PREFIX);
    WebhookId = "WebhookId": named("a webhook", purser_core::WebhookId::PREFIX);
    RequestIdText = "RequestId": named("a request, to quote when you ask about it", "req_");

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
    Address = "SolanaAddress": formed(
        "A Solana address, base58.", "^[1-9A-HJ-NP-Za-km-z]{32,44}$", "7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"
    );
    Signature = "TransactionSignature": formed(
        "The signature of a Solana transaction, base58.", "^[1-9A-HJ-NP-Za-km-z]{64,88}$",
        "5UfDuX7hXqTqQGxJ3sFk1o4oD6WQy1xWQk8vQq4YHnFPtUoQmCwF4bV8H5kZbYdR3sEo2gJ1aWn7VtC9LpXzK6Mr"
    );
    ApprovalLink = "ApprovalUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .description(Some("A page without a key. Whoever has the link sees the payment; to approve takes an approver's wallet.")).build();
    ExplorerLink = "ExplorerUrl": text().format(Some(SchemaFormat::Custom("uri".to_owned())))
        .description(Some("A link to the transaction in a chain explorer.")).build();
    Timestamp = "Timestamp": text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("ISO 8601 with an offset; answers are in UTC, with six digits of a second."))
        .examples([json!("2026-01-31T12:00:00.000000Z")]).build();
    Cursor = "Cursor": formed(
        "Where the next page begins. Opaque, and good only for the list and the filters that it came from.",
        "^[A-Za-z0-9_-]{12,512}$", "AUFCQ0RFRkdIYWNjdF8w"
    );
    PolicyVersionNumber = "PolicyVersion": ObjectBuilder::new().schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).minimum(Some(0_usize))
        .description(Some("Counts the changes of a policy.")).examples([json!(7)]).build();

    AccountName = "Name": bounded(
        "A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text.",
        (1, NAME_CHARS_MAX), LABEL, "Research agent"
    );
    Memo = "Memo": bounded(
        "Text that goes with a payment. Anyone can read it on the chain. An empty one counts as none.",
        (0, MEMO_CHARS_MAX), NO_NUL, "invoice 4711"
    );
    IdempotencyKey = "IdempotencyKey": bounded(
        "The name of a payment. Keep it when you retry; a new one is a second payment. Good for 24 hours.",
        (1, IDEMPOTENCY_KEY_CHARS_MAX), NO_NUL, "order-4711"
    );
    RecipientText = "RecipientText": formed(
        "Who is to be paid: an account id, or the address of a USDC token account.",
        account_or_address(), "acct_01JD5Z8K40C5B8H1S2E7G9PMAW"
    );
    Recipient = "Recipient": bounded(
        "Who was to be paid, as submitted: an account id, the address of a USDC token account, or what is neither and failed.",
        (0, RECIPIENT_CHARS_MAX), NO_NUL, "acct_01JD5Z8K40C5B8H1S2E7G9PMAW"
    );
    Metadata = "Metadata": ObjectBuilder::new().max_properties(Some(METADATA_KEYS_MAX))
        .additional_properties(Some(RefOr::T(Schema::Object(anything()))))
        .description(Some("Keys and values of yours, at most 16 KiB of JSON. Kept and returned as they are, and never read."))
        .examples([json!({ "team": "research" })]).build();

    Tag = "Tag": bounded(
        "A word of yours, by which accounts are chosen: lower-case letters, digits and `.`, `_`, `:`, `/`, `-`.",
        (1, TAG_CHARS_MAX), "^[a-z0-9._:/-]+$", "team:research"
    );

    AccountStatus = "AccountStatus": one_of(
        "`paused` where the account may not pay, by its policy or by a halt.", Self::ALL.map(Self::as_str)
    );
    ShownStatus = "ShownAccountStatus": one_of(
        "`paused` where the account may not pay, by its policy or by a halt. `unknown` while the chain does not answer: it may be either.",
        Self::ALL.map(Self::as_str)
    );
    ApprovalRule = "ApprovalRule": one_of(
        "Whether a person may be asked where policy refuses a transfer of the account: `off` also for what asks for one.",
        Self::ALL.map(Self::as_str)
    );
    DuplicateRule = "DuplicateRule": one_of(
        "What becomes of a transfer that looks like another of the last ten minutes: `as_asked` leaves it to the request, and over MCP it is refused.",
        Self::ALL.map(Self::as_str)
    );
    TransferStatus = "TransferStatus": one_of(
        "The state of a transfer: `submitted` may still settle or fail, the others are end states.", purser_core::TransferStatus::ALL.map(purser_core::TransferStatus::as_str)
    );
    EntryKind = "EntryKind": one_of(
        "A payment within policy, money received by whatever means, or a withdrawal by the operator's admin.", Self::ALL.map(Self::as_str)
    );
    CheckedRule = "Rule": one_of("What a transfer is checked against.", purser_core::CheckedRule::ALL.map(purser_core::CheckedRule::as_str));
    RejectionReason = "RejectionReason": one_of("Which rule refused.", purser_core::RejectionReason::ALL.map(purser_core::RejectionReason::as_str));
    HaltedBy = "HaltedBy": one_of("Whose key halted.", purser_core::HaltedBy::ALL.map(purser_core::HaltedBy::as_str));
    HaltScope = "HaltScope": one_of("What is halted.", purser_core::HaltScope::ALL.map(purser_core::HaltScope::as_str));
    CounterpartyKind = "CounterpartyKind": one_of(
        "Whether an entry stands for all token accounts of a wallet, or for one token account.",
        Self::ALL.map(Self::as_str)
    );
    ApprovalState = "ApprovalState": one_of(
        "`pending` waits for a person, `granted` is being paid, `used` is paid, `failed` was granted and not paid. `void` says that the \
         policy was changed, the account stopped, or the grant taken back.",
        Self::ALL.map(Self::as_str)
    );
    GrantState = "GrantState": one_of(
        "`pending` waits for the operator's loosening delay; `void` pays nothing, because the policy was changed, all grants were taken \
         back, or the delay was set since; `over` has ended or is spent.",
        Self::ALL.map(Self::as_str)
    );
    GrantOpener = "GrantOpener": one_of("Whose key opened it.", Self::ALL.map(Self::as_str));
    MemoFrom = "MemoFrom": one_of(
        "`account`: the account's own words, in what it asked for. `sender`: those of whoever sent a deposit.",
        Self::ALL.map(Self::as_str)
    );
    HistoryStatus = "EntryStatus": one_of("Whether money moved.", Self::ALL.map(Self::as_str));
    Hindrance = "Hindrance": one_of("Why nothing is delivered to a webhook.", Self::ALL.map(Self::as_str));
    ReplayScope = "ReplayScope": one_of("Which events of a period are delivered again.", Self::ALL.map(Self::as_str));
    DeliveryStatus = "DeliveryStatus": one_of("The state of a delivery.", Self::ALL.map(Self::as_str));
    EventType = "EventType": one_of("What a webhook can subscribe to.", Self::SUBSCRIBABLE.map(Self::as_str));
    EntryOfAllowlist = "Counterparty": entry_of_allowlist(), of CounterpartyText, Address;
    AnyEventType = "AnyEventType": one_of("What happened.", EventType::ALL.map(EventType::as_str));
    Unanswered = "Unanswered": one_of("Why a receiver gave no answer.", Self::ALL.map(Self::as_str));
    ManyOutcome = "ManyOutcome": one_of(
        "`pending` waits for the loosening delay; `unchanged` was so already; `failed` changed nothing, as `error` says.",
        Self::ALL.map(Self::as_str)
    );
    WatchedLimit = "WatchedLimit": one_of(
        "`daily` and `30_days` are the account's, the others its budget's.", Self::ALL.map(Self::as_str)
    );
    DisabledReason = "DisabledReason": one_of(
        "Who disabled a webhook: the operator, or the service after days of failures only.", Self::ALL.map(Self::as_str)
    );
    OtherSide = "OtherSide": text().max_length(Some(RECIPIENT_CHARS_MAX))
        .description(Some("An account id, or the address of a token account.")).build();
    ChainMemo = "ChainMemo": text().max_length(Some(65_536))
        .description(Some("What the payment says on the chain, where others may write more than 200 characters.")).build();
    PlainKeyText = "ApiKey": formed(
        "An API key: a secret.", "^psr_(op|ag)_(test|live)_([a-z0-9]{1,16}_)?[1-9A-HJ-NP-Za-km-z]{32,44}$",
        "psr_ag_test_7gTq2Fh8vWvGZVdYwzvVgpWqpqSsZ2hRrDzhpC4oZ5Lh"
    );
    KeyHint = "ApiKeyHint": formed(
        "The beginning and the end of a key, to tell it from others.",
        r"^psr_(op|ag)_(test|live)_([a-z0-9]{1,16}_)?\.\.\.[0-9A-Za-z]{1,8}$", "psr_ag_test_...x7Qf"
    );
    CidrText = "Cidr": formed(
        "A range of IPv4 or IPv6 addresses in CIDR notation, or one address.", "^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?$", "203.0.113.0/24"
    );
    Scope = "Scope": one_of(
        "What a key may do. `admin` stands for all of them, and for what has no scope of its own.", Self::ALL.map(Self::as_str)
    );
    AgentScope = "AgentScope": one_of("What an agent key may do.", Scopes::OF_AGENTS.list().map(Scope::as_str));
    PolicyReason = "PolicyReason": bounded(
        "Why the policy was changed, in the words of who asked for it.", (1, REASON_CHARS_MAX), LABEL, "new supplier"
    );
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

fn account_or_address() -> String {
    format!("^({}{ULID}|[1-9A-HJ-NP-Za-km-z]{{32,44}})$", purser_core::AccountId::PREFIX)
}

fn entry_of_allowlist() -> Schema {
    let said = |kind: CounterpartyKind, what: &str| {
        let schema = ObjectBuilder::new().schema_type(Type::Object).description(Some(what));
        let schema = schema.property(kind.as_str(), reference::<Address>()).required(kind.as_str());
        schema.additional_properties(Some(AdditionalProperties::FreeForm(false))).build()
    };
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
