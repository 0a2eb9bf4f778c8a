use std::fmt;

use super::UsdcAmount;

/// The most of one operator for which the service pays rent, and of one key that it keeps on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    pub accounts: u32,
    /// In all its accounts together, including pending policies.
    pub allowlist_entries: u32,
    /// Grants that it pays for approvers, in 24 hours.
    pub approvals_daily: u32,
    /// Actions of one key on record, in 24 hours; see [`Action::counted`](super::Action::counted).
    pub actions_daily: u32,
    /// Token accounts that it creates for payees, in 24 hours: for the operator's payments, and for those of one account.
    pub token_accounts_daily: u32,
    pub token_accounts_per_account_daily: u32,
    /// The smallest payment for which it creates one.
    pub token_account_min_payment: UsdcAmount,
}

impl Default for Quotas {
    /// About 9 SOL of rent for the accounts, 2 for the entries, and 0.25 for the grants.
    fn default() -> Self {
        Self {
            accounts: 1_000,
            allowlist_entries: 10_000,
            approvals_daily: 100,
            actions_daily: 20_000,
            token_accounts_daily: 0,
            token_accounts_per_account_daily: 10,
            token_account_min_payment: UsdcAmount::ZERO,
        }
    }
}

impl Quotas {
    /// Why no token account is created for a payment of `amount`, after so many of the operator's and of the account's within a day.
    pub fn refuses_token_account(
        &self,
        amount: UsdcAmount,
        [of_operator, of_account]: [u64; 2],
    ) -> Option<NoTokenAccount> {
        let [most, most_of_account] = [self.token_accounts_daily, self.token_accounts_per_account_daily];
        if most == 0 || most_of_account == 0 {
            Some(NoTokenAccount::Off)
        } else if amount < self.token_account_min_payment {
            Some(NoTokenAccount::BelowMinimum(self.token_account_min_payment))
        } else if of_operator >= u64::from(most) {
            Some(NoTokenAccount::OfOperator(most))
        } else if of_account >= u64::from(most_of_account) {
            Some(NoTokenAccount::OfAccount(most_of_account))
        } else {
            None
        }
    }
}

/// Why the service does not create a payee's token account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTokenAccount {
    /// It creates none.
    Off,
    BelowMinimum(UsdcAmount),
    /// The quota of the operator, or of the account, is used up.
    OfOperator(u32),
    OfAccount(u32),
}

impl fmt::Display for NoTokenAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The wallet has no USDC token account yet; nothing was paid. ")?;
        match self {
            Self::Off => f.write_str(
                "This service creates none for payees: have somebody create it, and send the same request again.",
            ),
            Self::BelowMinimum(least) => write!(
                f,
                "The service creates one for payments of {} USDC or more: have somebody create it, and send the same request again.",
                purser_core::usdc_text(*least)
            ),
            Self::OfOperator(most) => write!(
                f,
                "The service has created {most} for the operator's payees in 24 hours, and creates no more: send the same request \
                 again later, or have somebody create it."
            ),
            Self::OfAccount(most) => write!(
                f,
                "The service has created {most} for the account's payees in 24 hours, and creates no more: send the same request \
                 again later, or have somebody create it."
            ),
        }
    }
}

/// An exhausted quota, with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuotaExceeded {
    #[error("The operator has {0} accounts and may not have more.")]
    Accounts(u32),
    #[error("The operator may have {0} allowlist entries in all of its accounts; these are too many.")]
    AllowlistEntries(u32),
}

impl QuotaExceeded {
    /// The parameter of the request that exceeds it.
    pub const fn param(self) -> &'static str {
        match self {
            Self::Accounts(_) => "body",
            Self::AllowlistEntries(_) => "allowed_counterparties",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_account_is_refused_for_the_first_of_four_reasons() {
        let least = UsdcAmount::from_micros(10);
        let quotas = |daily, per_account_daily| Quotas {
            token_accounts_daily: daily,
            token_accounts_per_account_daily: per_account_daily,
            token_account_min_payment: least,
            ..Quotas::default()
        };
        let refused = |quotas: Quotas, micros, made| {
            quotas.refuses_token_account(UsdcAmount::from_micros(micros), made)
        };
        assert_eq!(refused(Quotas::default(), 10, [0, 0]), Some(NoTokenAccount::Off));
        assert_eq!(refused(quotas(3, 0), 10, [0, 0]), Some(NoTokenAccount::Off));
        assert_eq!(refused(quotas(3, 2), 9, [3, 2]), Some(NoTokenAccount::BelowMinimum(least)));
        assert_eq!(refused(quotas(3, 2), 10, [3, 2]), Some(NoTokenAccount::OfOperator(3)));
        assert_eq!(refused(quotas(3, 2), 10, [2, 2]), Some(NoTokenAccount::OfAccount(2)));
        assert_eq!(refused(quotas(3, 2), 10, [2, 1]), None);
        assert_eq!(
            refused(quotas(u32::MAX, u32::MAX), 10, [u64::MAX; 2]),
            Some(NoTokenAccount::OfOperator(u32::MAX))
        );
    }
}
