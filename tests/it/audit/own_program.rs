//! An operator who deployed the program under an address of its own.

use std::process::Command;
use std::time::Duration;

use purser_tests::network::{path_text, temp_folder};
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, TestApp, TestNetwork, binaries};
use serde_json::json;
use sha2::{Digest, Sha256};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::{audits, check, remarks};
use crate::denials;

#[tokio::test]
async fn program_under_its_own_address_is_audited_by_that_address_from_a_node_and_from_a_directory() {
    let id = Keypair::new().pubkey();
    let settings = AppSettings { denials: Some(1), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own_with_program_at(id), &settings).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    mints(&operator.chain, "100", &ada.token_account).await;
    ada.sets_policy(json!({ "max_single_transfer": 10 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    ada.pays("3").to(&payee).await.is_settled();
    ada.pays("11").to(&payee).await.is_error(402, "policy_violation");
    let refusals = denials::file_of(&operator.client, 1).await;
    // Until all of it is final.
    tokio::time::sleep(Duration::from_secs(3)).await;

    let (url, saved) = (operator.network().rpc_url.as_str(), temp_folder());
    let (program, address, folder) = (id.to_string(), operator.address.to_string(), path_text(saved.path()));
    let own = ["--url", url, "--program-id", &program];
    let (status, report) = audits(&[&own[..], &["--operator", &address, "--save", folder]].concat());
    assert_eq!((status, &report["complete"]), (0, &json!(true)), "{report:#}");
    assert_eq!(check(&report, "single_limit")["examined"], 1);
    assert_eq!(report["accounts"][0]["paid_usdc"], "3.000000");
    assert_eq!(report["program"]["program"], program);
    // Its address is part of it, so it cannot be the committed build, and breaks no rule by that.
    assert_eq!(report["program"]["is_committed_build"], false);
    assert!(remarks(&report).contains("ANOTHER BUILD"), "{report:#}");
    let build = hex::encode(Sha256::digest(binaries::program_that_declares(&id)));
    let mut verifies = Command::new(binaries::relayer());
    verifies.args([&["verify-program", "--sha256", &build][..], &own].concat());
    assert!(verifies.status().expect("it starts").success());

    let (status, offline) = audits(&["--from", folder]);
    assert_eq!((status, &offline["program"]), (0, &report["program"]), "{offline:#}");
    assert_eq!(offline["accounts"], report["accounts"]);
    let (status, one) = audits(&[&own[..], &["--account", &ada.address.to_string()]].concat());
    assert_eq!((status, &one["accounts"]), (0, &report["accounts"]), "{one:#}");

    // The committed program knows none of them, and another program's directory is not written over.
    let refusal = |arguments: &[&str]| -> String {
        let (status, refused) = audits(arguments);
        assert_eq!(status, 2, "{refused}");
        refused["error"].as_str().unwrap_or_else(|| panic!("no error: {refused}")).to_owned()
    };
    let nobody = refusal(&["--url", url, "--operator", &address]);
    assert!(nobody.contains(&format!("is not an operator of the program {}", purser::ID)), "{nobody}");
    let other = refusal(&["--url", url, "--operator", &address, "--save", folder]);
    assert!(other.contains(&format!("of the program {program}")), "{other}");
    assert!(refusal(&["--from", folder, "--program-id", &program]).contains("cannot be used with"));

    let audits = |more: &[&str]| denials::audits(&refusals, &[&["--url", url], more].concat());
    let mut heads = audits(&["--program-id", &program]);
    for _ in 0..60 {
        if heads.0 == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        heads = audits(&["--program-id", &program]);
    }
    assert_eq!((heads.0, &heads.1["heads"][0]["number"]), (0, &json!(1)), "{}", heads.1);
    assert_eq!(audits(&[]).0, 2);
}
