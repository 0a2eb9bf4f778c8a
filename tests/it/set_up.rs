//! From nothing to a first payment, with the commands of docs/operating.md as printed, in an empty folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use purser_tests::network::{path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{TestNetwork, binaries};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

/// The page's blocks of one kind, in order.
pub fn printed(kind: &str) -> Vec<String> {
    let page =
        fs::read_to_string(binaries::workspace().join("docs/operating.md")).expect("the page is there");
    let begin = format!("```sh {kind}\n");
    let blocks = page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

/// An empty folder, and a shell with the programs and the network.
pub struct Scene {
    pub folder: TempDir,
    pub network: Arc<TestNetwork>,
    /// The working directory of the next block, as in one shell.
    place: PathBuf,
    pub variables: Vec<(&'static str, String)>,
}

impl Scene {
    pub async fn set() -> Self {
        let (folder, network) = (temp_folder(), TestNetwork::shared().await);
        let on_path = folder.path().join("bin");
        fs::create_dir(&on_path).expect("the folder is writable");
        let migrate = binaries::relayer().with_file_name("purser-migrate");
        for (name, program) in [("purser", binaries::relayer()), ("purser-migrate", migrate)] {
            std::os::unix::fs::symlink(program, on_path.join(name)).expect("the folder is writable");
        }
        let path = format!("{}:{}", path_text(&on_path), std::env::var("PATH").unwrap_or_default());
        let variables = vec![
            ("PATH", path),
            ("RPC_URL", network.rpc_url.clone()),
            ("WS_URL", network.ws_url.clone()),
            ("USDC_MINT", network.usdc_mint.to_string()),
            // Ports that other tests do not use.
            ("PURSER__SERVER__LISTEN", "127.0.0.1:0".to_owned()),
            ("PURSER__SERVER__ADMIN_LISTEN", "127.0.0.1:0".to_owned()),
        ];
        Self { place: folder.path().to_path_buf(), folder, network, variables }
    }

    /// Runs a block and returns its output.
    pub fn types(&mut self, block: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-ec", block]).current_dir(&self.place).envs(self.variables.iter().cloned());
        let output = shell.output().expect("there is a shell");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{block}{printed}{}", String::from_utf8_lossy(&output.stderr));
        if block.starts_with("cd purser\n") {
            self.place.push("purser");
        }
        printed
    }

    /// Sends SOL to the address that the text has on its line for this role.
    pub async fn funds(&self, printed: &str, role: &str) -> Pubkey {
        let line = printed.lines().find(|line| line.trim_start().starts_with(role));
        let mut words = line.unwrap_or_else(|| panic!("no {role} in {printed}")).split_whitespace();
        let address = words.find_map(|word| word.parse::<Pubkey>().ok()).expect("an address");
        self.network.chain().funds(&address, 1).await;
        address
    }

    /// Runs the server until it is dropped.
    pub fn serves(&self) -> (Process, String) {
        let environment: Vec<(&str, String)> =
            self.variables.iter().filter(|(name, _)| *name != "PATH").cloned().collect();
        let config = self.place.join("purser.toml");
        let arguments = ["serve", "--config", path_text(&config)];
        let log = self.folder.path().join("relayer.log");
        let process = Process::start_with(&binaries::relayer(), &arguments, &environment, &log, None);
        let url = process.says("listening", Duration::from_secs(30));
        (process, url["listening"].as_str().expect("a URL").to_owned())
    }
}

/// The first word that matches.
#[track_caller]
pub fn word(printed: &str, is_it: impl Fn(&str) -> bool) -> String {
    let found = printed.split_whitespace().find(|word| is_it(word));
    found.unwrap_or_else(|| panic!("it is not in {printed}")).to_owned()
}

/// The value after a name, on a line with nothing else.
#[track_caller]
pub fn named(printed: &str, name: &str) -> String {
    let found = printed.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [first, value] if first == name && line.starts_with(' ') => Some(value.to_owned()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no {name} in {printed}"))
}

/// Makes an account with this key, funds it, sets its policy, pays, and audits the payment.
async fn pays(scene: &mut Scene, url: &str, key: &str) {
    let blocks = printed("first");
    let [create, policy, pay, audit] = &blocks[..] else { panic!("{blocks:?}") };
    let url = url.trim_end_matches('/').to_owned();
    scene.variables.extend([("PURSER_URL", url), ("PURSER_KEY", key.to_owned())]);
    let answer = |printed: String| serde_json::from_str::<Value>(&printed).expect("an answer of the API");
    let account = answer(scene.types(create));
    let token_account: Pubkey =
        account["usdc_token_account"].as_str().and_then(|text| text.parse().ok()).expect("base58");
    let chain = scene.network.chain();
    purser_tests::wallet::mints(&chain, "5", &token_account).await;
    let (payee, _) = chain.new_payee().await;
    let id = account["account_id"].as_str().expect("an id").to_owned();
    scene.variables.extend([("ACCOUNT_ID", id), ("PAYEE", payee.to_string())]);
    let limits = answer(scene.types(policy));
    assert_eq!((&limits["max_single_transfer"], &limits["version"]), (&json!(5), &json!(2)));
    assert_eq!(answer(scene.types(pay))["status"], "settled");
    assert_eq!(chain.usdc_micros(&payee).await, 1_500_000);
    let more = pay.replace("1.5", "5.000001").replace("first", "second");
    assert_eq!(answer(scene.types(&more))["error"], "policy_violation");
    assert_eq!(answer(scene.types(pay))["status"], "settled");
    assert_eq!(chain.usdc_micros(&payee).await, 1_500_000);
    let verdict = scene.types(audit);
    assert!(verdict.contains("1.500000"), "{verdict}");
}

/// Follows the page to a running relayer with one operator; returns the operator's key.
pub async fn sets_up_managed(scene: &mut Scene) -> String {
    let blocks = printed("managed");
    let [init, create, key, serve] = &blocks[..] else { panic!("{blocks:?}") };
    let made = scene.types(init);
    for role in ["policy authority", "transfer authority", "admin"] {
        scene.funds(&made, role).await;
    }
    let listed = scene.types(create);
    scene.variables.extend([
        ("OPERATOR_ID", word(&listed, |word| word.starts_with("op_"))),
        ("OPERATOR", word(&listed, |word| word.parse::<Pubkey>().is_ok())),
    ]);
    let printed = scene.types(key);
    assert!(printed.contains("Everything is well."), "{printed}");
    assert_eq!(serve.trim(), "purser serve");
    named(&printed, "key")
}

#[tokio::test(flavor = "multi_thread")]
async fn managed_set_up_of_the_page_leads_to_a_first_payment() {
    let mut scene = Scene::set().await;
    let key = sets_up_managed(&mut scene).await;
    let (_serving, url) = scene.serves();
    pays(&mut scene, &url, &key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn self_custodied_set_up_of_the_page_leads_to_a_first_payment() {
    let mut scene = Scene::set().await;
    let (ours, theirs) = (printed("self-custodied"), printed("admin"));
    let ([init, add, key], [create]) = (&ours[..], &theirs[..]) else { panic!("{ours:?} {theirs:?}") };
    let made = scene.types(init);
    assert!(!Path::new(&scene.place).join("purser/admin.json").exists());
    let policy = scene.funds(&made, "policy authority").await;
    let transfer = scene.funds(&made, "transfer authority").await;
    let wallet = Keypair::new();
    scene.network.chain().funds(&wallet.pubkey(), 1).await;
    let file = scene.folder.path().join("wallet.json");
    fs::write(&file, Value::from(wallet.to_bytes().to_vec()).to_string()).expect("the folder is writable");
    scene.variables.extend([
        ("WALLET", path_text(&file).to_owned()),
        ("POLICY_AUTHORITY", policy.to_string()),
        ("TRANSFER_AUTHORITY", transfer.to_string()),
    ]);
    let created = scene.types(create);
    scene.variables.push(("OPERATOR", named(&created, "operator")));
    let operator = word(&scene.types(add), |word| word.starts_with("op_"));
    scene.variables.push(("OPERATOR_ID", operator));
    let printed = scene.types(key);
    assert!(printed.contains("Everything is well."), "{printed}");
    let (_serving, url) = scene.serves();
    pays(&mut scene, &url, &named(&printed, "key")).await;
}
