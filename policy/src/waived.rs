//! Which rules a grant waives.

/// The rules that a grant lets a payment pass. A pause, a halt and a missing memo are never among them. One byte, because on
/// chain every payment asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waived(u8);

impl Waived {
    /// No rule is waived: payments without a grant.
    pub const NOTHING: Self = Self(0);
    /// The recipient need not be listed.
    pub const ALLOWLIST: Self = Self(1);
    pub const SINGLE_LIMIT: Self = Self(1 << 1);
    /// The payment still counts in the window, and so against what others may pay after it.
    pub const DAILY_LIMIT: Self = Self(1 << 2);
    const ALL: u8 = Self::ALLOWLIST.0 | Self::SINGLE_LIMIT.0 | Self::DAILY_LIMIT.0;

    /// Those of the lowest three bits, as [`Self::bits`] gives them.
    #[inline(always)]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL)
    }

    #[inline(always)]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// These, and `other` where `also`.
    pub const fn and(self, other: Self, also: bool) -> Self {
        Self(self.0 | (other.0 * also as u8))
    }

    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
