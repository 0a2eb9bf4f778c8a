//! The binary against a real network process: what an operator does with its own wallet.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use anchor_lang::{InstructionData, ToAccountMetas};
use purser_tests::{Chain, Landing, TestNetwork, binaries};
use serde_json::{Value, json};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_api::request::RpcRequest;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

const AGENT_ID: [u8; 16] = *b"purser-migrate-1";

/// One network, one folder of wallets.
struct Room {
    network: Arc<TestNetwork>,
    chain: Chain,
    folder: TempDir,
}

/// A wallet and its file.
struct Wallet {
    keypair: Keypair,
    file: PathBuf,
}

impl Room {
    fn new() -> Self {
        let network = TestNetwork::own();
        let chain = network.chain();
        Self { network, chain, folder: tempfile::tempdir().unwrap() }
    }

    async fn wallet(&self, name: &str) -> Wallet {
        let wallet = Wallet { keypair: Keypair::new(), file: self.folder.path().join(name) };
        std::fs::write(&wallet.file, json!(wallet.keypair.to_bytes().to_vec()).to_string()).unwrap();
        self.chain.funds(&wallet.keypair.pubkey(), 20).await;
        wallet
    }

    fn run(&self, wallet: &Wallet, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_purser-migrate"))
            .args(arguments)
            .args(["--json", "--url", &self.network.rpc_url, "--wallet"])
            .arg(&wallet.file)
            .current_dir(binaries::workspace())
            .output()
            .unwrap()
    }

