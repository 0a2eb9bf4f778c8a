//! The demo: an operator with a key, a funded agent with a key and a sensible policy, and a payee.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::Api;
use super::folder::{DEMO, Folder};
use super::keys::Keys;
use super::network::Network;

const AGENT_FUNDS_USDC: &str = "100";
/// A token account exists once something was minted to it.
const PAYEE_FUNDS_USDC: &str = "0.000001";
pub const MAX_SINGLE_TRANSFER_USDC: u32 = 25;
pub const MAX_DAILY_SPEND_USDC: u32 = 50;

/// Kept in `demo.json`, so that a later start can print the same keys again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Demo {
    pub usdc_mint: String,
    pub operator: Operator,
    pub account: Account,
    pub agent_key: String,
    pub payee_token_account: String,
}

impl Demo {
    /// The demo of an earlier run; a file of another version counts as none.
    pub fn read(folder: &Folder) -> Result<Option<Self>> {
        let path = folder.file(DEMO);
        if !path.exists() {
            return Ok(None);
        }
        Ok(serde_json::from_str(&fs::read_to_string(&path)?).ok())
    }

    pub fn write(&self, folder: &Folder) -> Result<()> {
        folder.write_secret(DEMO, &(serde_json::to_string_pretty(self)? + "\n")).map(drop)
    }

    /// Whether the chain still holds it.
    pub fn is_on(&self, network: &Network) -> bool {
        self.usdc_mint == network.facts.usdc_mint
            && [&self.operator.address, &self.account.solana_address, &self.payee_token_account]
                .iter()
                .all(|address| network.account_exists(address).unwrap_or(false))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operator {
    pub operator_id: String,
    /// Of the operator account on chain.
    pub address: String,
    pub key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Account {
    pub account_id: String,
    pub solana_address: String,
    pub usdc_token_account: String,
}

/// Makes everything over REST, as an operator would.
pub fn create(operator: Operator, base_url: &str, keys: &Keys, network: &Network) -> Result<Demo> {
    let api = Api { base_url, key: &operator.key };
    let account: Account = from_answer(api.post("/accounts", &json!({ "name": "demo agent" }))?)?;
    api.put(
        &format!("/accounts/{}/policy", account.account_id),
        &json!({
            "max_single_transfer": MAX_SINGLE_TRANSFER_USDC,
            "max_daily_spend": MAX_DAILY_SPEND_USDC,
            "require_memo": false,
        }),
    )?;
    let agent_key =
        api.post(&format!("/accounts/{}/keys", account.account_id), &json!({ "name": "demo agent" }))?;
    let agent_key = agent_key["key"].as_str().context("the answer holds no agent key")?.to_owned();
    network.mint(&account.usdc_token_account, AGENT_FUNDS_USDC)?;
    let payee_token_account = network.mint(&keys.payee.address, PAYEE_FUNDS_USDC)?;
    Ok(Demo { usdc_mint: network.facts.usdc_mint.clone(), operator, account, agent_key, payee_token_account })
}

fn from_answer(answer: Value) -> Result<Account> {
    serde_json::from_value(answer.clone()).with_context(|| format!("unexpected account: {answer}"))
}
