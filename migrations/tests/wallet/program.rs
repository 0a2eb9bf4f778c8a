use std::path::{Path, PathBuf};
use std::process::Command;

use purser_tests::{Proxy, binaries};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_rpc_client_api::request::RpcRequest;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::{Room, Wallet, row};

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

    gives_upgrade_authority(&room, &wallet).await;
    // One byte more than the program account has room for, so it is extended first.
    let upgraded = room.done(&wallet, &["deploy", "--program-so", changed]);
    assert_eq!(upgraded["program"], json!("upgraded"));
    for (name, seed) in [("idl", "write idl"), ("security", "write security")] {
        let said = upgraded[name].as_str().unwrap();
        assert!(said.starts_with("not published on chain") && said.contains(seed), "{upgraded}");
    }
    assert!(room.refused(&wallet, &["verify"]).contains("another build"));
    assert_eq!(room.done(&wallet, &deploy(&committed))["program"], json!("upgraded"));
    assert_eq!(room.done(&wallet, &["verify"])["upgrade_authority"], json!(wallet.address()));
    assert_eq!(room.done(&wallet, &deploy(&committed))["program"], json!("unchanged"));
    let nothing = room.refused(&wallet, &["refund", "--program-so", committed.to_str().unwrap()]);
    assert!(nothing.contains("nothing to take back"), "{nothing}");
    let program = purser::ID.to_string();
    assert!(room.refused(&wallet, &["refund", "--buffer", &program]).contains("is not a buffer"));
}

/// Every instruction to it would be refused, for several SOL.
#[tokio::test(flavor = "multi_thread")]
async fn program_that_declares_another_address_is_refused_before_anything_is_paid() {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    gives_upgrade_authority(&room, &wallet).await;
    let file = declares(&room, &wallet.keypair.pubkey());
    let before = room.rpc().get_balance(&wallet.keypair.pubkey()).await.unwrap();
    for (words, id) in [
        // Another than this binary knows, and another than the one that is named.
        (deploy(&file).to_vec(), purser::ID.to_string()),
        (
            [&deploy(&binaries::program_so())[..], &["--program-id", &wallet.address()]].concat(),
            wallet.address(),
        ),
    ] {
        for refused in [room.refused(&wallet, &words), room.fails(&wallet, &words)] {
            assert!(refused.contains(&format!("does not declare {id}")), "{refused}");
            assert!(refused.contains("declare_id!") && refused.contains("--program-id"), "{refused}");
        }
    }
    assert_eq!(room.rpc().get_balance(&wallet.keypair.pubkey()).await.unwrap(), before);
}

