use anchor_lang::prelude::Pubkey;
use anchor_spl::associated_token::get_associated_token_address_with_program_id;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use purser_client::TokenSource;
use solana_sdk::signature::Signature;

use super::AgentArgs;
use crate::arguments;
use crate::change::Change;
use crate::network::Network;
use crate::report::Report;
use crate::tokens::{Amount, Holding, decimal, decimals};

#[derive(Args)]
pub struct WithdrawArgs {
    #[command(flatten)]
    agent: AgentArgs,
    /// A decimal in the mint's own unit (dollars for USDC), with as many digits after the point as the mint has; or `all`
    #[arg(long, value_name = "AMOUNT|all")]
    amount: Amount,
    /// The token account that gets it, of the same mint
    #[arg(long, value_name = "TOKEN_ACCOUNT", value_parser = arguments::address)]
    to: Pubkey,
    /// Any token account that the agent owns, of any mint, SPL Token or Token-2022 [default: its USDC account]
    #[arg(long, value_name = "TOKEN_ACCOUNT", value_parser = arguments::address)]
    from: Option<Pubkey>,
}

pub async fn run(network: &Network, args: &WithdrawArgs) -> Result<Report> {
    let located = args.agent.locate(network).await?;
    let signing = network.signing()?;
    let source = args.from.unwrap_or(located.view.agent.token_account);
    let held = holding(network, &source).await?;
    let held = held.with_context(|| format!("{source} is not a token account on {}", network.url))?;
    ensure!(
        held.owner == located.address,
        "the token account {source} belongs to {}, not to the agent {}",
        held.owner,
        located.address
    );
    let decimals = decimals(network, &held.mint).await?;
    let unit = match held.mint == located.operator.usdc_mint {
        true => "USDC".to_string(),
        false => format!("of the mint {}", held.mint),
    };
    ensure!(held.units > 0, "the token account {source} is empty");
    let units = args.amount.units(decimals, held.units)?;
    let (amount, balance) = (decimal(units, decimals), decimal(held.units, decimals));
    ensure!(units <= held.units, "the agent holds {balance} {unit}, which is less than {amount}");
    ensure_payable(network, &args.to, &source, &held).await?;
    let from = TokenSource { token_account: source, mint: held.mint, token_program: held.program };
    let (wallet, agent) = (signing.address(), located.address);
    let withdraw = located.deployment.withdraw(wallet, located.operator_address, agent, from, args.to, units);
    let title = format!("{amount} {unit} withdrawn");
    let about = |report: Report| {
        let report = report.with("agent", agent.to_string()).with("amount", amount.clone());
        report
            .with("mint", held.mint.to_string())
            .with("from", source.to_string())
            .with("to", args.to.to_string())
    };
    let change = Change::of(about(Report::new(title.clone())), withdraw);
    let done = async |signature: Signature| {
        let left = holding(network, &source).await?;
        Ok(about(Report::new(title.clone()))
            .with("balance", left.map(|left| decimal(left.units, decimals)))
            .with("signature", signature.to_string()))
    };
    signing.carry_out(change, done).await
}

pub async fn holding(network: &Network, address: &Pubkey) -> Result<Option<Holding>> {
    Ok(network.account(address).await?.and_then(|account| Holding::read(address, &account)))
}

/// Ensures that `to` is a token account that can receive what `from` holds. A wallet is not resolved to a token account:
/// whoever types the command has to choose one.
pub async fn ensure_payable(network: &Network, to: &Pubkey, source: &Pubkey, from: &Holding) -> Result<()> {
    let Holding { mint, program, .. } = from;
    ensure!(to != source, "--to is the token account that the money is in: name another one");
    match holding(network, to).await? {
        Some(found) if found.mint == *mint && found.program == *program => Ok(()),
        Some(found) => bail!("{to} is a token account of the mint {}, not of {mint}", found.mint),
        None => Err(not_a_token_account(network, to, mint, program).await?),
    }
}

async fn not_a_token_account(
    network: &Network,
    to: &Pubkey,
    mint: &Pubkey,
    program: &Pubkey,
) -> Result<anyhow::Error> {
    let token_account = get_associated_token_address_with_program_id(to, mint, program);
    Ok(match network.account(&token_account).await? {
        Some(_) => {
            anyhow!("{to} is not a token account; if it is a wallet, pass its token account {token_account}")
        }
        None => anyhow!(
            "{to} is not a token account; if it is a wallet, it has none of this mint yet: create {token_account} with \
             `spl-token create-account {mint} --owner {to}`, and pass that"
        ),
    })
}
