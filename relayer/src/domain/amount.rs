use std::borrow::Cow;

use purser_policy::{Limit, UsdcAmount};
use rust_decimal::Decimal;
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

/// The amount as a JSON number, exact and without trailing zeros: `12.5`.
pub fn amount_to_json(amount: UsdcAmount) -> Box<RawValue> {
    let text = amount.to_string();
    let text = text.trim_end_matches('0').trim_end_matches('.');
    raw(text)
}

/// The limit as a JSON number, or `null` for none.
pub fn limit_to_json(limit: Limit) -> Box<RawValue> {
    match limit {
        Limit::Unlimited => raw("null"),
        Limit::AtMost(amount) => amount_to_json(amount),
    }
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(json: &str) -> Result<UsdcAmount, Invalid> {
        amount_from_json("amount", serde_json::from_str(json).expect("JSON"))
    }

    proptest! {
        #[test]
        fn every_amount_comes_back_from_its_json_number(micros: u64) {
            let amount = UsdcAmount::from_micros(micros);
            prop_assert_eq!(read(amount_to_json(amount).get()), Ok(amount));
            prop_assert_eq!(amount_from_json("amount", &amount_to_json(amount)), Ok(amount));
        }

        #[test]
        fn an_exponent_only_moves_the_point(micros: u64, exponent in -20i32..=20) {
            prop_assert_eq!(read(&format!("{micros}e-6")), Ok(UsdcAmount::from_micros(micros)));
            let (whole, fraction) = (micros / 1_000, micros % 1_000);
            prop_assert_eq!(read(&format!("{whole}.{fraction:03}E-3")), Ok(UsdcAmount::from_micros(micros)));
            let unit = read(&format!("1e{exponent}"));
            let fits = (-6..=13).contains(&exponent);
            prop_assert_eq!(unit.ok(), fits.then(|| UsdcAmount::from_micros(10u64.pow((exponent + 6) as u32))));
        }
    }

    #[test]
    fn numbers_and_strings_are_read_exactly() {
        assert_eq!(read("18446744073709.551615"), Ok(UsdcAmount::MAX));
        assert_eq!(read("\"18446744073709.551615\""), Ok(UsdcAmount::MAX));
        assert_eq!(read("0"), Ok(UsdcAmount::ZERO));
        for (number, micros) in
            [("1e-05", 10), ("1.50e-1", 150_000), ("1e3", 1_000_000_000), ("0e9", 0), ("0.02E+1", 200_000)]
        {
            assert_eq!(read(number), Ok(UsdcAmount::from_micros(micros)), "{number}");
        }
        assert_eq!(read("\"\\u0031\""), Ok(UsdcAmount::from_micros(1_000_000)));
        assert_eq!(amount_to_json(UsdcAmount::from_micros(100_000_000)).get(), "100");
        assert_eq!(amount_to_json(UsdcAmount::ZERO).get(), "0");
    }

    #[test]
    fn other_json_is_refused() {
        for json in [
            "1e14",
            "1e-7",
            "1.5e-6",
            "-1e3",
            "1e31",
            "1e2147483648",
            "\"1e3\"",
            "-1",
            "-0",
            "0.0000001",
            "true",
            "[]",
            "{}",
            "null",
            "\"NaN\"",
            "\" 1\"",
            "\"1.\"",
            "\"\"",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read("18446744073709.551616").is_err());
    }

    #[test]
    fn a_transfer_of_nothing_is_refused() {
        assert!(amount_from_text("amount", "0").is_err());
        assert!(amount_from_text("amount", "0.000000").is_err());
        assert_eq!(amount_from_text("amount", "0.000001"), Ok(UsdcAmount::from_micros(1)));
    }
}
