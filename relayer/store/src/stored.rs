//! How each of our types stands in a column: one place writes it and reads it back.

use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::Result;
use super::row::{At, Column, Row, Stored};
use super::statement::{Bound, Value};
use purser_model::wire::PolicyFields;
use purser_model::{
    AccountId, AccountStatus, ActionId, ActionOutcome, ActionWord, Address, AllowedCidrs, ApprovalRule,
    Counterparty, DisabledReason, DuplicateRule, EntryId, EntryKind, EventId, EventType, FailureCode,
    Fingerprint, HashedKey, IdempotencyKey, KeyHint, KeyHolder, KeyId, Label, Limit, Memo, Metadata, Network,
    OperatorId, PasskeyId, PaymentNumber, PolicyReason, Recipient, RejectionReason, Scopes, SealedSecret,
    Seed, SessionId, SpendingPolicy, Tags, Timestamp, TransferId, Unanswered, UsdcAmount, WebhookId,
    WebhookUrl,
};

/// How types are written: a type, a name for its value, and the text or number of it.
macro_rules! written {
    (text: $($written:ty, $it:ident => $text:expr;)*) => {$(
        impl Bound for $written {
            fn value(&self) -> Value {
                let $it = self;
                Value::Text(Some($text))
            }
        }
    )*};
    (number: $($written:ty, $it:ident => $number:expr;)*) => {$(
        impl Bound for $written {
            const NULL: Value = Value::Number(None);

            fn value(&self) -> Value {
                let $it = *self;
                Value::Number(Some($number))
            }
        }
    )*};
}

/// How types are read that a column holds as `$held`: a type, a name for what is held, and the value, if it is one.
macro_rules! read {
    ($held:ty: $($read:ty, $it:ident => $value:expr;)*) => {$(
        impl Stored for $read {
            type As = $held;

            fn from_held($it: $held) -> Option<Self> {
                $value
            }
        }
    )*};
}

/// Types that stand as the text that they show.
macro_rules! as_text {
    ($($shown:ty)*) => {
        written! { text: $($shown, shown => shown.to_string();)* }
        read! { String: $($shown, text => text.parse().ok();)* }
    };
}

as_text! {
    AccountId ActionId EntryId EventId KeyId OperatorId PasskeyId TransferId WebhookId
    ActionOutcome ActionWord IpAddr SessionId
    AccountStatus Address ApprovalRule Counterparty DisabledReason DuplicateRule EntryKind EventType FailureCode Network
    RejectionReason Scopes Tags Timestamp Unanswered UsdcAmount
}

written! {
    text:
    str, text => text.to_owned();
    String, text => text.clone();
    AllowedCidrs, cidrs => serde_json::Value::from(cidrs.texts()).to_string();
    Base64, bytes => STANDARD.encode(&bytes.0);
    Fingerprint, fingerprint => fingerprint.to_hex();
    HashedKey, hash => hash.to_hex();
    IdempotencyKey, key => key.as_str().to_owned();
    KeyHint, hint => hint.as_str().to_owned();
    Memo, memo => memo.as_str().to_owned();
    Metadata, metadata => metadata.json().get().to_owned();
    Label, name => name.as_str().to_owned();
    PolicyReason, reason => reason.as_str().to_owned();
    RawValue, json => json.get().to_owned();
    Box<RawValue>, json => json.get().to_owned();
    Recipient, recipient => recipient.text();
    SealedSecret, secret => secret.as_str().to_owned();
    Seed, seed => seed.to_hex();
    // Texts, numbers and flags always serialise.
    SpendingPolicy, policy => serde_json::to_string(&PolicyFields(policy.clone())).unwrap_or_default();
    WebhookUrl, url => url.as_str().to_owned();
    [u8; 32], hash => hex::encode(hash);
}

