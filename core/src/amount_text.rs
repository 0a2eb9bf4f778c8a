use purser_policy::UsdcAmount;

/// `1,234.50`: an amount for people, with as many decimals as needed, at least two.
pub fn usdc_text(amount: UsdcAmount) -> String {
    let text = amount.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let shown = fraction.trim_end_matches('0').len().max(2);
    format!("{grouped}.{}", fraction.get(..shown).unwrap_or(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_grouped_and_keep_every_digit() {
        for (micros, text) in [
            (0, "0.00"),
            (1, "0.000001"),
            (12_500_000, "12.50"),
            (999_000_000, "999.00"),
            (1_000_000_000, "1,000.00"),
            (1_234_567_891_230_000, "1,234,567,891.23"),
            (u64::MAX, "18,446,744,073,709.551615"),
        ] {
            assert_eq!(usdc_text(UsdcAmount::from_micros(micros)), text);
        }
    }
}
