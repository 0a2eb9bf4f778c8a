//! `purser init`: makes a folder with everything that `purser serve` needs, and says what is left to do.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};

use super::keygen;
use super::output::{Format, print_line, shell_word};
use purser_base::secret_file;
use purser_chain::{FileSigner, Signer};
use purser_model::{Address, Network};
use purser_relayer::config::{Config, Sections};
use purser_service::SystemClock;

/// Circle's USDC, on devnet and on mainnet.
pub(super) const DEVNET_USDC: &str = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
const MAINNET_USDC: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";

const CONFIG: &str = "purser.toml";
const POLICY: &str = "policy-authority.json";
const TRANSFER: &str = "transfer-authority.json";
const ADMIN: &str = "admin.json";
const WEBHOOK_KEY: &str = "webhook-key";
const DENIALS: &str = "denials-key.json";

#[derive(Debug, Args)]
pub(super) struct Init {
    /// The folder to make; what is in it already is kept, but for a purser.toml, which is an error
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// `test` (devnet, or a network of your own) or `live` (mainnet)
    #[arg(long)]
    network: Network,
    /// JSON-RPC of a Solana node; without it, the public one, which limits calls
    #[arg(long, value_name = "URL")]
    rpc_url: Option<String>,
    /// Websocket of that node; without it, the public one, or none with --rpc-url
    #[arg(long, value_name = "URL")]
    ws_url: Option<String>,
    /// The mint of USDC, where it is not Circle's
    #[arg(long, value_name = "ADDRESS")]
    usdc_mint: Option<Address>,
    /// Where the Purser program is deployed, if not at its own address
    #[arg(long, value_name = "ADDRESS")]
    program_id: Option<Address>,
    /// `postgres://user:password@host/database`; without it, a SQLite file in the folder
    #[arg(long, value_name = "URL", env = "PURSER__DATABASE__URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Where the REST interface is served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Where /metrics, /readyz and /healthz are served to you alone
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    admin_listen: String,
    /// Address of a key that may halt every account and drop a policy that waits, held by neither the admin nor this server; or
    /// `none`
    #[arg(long, value_name = "ADDRESS|none")]
    guardian: GuardianChoice,
    /// Make an operator's admin key too: you hold it for them, and `purser operator create` uses it. Without it an operator's own
    /// wallet creates the operator, and you add it
    #[arg(long)]
    managed: bool,
}

/// The guardian of the operator that is about to be made. Whoever does without says so.
#[derive(Debug, Clone, Copy)]
pub(super) enum GuardianChoice {
    Nobody,
    Key(Address),
}

impl GuardianChoice {
    pub fn key(self) -> Option<Address> {
        match self {
            Self::Nobody => None,
            Self::Key(address) => Some(address),
        }
    }
}

impl FromStr for GuardianChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::Nobody);
        }
        let address = text.parse();
        address.map(Self::Key).map_err(|_| "must be an address in base58, or `none`")
    }
}

/// What was made.
struct Made {
    folder: PathBuf,
    network: Network,
    policy: Address,
    transfer: Address,
    admin: Option<Address>,
    guardian: GuardianChoice,
    denials: Option<Address>,
}

pub(super) fn run<S: Sections>(format: Format, arguments: &Init) -> Result<()> {
    let folder = &arguments.folder;
    secret_file::make_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    let config = folder.join(CONFIG);
    if config.exists() {
        bail!("{} is there already; nothing was written", config.display());
    }
    let signs_refusals = S::NAMES.contains(&"denials");
    let text = config_text(arguments, &folder, signs_refusals);
    // Before anything is made, so that a wrong argument is reported as one.
    Config::parse::<S>(&text)?;
    let policy = find_or_make_key(&folder, POLICY)?;
    let transfer = find_or_make_key(&folder, TRANSFER)?;
    let admin = arguments.managed.then(|| find_or_make_key(&folder, ADMIN)).transpose()?;
    let denials = signs_refusals.then(|| find_or_make_key(&folder, DENIALS)).transpose()?;
    make_webhook_key(&folder.join(WEBHOOK_KEY))?;
    secret_file::write_new(&config, text.as_bytes())
        .with_context(|| format!("cannot make {}", config.display()))?;
    let made = Made {
        folder,
        network: arguments.network,
        policy,
        transfer,
        admin,
        guardian: arguments.guardian,
        denials,
    };
    match format {
        Format::Json => print_line(&made.json().to_string()),
        Format::Text => print_line(made.text().trim_end()),
        Format::Env => made.print_variables(),
    }
}

