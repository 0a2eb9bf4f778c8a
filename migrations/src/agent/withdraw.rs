use std::str::FromStr;

use anchor_lang::prelude::Pubkey;
use anchor_spl::associated_token::get_associated_token_address;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use purser::{accounts, instruction};
use purser_policy::UsdcAmount;

use super::{AgentArgs, show};
use crate::arguments;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct WithdrawArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// USDC as a decimal, at most six digits after the point; or `all`
    #[arg(long, value_name = "USDC|all")]
    amount: Amount,
    /// The USDC token account that gets it
    #[arg(long, value_name = "TOKEN_ACCOUNT", value_parser = arguments::address)]
    to: Pubkey,
}

#[derive(Clone, Copy)]
enum Amount {
    Exactly(UsdcAmount),
    All,
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            text => arguments::amount(text).map(Self::Exactly),
        }
    }
}

pub async fn run(network: &Network, args: &WithdrawArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let signing = network.signing()?;
    let source = located.view.agent.token_account;
    let [from, to] = network.accounts(&[source, args.to]).await?;
    let balance = from.and_then(|account| show::balance(&account.data));
    let balance = balance.with_context(|| format!("the agent's token account {source} is missing"))?;
    let amount = match args.amount {
        Amount::Exactly(amount) => amount,
        Amount::All => balance,
    };
    ensure!(!balance.is_zero(), "the agent holds no USDC");
    ensure!(amount <= balance, "the agent holds {balance} USDC, which is less than {amount}");
    if to.is_none_or(|account| account.owner != anchor_spl::token::ID) {
        bail!(not_a_token_account(network, &args.to, &located.operator.usdc_mint).await?);
    }
    let accounts = accounts::Withdraw {
        admin: signing.address(),
        operator: located.operator_address,
        agent: located.address,
        source,
        destination: args.to,
        token_program: anchor_spl::token::ID,
    };
    let signature = signing.call(accounts, instruction::Withdraw { amount: amount.micros() }).await?;
    let after = network.account(&source).await?.and_then(|account| show::balance(&account.data));
    Ok(Report::new(format!("{amount} USDC withdrawn"))
        .with("agent", located.address.to_string())
        .with("amount_usdc", amount.to_string())
        .with("to", args.to.to_string())
        .with("balance_usdc", after.map(|usdc| usdc.to_string()))
        .with("signature", signature.to_string()))
}

/// A wallet is not paid on a guess: its token account is named, and chosen by whoever types it.
async fn not_a_token_account(network: &Network, to: &Pubkey, mint: &Pubkey) -> Result<anyhow::Error> {
    let token_account = get_associated_token_address(to, mint);
    Ok(match network.account(&token_account).await? {
        Some(_) => anyhow!(
            "{to} is not a USDC token account; if it is a wallet, pass its token account {token_account}"
        ),
        None => anyhow!(
            "{to} is not a USDC token account; if it is a wallet, it has none yet: \
             create {token_account} with `spl-token create-account {mint} --owner {to}`, and pass that"
        ),
    })
}
