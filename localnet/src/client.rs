//! `mint`, `airdrop`, `travel`: act on a running network over its JSON-RPC.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_rpc_client::rpc_client::RpcClient;
use solana_rpc_client_api::request::RpcRequest;
use solana_signer::Signer;
use solana_transaction::Transaction;
use spl_associated_token_account_interface::address::get_associated_token_address_with_program_id;
use spl_associated_token_account_interface::instruction::create_associated_token_account_idempotent;
use spl_token_interface::instruction::mint_to;

use crate::address::parse_address;
use crate::amount::{self, SOL_DECIMALS, USDC_DECIMALS};
use crate::error::{Context, Error, Result};
use crate::state::mint_authority;

const RPC_TIMEOUT: Duration = Duration::from_secs(30);
pub const CLOCK_SYSVAR: Pubkey = Pubkey::from_str_const("SysvarC1ock11111111111111111111111111111111");

#[derive(Args)]
pub struct MintArgs {
    /// The network's JSON-RPC address
    #[arg(long)]
    rpc_url: String,
    /// The USDC mint, as printed by `start`
    #[arg(long)]
    mint: String,
    /// A token account of the mint, or a wallet
    #[arg(long)]
    to: String,
    /// USDC, at most six decimals, added to the balance
    #[arg(long)]
    amount: String,
    /// Answer with one line of JSON
    #[arg(long)]
    json: bool,
}

/// A real MintTo transaction signed by the mint authority, confirmed before it returns.
pub fn minted(rpc_url: &str, mint: Pubkey, to: &str, amount: &str) -> Result<Value> {
    let rpc = connect(rpc_url);
    let to = parse_address(to)?;
    let amount = amount::parse(amount, USDC_DECIMALS)?;
    let authority = mint_authority(&mint);
    let state = account_data(&rpc, &mint)?.ok_or_else(|| {
        Error::new(format!("{mint} does not exist on this network; \"usdc_mint\" of `start` does"))
    })?;
    if state.data.get(4..36) != Some(authority.pubkey().as_ref()) {
        return Err(Error::new(format!("{mint} is not a mint that `purser-localnet start` made")));
    }
    let is_token_account = account_data(&rpc, &to)?.is_some_and(|account| {
        account.owner == spl_token_interface::ID
            && account.data.len() == 165
            && account.data[..32] == mint.to_bytes()
    });
    let mut instructions = Vec::new();
    let token_account = if is_token_account {
        to
    } else {
        let token_program = spl_token_interface::ID;
        let payer = authority.pubkey();
        instructions.push(create_associated_token_account_idempotent(&payer, &to, &mint, &token_program));
        get_associated_token_address_with_program_id(&to, &mint, &token_program)
    };
    let token_program = spl_token_interface::ID;
    instructions.push(
        mint_to(&token_program, &mint, &token_account, &authority.pubkey(), &[], amount)
            .context("cannot build the transaction")?,
    );
    let signature = send_and_confirm(&rpc, &instructions, &authority)?;
    let balance = rpc.get_token_account_balance(&token_account).context("cannot read the balance")?;
    Ok(json!({
        "token_account": token_account.to_string(),
        "minted_micros": amount,
        "balance_micros": balance.amount.parse::<u64>().unwrap_or_default(),
        "signature": signature,
    }))
}

pub fn mint(args: MintArgs) -> Result<()> {
    let answer = minted(&args.rpc_url, parse_address(&args.mint)?, &args.to, &args.amount)?;
    let (to, signature) = (&answer["token_account"], &answer["signature"]);
    report(args.json, &answer, format!("minted {} USDC to {} ({})", args.amount, text(to), text(signature)));
    Ok(())
}

#[derive(Args)]
pub struct AirdropArgs {
    /// The network's JSON-RPC address
    #[arg(long)]
    rpc_url: String,
    /// The address that gets the SOL
    #[arg(long)]
    to: String,
    /// SOL, at most nine decimals, added to the balance
    #[arg(long)]
    sol: String,
    /// Answer with one line of JSON
    #[arg(long)]
    json: bool,
}