read! {
    String:
    AllowedCidrs, json => serde_json::from_str::<Vec<String>>(&json).ok().and_then(|texts| Self::from_stored(&texts));
    Base64, text => STANDARD.decode(text).ok().map(Self);
    Box<RawValue>, json => RawValue::from_string(json).ok();
    IdempotencyKey, text => Self::parse(text).ok();
    KeyHint, text => Some(Self::from_stored(text));
    Memo, text => Some(Self::written(&text));
    Metadata, json => RawValue::from_string(json).ok().and_then(|json| Self::parse(&json).ok());
    Label, text => Some(Self::from_stored(text));
    PolicyReason, text => Some(Self::from_stored(text));
    Recipient, text => Self::parse(text).ok();
    SealedSecret, text => Some(Self::from_stored(text));
    Seed, text => Self::from_hex(&text);
    SpendingPolicy, json => Some(serde_json::from_str::<PolicyFields>(&json).ok()?.0);
    WebhookUrl, text => Self::from_stored(&text);
    [u8; 32], text => {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
    };
}

written! {
    number:
    i64, number => number;
    u16, number => i64::from(number);
    u32, number => i64::from(number);
    u64, number => number.cast_signed();
    usize, number => i64::try_from(number).unwrap_or(i64::MAX);
    PaymentNumber, number => match number {
        PaymentNumber::Is(number) => number.cast_signed(),
        PaymentNumber::CutOff => 0,
    };
}

read! {
    i64:
    u16, number => number.try_into().ok();
    u32, number => number.try_into().ok();
    u64, number => Some(number.cast_unsigned());
    PaymentNumber, number => Some(match number {
        0 => Self::CutOff,
        number => Self::Is(number.cast_unsigned()),
    });
}

impl Bound for bool {
    const NULL: Value = Value::Flag(None);

    fn value(&self) -> Value {
        Value::Flag(Some(*self))
    }
}

/// Bytes, as base64.
pub(super) struct Base64(pub Vec<u8>);

/// A JSON list of texts.
impl<T: Stored<As = String>> Stored for Vec<T> {
    type As = String;

    fn from_held(json: String) -> Option<Self> {
        let texts: Vec<String> = serde_json::from_str(&json).ok()?;
        texts.into_iter().map(T::from_held).collect()
    }
}

impl<T: ToString> Bound for [T] {
    fn value(&self) -> Value {
        Value::Text(Some(serde_json::Value::from_iter(self.iter().map(T::to_string)).to_string()))
    }
}

impl<T: ToString> Bound for Vec<T> {
    fn value(&self) -> Value {
        self[..].value()
    }
}

/// NULL: no limit.
impl Column for Limit {
    fn read_at(row: &Row<'_>, at: At) -> Result<Self> {
        Ok(Option::read_at(row, at)?.map_or(Self::Unlimited, Self::AtMost))
    }
}

impl Bound for Limit {
    fn value(&self) -> Value {
        match self {
            Self::Unlimited => Self::NULL,
            Self::AtMost(amount) => amount.value(),
        }
    }
}

/// NULL: the operator.
impl Column for KeyHolder {
    fn read_at(row: &Row<'_>, at: At) -> Result<Self> {
        Ok(Option::read_at(row, at)?.map_or(Self::Operator, Self::Agent))
    }
}

impl Bound for KeyHolder {
    fn value(&self) -> Value {
        self.account_id().value()
    }
}

/// Where a newest-first list goes on: below this, or else below a bound above every id and position.
pub(super) struct Below<T>(pub Option<T>);

impl<T: fmt::Display> Bound for Below<T> {
    fn value(&self) -> Value {
        Value::Text(Some(self.0.as_ref().map_or_else(|| "~".to_owned(), T::to_string)))
    }
}

/// A filter, or where an oldest-first list goes on; the empty text without one.
pub(super) struct OrEmpty<T>(pub Option<T>);

impl<T: fmt::Display> Bound for OrEmpty<T> {
    fn value(&self) -> Value {
        Value::Text(Some(self.0.as_ref().map_or_else(String::new, T::to_string)))
    }
}
