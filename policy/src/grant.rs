//! A grant: leave to pay one payee beyond the policy, up to an amount and an end.

use crate::{Address, Rule, TransferRequest, UsdcAmount};

/// The rules that a grant lets a payment pass. A pause, a halt and a missing memo are never among them. One byte, because on
/// chain every payment asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waived(u8);

impl Waived {
    /// What holds for payments without a grant.
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

/// Whom a grant is for: one of the two kinds that allowlists tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payee<'a> {
    /// Any token account that this wallet owns at that moment.
    Wallet(&'a Address),
    TokenAccount(&'a Address),
}

/// A grant as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    pub payee: Payee<'a>,
    /// What may still be paid.
    pub left: UsdcAmount,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
    /// For the payment with this tag alone, and for the whole amount.
    pub tag: Option<u64>,
    pub waived: Waived,
}

/// Why a grant does not cover a payment. The variants are in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRefusal {
    /// It is for another payee, or for another payment.
    OtherPayment,
    Expired,
    /// Less is left than the amount.
    Exceeded,
}

impl Grant<'_> {
    /// The rules that `request` may pass at Unix second `now`.
    #[inline]
    pub fn waives_for(&self, request: &TransferRequest, now: i64) -> Result<Waived, GrantRefusal> {
        let is_payee = match self.payee {
            Payee::Wallet(wallet) => wallet == request.recipient_owner,
            Payee::TokenAccount(account) => account == request.recipient,
        };
        let is_payment = self.tag.is_none_or(|tag| tag == request.tag && request.amount == self.left);
        if !is_payee || !is_payment {
            return Err(GrantRefusal::OtherPayment);
        }
        if now >= self.expires_at {
            return Err(GrantRefusal::Expired);
        }
        if request.amount > self.left {
            return Err(GrantRefusal::Exceeded);
        }
        Ok(self.waived)
    }
}

impl Rule {
    /// Returns the waiver that lets a payment pass this rule; [`Waived::NOTHING`] if no grant can.
    pub const fn waiver(self) -> Waived {
        match self {
            Self::Paused | Self::RequireMemo => Waived::NOTHING,
            Self::AllowedCounterparties => Waived::ALLOWLIST,
            Self::MaxSingleTransfer => Waived::SINGLE_LIMIT,
            Self::MaxDailySpend => Waived::DAILY_LIMIT,
        }
    }

    /// Returns whether a grant can waive this rule.
    pub const fn is_waivable(self) -> bool {
        self.waiver().bits() != 0
    }
}