pub fn airdrop(args: AirdropArgs) -> Result<()> {
    let rpc = connect(&args.rpc_url);
    let to = parse_address(&args.to)?;
    let lamports = amount::parse(&args.sol, SOL_DECIMALS)?;
    let signature =
        rpc.request_airdrop(&to, lamports).context("the network refused the airdrop")?.to_string();
    let balance = rpc.get_balance(&to).context("cannot read the balance")?;
    let answer = json!({
        "address": to.to_string(),
        "lamports": lamports,
        "balance_lamports": balance,
        "signature": signature,
    });
    report(args.json, &answer, format!("gave {} SOL to {to}", args.sol));
    Ok(())
}

#[derive(Args)]
#[command(group(clap::ArgGroup::new("target").required(true).args(["seconds", "to"])))]
pub struct TravelArgs {
    /// The network's JSON-RPC address
    #[arg(long)]
    rpc_url: String,
    /// Seconds to move forward from the network's present second
    #[arg(long, value_parser = clap::value_parser!(i64).range(1..))]
    seconds: Option<i64>,
    /// The Unix second to move to; must lie ahead
    #[arg(long)]
    to: Option<i64>,
    /// Answer with one line of JSON
    #[arg(long)]
    json: bool,
}

pub fn travel(args: TravelArgs) -> Result<()> {
    let answer = traveled(&args.rpc_url, args.seconds, args.to)?;
    let (before, after) = (&answer["unix_timestamp_before"], &answer["unix_timestamp"]);
    report(args.json, &answer, format!("the clock went from {before} to {after}"));
    Ok(())
}

/// Moves the clock forward by `seconds`, or else to the second `to`.
pub fn traveled(rpc_url: &str, seconds: Option<i64>, to: Option<i64>) -> Result<Value> {
    let rpc = connect(rpc_url);
    let before = unix_timestamp(&rpc)?;
    let target = match (seconds, to) {
        (Some(seconds), _) => before.saturating_add(seconds),
        (None, to) => to.unwrap_or(before),
    };
    if target <= before {
        return Err(Error::new(format!("the network's clock is at {before}: {target} does not lie ahead")));
    }
    let epoch =
        call(&rpc, "surfnet_timeTravel", json!([{ "absoluteTimestamp": target.saturating_mul(1_000) }]))
            .context("the network refused to travel")?;
    Ok(json!({
        "unix_timestamp_before": before,
        "unix_timestamp": target,
        "slot": epoch["absoluteSlot"],
    }))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn connect(url: &str) -> RpcClient {
    RpcClient::new_with_timeout_and_commitment(url.to_string(), RPC_TIMEOUT, CommitmentConfig::confirmed())
}

fn call(rpc: &RpcClient, method: &'static str, params: Value) -> Result<Value> {
    rpc.send(RpcRequest::Custom { method }, params).map_err(Error::new)
}

fn account_data(rpc: &RpcClient, address: &Pubkey) -> Result<Option<surfpool_core::solana_account::Account>> {
    let answer = rpc.get_account_with_commitment(address, CommitmentConfig::processed());
    Ok(answer.context("the network does not answer")?.value)
}

/// `Clock::unix_timestamp` as programs see it.
fn unix_timestamp(rpc: &RpcClient) -> Result<i64> {
    let clock = account_data(rpc, &CLOCK_SYSVAR)?.ok_or_else(|| Error::new("the network has no clock"))?;
    let bytes = clock.data.get(32..40).and_then(|bytes| bytes.try_into().ok());
    bytes.map(i64::from_le_bytes).ok_or_else(|| Error::new("the network's clock cannot be read"))
}

fn send_and_confirm(rpc: &RpcClient, instructions: &[Instruction], signer: &Keypair) -> Result<String> {
    let blockhash = rpc.get_latest_blockhash().context("cannot read the blockhash")?;
    let payer = signer.pubkey();
    let transaction = Transaction::new_signed_with_payer(instructions, Some(&payer), &[signer], blockhash);
    let signature = rpc.send_and_confirm_transaction(&transaction).context("the transaction failed")?;
    Ok(signature.to_string())
}

fn report(json: bool, answer: &Value, text: String) {
    if json { println!("{answer}") } else { println!("{text}") }
}
