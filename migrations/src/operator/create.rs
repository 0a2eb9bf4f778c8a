use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::Args;
use purser::state::Operator;
use purser::{OperatorKeys, accounts, instruction};

use super::show::describe;
use crate::arguments;
use crate::network::Network;
use crate::report::Report;

#[derive(Args)]
pub struct CreateArgs {
    /// The operator's number among those that this wallet creates
    #[arg(long, value_name = "N", default_value_t = 0)]
    id: u64,
    /// Creates agents, sets policies, pauses and resumes: the relayer's policy signer
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    policy_authority: Pubkey,
    /// Pays within policy, and nothing else: the relayer's transfer signer
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    transfer_authority: Pubkey,
    /// May pause, never resume
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    guardian: Option<Pubkey>,
    /// The USDC mint of this cluster: a legacy SPL Token mint with six decimals
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    usdc_mint: Pubkey,
}

/// What can be found wrong before anything is spent.
pub async fn check(network: &Network, args: &CreateArgs) -> Result<()> {
    let admin = network.wallet_address()?;
    let keys = [admin, args.policy_authority, args.transfer_authority];
    let [admin_key, policy, transfer] = &keys;
    ensure!(
        admin_key != policy && admin_key != transfer && policy != transfer,
        "the wallet (which becomes the admin), --policy-authority and --transfer-authority must be three different keys"
    );
    let mint = network.account(&args.usdc_mint).await?;
    ensure!(
        mint.is_some_and(|mint| mint.owner == anchor_spl::token::ID),
        "--usdc-mint {} is not a mint of the legacy SPL Token program on {}",
        args.usdc_mint,
        network.url
    );
    Ok(())
}

/// An operator that is there already with the same keys is as good as a new one.
pub async fn run(network: &Network, args: &CreateArgs) -> Result<Report> {
    check(network, args).await?;
    let signing = network.signing()?;
    let admin = signing.address();
    let address = super::address_of(&admin, args.id);
    if let Some(operator) = super::find(network, &address).await? {
        ensure!(
            is_as_asked(&operator, args),
            "operator {address} exists with other keys: see `operator show`, change them with `operator update`, or \
             create another one with --id"
        );
        return Ok(
            describe("operator unchanged", &address, &operator).with("create_signature", None::<String>)
        );
    }
    let accounts = accounts::CreateOperator {
        admin,
        operator: address,
        usdc_mint: args.usdc_mint,
        system_program: anchor_lang::system_program::ID,
    };
    let keys = OperatorKeys {
        policy_authority: args.policy_authority,
        transfer_authority: args.transfer_authority,
        guardian: args.guardian,
    };
    let signature = signing.call(accounts, instruction::CreateOperator { id: args.id, keys }).await?;
    let operator = super::read(network, &address).await?;
    Ok(describe("operator created", &address, &operator).with("create_signature", signature.to_string()))
}

fn is_as_asked(operator: &Operator, args: &CreateArgs) -> bool {
    operator.policy_authority == args.policy_authority
        && operator.transfer_authority == args.transfer_authority
        && operator.guardian == args.guardian.unwrap_or_default()
        && operator.usdc_mint == args.usdc_mint
}