/// Who finds a weakness has nobody to tell.
#[tokio::test(flavor = "multi_thread")]
async fn build_that_names_no_contact_does_not_go_to_mainnet() {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    let node = Proxy::to(&room.network.rpc_url);
    node.lies().shows_genesis(Some("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"));
    let error = |program_so: &Path, more: &[&str]| {
        let mut deploys = Command::new(env!("CARGO_BIN_EXE_purser-migrate"));
        deploys.args(deploy(program_so)).args(more).args(["--json", "--url", &node.url(), "--wallet"]);
        let output = deploys.arg(&wallet.file).current_dir(binaries::workspace()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let committed = binaries::program_so();
    for more in [&["--yes"][..], &[]] {
        let refused = error(&committed, more);
        assert!(refused.contains("does not go to mainnet") && refused.contains("security.rs"), "{refused}");
    }
    assert_eq!(node.calls().get("sendTransaction"), None);

    // One that does is held up by what comes next alone.
    let (nobody, somebody) = ("the holder of this program's upgrade authority", "mail:security@example.com");
    let bytes = std::fs::read(&committed).unwrap();
    let at = bytes.windows(nobody.len()).position(|window| window == nobody.as_bytes()).unwrap();
    let somebody = format!("{somebody:<0$}", nobody.len());
    let named = [&bytes[..at], somebody.as_bytes(), &bytes[at + nobody.len()..]];
    let file = room.folder.path().join("named.so");
    std::fs::write(&file, named.concat()).unwrap();
    let refused = error(&file, &["--yes"]);
    assert!(refused.contains("may be upgraded by"), "{refused}");
}

/// The committed build, as it were with another address in `declare_id!`.
fn declares(room: &Room, id: &Pubkey) -> PathBuf {
    let file = room.folder.path().join("other.so");
    std::fs::write(&file, binaries::program_that_declares(id)).unwrap();
    file
}

/// Lamports of a text with nine digits after the point.
fn lamports(sol: &Value) -> u64 {
    sol.as_str().unwrap().replace('.', "").parse().unwrap()
}

/// Under an address of one's own, for what it was said to cost.
#[tokio::test(flavor = "multi_thread")]
async fn program_of_another_address_is_deployed_for_what_was_said() {
    let room = Room::new();
    let (wallet, program) = (room.wallet("wallet").await, room.wallet("program").await);
    let (id, file) = (program.address(), declares(&room, &program.keypair.pubkey()));
    let balance = async || room.chain.lamports(&wallet.keypair.pubkey()).await;
    room.chain.sets_lamports(&program.keypair.pubkey(), 0).await;
    let (policy, transfer) = (Keypair::new().pubkey().to_string(), Keypair::new().pubkey().to_string());
    let mint = room.network.usdc_mint.to_string();
    let words = [
        &deploy(&file)[1..],
        &["--program-id", &id, "--program-keypair", program.file.to_str().unwrap()],
        &["--policy-authority", &policy, "--transfer-authority", &transfer, "--usdc-mint", &mint],
        &["--loosening-delay", "1d"],
    ];
    let migrate = [&["migrate"], &words.concat()[..]].concat();

    let before = balance().await;
    let shown = room.shown(&wallet, &migrate);
    assert_eq!((&shown["program"], &shown["program_id"]), (&json!("deployed"), &json!(id)));
    assert_eq!(row(&shown, "program", "sha256"), (&Value::Null, &shown["sha256"]));
    assert_eq!(row(&shown, "program", "upgrade_authority"), (&Value::Null, &json!(wallet.address())));
    let total = lamports(&shown["total_sol"]);
    assert_eq!(
        (total, &shown["enough"]),
        (lamports(&shown["program_rent_sol"]) + lamports(&shown["fees_sol"]), &json!(true))
    );
    assert!(lamports(&shown["needed_sol"]) >= total && total > 1_000_000_000, "{shown}");
    assert_eq!(row(&shown, "wallet", "sol").0, &json!(sol(before)));
    assert_eq!(lamports(row(&shown, "wallet", "sol").1), before - total);
    assert_eq!(balance().await, before);
    // Too little, said with what it takes.
    room.chain.sets_lamports(&wallet.keypair.pubkey(), 1_000_000_000).await;
    assert_eq!(room.shown(&wallet, &migrate)["enough"], json!(false));
    let poor = room.refused(&wallet, &migrate);
    assert!(poor.contains("holds 1.000000000 SOL") && poor.contains("locked in the program"), "{poor}");
    assert_eq!(balance().await, 1_000_000_000);

    room.chain.sets_lamports(&wallet.keypair.pubkey(), before).await;
    // The program alone: its operator has a price of its own.
    let keypair = program.file.to_str().unwrap();
    let only = [&deploy(&file)[..], &["--program-id", &id, "--program-keypair", keypair]].concat();
    let output = room.run(&wallet, &[&only[..], &["--yes"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    // Before it begins.
    assert!(said.starts_with(&format!("costs {} SOL: rent ", sol(total))), "{said}");
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["program_id"], &done["upgrade_authority"]), (&json!(id), &json!(wallet.address())));
    assert_eq!(before - balance().await, total);
    let created = room.done(&wallet, &migrate);
    assert_eq!(
        (&created["program"], created["operator"].is_string()),
        (&json!("unchanged"), true),
        "{created}"
    );
    // Handed over under its own address; the other program is not touched.
    let hand_over = ["upgrade-authority", "--program-id", &id, "--to", &program.address()];
    assert_eq!(room.done(&wallet, &hand_over)["upgrade_authority"], json!(program.address()));
    assert!(
        room.refused(&wallet, &[&hand_over[..1], &hand_over[3..]].concat())
            .contains("only it hands itself over")
    );
}

fn sol(lamports: u64) -> String {
    format!("{}.{:09}", lamports / 1_000_000_000, lamports % 1_000_000_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrade_is_shown_with_its_costs_before_it_is_made() {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    gives_upgrade_authority(&room, &wallet).await;
    let changed = room.folder.path().join("changed.so");
    std::fs::write(&changed, [std::fs::read(binaries::program_so()).unwrap(), b"\x01".to_vec()].concat())
        .unwrap();
    let shown = room.shown(&wallet, &deploy(&changed));
    // What runs is hashed up to its last byte that is not zero: how many zeros its file ended with nobody knows.
    let committed = std::fs::read(binaries::program_so()).unwrap();
    let last = committed.iter().rposition(|byte| *byte != 0).unwrap();
    let runs =
        Sha256::digest(&committed[..=last]).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(row(&shown, "program", "sha256"), (&json!(runs), &shown["sha256"]));
    let after = row(&shown, "wallet", "sol").1.clone();
    let done = room.done(&wallet, &deploy(&changed));
    assert_eq!((&done["program"], &done["done"]), (&json!("upgraded"), &json!(true)));
    assert_eq!(json!(sol(room.chain.lamports(&wallet.keypair.pubkey()).await)), after);
}

pub fn deploy(program_so: &Path) -> [&str; 3] {
    ["deploy", "--program-so", program_so.to_str().unwrap()]
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrade_authority_is_handed_over_and_dropped() {
    let room = Room::new();
    let (first, second) = (room.wallet("first").await, room.wallet("second").await);
    gives_upgrade_authority(&room, &first).await;
    let hand_over = ["upgrade-authority", "--to", &second.address()];
    assert!(room.refused(&second, &hand_over).contains(&first.address()));
    assert_eq!(room.done(&first, &hand_over)["upgrade_authority"], json!(second.address()));
    assert_eq!(room.done(&first, &["verify"])["upgrade_authority"], json!(second.address()));
    assert!(room.refused(&first, &["upgrade-authority", "--drop"]).contains("only it hands itself over"));
    assert_eq!(room.done(&second, &["upgrade-authority", "--drop"])["upgrade_authority"], Value::Null);
    assert_eq!(room.done(&first, &["verify"])["upgrade_authority"], Value::Null);
    assert!(room.refused(&second, &hand_over).contains("is final"));
}

/// By a method that only the embedded network has.
pub async fn gives_upgrade_authority(room: &Room, wallet: &Wallet) {
    let request = RpcRequest::Custom { method: "surfnet_setProgramAuthority" };
    let params = json!([purser::ID.to_string(), wallet.address()]);
    room.rpc().send::<Value>(request, params).await.unwrap();
}
