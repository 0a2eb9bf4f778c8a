//! What agents buy by x402, and what their keys stand for.

use purser_model::{AccountId, Fingerprint, IdempotencyKey, Invalid, Memo, UsdcAmount, WebhookUrl};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::header::from_header;

/// Longest request body, in bytes.
pub const PURCHASE_BODY_BYTES_MAX: usize = 32 * 1024;

/// The HTTP method of a purchase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurchaseMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl PurchaseMethod {
    pub const ALL: [Self; 5] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Invalid: another method.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let message = "must be `GET`, `POST`, `PUT`, `PATCH` or `DELETE`";
        let named = Self::ALL.into_iter().find(|method| method.as_str() == text);
        named.ok_or_else(|| Invalid::new("method", message))
    }
}

/// What is bought, and from whom; all fields have a valid form.
#[derive(Debug, Clone)]
pub struct Purchase {
    pub from: AccountId,
    pub seller: Seller,
    /// The most that may be paid.
    pub max_amount: UsdcAmount,
    pub memo: Option<Memo>,
    pub idempotency_key: IdempotencyKey,
}

/// Who speaks with the seller.
#[derive(Debug, Clone)]
pub enum Seller {
    /// We ask its server, and hand it the payment.
    Server(ResourceRequest),
    /// The caller got this offer from it, as JSON, and hands it the payment.
    AnyKey { offer: String },
}

/// A resource on a server.
#[derive(Debug, Clone)]
pub struct ResourceRequest {
    pub url: WebhookUrl,
    pub method: PurchaseMethod,
    /// Sent as `application/json`, byte by byte.
    pub body: Option<String>,
}

impl Seller {
    /// An offer that the caller has: the JSON object, or a text with it, or with it in base64 as in the header
    /// `PAYMENT-REQUIRED`. Invalid: none of these. Whether it can be paid says [`crate::offer::Offer::choose`].
    pub fn of_offer(given: &RawValue) -> Result<Self, Invalid> {
        let invalid =
            || Invalid::new("offer", "must be the JSON object that the seller sent, or a text with it");
        let json: String = match serde_json::from_str(given.get()) {
            Ok(Value::String(text)) if text.trim_start().starts_with('{') => text,
            Ok(Value::String(text)) => {
                let bytes = from_header(text.as_bytes()).ok_or_else(invalid)?;
                String::from_utf8(bytes).map_err(|_| invalid())?
            }
            _ => given.get().to_owned(),
        };
        let read: Value = serde_json::from_str(&json).map_err(|_| invalid())?;
        if !read.is_object() {
            return Err(invalid());
        }
        Ok(Self::AnyKey { offer: json })
    }
}

impl Purchase {
    /// What is requested under its key. Excludes the price of a server's offer, which may change between two tries; an offer that
    /// the caller has is what is bought.
    pub fn fingerprint(&self) -> Fingerprint {
        let memo = self.memo.as_ref().map_or("", |memo| memo.as_str());
        let mut hash = Sha256::new();
        // However an offer is written down, it is the same one.
        let sorted = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default().to_string();
        let (kind, parts) = match &self.seller {
            Seller::Server(ResourceRequest { url, method, body }) => {
                let body = body.clone().unwrap_or_default();
                ("purser:purchase:v1", vec![method.as_str().to_owned(), url.as_str().to_owned(), body])
            }
            Seller::AnyKey { offer } => ("purser:offer:v1", vec![sorted(offer)]),
        };
        hash.update(kind);
        hash.update(self.from.bytes());
        hash.update(self.max_amount.micros().to_le_bytes());
        for part in parts.iter().map(String::as_str).chain([memo]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Fingerprint::from_digest(hash.finalize().into())
    }
}
