//! Offers, payments and receipts are JSON, in headers in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

/// Encodes a payment as the header `PAYMENT-SIGNATURE`.
pub fn to_header(payment: &RawValue) -> String {
    STANDARD.encode(payment.get())
}

/// Decodes a base64 header; `None` if it is not base64.
pub fn from_header(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim_ascii()).ok()
}
