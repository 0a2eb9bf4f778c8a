//! The embedded network: a process of `purser-localnet`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api;
use super::folder::Folder;
use super::keys::Keys;
use super::process::{Process, output_of};
use super::programs::Programs;

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
    /// Where tests steer the network: see `steer.rs`.
    pub control_url: String,
    pub program_id: String,
    pub usdc_mint: String,
}

/// The ports of websocket and control, after JSON-RPC's; free ones (0) if that is free too.
pub fn next_ports(rpc_port: u16) -> [u16; 2] {
    if rpc_port == 0 { [0, 0] } else { [rpc_port.saturating_add(1), rpc_port.saturating_add(2)] }
}

impl Network {
    pub fn start(
        programs: &Programs,
        folder: &Folder,
        keys: &Keys,
        rpc_port: u16,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let [ws_port, control_port] = next_ports(rpc_port);
        let mut start = Command::new(&programs.localnet);
        start.arg("start").arg("--program-so").arg(&programs.program_so);
        start.arg("--state-dir").arg(folder.file("network"));
        start.args(["--rpc-port", &rpc_port.to_string(), "--ws-port", &ws_port.to_string()]);
        start.args(["--control-port", &control_port.to_string(), "--exit-with-stdin", "--json"]);
        // The approver has none: the service pays for what it signs.
        for key in [&keys.admin, &keys.policy_authority, &keys.transfer_authority, &keys.payee] {
            start.args(["--fund", &format!("{}={FUNDING_SOL}", key.address)]);
        }
        let mut process = Process::start("the embedded network", start, &folder.file("network.log"))?;
        let facts = serde_json::from_value(process.ready("rpc_url", READY_TIMEOUT, stop)?)?;
        Ok(Self { process, facts, binary: programs.localnet.clone() })
    }

    pub fn account_exists(&self, address: &str) -> Result<bool> {
        let params = json!([address, { "encoding": "base64", "commitment": "confirmed" }]);
        let answer = api::call(&self.facts.rpc_url, "getAccountInfo", &params)?;
        Ok(!answer["value"].is_null())
    }

    /// Mints USDC to a token account, or to the token account of a wallet, which is made if it is missing.
    /// Returns the token account.
    pub fn mint(&self, to: &str, amount_usdc: &str) -> Result<String> {
        let mut mint = Command::new(&self.binary);
        mint.args(["mint", "--rpc-url", &self.facts.rpc_url, "--mint", &self.facts.usdc_mint]);
        mint.args(["--to", to, "--amount", amount_usdc, "--json"]);
        let answer: Value = serde_json::from_str(&output_of(&mut mint)?)?;
        answer["token_account"].as_str().map(str::to_owned).with_context(|| format!("mint answered {answer}"))
    }
}
