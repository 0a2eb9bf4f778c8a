//! A shop and its facilitator, as a Node process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use purser_tests::process::Process;
use purser_tests::{Chain, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use tempfile::TempDir;
use tokio::process::Command;

const SHOP: &str = include_str!("shop.mjs");
const BUYER: &str = include_str!("buyer.mjs");
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A shop that sells a report.
pub struct Shop {
    _process: Process,
    _folder: TempDir,
    pub url: String,
}

/// The folder with Node's packages; `None`, with a note on standard error, if there is none.
pub fn packages() -> Option<PathBuf> {
    let modules = std::env::var_os("PURSER_NODE_MODULES").map(PathBuf::from);
    let found = modules.filter(|modules| modules.join("@x402/svm").is_dir());
    if found.is_none() {
        eprintln!("PURSER_NODE_MODULES names no folder with @x402/svm: nobody to trade with by x402");
    }
    found.and_then(|modules| modules.parent().map(Path::to_path_buf))
}

impl Shop {
    /// Opens a shop that is paid `micros` to the USDC account of `pay_to`. Its facilitator pays the fees, of which it asks the network. With `smart_wallets`
    /// the facilitator lists the program, and the shop may ask for its own memo; without it, the shop accepts only payments of
    /// plain wallets.
    pub async fn opens(
        packages: &Path,
        network: &TestNetwork,
        pay_to: &Pubkey,
        micros: u64,
        smart_wallets: Option<Option<&str>>,
    ) -> Shop {
        let folder = purser_tests::network::temp_folder();
        let mut settings = json!({
            "rpc_url": network.rpc_url,
            "usdc_mint": network.usdc_mint.to_string(),
            "pay_to": pay_to.to_string(),
            "amount": micros.to_string(),
        });
        if let Some(memo) = smart_wallets {
            settings["program"] = json!(network.program_id.to_string());
            settings["memo"] = json!(memo);
        }
        let start = "cd \"$1\" && exec node --input-type=module -e \"$2\"";
        let packages = packages.to_str().expect("a folder of packages has a UTF-8 name");
        let process = Process::start_with(
            Path::new("sh"),
            &["-c", start, "sh", packages, SHOP],
            &[("SHOP", settings.to_string())],
            &folder.path().join("shop.log"),
            None,
        );
        let ready = process.says("port", READY_WITHIN);
        let url = format!("http://127.0.0.1:{}/report", ready["port"]);
        Shop { _process: process, _folder: folder, url }
    }
}

/// Has a stock client buy at `url` from `wallet`; returns the status, the body and the receipt.
pub async fn buys(packages: &Path, rpc_url: &str, wallet: &Keypair, url: &str) -> Value {
    let settings = json!({ "rpc_url": rpc_url, "wallet": wallet.to_bytes().to_vec(), "url": url });
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", BUYER]).current_dir(packages).kill_on_drop(true);
    let output = node.env("BUYER", settings.to_string()).output().await.expect("node starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("the client said nothing: {complaint}"))
}

/// A payee's balance, read from the chain.
pub async fn holds(chain: &Chain, owner: &Pubkey) -> u64 {
    chain.usdc_micros(&chain.usdc_account_of(owner)).await
}
