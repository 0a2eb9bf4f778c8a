//! The configuration of a test's relayer.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::clock::HostClock;
use crate::network::{TestNetwork, path_text};
use crate::postgres::TestDatabase;

/// How a test's relayer differs from the usual one.
#[derive(Clone)]
pub struct AppSettings {
    /// How long POST /v1/transfers waits for settlement.
    pub deadline_seconds: u64,
    /// How long any request may take.
    pub request_timeout_seconds: u64,
    /// When a transfer counts as settled: `confirmed`, or `finalized` as in production.
    pub commitment: &'static str,
    pub requests_per_second: u32,
    pub burst: u32,
    /// Reaches the test network through this address instead of its own.
    pub rpc_url: Option<String>,
    /// With `rpc_url`: the websocket's address, for a test that forwards it too.
    pub ws_url: Option<String>,
    /// A second network, for `live` keys.
    pub live: Option<Arc<TestNetwork>>,
    /// Postgres instead of a SQLite file in the app's folder.
    pub database: Option<Arc<TestDatabase>>,
    /// Reaches the database at this address instead: through a line that can be cut, or on another disk.
    pub database_url: Option<String>,
    /// Panics at this point when it is reached for the nth time, `NAME:N`.
    pub panic_at: Option<&'static str>,
    pub webhooks: Webhooks,
    /// `Some`: refusals are signed, and a head goes on the chain every this many seconds, or never for 0. `None`: not signed.
    pub denials: Option<u64>,
    /// The build has no extensions; `denials` must be `None` then.
    pub without_extensions: bool,
    /// How often the indexer looks for deposits.
    pub indexer_interval_ms: u64,
    /// How many transfers of an account may be pending.
    pub pending_per_account: u32,
    /// The clock of the relayer's host, for a test that moves it.
    pub host_clock: Option<HostClock>,
    /// More environment variables for `purser serve`; `PURSER_TEST_FILES` limits how many files it may open.
    pub environment: Vec<(&'static str, String)>,
    /// Further lines of `[server]`.
    pub server: &'static str,
    /// Further sections.
    pub sections: &'static str,
    /// Adds a second policy key and a second transfer key.
    pub second_keys: bool,
    /// The most accounts of an operator, and the most allowlist entries in all of them; `None` for the defaults.
    pub quotas: Option<(u64, u64)>,
}

/// Which addresses webhooks may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Webhooks {
    /// No webhooks: there is no key to seal their secrets with.
    NotConfigured,
    /// Public addresses only, as in production.
    Public,
    /// This machine too.
    ToThisMachine,
    /// This machine too, with another key to seal their secrets with.
    WithAnotherKey,
}

impl Default for AppSettings {
    fn default() -> AppSettings {
        AppSettings {
            deadline_seconds: 30,
            request_timeout_seconds: 60,
            commitment: "confirmed",
            requests_per_second: 10_000,
            burst: 10_000,
            rpc_url: None,
            ws_url: None,
            live: None,
            database: None,
            database_url: None,
            panic_at: None,
            webhooks: Webhooks::ToThisMachine,
            // A wallet whose lamports other tests count would pay for heads.
            denials: Some(0),
            without_extensions: false,
            indexer_interval_ms: 1_000,
            pending_per_account: 500,
            host_clock: None,
            environment: Vec::new(),
            server: "",
            sections: "",
            second_keys: false,
            quotas: None,
        }
    }
}

impl AppSettings {
    /// The configuration file of a relayer whose keypairs and database are in `folder`.
    pub(crate) fn config_text(&self, folder: &Path, networks: &[(&'static str, Arc<TestNetwork>)]) -> String {
        let folder = path_text(folder);
        let sqlite = || format!("sqlite://{folder}/purser.db");
        let own = || self.database.as_ref().map_or_else(sqlite, |database| database.url());
        let database_url = self.database_url.clone().unwrap_or_else(own);
        let mut text = format!(
            r#"[server]
listen = "127.0.0.1:0"
request_timeout_seconds = {}
{}
[database]
url = "{database_url}"
[transfers]
deadline_seconds = {}
pending_per_account = {}
refusals_per_account_daily = 1000000
refusals_per_operator_daily = 1000000
[rate_limit]
requests_per_second = {}
burst = {}
reads_per_second = 1000000
"#,
            self.request_timeout_seconds,
            self.server,
            self.deadline_seconds,
            self.pending_per_account,
            self.requests_per_second,
            self.burst
        );
        writeln!(text, "[indexer]\ninterval_ms = {}", self.indexer_interval_ms)
            .expect("writing to a string succeeds");
        let key = if self.webhooks == Webhooks::WithAnotherKey { "6f" } else { "5e" };
        if let Some((accounts, entries)) = self.quotas {
            let quotas = format!(
                "[quotas]\naccounts_per_operator = {accounts}\nallowlist_entries_per_operator = {entries}\n"
            );
            text.push_str(&quotas);
        }
        if self.webhooks != Webhooks::NotConfigured {
            writeln!(text, "[webhooks]\nsecret_key = \"{}\"", key.repeat(32))
                .expect("writing to a string succeeds");
        }
        if [Webhooks::ToThisMachine, Webhooks::WithAnotherKey].contains(&self.webhooks) {
            text.push_str("allow_http = true\nports = []\nopen_ranges = [\"127.0.0.0/8\"]\n");
        }
        if let Some(seconds) = self.denials {
            writeln!(
                text,
                "[denials]\nkeypair = \"{folder}/denials-key.json\"\nhead_interval_seconds = {seconds}"
            )
            .expect("writing to a string succeeds");
        }
        writeln!(text, "{}", self.sections).expect("writing to a string succeeds");
        for (name, network) in networks {
            let other = self.rpc_url.as_ref().filter(|_| *name == "test");
            let rpc_url = other.unwrap_or(&network.rpc_url);
            // Another address carries only JSON-RPC, so that cutting it cuts everything.
            let ws_url = if other.is_some() { self.ws_url.as_ref() } else { Some(&network.ws_url) };
            let ws_url = ws_url.map_or(String::new(), |url| format!("ws_url = \"{url}\""));
            let files = |name: &str| {
                let file = format!("\"{folder}/{name}.json\"");
                if self.second_keys { format!("[{file}, \"{folder}/{name}-2.json\"]") } else { file }
            };
            let (policy, transfer) = (files("policy-authority"), files("transfer-authority"));
            write!(
                text,
                r#"[networks.{name}]
rpc_url = "{rpc_url}"
{ws_url}
program_id = "{}"
usdc_mint = "{}"
policy_authority_keypair = {policy}
transfer_authority_keypair = {transfer}
commitment = "{}"
shortest_slot_ms = {}
explorer_url = "https://explorer.example/{name}/{{signature}}"
"#,
                network.program_id, network.usdc_mint, self.commitment, network.slot_ms
            )
            .expect("writing to a string succeeds");
        }
        text
    }
}