    fn done(&self, wallet: &Wallet, arguments: &[&str]) -> Value {
        let output = self.run(wallet, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The error of a command that must fail: one line.
    fn refused(&self, wallet: &Wallet, arguments: &[&str]) -> String {
        let output = self.run(wallet, arguments);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        let error = text.lines().last().unwrap_or_default();
        assert!(error.starts_with("error: "), "{text}");
        error.to_string()
    }

    async fn creates_operator(&self, admin: &Wallet, policy: &Wallet) -> String {
        let created = self.done(
            admin,
            &[
                "operator",
                "create",
                "--policy-authority",
                &policy.address(),
                "--transfer-authority",
                &Keypair::new().pubkey().to_string(),
                "--usdc-mint",
                &self.network.usdc_mint.to_string(),
            ],
        );
        created["operator"].as_str().unwrap().to_string()
    }

    /// As the relayer creates one.
    async fn creates_agent(&self, operator: &str, policy: &Wallet, micros: u64) -> Pubkey {
        let operator: Pubkey = operator.parse().unwrap();
        let agent = Pubkey::find_program_address(&[b"agent", operator.as_ref(), &AGENT_ID], &purser::ID).0;
        let accounts = purser::accounts::CreateAgent {
            authority: policy.keypair.pubkey(),
            operator,
            agent,
            token_account: self.chain.usdc_account_of(&agent),
            usdc_mint: self.network.usdc_mint,
            token_program: anchor_spl::token::ID,
            associated_token_program: anchor_spl::associated_token::ID,
            system_program: anchor_lang::system_program::ID,
        };
        let create = Instruction {
            program_id: purser::ID,
            accounts: accounts.to_account_metas(None),
            data: purser::instruction::CreateAgent { agent_id: AGENT_ID }.data(),
        };
        let landing = self.chain.lands(create, &policy.keypair).await;
        assert!(matches!(landing, Landing::Settled(_)), "{landing:?}");
        self.chain.sets_usdc(&agent, micros).await;
        agent
    }
}

impl Wallet {
    fn address(&self) -> String {
        self.keypair.pubkey().to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_is_created_once_and_its_keys_change_hands() {
    let room = Room::new();
    let (admin, policy, next) =
        (room.wallet("admin").await, room.wallet("policy").await, room.wallet("next").await);
    let operator = room.creates_operator(&admin, &policy).await;
    let shown = room.done(&admin, &["operator", "show"]);
    assert_eq!(shown["operator"], json!(operator));
    assert_eq!(
        (&shown["admin"], &shown["guardian"], &shown["paused"]),
        (&json!(admin.address()), &Value::Null, &json!(false))
    );

    let other_keys = [
        "operator",
        "create",
        "--policy-authority",
        &next.address(),
        "--transfer-authority",
        &policy.address(),
        "--usdc-mint",
        &room.network.usdc_mint.to_string(),
    ]
    .map(str::to_string);
    let other_keys: Vec<&str> = other_keys.iter().map(String::as_str).collect();
    assert!(room.refused(&admin, &other_keys).contains("exists with other keys"));

    let guardian = Keypair::new().pubkey().to_string();
    let updated = room
        .done(&admin, &["operator", "update", "--guardian", &guardian, "--pending-admin", &next.address()]);
    assert_eq!((&updated["guardian"], &updated["pending_admin"]), (&json!(guardian), &json!(next.address())));
    assert!(
        room.refused(&policy, &["operator", "accept-admin", "--operator", &operator]).contains("not offered")
    );
    let handed = room.done(&next, &["operator", "accept-admin", "--operator", &operator]);
    assert_eq!((&handed["admin"], &handed["pending_admin"]), (&json!(next.address()), &Value::Null));
    let refused = room.refused(&admin, &["operator", "update", "--guardian", "none"]);
    assert!(refused.contains(&format!("the wallet {} signed", admin.address())), "{refused}");

    assert_eq!(room.done(&policy, &["operator", "pause", "--operator", &operator])["paused"], json!(true));
    assert_eq!(room.done(&policy, &["operator", "resume", "--operator", &operator])["paused"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_gets_a_policy_is_paused_emptied_and_closed() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy).await;
    let address = room.creates_agent(&operator, &policy, 40_000_000).await.to_string();
    let agent = ["--agent", address.as_str()];
    let with =
        |command: &'static str, more: &[&'static str]| [&["agent", command], &agent[..], more].concat();

    let set = room.done(
        &policy,
        &with(
            "set-policy",
            &[
                "--max-single-transfer",
                "12.5",
                "--max-daily-spend",
                "none",
                "--require-memo",
                "--allow-nobody",
            ],
        ),
    );
    assert_eq!(set["max_single_transfer_usdc"], json!("12.500000"));
    assert_eq!((&set["max_daily_spend_usdc"], &set["allowed_counterparties"]), (&Value::Null, &json!([])));
    assert_eq!((&set["require_memo"], &set["balance_usdc"]), (&json!(true), &json!("40.000000")));

    // Found by its id under the admin's operator, and the pause outlives a policy that does not speak of it.
    let by_id = set["account_id"].as_str().unwrap();
    assert_eq!(room.done(&admin, &["agent", "pause", "--agent", by_id])["paused"], json!(true));
    let limits = ["--max-single-transfer", "none", "--max-daily-spend", "0.000001"];

    // 256 recipients, one of them twice, through a draft.
    let recipients: Vec<String> = (0..256).map(|_| Keypair::new().pubkey().to_string()).collect();
    let file = room.folder.path().join("recipients");
    std::fs::write(
        &file,
        format!("# who may be paid\n{}\n{} # again\n", recipients.join("\n"), recipients[0]),
    )
    .unwrap();
    let long = [with("set-policy", &limits), vec!["--allow-file", file.to_str().unwrap()]].concat();
    let set = room.done(&policy, &long);
    let mut listed: Vec<String> = serde_json::from_value(set["allowed_counterparties"].clone()).unwrap();
    let mut expected = recipients.clone();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert_eq!((&set["paused"], &set["status"]), (&json!(true), &json!("paused")));
    std::fs::write(&file, format!("{}\n{}", recipients.join("\n"), Keypair::new().pubkey())).unwrap();
    assert!(room.refused(&policy, &long).contains("at most 256 entries, and these are 257"));
    assert_eq!(room.done(&admin, &with("resume", &[]))["paused"], json!(false));

    let (payee, payee_wallet) = room.chain.new_payee().await;
    let (payee, wallet) = (payee.to_string(), payee_wallet.pubkey().to_string());
    let withdraw =
        |amount, to| [&["agent", "withdraw"], &agent[..], &["--amount", amount, "--to", to]].concat();
    assert!(room.refused(&policy, &withdraw("1", &payee)).contains("may not do this"));
    assert!(room.refused(&admin, &withdraw("40.000001", &payee)).contains("holds 40.000000 USDC"));
    assert!(room.refused(&admin, &withdraw("1", &wallet)).contains(&payee));
    assert_eq!(room.done(&admin, &withdraw("0.000001", &payee))["balance_usdc"], json!("39.999999"));
    assert!(room.refused(&admin, &with("close", &[])).contains("withdraw it first"));
    room.done(&admin, &withdraw("all", &payee));
    assert_eq!(room.chain.usdc_micros(&payee.parse().unwrap()).await, 40_000_000);
    room.done(&admin, &with("close", &[]));
    assert!(room.refused(&admin, &with("show", &[])).contains("is no agent account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn program_is_upgraded_in_place_and_verified() {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    let committed = binaries::program_so();
    room.done(&wallet, &["verify"]);
    let changed = room.folder.path().join("changed.so");
    std::fs::write(&changed, [std::fs::read(&committed).unwrap(), b"\x01".to_vec()].concat()).unwrap();
    let changed = changed.to_str().unwrap();

    let foreign = room.refused(&wallet, &["deploy", "--program-so", changed]);
    assert!(foreign.contains("may be upgraded by"), "{foreign}");
    let keypair = wallet.file.to_str().unwrap();
    let wrong_key = room.refused(&wallet, &["deploy", "--program-so", changed, "--program-keypair", keypair]);
    assert!(wrong_key.contains("declare_id!"), "{wrong_key}");

    gives_upgrade_authority(&room.network.rpc_url, &wallet).await;
    // One byte more than the program account has room for, so it is extended first.
    assert_eq!(room.done(&wallet, &["deploy", "--program-so", changed])["program"], json!("upgraded"));
    assert!(room.refused(&wallet, &["verify"]).contains("another build"));
    assert_eq!(room.done(&wallet, &deploy(&committed))["program"], json!("upgraded"));
    assert_eq!(room.done(&wallet, &["verify"])["upgrade_authority"], json!(wallet.address()));
    assert_eq!(room.done(&wallet, &deploy(&committed))["program"], json!("unchanged"));
    let nothing = room.refused(&wallet, &["refund", "--program-so", committed.to_str().unwrap()]);
    assert!(nothing.contains("nothing to take back"), "{nothing}");
    let program = purser::ID.to_string();
    assert!(room.refused(&wallet, &["refund", "--buffer", &program]).contains("is not a buffer"));
}

fn deploy(program_so: &Path) -> [&str; 3] {
    ["deploy", "--program-so", program_so.to_str().unwrap()]
}

#[test]
fn cluster_that_is_down_is_named_in_one_line() {
    let arguments =
        ["operator", "show", "--url", "http://127.0.0.1:9", "--operator", "11111111111111111111111111111111"];
    let output = Command::new(env!("CARGO_BIN_EXE_purser-migrate")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: http://127.0.0.1:9 does not answer") && text.lines().count() == 1,
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// By a method that only the embedded network has.
async fn gives_upgrade_authority(rpc_url: &str, wallet: &Wallet) {
    let rpc = RpcClient::new(rpc_url.to_string());
    let request = RpcRequest::Custom { method: "surfnet_setProgramAuthority" };
    let params = json!([purser::ID.to_string(), wallet.address()]);
    rpc.send::<Value>(request, params).await.unwrap();
}
