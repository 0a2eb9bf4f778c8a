//! Ids of what stands on the chain alone: its address behind a prefix, so that nobody has to remember which is which.

use std::fmt;
use std::str::FromStr;

use super::{Address, ParseError};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub Address);

        impl $name {
            /// The prefix of every id of this kind.
            pub const PREFIX: &'static str = $prefix;
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                let address = text.strip_prefix($prefix).and_then(|text| text.parse().ok());
                let must_be = concat!("must be `", $prefix, "` followed by an address in base58");
                address.map(Self).ok_or_else(|| must_be.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        purser_core::as_text! { $name }
    };
}

id!(
    /// A budget of an operator.
    BudgetId, "bdg_");
id!(
    /// A grant of an account.
    GrantId, "grt_");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_an_address_behind_its_prefix() {
        let id = BudgetId(Address::from_bytes([7; 32]));
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "bdg_", "bdg_0", &Address::from_bytes([7; 32]).to_string(), &format!("grt_{}", id.0)]
        {
            assert!(text.parse::<BudgetId>().is_err(), "{text:?}");
        }
    }
}
