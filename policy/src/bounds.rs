//! The bounds of an account beside its policy. The program and the relayer have types of their own for amounts and addresses.

/// Declares the bounds as `$name`, with amounts of `$amount` and budgets of `$budget`.
#[macro_export]
macro_rules! bounds {
    ($(#[$meta:meta])* $name:ident, $amount:ident, $budget:ident) => {
        $(#[$meta])*
        pub struct $name {
            /// It pays by grants alone, which say whom and how much.
            pub by_grant_only: bool,
            /// The most in any 30 days, by calendar days. No grant goes past it.
            pub max_30_day_spend: Option<$amount>,
            /// It pays through this budget alone, which other agents may share.
            pub budget: Option<$budget>,
        }

        impl $name {
            /// Returns whether these allow anything that `current` refuse.
            pub fn loosens(&self, current: &Self) -> bool {
                let raises = |cap: $amount| self.max_30_day_spend.is_none_or(|new| new > cap);
                current.by_grant_only && !self.by_grant_only
                    || current.max_30_day_spend.is_some_and(raises)
                    || current.budget.is_some() && self.budget != current.budget
            }
        }
    };
}
