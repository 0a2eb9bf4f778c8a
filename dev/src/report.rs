//! What is printed once everything is ready.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::demo::{Demo, MAX_DAILY_SPEND_USDC, MAX_SINGLE_TRANSFER_USDC};
use super::folder::{Folder, READY};
use super::network::Network;

#[derive(Debug, Serialize, Deserialize)]
pub struct Ready {
    pub base_url: String,
    mcp_url: String,
    dashboard_url: String,
    pub rpc_url: String,
    ws_url: String,
    /// Where tests steer the network: see `steer.rs`.
    pub control_url: String,
    program_id: String,
    usdc_mint: String,
    operator_id: String,
    operator_address: String,
    pub operator_key: String,
    pub account_id: String,
    pub agent_key: String,
    solana_address: String,
    usdc_token_account: String,
    pub payee_token_account: String,
    state_dir: PathBuf,
    /// Example commands, by what they show.
    curl: Curl,
}

#[derive(Debug, Serialize, Deserialize)]
struct Curl {
    transfer: String,
    refused: String,
    limits: String,
    pause: String,
    unpause: String,
    mcp: String,
}

impl Ready {
    pub fn new(base_url: &str, network: &Network, demo: &Demo, folder: &Folder) -> Self {
        Self {
            base_url: base_url.to_owned(),
            mcp_url: beside(base_url, "/mcp"),
            dashboard_url: beside(base_url, "/dashboard"),
            rpc_url: network.facts.rpc_url.clone(),
            ws_url: network.facts.ws_url.clone(),
            control_url: network.facts.control_url.clone(),
            program_id: network.facts.program_id.clone(),
            usdc_mint: demo.usdc_mint.clone(),
            operator_id: demo.operator.operator_id.clone(),
            operator_address: demo.operator.address.clone(),
            operator_key: demo.operator.key.clone(),
            account_id: demo.account.account_id.clone(),
            agent_key: demo.agent_key.clone(),
            solana_address: demo.account.solana_address.clone(),
            usdc_token_account: demo.account.usdc_token_account.clone(),
            payee_token_account: demo.payee_token_account.clone(),
            state_dir: folder.path().to_path_buf(),
            curl: Curl::new(base_url, demo),
        }
    }

    /// What the last run in the folder `path` had ready.
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.join(READY);
        let text = fs::read_to_string(&file).with_context(|| {
            format!("`purser dev` has not run on {}; start it, or name its --dir", path.display())
        })?;
        serde_json::from_str(&text).with_context(|| format!("{} is of another version", file.display()))
    }

    /// Writes everything that is ready: as shell variables, for `source`, and as JSON.
    pub fn write(&self, folder: &Folder, programs: &Path) -> Result<()> {
        folder.write_secret("env", &self.shell_variables(programs))?;
        folder.write_secret(READY, &(serde_json::to_string(self)? + "\n")).map(drop)
    }

    /// `export` lines for a shell, which then finds `purser` in `programs`.
    fn shell_variables(&self, programs: &Path) -> String {
        let variables = [
            ("PURSER_URL", &self.base_url),
            ("PURSER_MCP_URL", &self.mcp_url),
            ("PURSER_OPERATOR_KEY", &self.operator_key),
            ("PURSER_AGENT_KEY", &self.agent_key),
            ("PURSER_OPERATOR", &self.operator_address),
            ("PURSER_ACCOUNT", &self.account_id),
            ("PURSER_PAYEE", &self.payee_token_account),
            ("PURSER_RPC_URL", &self.rpc_url),
            ("PURSER_CONTROL_URL", &self.control_url),
            ("PURSER_USDC_MINT", &self.usdc_mint),
            ("PURSER_PROGRAM", &self.program_id),
        ]
        .map(|(name, value)| format!("export {name}='{value}'\n"))
        .concat();
        format!("{variables}export PATH='{}':\"$PATH\"\n", programs.display())
    }
}

/// A path beside REST's version segment.
fn beside(base_url: &str, path: &str) -> String {
    format!("{}{path}", base_url.trim_end_matches("/v1"))
}

impl Curl {
    fn new(base_url: &str, demo: &Demo) -> Self {
        // Each start uses new idempotency keys, so that the printed transfer is a new one and not a replay.
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let account_id = &demo.account.account_id;
        let agent = format!("-H 'Authorization: Bearer {}'", demo.agent_key);
        let operator = format!("-H 'Authorization: Bearer {}'", demo.operator.key);
        let json = "-H 'Content-Type: application/json'";
        let transfer = |amount: &str, key: &str| {
            format!(
                "curl -sS {base_url}/transfers {agent} {json} -d '{{\"from\":\"{account_id}\",\"to\":\"{payee}\",\
                 \"amount\":\"{amount}\",\"memo\":\"coffee\",\"idempotency_key\":\"{key}-{started}\"}}'",
                payee = demo.payee_token_account,
            )
        };
        let policy = |body: &str| {
            format!("curl -sS -X PUT {base_url}/accounts/{account_id}/policy {operator} {json} -d '{body}'")
        };
        Self {
            transfer: transfer("1.50", "first"),
            refused: transfer("30", "too-much"),
            limits: format!("curl -sS {base_url}/accounts/{account_id}/limits {agent}"),
            pause: policy("{\"paused\":true}"),
            unpause: policy("{\"paused\":false}"),
            mcp: format!(
                "curl -sS {mcp} {agent} {json} -H 'Accept: application/json, text/event-stream' -d \
                 '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"get_limits\",\"arguments\":{{}}}}}}'",
                mcp = beside(base_url, "/mcp")
            ),
        }
    }
}

impl Display for Ready {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Purser is ready. The network is local; its USDC is play money.\n")?;
        for (name, value) in [
            ("base URL", &self.base_url),
            ("MCP", &self.mcp_url),
            ("dashboard", &self.dashboard_url),
            ("operator key", &self.operator_key),
            ("agent key", &self.agent_key),
            ("agent account", &self.account_id),
            ("  on chain", &self.solana_address),
            ("  USDC account", &self.usdc_token_account),
            ("payee", &self.payee_token_account),
            ("operator", &self.operator_address),
            ("program", &self.program_id),
            ("USDC mint", &self.usdc_mint),
            ("JSON-RPC", &self.rpc_url),
            ("control", &self.control_url),
        ] {
            writeln!(f, "  {name:<15} {value}")?;
        }
        writeln!(
            f,
            "  {:<15} {} (the values above as shell variables: source {})",
            "state",
            self.state_dir.display(),
            self.state_dir.join("env").display()
        )?;
        for (what, line) in [
            ("A transfer that settles", &self.curl.transfer),
            (
                &*format!("One that policy refuses (at most {MAX_SINGLE_TRANSFER_USDC} USDC at once)"),
                &self.curl.refused,
            ),
            (&*format!("What is left of {MAX_DAILY_SPEND_USDC} USDC in 24 hours"), &self.curl.limits),
            ("Stop everything this agent sends", &self.curl.pause),
            ("And let it send again", &self.curl.unpause),
            ("The same limits over MCP (docs/build/mcp.md connects agents)", &self.curl.mcp),
        ] {
            write!(f, "\n# {what}\n{line}\n")?;
        }
        write!(f, "\nCtrl-C stops it.")
    }
}
