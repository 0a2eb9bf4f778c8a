//! Micro-USDC from the amounts in the service's answers, exact and without floats.

use serde_json::Value;

/// Micro-USDC of a decimal text with at most six decimals. Panics on other text: the service must not send any.
pub fn micros(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 6, "more than six decimals: {text}");
    let digits = format!("{whole}{fraction:0<6}");
    digits.parse().unwrap_or_else(|_| panic!("not an amount: {text}"))
}

/// Micro-USDC of an amount field; it must be a string with exactly six decimals.
pub fn micros_of(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("amount is not a string: {value}"));
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    assert_eq!(decimals, 6, "amount has not six decimals: {text}");
    micros(text)
}

/// The six-decimal text of an amount in micro-USDC.
pub fn text_of(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
