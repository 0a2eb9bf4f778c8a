use std::path::Path;

use purser_tests::binaries;
use serde_json::{Value, json};
use solana_rpc_client_api::request::RpcRequest;
use solana_sdk::signer::Signer;

use crate::room::{Room, Wallet};

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

/// Every instruction to it would be refused, for several SOL.
#[tokio::test(flavor = "multi_thread")]
async fn program_that_declares_another_address_is_refused_before_anything_is_paid() {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    gives_upgrade_authority(&room, &wallet).await;
    let mut program = std::fs::read(binaries::program_so()).unwrap();
    let id = purser::ID.to_bytes();
    let places: Vec<usize> = (0..program.len() - 32).filter(|at| program[*at..at + 32] == id).collect();
    assert!(!places.is_empty(), "the committed build declares its address nowhere");
    for at in places {
        program[at..at + 32].copy_from_slice(&wallet.keypair.pubkey().to_bytes());
    }
    let file = room.folder.path().join("other.so");
    std::fs::write(&file, program).unwrap();
    let before = room.rpc().get_balance(&wallet.keypair.pubkey()).await.unwrap();
    let refused = room.refused(&wallet, &deploy(&file));
    assert!(refused.contains("does not declare") && refused.contains("declare_id!"), "{refused}");
    assert_eq!(room.rpc().get_balance(&wallet.keypair.pubkey()).await.unwrap(), before);
}

fn deploy(program_so: &Path) -> [&str; 3] {
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
