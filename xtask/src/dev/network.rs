//! The embedded network as `cargo dev` uses it.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api;
use super::demo::Demo;
use super::folder::Folder;
use super::keys::Keys;
use super::process::Process;
use crate::localnet;
use crate::workspace::{Workspace, command, output_of};

const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// Enough for some thousand accounts and transfers.
const FUNDING_SOL: u32 = 100;

pub struct Network {
    pub process: Process,
    pub facts: Facts,
    binary: PathBuf,
}

/// The network's first line, printed when it is ready.
#[derive(Debug, Clone, Deserialize)]
pub struct Facts {
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: String,
    pub usdc_mint: String,
}

/// The port after JSON-RPC's; a free one (0) if that is free too.
pub fn ws_port(rpc_port: u16) -> u16 {
    if rpc_port == 0 { 0 } else { rpc_port.saturating_add(1) }
}

impl Network {
    pub fn start(
        workspace: &Workspace,
        folder: &Folder,
        keys: &Keys,
        rpc_port: u16,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let mut start = localnet::tool(workspace, "start")?;
        start.arg("--program-so").arg(workspace.program_so());
        start.arg("--state-dir").arg(folder.file("network"));
        start.args(["--rpc-port", &rpc_port.to_string(), "--ws-port", &ws_port(rpc_port).to_string()]);
        start.args(["--exit-with-stdin", "--json"]);
        for key in [&keys.admin, &keys.policy_authority, &keys.transfer_authority, &keys.payee] {
            start.args(["--fund", &format!("{}={FUNDING_SOL}", key.address)]);
        }
        let mut process = Process::start("the embedded network", start, &folder.file("network.log"))?;
        let facts = serde_json::from_value(process.ready("rpc_url", READY_TIMEOUT, stop)?)?;
        Ok(Self { process, facts, binary: localnet::binary(workspace) })
    }

    /// Whether the chain still holds an earlier run's demo.
    pub fn knows(&self, demo: &Demo) -> bool {
        demo.usdc_mint == self.facts.usdc_mint
            && [&demo.operator.address, &demo.account.solana_address, &demo.payee_token_account]
                .iter()
                .all(|address| self.account_exists(address).unwrap_or(false))
    }

    fn account_exists(&self, address: &str) -> Result<bool> {
        let answer = self
            .call("getAccountInfo", &json!([address, { "encoding": "base64", "commitment": "confirmed" }]))?;
        Ok(!answer["value"].is_null())
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = api::post_json(&self.facts.rpc_url, None, &request)?;
        answer.get("result").cloned().with_context(|| format!("{method} answered {answer}"))
    }

    /// Mints USDC to a token account, or to the token account of a wallet, which is made if it is missing.
    /// Returns the token account.
    pub fn mint(&self, to: &str, amount_usdc: &str) -> Result<String> {
        let mut mint = command(&self.binary);
        mint.args(["mint", "--rpc-url", &self.facts.rpc_url, "--mint", &self.facts.usdc_mint]);
        mint.args(["--to", to, "--amount", amount_usdc, "--json"]);
        let answer: Value = serde_json::from_str(&output_of(&mut mint)?)?;
        answer["token_account"].as_str().map(str::to_owned).with_context(|| format!("mint answered {answer}"))
    }
}
