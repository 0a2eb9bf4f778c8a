//! Offers, payments and receipts are JSON, in headers in base64.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use serde_json::value::RawValue;

/// Encodes a payment as the header `PAYMENT-SIGNATURE`.
pub fn to_header(payment: &RawValue) -> String {
    STANDARD.encode(payment.get())
}

/// Base64 with or without its padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes a header as sellers write it: base64 or base64url, padded or not, or the JSON itself. `None`: it is none of these.
pub fn from_header(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    if text.starts_with(b"{") {
        return Some(text.to_vec());
    }
    let standard = text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    });
    LENIENT.decode(standard.collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_read_in_every_form_that_sellers_write() {
        // Its base64 has both letters in which the alphabets differ, and padding.
        let json = r#"{"a":"  ??>~>>"}"#;
        let padded = STANDARD.encode(json);
        let url_safe = padded.replace('+', "-").replace('/', "_");
        assert!(padded.contains('+') && padded.contains('/') && padded.ends_with('='), "{padded}");
        for header in
            [padded.as_str(), &url_safe, padded.trim_end_matches('='), url_safe.trim_end_matches('='), json]
        {
            assert_eq!(from_header(header.as_bytes()).as_deref(), Some(json.as_bytes()), "{header}");
            assert_eq!(from_header(format!(" {header}\t").as_bytes()).as_deref(), Some(json.as_bytes()));
        }
        for header in ["no offer", "a", "<html>", "e30=e30="] {
            assert_eq!(from_header(header.as_bytes()), None, "{header}");
        }
    }
}
