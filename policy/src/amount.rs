//! Amounts of USDC: whole micro-USDC in memory, decimal text with six digits outside.

use core::fmt;
use core::str::FromStr;

/// Micro-USDC in one USDC; the mint has six decimals.
pub const MICROS_PER_USDC: u64 = 1_000_000;
const DECIMALS: usize = 6;

/// An amount of USDC in micro-USDC. Its text form always has six fractional digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdcAmount(u64);

impl UsdcAmount {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    /// From micro-USDC.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// In micro-USDC.
    pub const fn micros(self) -> u64 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for UsdcAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / MICROS_PER_USDC, self.0 % MICROS_PER_USDC)
    }
}

/// Why a text is not a USDC amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountError {
    Empty,
    /// Something other than digits with at most one point between them.
    NotDecimal,
    /// More than six fractional digits.
    TooManyDecimals,
    /// More than 18446744073709.551615 USDC (2^64 - 1 micro-USDC).
    TooLarge,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty; write a decimal such as 12.50",
            Self::NotDecimal => "is not a plain decimal such as 12.50 (no sign, exponent or spaces)",
            Self::TooManyDecimals => "has more than six digits after the point; USDC has six",
            Self::TooLarge => "is above 18446744073709.551615",
        })
    }
}

impl core::error::Error for AmountError {}

/// Reads a plain decimal exactly: digits, and at most one point with one to six digits after it.
impl FromStr for UsdcAmount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        if text.is_empty() {
            return Err(AmountError::Empty);
        }
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(AmountError::NotDecimal),
            Some((whole, fraction)) => (whole, fraction),
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(AmountError::NotDecimal);
        }
        if fraction.len() > DECIMALS {
            return Err(AmountError::TooManyDecimals);
        }
        let padding = core::iter::repeat_n(b'0', DECIMALS - fraction.len());
        whole
            .bytes()
            .chain(fraction.bytes())
            .chain(padding)
            .try_fold(0u64, |sum, byte| sum.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
            .map(Self)
            .ok_or(AmountError::TooLarge)
    }
}