/// The address of an existing key, or of a new one.
fn find_or_make_key(folder: &Path, name: &str) -> Result<Address> {
    let file = folder.join(name);
    if file.exists() {
        let signer = FileSigner::from_file(name.trim_end_matches(".json"), &file)?;
        return Ok(Address::from_bytes(signer.public_key()));
    }
    keygen::write(&file)
}

fn make_webhook_key(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    (SystemClock::SYSTEM.fill_random)(&mut *bytes);
    let text = zeroize::Zeroizing::new(STANDARD.encode(*bytes));
    secret_file::write_new(file, text.as_bytes()).with_context(|| format!("cannot make {}", file.display()))
}

/// A TOML string. For these values it is the same as JSON's.
fn quoted(text: impl ToString) -> String {
    Value::String(text.to_string()).to_string()
}

fn config_text(arguments: &Init, folder: &Path, signs_refusals: bool) -> String {
    let (cluster, usdc) = match arguments.network {
        Network::Test => ("api.devnet.solana.com", DEVNET_USDC),
        Network::Live => ("api.mainnet-beta.solana.com", MAINNET_USDC),
    };
    let file = |name: &str| quoted(folder.join(name).display());
    let rpc_url = arguments.rpc_url.clone().unwrap_or_else(|| format!("https://{cluster}"));
    let public_ws = || arguments.rpc_url.is_none().then(|| format!("wss://{cluster}"));
    let ws_url = match arguments.ws_url.clone().or_else(public_ws) {
        Some(url) => format!("ws_url = {}", quoted(url)),
        None => {
            "# ws_url = \"wss://...\"       # settlement at once; without it, the relayer polls".to_owned()
        }
    };
    let usdc_mint = arguments.usdc_mint.map_or_else(|| usdc.to_owned(), |mint| mint.to_string());
    let program_id = match &arguments.program_id {
        Some(id) => format!("program_id = {}", quoted(id)),
        None => "# program_id = \"...\"         # default: the id the program was built with".to_owned(),
    };
    let sqlite = || format!("sqlite://{}", folder.join("purser.db").display());
    let database = arguments.database_url.clone().unwrap_or_else(sqlite);
    format!(
        r#"# Written by `purser init`. Every value can be given as PURSER__SECTION__KEY in the environment, which wins over this file;
# docs/run/configuration.md has all settings. `purser doctor` checks them.

[server]
listen = {listen}             # put a TLS proxy in front
admin_listen = {admin_listen}       # /metrics, /readyz, /healthz: for you alone, no key is asked for

[database]
url = {database}

[networks.{network}]
rpc_url = {rpc_url}
{ws_url}
# rpc_urls = ["https://..."]   # further nodes: asked when this one does not serve, and a second one confirms landings
usdc_mint = {usdc_mint}
{program_id}
policy_authority_keypair = {policy}
transfer_authority_keypair = {transfer}
commitment = "finalized"       # or "confirmed": seconds sooner, and very rarely undone
program_check = "warn"         # "refuse": do not start where the program on chain is not the committed build

[webhooks]
secret_key_file = {webhook_key}   # seals the secrets of webhooks: keep a copy apart from the database
{denials}
[retention]
refusals_days = 90             # refused transfers and their entries; what moved money stays, and so do signed refusals
sign_ins_days = 90             # sign-ins to the dashboard and sign-outs; records of changes stay
"#,
        listen = quoted(&arguments.listen),
        admin_listen = quoted(&arguments.admin_listen),
        database = quoted(database),
        network = arguments.network,
        rpc_url = quoted(rpc_url),
        usdc_mint = quoted(usdc_mint),
        policy = file(POLICY),
        transfer = file(TRANSFER),
        webhook_key = file(WEBHOOK_KEY),
        denials = if signs_refusals {
            format!(
                "\n[denials]\nkeypair = {}   # signs refusals, and nothing else: keep a copy\n",
                file(DENIALS)
            )
        } else {
            String::new()
        },
    )
}

