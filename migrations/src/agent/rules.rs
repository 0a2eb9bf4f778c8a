//! The rules of a policy, as the command line names them.

use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use clap::Args;
use purser::state::Operator;
use purser_client::{OnChainPolicy, owned};
use purser_policy::{Limit, Policy, rule_fields};

use super::recipients::RecipientArgs;
use crate::arguments;
use crate::network::Network;

macro_rules! rule_args {
    (
        limits { $($(#[$limit_doc:meta])* $limit:ident,)* }
        flags { $($(#[$flag_doc:meta])* $flag:ident,)* }
    ) => {
        /// Arguments that set a rule.
        pub const NAMES: &[&str] = &[
            $(stringify!($limit),)* $(stringify!($flag),)*
            "allow_anyone", "allow_nobody", "allow", "allow_wallet", "allow_token_account", "allow_file",
        ];

        #[derive(Args)]
        pub struct RuleArgs {
            $($(#[$limit_doc])*
                /// A decimal with at most six digits after the point, or `none` for no limit.
                #[arg(long, value_name = "USDC|none", value_parser = arguments::limit)]
                $limit: Option<Limit>,)*
            $($(#[$flag_doc])*
                #[arg(long, value_name = "true|false")]
                $flag: Option<bool>,)*
            #[command(flatten)]
            recipients: RecipientArgs,
        }

        impl RuleArgs {
            /// Sets what the command line names.
            fn set(&self, policy: &mut OnChainPolicy) {
                $(policy.$limit = self.$limit.unwrap_or(policy.$limit);)*
                $(policy.$flag = self.$flag.unwrap_or(policy.$flag);)*
            }
        }
    };
}

rule_fields!(rule_args);

impl RuleArgs {
    /// The requested policy: `current`, with the changes that the command line names.
    pub async fn over(
        &self,
        current: Policy<'_>,
        network: &Network,
        operator_address: &Pubkey,
        operator: &Operator,
    ) -> Result<OnChainPolicy> {
        let mut policy = owned(&current);
        if let Some(allowlist) = self.recipients.read(network, operator_address, &operator.usdc_mint).await? {
            policy.allowlist = allowlist;
        }
        self.set(&mut policy);
        Ok(policy)
    }
}
