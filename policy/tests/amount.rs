//! Amounts as text.

use proptest::prelude::*;
use purser_policy::{AmountError, UsdcAmount};

#[test]
fn plain_decimals_parse_exactly() {
    for (text, micros) in [
        ("0.000001", 1),
        ("12", 12_000_000),
        ("12.5", 12_500_000),
        ("007.10", 7_100_000),
        ("0", 0),
        ("18446744073709.551615", u64::MAX),
    ] {
        assert_eq!(text.parse(), Ok(UsdcAmount::from_micros(micros)), "{text}");
    }
}

#[test]
fn everything_else_is_refused_with_its_reason() {
    for (text, error) in [
        ("", AmountError::Empty),
        ("-1", AmountError::NotDecimal),
        ("+1", AmountError::NotDecimal),
        ("1e3", AmountError::NotDecimal),
        ("NaN", AmountError::NotDecimal),
        (" 1", AmountError::NotDecimal),
        ("1 ", AmountError::NotDecimal),
        ("1.", AmountError::NotDecimal),
        (".5", AmountError::NotDecimal),
        (".", AmountError::NotDecimal),
        ("1.2.3", AmountError::NotDecimal),
        ("1,5", AmountError::NotDecimal),
        ("0x10", AmountError::NotDecimal),
        ("１", AmountError::NotDecimal),
        ("0.0000001", AmountError::TooManyDecimals),
        ("0.0000000", AmountError::TooManyDecimals),
        ("18446744073709.551616", AmountError::TooLarge),
        ("99999999999999999999999999", AmountError::TooLarge),
    ] {
        assert_eq!(text.parse::<UsdcAmount>(), Err(error), "{text:?}");
    }
}

proptest! {
    #[test]
    fn text_and_amount_round_trip(micros in any::<u64>()) {
        let amount = UsdcAmount::from_micros(micros);
        let text = amount.to_string();
        prop_assert_eq!(text.split('.').nth(1).map(str::len), Some(6));
        prop_assert_eq!(text.parse(), Ok(amount));
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = text.parse::<UsdcAmount>();
    }
}
