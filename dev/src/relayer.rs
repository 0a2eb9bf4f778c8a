//! The relayer: its configuration, its commands, its process.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::demo::Operator;
use super::folder::Folder;
use super::keys::Keys;
use super::network::Network;
use super::process::{Process, output_of};
use super::programs::Programs;

const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// What the demo's approver may let pass.
const MAX_GRANT_USDC: &str = "50";
const MAX_GRANTS_DAILY_USDC: &str = "200";

pub struct Relayer {
    binary: PathBuf,
    config: PathBuf,
    log: PathBuf,
    admin_keypair: PathBuf,
    approver: String,
}

impl Relayer {
    /// Writes the configuration for this start (ports change between starts) and brings the database up to date.
    pub fn prepare(
        programs: &Programs,
        folder: &Folder,
        network: &Network,
        keys: &Keys,
        port: u16,
    ) -> Result<Self> {
        let config = folder.write_secret("purser.toml", &config(folder, network, keys, port))?;
        let relayer = Self {
            binary: programs.purser.clone(),
            config,
            log: folder.file("relayer.log"),
            admin_keypair: keys.admin.path.clone(),
            approver: keys.approver.address.clone(),
        };
        output_of(&mut relayer.command(&["migrate"]))?;
        Ok(relayer)
    }

    /// Creates the operator on chain and in the database, with an approver and a key for the REST interface.
    pub fn create_operator(&self) -> Result<Operator> {
        #[derive(Deserialize)]
        struct Created {
            operator_id: String,
            address: String,
        }
        #[derive(Deserialize)]
        struct CreatedKey {
            key: String,
        }

        let mut create =
            self.command(&["operator", "create", "--network", "test", "--name", "demo", "--json"]);
        create.arg("--admin-keypair").arg(&self.admin_keypair).args(["--loosening-delay", "0"]);
        let created: Created = parse(&output_of(&mut create)?)?;
        let mut approver = self.command(&["operator", "approver", "--operator", &created.address, "--json"]);
        approver.arg("--admin-keypair").arg(&self.admin_keypair).args(["--key", &self.approver]);
        approver.args(["--max-grant", MAX_GRANT_USDC, "--max-daily", MAX_GRANTS_DAILY_USDC]);
        output_of(&mut approver)?;
        let mut key = self.command(&["key", "create", "--json", "--operator", &created.operator_id]);
        let key: CreatedKey = parse(&output_of(&mut key)?)?;
        Ok(Operator { operator_id: created.operator_id, address: created.address, key: key.key })
    }

    /// Starts the service; returns its base URL, version segment included.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(String, Process)> {
        let mut process = Process::start("the relayer", self.command(&["serve"]), &self.log)?;
        let ready = process.ready("listening", READY_TIMEOUT, stop)?;
        let origin = ready["listening"].as_str().context("the relayer named no address")?;
        Ok((format!("{origin}/v1"), process))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut relayer = Command::new(&self.binary);
        relayer.args(arguments).arg("--config").arg(&self.config);
        relayer
    }
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("unexpected answer: {text}"))
}

fn config(folder: &Folder, network: &Network, keys: &Keys, port: u16) -> String {
    let rpc_url = &network.facts.rpc_url;
    let explorer_rpc_url = rpc_url.replace(':', "%3A").replace('/', "%2F");
    // For plain strings and paths, JSON text is valid TOML.
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let path = |name: &std::path::Path| text(&name.to_string_lossy());
    format!(
        "# Written by `purser dev` at every start.\n\
         [server]\n\
         listen = \"127.0.0.1:{port}\"\n\
         public_url = {public_url}\n\n\
         [database]\n\
         url = {database}\n\n\
         # Webhooks to receivers on this machine; in production, public https alone.\n\
         [webhooks]\n\
         secret_key_file = {webhook_key}\n\
         allow_http = true\n\
         ports = []\n\
         open_ranges = [\"127.0.0.0/8\", \"::1/128\"]\n\n\
         [networks.test]\n\
         rpc_url = {rpc}\n\
         ws_url = {ws}\n\
         program_id = {program_id}\n\
         usdc_mint = {usdc_mint}\n\
         policy_authority_keypair = {policy_authority}\n\
         transfer_authority_keypair = {transfer_authority}\n\
         # One node, no forks: what is confirmed here stays. On a real network the default is finalized.\n\
         commitment = \"confirmed\"\n\
         explorer_url = {explorer}\n",
        // With any free port it is not known yet; `purser dev approve` asks by the path alone.
        public_url =
            text(&if port == 0 { "http://127.0.0.1".to_owned() } else { format!("http://127.0.0.1:{port}") }),
        database = text(&format!("sqlite://{}", folder.file("purser.db").display())),
        rpc = text(rpc_url),
        ws = text(&network.facts.ws_url),
        program_id = text(&network.facts.program_id),
        usdc_mint = text(&network.facts.usdc_mint),
        webhook_key = path(&keys.webhook_key),
        policy_authority = path(&keys.policy_authority.path),
        transfer_authority = path(&keys.transfer_authority.path),
        explorer = text(&format!(
            "https://explorer.solana.com/tx/{{signature}}?cluster=custom&customUrl={explorer_rpc_url}"
        )),
    )
}
