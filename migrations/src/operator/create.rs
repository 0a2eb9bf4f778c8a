use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use clap::Args;
use purser::OperatorKeys;
use purser::constants::TRANSFER_AUTHORITIES_MAX;
use purser::state::Operator;

use super::show::describe;
use crate::arguments::{self, AddressOrNone};
use crate::change::{Change, Trial};
use crate::network::Network;
use crate::report::Report;
use crate::tokens::sol;

#[derive(Args)]
pub struct CreateOperatorArgs {
    /// The operator's number among those that this wallet creates
    #[arg(long, value_name = "N", default_value_t = 0)]
    id: u64,
    /// Creates agents, sets and pauses policies, halts: the relayer's policy signer
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    policy_authority: Pubkey,
    /// Pays within policy, and nothing else: the relayer's transfer signer; may be repeated, up to eight keys
    #[arg(long = "transfer-authority", value_name = "ADDRESS", required = true, value_parser = arguments::address)]
    transfer_authorities: Vec<Pubkey>,
    /// May halt, and drop a policy that waits; never resumes, never pays
    #[arg(long, value_name = "ADDRESS|none", value_parser = arguments::address_or_none)]
    guardian: Option<AddressOrNone>,
    /// How long a policy waits that loosens anything, unless the admin signs it: seconds, or as 15m, 1h, 2d; at most
    /// 30d; 0 for not at all
    #[arg(long, value_name = "TIME", value_parser = arguments::delay)]
    loosening_delay: u32,
    /// The USDC mint of this cluster: a legacy SPL Token mint with six decimals
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    usdc_mint: Pubkey,
}

impl CreateOperatorArgs {
    fn guardian(&self) -> Option<Pubkey> {
        match self.guardian? {
            AddressOrNone::Address(guardian) => Some(guardian),
            AddressOrNone::Nobody => None,
        }
    }
}

/// Checks everything that can be checked before anything is spent.
pub async fn check(network: &Network, args: &CreateOperatorArgs) -> Result<()> {
    let admin = network.signer_address()?;
    ensure!(
        admin != args.policy_authority,
        "the wallet {admin} becomes the admin, and --policy-authority must be another key"
    );
    check_transfer_authorities(
        &args.transfer_authorities,
        &[admin, args.policy_authority, args.guardian().unwrap_or_default()],
    )?;
    let mint = network.account(&args.usdc_mint).await?;
    ensure!(
        mint.is_some_and(|mint| mint.owner == anchor_spl::token::ID),
        "--usdc-mint {} is not a mint of the legacy SPL Token program on {}",
        args.usdc_mint,
        network.url
    );
    Ok(())
}

/// `others`: admin, policy authority and guardian.
pub fn check_transfer_authorities(keys: &[Pubkey], others: &[Pubkey; 3]) -> Result<()> {
    ensure!(
        (1..=TRANSFER_AUTHORITIES_MAX).contains(&keys.len()),
        "an operator has one to {TRANSFER_AUTHORITIES_MAX} transfer authorities, and these would be {}",
        keys.len()
    );
    for (index, key) in keys.iter().enumerate() {
        ensure!(
            !others.contains(key),
            "the transfer authority {key} is the admin, the policy authority or the guardian too: whoever steals the \
             paying server would hold that place as well, so give it a key of its own"
        );
        ensure!(
            !keys.iter().take(index).any(|other| other == key),
            "the transfer authority {key} is given twice"
        );
    }
    Ok(())
}

/// If the operator already exists with the same keys, that counts as success.
pub async fn run(network: &Network, args: &CreateOperatorArgs, trial: Trial) -> Result<Report> {
    check(network, args).await?;
    let signing = network.signing()?;
    let admin = signing.address();
    let address = super::address_of(network, &admin, args.id);
    if let Some(operator) = super::find(network, &address).await? {
        ensure!(
            is_as_asked(&operator, args),
            "operator {address} exists with other keys or another delay: see `operator show`, change them with \
             `operator update`, or create another one with --id"
        );
        return Ok(
            describe("operator unchanged", &address, &operator).with("create_signature", None::<String>)
        );
    }
    let keys = OperatorKeys {
        policy_authority: args.policy_authority,
        transfer_authorities: args.transfer_authorities.clone(),
        guardian: args.guardian(),
        loosening_delay_seconds: args.loosening_delay,
    };
    let create = network.deployment(args.usdc_mint).create_operator(admin, args.id, keys);
    let change = Change::new("operator created", create)
        .with("operator", address.to_string())
        .with("rent_sol", sol(network.rent(Operator::BYTES).await?))
        .trial(trial);
    signing
        .carry_out(change, async |signature| {
            let operator = super::read(network, &address).await?;
            Ok(describe("operator created", &address, &operator)
                .with("create_signature", signature.to_string()))
        })
        .await
}

fn is_as_asked(operator: &Operator, args: &CreateOperatorArgs) -> bool {
    let sorted = |keys: &[Pubkey]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys
    };
    operator.policy_authority == args.policy_authority
        && sorted(operator.transfer_authorities()) == sorted(&args.transfer_authorities)
        && operator.guardian == args.guardian().unwrap_or_default()
        && operator.loosening_delay_seconds == args.loosening_delay
        && operator.usdc_mint == args.usdc_mint
}
