use anchor_lang::prelude::*;
use purser_policy::{rule_fields, Limit, Policy, PolicyOver};

/// The value of a field in a policy, and of a policy's in [`Rules`].
macro_rules! value {
    (of limit $value:expr) => {
        Limit::of_micros($value)
    };
    (from limit $value:expr) => {
        $value.micros()
    };
    ($way:ident flag $value:expr) => {
        $value
    };
}

macro_rules! rules {
    ($($(#[$doc:meta])* $field:ident: [$($type:tt)*] $kind:ident,)*) => {
        /// The rules of a policy beside its allowlist, as arguments and events hold them. Amounts in micro-USDC; `None` is no limit.
        #[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Rules {
            $(pub $field: $($type)*,)*
        }

        impl Rules {
            /// No limits, no memo needed, not paused.
            pub const OPEN: Self = Self { $($field: value!(from $kind Policy::OPEN.$field),)* };

            /// The policy of these rules and an allowlist.
            #[inline(always)]
            pub const fn over<A>(&self, allowlist: A) -> PolicyOver<A> {
                PolicyOver { $($field: value!(of $kind self.$field),)* allowlist }
            }
        }

        impl<A> From<&PolicyOver<A>> for Rules {
            fn from(policy: &PolicyOver<A>) -> Self {
                Self { $($field: value!(from $kind policy.$field),)* }
            }
        }
    };
}

// The IDL knows no generic types.
rule_fields!(rules, [Option<u64>]);
