//! A grant: leave to pay one payee beyond the policy, up to an amount and an end.

use crate::{Address, TransferRequest, UsdcAmount, Waived};

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
