//! From nothing to a first payment, with the commands of docs/run/set-up.md as printed, in an empty folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use purser_tests::network::{path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{TestDatabase, TestNetwork, binaries, page};
use reqwest::Url;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

/// The page's blocks of one kind, in order.
pub fn printed(kind: &str) -> Vec<String> {
    page::blocks("docs/run/set-up.md", &format!("sh {kind}"))
}

/// The page's only block of one kind.
pub fn printed_once(kind: &str) -> String {
    let blocks = printed(kind);
    let [block] = &blocks[..] else { panic!("one block of {kind}: {blocks:?}") };
    block.clone()
}

/// The programs that the page's first block builds. Later blocks find these on the path, and nothing else of ours.
pub fn built() -> Vec<String> {
    let build = printed_once("build");
    let names = build.split("--bin ").skip(1).filter_map(|rest| rest.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// An empty folder, and a shell with the programs and the network.
pub struct Scene {
    pub folder: TempDir,
    pub network: Arc<TestNetwork>,
    /// The working directory of the next block, as in one shell.
    pub place: PathBuf,
    pub variables: Vec<(&'static str, String)>,
}

impl Scene {
    pub async fn set() -> Self {
        let (folder, network) = (temp_folder(), TestNetwork::shared().await);
        let on_path = folder.path().join("bin");
        fs::create_dir(&on_path).expect("the folder is writable");
        for name in built() {
            let program = binaries::relayer().with_file_name(&name);
            std::os::unix::fs::symlink(program, on_path.join(name)).expect("the folder is writable");
        }
        let cold = folder.path().join("cold");
        fs::create_dir(&cold).expect("the folder is writable");
        let path = format!("{}:{}", path_text(&on_path), std::env::var("PATH").unwrap_or_default());
        let guardian = Keypair::new().pubkey();
        network.chain().funds(&guardian, 1).await;
        let variables = vec![
            ("PATH", path),
            ("RPC_URL", network.rpc_url.clone()),
            ("WS_URL", network.ws_url.clone()),
            ("USDC_MINT", network.usdc_mint.to_string()),
            ("GUARDIAN", guardian.to_string()),
            ("COLD", path_text(&cold).to_owned()),
            // Ports that other tests do not use.
            ("PURSER__SERVER__LISTEN", "127.0.0.1:0".to_owned()),
            ("PURSER__SERVER__ADMIN_LISTEN", "127.0.0.1:0".to_owned()),
        ];
        Self { place: folder.path().to_path_buf(), folder, network, variables }
    }

    /// Runs a block and returns its output.
    pub fn types(&mut self, block: &str) -> String {
        self.types_and_answers(block, "")
    }

    /// The same for a block that asks for something.
    pub fn types_and_answers(&mut self, block: &str, answer: &str) -> String {
        let output = self.shell(block, answer);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{block}{printed}{}", String::from_utf8_lossy(&output.stderr));
        if block.starts_with("cd purser\n") {
            self.place.push("purser");
        }
        printed
    }

    /// The error of a block that must fail.
    pub fn is_refused(&self, block: &str) -> String {
        let output = self.shell(block, "");
        assert!(!output.status.success(), "{block}{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Without a terminal, so that what asks for a password reads the standard input.
    fn shell(&self, block: &str, answer: &str) -> Output {
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-ec", block]).current_dir(&self.place).envs(self.variables.iter().cloned());
        // A build that is typed here goes to the folder that the page names.
        shell.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = shell.spawn().expect("there is a shell");
        // Nobody reads it where nothing asks.
        let _ = shell.stdin.take().expect("it is piped").write_all(answer.as_bytes());
        shell.wait_with_output().expect("it ends")
    }

    /// Sends SOL to the address that the text has on its line for this role.
    pub async fn funds(&self, printed: &str, role: &str) -> Pubkey {
        let line = printed.lines().find(|line| line.trim_start().starts_with(role));
        let mut words = line.unwrap_or_else(|| panic!("no {role} in {printed}")).split_whitespace();
        let address = words.find_map(|word| word.parse::<Pubkey>().ok()).expect("an address");
        self.network.chain().funds(&address, 1).await;
        address
    }

    /// Runs the server as the page does, until it is dropped.
    pub fn serves(&self) -> (Process, String) {
        self.serves_by(printed("managed").last().expect("the page has it"))
    }

    /// Runs a block whose last line is the server.
    pub fn serves_by(&self, block: &str) -> (Process, String) {
        let (before, server) = block.trim_end().rsplit_once('\n').unwrap_or(("", block.trim_end()));
        assert_eq!(server, "purser serve");
        // The shell becomes the server, so that stopping the process stops it.
        let line = format!("cd '{}'\n{before}\nexec {server}", path_text(&self.place));
        let log = self.folder.path().join("relayer.log");
        let process = Process::start_with(Path::new("sh"), &["-ec", &line], &self.variables, &log, None);
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
pub async fn pays(scene: &mut Scene, url: &str, key: &str) {
    let blocks = printed("first");
    pays_and_audits(scene, url, key, blocks.last().expect("the page has it")).await;
}

/// The same, with another block for the audit.
pub async fn pays_and_audits(scene: &mut Scene, url: &str, key: &str, audit: &str) {
    let blocks = printed("first");
    let [create, policy, pay, _audit] = &blocks[..] else { panic!("{blocks:?}") };
    let url = format!("{}/v1", url.trim_end_matches('/'));
    scene.variables.extend([("PURSER_URL", url), ("PURSER_OPERATOR_KEY", key.to_owned())]);
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
    let [init, create, key, _serve] = &blocks[..] else { panic!("{blocks:?}") };
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
    named(&printed, "key")
}

/// Funds the relayer's keys that `init` printed, and a wallet of the operator's own, with this much SOL.
pub async fn has_a_wallet(scene: &mut Scene, made: &str, sol: u64) {
    let policy = scene.funds(made, "policy authority").await;
    let transfer = scene.funds(made, "transfer authority").await;
    let wallet = Keypair::new();
    scene.network.chain().funds(&wallet.pubkey(), sol).await;
    let file = scene.folder.path().join("wallet.json");
    fs::write(&file, Value::from(wallet.to_bytes().to_vec()).to_string()).expect("the folder is writable");
    scene.variables.extend([
        ("WALLET", path_text(&file).to_owned()),
        ("POLICY_AUTHORITY", policy.to_string()),
        ("TRANSFER_AUTHORITY", transfer.to_string()),
    ]);
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
    assert!(!scene.place.join("purser/admin.json").exists());
    has_a_wallet(&mut scene, &made, 1).await;
    let created = scene.types(create);
    scene.variables.push(("OPERATOR", named(&created, "operator")));
    let operator = word(&scene.types(add), |word| word.starts_with("op_"));
    scene.variables.push(("OPERATOR_ID", operator));
    let printed = scene.types(key);
    assert!(printed.contains("Everything is well."), "{printed}");
    let (_serving, url) = scene.serves();
    pays(&mut scene, &url, &named(&printed, "key")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_alone_leads_to_a_first_payment() {
    let mut scene = Scene::set().await;
    let key = sets_up_managed(&mut scene).await;
    fs::remove_file(scene.place.join("purser.toml")).expect("init made it");
    let (_serving, url) = scene.serves_by(&printed_once("environment"));
    pays(&mut scene, &url, &key).await;
}

/// On the tests' own server, whose users need no password, under a name of this test's own and without TLS: `pooler.rs` has TLS.
#[tokio::test(flavor = "multi_thread")]
async fn user_and_database_that_the_page_makes_on_postgres_get_the_tables() {
    let Some(other) = TestDatabase::create().await else { return };
    let there = Command::new("createuser").arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no createuser");
        return;
    }
    let mut scene = Scene::set().await;
    scene.types(&printed("managed")[0]);
    scene.place.push("purser");
    let mut url = Url::parse(&other.url()).expect("a URL");
    scene.variables.extend([
        ("PGHOST", url.host_str().expect("a host").replace("%2F", "/")),
        ("PGPORT", url.port().unwrap_or(5432).to_string()),
        ("PGUSER", url.username().to_owned()),
        ("PGPASSWORD", url.password().unwrap_or_default().to_owned()),
    ]);
    let name = format!("{}_owner", url.path().trim_start_matches('/'));
    url.set_path(&name);
    url.set_username(&name).and_then(|()| url.set_password(Some("hush-hush"))).expect("it has a host");
    let mut block = printed_once("Postgres");
    for (page, here) in [
        ("createuser purser", format!("createuser {name}")),
        ("createdb purser --owner purser", format!("createdb {name} --owner {name}")),
        (
            "postgres://purser:PASSWORD@db.example.com/purser?sslmode=verify-full&sslrootcert=/etc/purser/ca.pem",
            url.to_string(),
        ),
    ] {
        assert_eq!(block.matches(page).count(), 1, "{page} in {block}");
        block = block.replace(page, &here);
    }
    // The password, asked for twice.
    scene.types_and_answers(&block, "hush-hush\nhush-hush\n");
    let tables = format!("SELECT count(*) FROM pg_tables WHERE tableowner = '{name}'");
    let counted = scene.types(&format!("psql {name} --tuples-only --no-align --command \"{tables}\""));
    assert!(counted.trim().parse::<u32>().is_ok_and(|tables| tables > 5), "{counted}");
    scene.types(&format!("dropdb {name}\ndropuser {name}"));
}
