//! What a test does to the network of a running `purser dev`: money, time, and faults. All of it happens in the network's process;
//! the relayer knows nothing of it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::api::{self, Api};
use super::approve;
use super::demo::MAX_SINGLE_TRANSFER_USDC;
use super::report::Ready;
use super::span::Span;

#[derive(Debug, clap::Subcommand)]
pub enum Steer {
    /// Mint USDC to an account (`acct_...`), a token account or a wallet
    Fund {
        account: String,
        /// USDC, at most six decimals
        amount: String,
    },
    /// Move the chain's clock forward, such as 24h; this machine's and the service's stay as they are
    Advance { time: Span },
    /// Hold back everything that is sent to the chain, such as for 2s; 0s ends that
    Slow { time: Span },
    /// Let the node refuse what is sent to it
    Fail {
        what: Fault,
        /// How many times
        #[arg(long, default_value_t = 1)]
        times: u64,
    },
    /// Approve a transfer that waits for a person, as the demo's approver would with a phone
    Approve {
        /// `txn_...`
        transfer: String,
    },
    /// Make an event really happen to the demo agent
    Trigger { event: Trigger },
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Fault {
    /// The next transaction
    NextSend,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Trigger {
    /// Pays 0.01 USDC
    #[value(name = "transfer.settled")]
    TransferSettled,
    /// Asks for more than the policy allows at once
    #[value(name = "transfer.rejected")]
    TransferRejected,
    /// Mints 1 USDC to the agent
    #[value(name = "deposit.settled")]
    DepositSettled,
    /// Sets another daily limit, and then the first one again
    #[value(name = "policy.changed")]
    PolicyChanged,
}

impl Steer {
    pub fn run(&self, folder: &Path, json: bool) -> Result<()> {
        let ready = Ready::read(folder)?;
        let (answer, said) = match self {
            Self::Fund { account, amount } => fund(&ready, account, amount)?,
            Self::Advance { time } => {
                let moved = control(&ready, "advance", &json!([time.seconds]))?;
                let said = format!("the chain's clock stands at {}", moved["unix_timestamp"]);
                (moved, said)
            }
            Self::Slow { time } => {
                let slow = control(&ready, "slow", &json!([time.seconds.saturating_mul(1_000)]))?;
                (slow, format!("what is sent to the chain is held back for {time}"))
            }
            Self::Fail { what: Fault::NextSend, times } => {
                let fails = control(&ready, "fail_next_send", &json!([times]))?;
                (fails, format!("the node refuses what is sent next, {times} time(s)"))
            }
            Self::Approve { transfer } => {
                approve::approve(&operator(&ready), &ready.rpc_url, folder, transfer)?
            }
            Self::Trigger { event } => event.happen(&ready)?,
        };
        println!("{}", if json { answer.to_string() } else { said });
        Ok(())
    }
}

fn fund(ready: &Ready, account: &str, amount: &str) -> Result<(Value, String)> {
    let to = if account.starts_with("acct_") {
        let found = operator(ready).get(&format!("/accounts/{account}"))?;
        found["usdc_token_account"].as_str().context("the account names no token account")?.to_owned()
    } else {
        account.to_owned()
    };
    let minted = control(ready, "fund", &json!([to, amount]))?;
    let said = format!("minted {amount} USDC to {}", minted["token_account"].as_str().unwrap_or(&to));
    Ok((minted, said))
}

impl Trigger {
    fn happen(self, ready: &Ready) -> Result<(Value, String)> {
        let account = &ready.account_id;
        match self {
            Self::TransferSettled => {
                let paid = pay(ready, "0.01")?;
                let transfer = paid["transfer_id"].as_str().unwrap_or_default();
                let said = format!("{account} paid 0.01 USDC: {transfer}");
                Ok((paid, said))
            }
            Self::TransferRejected => {
                let refused = pay(ready, &(MAX_SINGLE_TRANSFER_USDC + 1).to_string());
                let Err(refused) = refused else { bail!("the policy of {account} allowed it") };
                let said = format!("refused: {refused:#}");
                Ok((json!({ "account_id": account, "message": format!("{refused:#}") }), said))
            }
            Self::DepositSettled => fund(ready, account, "1"),
            Self::PolicyChanged => {
                let path = format!("/accounts/{account}/policy");
                let stands = operator(ready).get(&path)?;
                // A tighter limit takes effect at once, and the demo's operator set no delay for looser ones.
                let other = if stands["max_daily_spend"] == "40.000000" { "50" } else { "40" };
                operator(ready).patch(&path, &json!({ "max_daily_spend": other }))?;
                let back =
                    operator(ready).patch(&path, &json!({ "max_daily_spend": stands["max_daily_spend"] }))?;
                Ok((back, format!("{account} might spend {other} USDC in 24 hours, and is as before")))
            }
        }
    }
}

/// From the demo agent to the payee, under a name of its own.
fn pay(ready: &Ready, amount: &str) -> Result<Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let body = json!({
        "from": ready.account_id, "to": ready.payee_token_account, "amount": amount, "memo": "trigger",
        "idempotency_key": format!("trigger-{now}"),
    });
    Api { base_url: &ready.base_url, key: &ready.agent_key }.post("/transfers", &body)
}

fn operator(ready: &Ready) -> Api<'_> {
    Api { base_url: &ready.base_url, key: &ready.operator_key }
}

fn control(ready: &Ready, method: &str, params: &Value) -> Result<Value> {
    api::call(&ready.control_url, method, params).context("does `purser dev` still run?")
}
