//! One network, and wallets that run the binary on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use purser_client::OnChainPolicy;
use purser_tests::{Chain, DirectOutcome, TestNetwork, anchor, binaries};
use serde_json::{Value, json};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

pub const AGENT_ID: [u8; 16] = *b"purser-migrate-1";

/// One network, one folder of wallets.
pub struct Room {
    pub network: Arc<TestNetwork>,
    pub chain: Chain,
    pub folder: TempDir,
}

/// A wallet and its file.
pub struct Wallet {
    pub keypair: Keypair,
    pub file: PathBuf,
}

impl Wallet {
    pub fn address(&self) -> String {
        self.keypair.pubkey().to_string()
    }
}

impl Room {
    pub fn new() -> Self {
        let network = TestNetwork::own();
        let chain = network.chain();
        Self { network, chain, folder: tempfile::tempdir().unwrap() }
    }

    pub async fn wallet(&self, name: &str) -> Wallet {
        let wallet = Wallet { keypair: Keypair::new(), file: self.folder.path().join(name) };
        std::fs::write(&wallet.file, json!(wallet.keypair.to_bytes().to_vec()).to_string()).unwrap();
        self.chain.funds(&wallet.keypair.pubkey(), 20).await;
        wallet
    }

    /// Runs a command as it is typed, with `--json`.
    pub fn run(&self, wallet: &Wallet, arguments: &[&str]) -> Output {
        self.command(wallet, &[arguments, &["--json"]].concat()).output().unwrap()
    }

    pub fn command(&self, wallet: &Wallet, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser-migrate"));
        command.args(arguments).args(["--url", &self.network.rpc_url, "--wallet"]).arg(&wallet.file);
        command.current_dir(binaries::workspace());
        command
    }

    /// The answer of a command that must succeed, and may do what it does.
    pub fn done(&self, wallet: &Wallet, arguments: &[&str]) -> Value {
        self.answers(wallet, &[arguments, &["--yes"]].concat(), 0)
    }

    /// What a command would change, without doing it.
    pub fn shown(&self, wallet: &Wallet, arguments: &[&str]) -> Value {
        let shown = self.answers(wallet, arguments, 3);
        assert_eq!(shown["done"], json!(false), "{arguments:?}: {shown}");
        shown
    }

    /// The transaction that a command would send, for somebody else to sign.
    pub fn printed(&self, wallet: &Wallet, arguments: &[&str]) -> Value {
        let printed = self.answers(wallet, &[arguments, &["--unsigned"]].concat(), 0);
        assert_eq!(printed["done"], json!(false), "{arguments:?}: {printed}");
        printed
    }

    pub fn answers(&self, wallet: &Wallet, arguments: &[&str], status: i32) -> Value {
        let output = self.run(wallet, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The error of a command that must fail although it may do what it does: one line.
    pub fn refused(&self, wallet: &Wallet, arguments: &[&str]) -> String {
        self.fails(wallet, &[arguments, &["--yes"]].concat())
    }

    /// The error of a command that must fail as it is typed.
    pub fn fails(&self, wallet: &Wallet, arguments: &[&str]) -> String {
        let output = self.run(wallet, arguments);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {printed}");
        assert!(printed.is_empty(), "{printed}");
        let text = String::from_utf8(output.stderr).unwrap();
        let error = text.lines().last().unwrap_or_default();
        assert!(error.starts_with("error: "), "{text}");
        error.to_string()
    }

    /// Runs a script as it is typed.
    pub fn anchor_runs(&self, wallet: &Wallet, name: &str, arguments: &str) -> Output {
        let migrate = Path::new(env!("CARGO_BIN_EXE_purser-migrate"));
        anchor::run(&self.network.rpc_url, &wallet.file, migrate, name, arguments)
    }

    /// An operator with a transfer authority of its own; `more` goes to `operator create`.
    pub fn creates_operator(&self, admin: &Wallet, policy: &Wallet, more: &[&str]) -> String {
        let transfer = Keypair::new().pubkey().to_string();
        let (policy, mint) = (policy.address(), self.network.usdc_mint.to_string());
        let keys = ["--policy-authority", &policy, "--transfer-authority", &transfer, "--usdc-mint", &mint];
        let at_once = ["--loosening-delay", "0"];
        let delay = if more.contains(&"--loosening-delay") { &[][..] } else { &at_once };
        let created = self.done(admin, &[&["operator", "create"], &keys[..], more, delay].concat());
        created["operator"].as_str().unwrap().to_string()
    }

    /// As the relayer creates one; the policy authority pays its rent.
    pub async fn creates_agent(&self, operator: &str, policy: &Wallet, micros: u64) -> Pubkey {
        let operator: Pubkey = operator.parse().unwrap();
        let program = self.chain.program();
        let authority = policy.keypair.pubkey();
        let create = program.create_agent(
            authority,
            authority,
            authority,
            operator,
            AGENT_ID,
            &OnChainPolicy::default(),
        );
        let landing = self.chain.lands(create, &policy.keypair).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        let agent = program.agent_address(&operator, &AGENT_ID);
        self.chain.sets_usdc(&agent, micros).await;
        agent
    }

    pub fn rpc(&self) -> RpcClient {
        RpcClient::new(self.network.rpc_url.clone())
    }
}

/// The row of a table of changes that is about this.
#[track_caller]
pub fn row<'a>(answer: &'a Value, kind: &str, what: &str) -> (&'a Value, &'a Value) {
    let rows = answer["changes"].as_array().unwrap_or_else(|| panic!("no table in {answer}"));
    let found = rows.iter().find(|row| row["kind"] == json!(kind) && row["what"] == json!(what));
    let found = found.unwrap_or_else(|| panic!("no {kind} {what} in {answer}"));
    (&found["before"], &found["after"])
}
