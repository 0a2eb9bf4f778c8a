//! Every command that the operators' pages print is run as it is printed, in its order, by the wallet that it names, through
//! Anchor's own command line where `PURSER_ANCHOR` names it (`sbf/anchor.sh`); without it, the line of `[scripts]` is run.

use purser_tests::binaries;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::program::gives_upgrade_authority;
use crate::room::{Room, Wallet};
use crate::unsigned::signed;

/// The pages with such commands, in the order in which they are run here: the upgrade is last.
const PAGES: [&str; 3] = ["docs/run/keys.md", "docs/run/emergency.md", "docs/run/operating.md"];

fn pages() -> String {
    let text = |page: &str| std::fs::read_to_string(binaries::workspace().join(page)).unwrap();
    PAGES.map(text).concat()
}

/// The name of the script and its arguments, of each `anchor run`.
fn printed() -> Vec<(String, String)> {
    let text = pages();
    let commands = text.split("anchor run ").skip(1).filter_map(|rest| rest.split(['`', '\n']).next());
    let commands = commands.map(|command| command.split_once(" -- ").unwrap_or((command, "")));
    commands.map(|(name, arguments)| (name.to_string(), arguments.to_string())).collect()
}

/// What a printed line answers.
fn runs(room: &Room, wallet: &Wallet, name: &str, arguments: &str) -> Value {
    let output = room.anchor_runs(wallet, name, format!("{arguments} --json").trim_start());
    let (answer, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Of what the pages have, only this is shown and not done.
    let status = if (name, arguments) == ("deploy", "") { 3 } else { 0 };
    assert_eq!(output.status.code(), Some(status), "anchor run {name} -- {arguments}: {answer}{error}");
    let line = answer.lines().rfind(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("anchor run {name} -- {arguments}: {answer}{error}"));
    serde_json::from_str(line).unwrap()
}

/// The line below the upgrade, which has a node of its own and no key.
fn runs_after_an_upgrade(room: &Room) {
    let pages = pages();
    let mut lines = pages.lines().skip_while(|line| !line.starts_with("anchor run deploy"));
    let line = lines.nth(1).unwrap();
    let relayer = binaries::relayer();
    let path = format!("{}:{}", relayer.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", line]).env("PATH", path).env("RPC_URL", &room.network.rpc_url);
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("same"), "{line}: {output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn emergency_steps_do_what_they_say() {
    let room = Room::new();
    let (admin, guardian) = (room.wallet("admin").await, room.wallet("guardian").await);
    // The pages rotate the policy key and one hot key in quiet, and then again in an emergency.
    let quiet = room.wallet("quiet").await;
    let (stolen, next) = (room.wallet("stolen").await, room.wallet("next").await);
    let approver = room.wallet("approver").await;
    let keys = ["--guardian", &guardian.address(), "--loosening-delay", "1d"];
    let operator = room.creates_operator(&admin, &quiet, &keys);
    let agent = room.creates_agent(&operator, &quiet, 5_000_000).await.to_string();
    let to_agent = |verb: &'static str| ["account", verb, "--account", agent.as_str()];
    let limit = |usdc: &'static str| [&to_agent("set-policy")[..], &["--max-single-transfer", usdc]].concat();
    room.done(&quiet, &limit("10"));
    let shown = room.done(&admin, &["operator", "show"]);
    let (payee, _) = room.chain.new_payee().await;
    let file = |name: &str| room.folder.path().join(name).display().to_string();
    let rotated_in = Keypair::new().pubkey().to_string();
    let asked_at = room.chain.now().await.unsigned_abs() * 1_000;
    let transfer = format!("txn_{}", ulid::Ulid::from_parts(asked_at, 77));
    let places = [
        ("NEW_POLICY_AUTHORITY", next.address()),
        ("NEW_TRANSFER_AUTHORITY", Keypair::new().pubkey().to_string()),
        ("OLD_TRANSFER_AUTHORITY", rotated_in.clone()),
        ("NEW_POLICY", stolen.address()),
        ("NEW", rotated_in),
        ("OLD", shown["transfer_authorities"][0].as_str().unwrap().to_string()),
        ("policy-authority.json", file("policy-authority.json")),
        ("transfer-authority.json", file("transfer-authority.json")),
        ("MULTISIG_VAULT", Keypair::new().pubkey().to_string()),
        ("TOKEN_ACCOUNT", payee.to_string()),
        ("BUDGET", room.chain.program().budget_address(&operator.parse().unwrap(), 1).to_string()),
        ("APPROVER", approver.address()),
        ("PAYEE", Keypair::new().pubkey().to_string()),
        ("TRANSFER", transfer),
        ("RECIPIENT", payee.to_string()),
        ("OPERATOR", operator.clone()),
        ("ACCOUNT", agent.clone()),
        ("GUARDIAN", guardian.address()),
        ("ADMIN", admin.address()),
    ];
    let commands = printed();
    assert!(commands.len() > 15, "{commands:?}");
    let older = file("older.so");
    let build = std::fs::read(binaries::program_so()).unwrap();
    std::fs::write(&older, [build, b"\x01".to_vec()].concat()).unwrap();
    let mut last = Value::Null;
    for (name, arguments) in commands {
        let filled = places.iter().fold(arguments.clone(), |text, (place, value)| text.replace(place, value));
        let rotated = room.done(&admin, &["operator", "show"])["policy_authority"] == json!(next.address());
        let wallet: &Wallet = match name.as_str() {
            "halt-all" | "grant-close" | "grant-void" => &guardian,
            "approve" => &approver,
            "grant-open" | "budget-set" => &next,
            _ => &admin,
        };
        match name.as_str() {
            "upgrade-authority" => gives_upgrade_authority(&room, &admin).await,
            // An older build is in place of the committed one.
            "deploy" if arguments.is_empty() => {
                gives_upgrade_authority(&room, &admin).await;
                room.done(&admin, &["deploy", "--program-so", &older]);
            }
            "drop-policy" => {
                let thief = if rotated { &next } else { &stolen };
                let sealed = room.done(thief, &limit("99"));
                // In a halt only the admin puts it in force, however long it has waited.
                let is_halted = !room.done(&admin, &["operator", "show"])["halted_by"].is_null();
                let state = if is_halted { "halted" } else { "waiting" };
                assert_eq!(sealed["waiting_policy"]["state"], json!(state));
            }
            _ => {}
        }
        // As the admin's hardware wallet signs what the line before printed.
        let filled = match filled.contains("SIGNED") {
            true => filled.replace("SIGNED", &signed(&last, &admin.keypair)),
            false => filled,
        };
        // The first of those that the line before listed.
        let filled = match last["grants"][0]["grant"].as_str() {
            Some(grant) => filled.replace("GRANT", grant),
            None => filled,
        };
        let answer = runs(&room, wallet, &name, &filled);
        println!("$ anchor run {name} -- {filled}\n{answer}");
        last = answer;
    }
    assert_eq!(
        (&last["program"], &last["done"]),
        (&json!("upgraded"), &json!(true)),
        "the pages end with it"
    );
    runs_after_an_upgrade(&room);
    let operator = room.done(&admin, &["operator", "show"]);
    assert_eq!(operator["halted_by"], Value::Null);
    assert_eq!(operator["policy_authority"], json!(next.address()));
    assert_eq!(operator["transfer_authorities"], json!([places[1].1]));
    let shown = room.done(&admin, &to_agent("show"));
    assert_eq!((&shown["status"], &shown["waiting_policy"]), (&json!("paused"), &Value::Null));
    assert_eq!(
        (&shown["balance_usdc"], &shown["max_single_transfer_usdc"]),
        (&json!("0.000000"), &json!("10.000000"))
    );
    assert!(room.refused(&stolen, &limit("99")).contains("may not do this"));
}
