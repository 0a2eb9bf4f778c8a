use std::borrow::Cow;

use purser_policy::{Limit, UsdcAmount};
use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Invalid;

/// Reads a transfer's amount from its decimal text. Invalid: not a plain decimal, too large, or below 0.000001.
pub fn amount_from_text(param: &str, text: &str) -> Result<UsdcAmount, Invalid> {
    let amount = exact(param, text)?;
    if amount == UsdcAmount::ZERO {
        return Err(Invalid::new(param, "must be at least 0.000001"));
    }
    Ok(amount)
}

/// Reads an amount, including zero, from a JSON number or a JSON string, digit by digit. A number may have an exponent,
/// which is how common JSON writers put 0.00001; a string may not.
pub fn amount_from_json(param: &str, json: &RawValue) -> Result<UsdcAmount, Invalid> {
    let text = json.get();
    if text.starts_with('"') {
        let text: String = serde_json::from_str(text).map_err(|_| wrong_type(param))?;
        return exact(param, &text);
    }
    if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return exact(param, &without_exponent(text));
    }
    Err(wrong_type(param))
}

/// Reads a limit: JSON `null` means no limit.
pub fn limit_from_json(param: &str, json: &RawValue) -> Result<Limit, Invalid> {
    if json.get() == "null" {
        return Ok(Limit::Unlimited);
    }
    amount_from_json(param, json).map(Limit::AtMost)
}

/// A field that holds a limit, or is left out.
pub(crate) fn given_limit<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Limit>, D::Error> {
    limit_from_json("", &Box::<RawValue>::deserialize(json)?).map(Some).map_err(D::Error::custom)
}

/// A field that holds an amount or `null`, or is left out.
pub(crate) fn given_amount<'de, D: Deserializer<'de>>(
    json: D,
) -> Result<Option<Option<UsdcAmount>>, D::Error> {
    Ok(given_limit(json)?.map(|limit| match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount),
    }))
}

/// The amount as a JSON number, exact and without trailing zeros: `12.5`.
pub fn amount_to_json(amount: UsdcAmount) -> Box<RawValue> {
    let text = amount.to_string();
    let text = text.trim_end_matches('0').trim_end_matches('.');
    raw(text)
}

fn raw(text: &str) -> Box<RawValue> {
    // A decimal text and `null` are already JSON, so the fallback is never taken.
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn exact(param: &str, text: &str) -> Result<UsdcAmount, Invalid> {
    text.parse().map_err(|error: purser_policy::AmountError| Invalid::new(param, error.to_string()))
}

/// The decimal text of a JSON number: `1.5e-1` becomes `0.15`. Returns it unchanged without an exponent, or with one
/// beyond any amount.
fn without_exponent(number: &str) -> Cow<'_, str> {
    let plain = || {
        let (mantissa, _) = number.split_once(['e', 'E'])?;
        // `from_scientific` would round a mantissa of more than 28 digits.
        Decimal::from_str_exact(mantissa).ok()?;
        Some(Decimal::from_scientific(number).ok()?.normalize().to_string())
    };
    plain().map_or(Cow::Borrowed(number), Cow::Owned)
}

fn wrong_type(param: &str) -> Invalid {
    Invalid::new(param, "must be a number or a decimal string")
}

#[cfg(test)]
mod tests;
