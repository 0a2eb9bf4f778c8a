use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A span of time as people type it: `2s`, `15m`, `24h`, `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub seconds: u64,
}

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
        let unit = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return Err("must be a number with s, m, h or d behind it, such as 24h"),
        };
        let number: u64 = number.parse().map_err(|_| "must be a whole number with s, m, h or d behind it")?;
        number.checked_mul(unit).map(|seconds| Self { seconds }).ok_or("is too long")
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_says_its_unit() {
        let seconds = |text: &str| text.parse::<Span>().map(|span| span.seconds);
        assert_eq!(["0s", "2s", "15m", "24h", "7d"].map(seconds), [0, 2, 900, 86_400, 604_800].map(Ok));
        for wrong in ["", "s", "24", "-1h", "1.5h", "1w", "1é", "18446744073709551615d"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
