use anchor_lang::prelude::*;
use purser_policy::{rule_fields, Limit, Policy, PolicyOver};

macro_rules! rules {
    (
        limits { $($(#[$limit_doc:meta])* $limit:ident,)* }
        flags { $($(#[$flag_doc:meta])* $flag:ident,)* }
    ) => {
        /// The rules of a policy beside its allowlist, as arguments and events hold them. Amounts in micro-USDC; `None` is no limit.
        #[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Rules {
            $(pub $limit: Option<u64>,)*
            $(pub $flag: bool,)*
        }

        impl Rules {
            /// No limits, no memo needed, not paused.
            pub const OPEN: Self =
                Self { $($limit: Policy::OPEN.$limit.micros(),)* $($flag: Policy::OPEN.$flag,)* };

            /// The policy of these rules and an allowlist.
            #[inline(always)]
            pub const fn over<A>(&self, allowlist: A) -> PolicyOver<A> {
                PolicyOver {
                    $($limit: Limit::of_micros(self.$limit),)*
                    $($flag: self.$flag,)*
                    allowlist,
                }
            }
        }

        impl<A> From<&PolicyOver<A>> for Rules {
            fn from(policy: &PolicyOver<A>) -> Self {
                Self { $($limit: policy.$limit.micros(),)* $($flag: policy.$flag,)* }
            }
        }
    };
}

// The IDL knows no generic types.
rule_fields!(rules);