impl Made {
    fn config(&self) -> String {
        self.folder.join(CONFIG).display().to_string()
    }

    /// Whom to send SOL, how much to begin with, and what for.
    fn to_fund(&self) -> Vec<(&'static str, Address, &'static str, &'static str)> {
        let admin = self.admin.map(|admin| ("admin", admin, "0.02", "the operator's account, once"));
        let ours = [
            (
                "policy authority",
                self.policy,
                "0.1",
                "0.009 for each account, which comes back when it is closed",
            ),
            ("transfer authority", self.transfer, "0.1", "0.000005 for each transfer"),
        ];
        ours.into_iter().chain(admin).collect()
    }

    fn next(&self) -> Vec<String> {
        let (config, network) = (self.config(), self.network);
        let mut steps = vec![format!("purser migrate --config {config}")];
        let guardian = match self.guardian {
            GuardianChoice::Nobody => String::new(),
            GuardianChoice::Key(address) => format!(" --guardian {address}"),
        };
        if self.admin.is_some() {
            let admin = self.folder.join(ADMIN);
            steps.push(format!(
                "purser operator create --config {config} --network {network} --name Example --admin-keypair {} \
                 --loosening-delay 1d{guardian}",
                admin.display()
            ));
            steps.push(format!("mv {} ELSEWHERE", admin.display()));
        } else {
            steps.push(format!(
                "anchor run operator-create -- --policy-authority {} --transfer-authority {} --usdc-mint USDC_MINT \
                 --loosening-delay 1d{guardian} --yes",
                self.policy, self.transfer
            ));
            steps.push(format!("purser operator add --config {config} --address OPERATOR"));
        }
        steps.push(format!("purser key create --config {config} --operator OPERATOR_ID"));
        steps.push(format!("purser doctor --config {config}"));
        steps.push(format!("purser serve --config {config}"));
        steps
    }

    fn json(&self) -> Value {
        let fund = self.to_fund().into_iter().map(|(role, address, sol, what_for)| {
            json!({ "role": role, "address": address.to_string(), "sol": sol, "for": what_for })
        });
        json!({
            "folder": self.folder.display().to_string(),
            "config": self.config(),
            "fund": fund.collect::<Value>(),
            "denials_key": self.denials.map(|key| key.to_string()),
            "next": self.next(),
        })
    }

    fn print_variables(&self) -> Result<()> {
        print_line(&format!("PURSER_CONFIG={}", shell_word(&self.config())))?;
        for (role, address, ..) in self.to_fund() {
            let role = role.to_uppercase().replace([' ', '-'], "_");
            print_line(&format!("{role}={}", shell_word(&address.to_string())))?;
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = format!(
            "Made {}. Its keys are nowhere else: keep a copy.\n\nSend SOL to\n",
            self.folder.display()
        );
        for (role, address, sol, what_for) in self.to_fund() {
            let _ = writeln!(text, "  {role:<18}  {address:<44}  {sol:<4}  {what_for}");
        }
        if let Some(key) = self.denials {
            let _ = writeln!(text, "\nRefusals are signed by {key}: tell auditors. It needs no SOL.");
        }
        let _ = writeln!(text, "\nThen\n");
        for (number, step) in self.next().iter().enumerate() {
            let who = if step.starts_with("anchor") {
                "   # from the operator's own wallet, the admin"
            } else if step.starts_with("mv") {
                "   # a machine that serves nothing: this key can withdraw everything"
            } else {
                ""
            };
            let _ = writeln!(text, "  {}. {step}{who}", number + 1);
        }
        text
    }
}
