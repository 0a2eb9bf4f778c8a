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
