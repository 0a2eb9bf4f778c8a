//! Decimal text to whole units, exactly: no floating point near money.

use crate::error::{Error, Result};

pub const USDC_DECIMALS: u32 = 6;
pub const SOL_DECIMALS: u32 = 9;

/// Reads plain decimal text ("12", "12.5") as units of 10^-decimals.
pub fn parse(text: &str, decimals: u32) -> Result<u64> {
    let bad = |why: &str| Error::new(format!("\"{text}\" is not an amount: {why}"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(bad("write digits, and a point if needed"));
    }
    if fraction.len() > decimals as usize {
        return Err(bad(&format!("at most {decimals} decimals")));
    }
    let padded = format!("{fraction:0<width$}", width = decimals as usize);
    let units = |part: &str| part.parse::<u64>().map_err(|_| bad("too large"));
    units(whole)?
        .checked_mul(10u64.pow(decimals))
        .and_then(|value| value.checked_add(units(&padded).ok()?))
        .ok_or_else(|| bad("too large"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn decimal_text_is_read_exactly() {
        assert_eq!(parse("12.5", 6).unwrap(), 12_500_000);
        assert_eq!(parse("0.000001", 6).unwrap(), 1);
        assert_eq!(parse("18446744073709.551615", 6).unwrap(), u64::MAX);
        assert_eq!(parse("1", 9).unwrap(), 1_000_000_000);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ".", "1.", ".5", "-1", "1e3", "0.0000001", "18446744073709.551616", " 1", "NaN"] {
            assert!(parse(text, 6).is_err(), "{text:?} was accepted");
        }
    }
}
