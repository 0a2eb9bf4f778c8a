//! What an auditor sees of upgrades.

use std::process::Command;
use std::time::Duration;

use purser_client::TransferOrder;
use purser_policy::id_with_tag;
use purser_tests::agent::random_tag;
use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, DirectOutcome, TestApp, binaries, sbf};
use serde_json::{Value, json};
use solana_sdk::instruction::AccountMeta;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use crate::program::{deploy, gives_upgrade_authority};
use crate::room::{Room, Wallet};

/// Each with its authority, and how many payments another build decided.
#[tokio::test(flavor = "multi_thread")]
async fn audit_names_each_upgrade_and_counts_the_payments_of_another_build() {
    let (room, wallet, ada, payee) = upgradeable().await;
    let committed = binaries::program_so();
    let changed = room.folder.path().join("changed.so");
    std::fs::write(&changed, [std::fs::read(&committed).unwrap(), b"\x01".to_vec()].concat()).unwrap();

    ada.pays("1").to(&payee).await.is_settled();
    room.done(&wallet, &deploy(&changed));
    for _ in 0..2 {
        ada.pays("1").to(&payee).await.is_settled();
    }
    let report = audited(&room, &ada.operator.address).await;
    let program = &report["program"];
    assert_eq!(program["is_committed_build"], json!(false), "{report:#}");
    assert_eq!(program["upgrade_authority"], json!(wallet.address()));
    assert_eq!(
        (upgrades(&report, &wallet), &program["payments_of_older_builds"]),
        (1, &json!(1)),
        "{report:#}"
    );
    assert!(report["remarks"].to_string().contains("ANOTHER BUILD"), "{report:#}");

    room.done(&wallet, &deploy(&committed));
    ada.pays("1").to(&payee).await.is_settled();
    let report = audited(&room, &ada.operator.address).await;
    let program = &report["program"];
    assert_eq!(
        (&report["holds"], &program["is_committed_build"]),
        (&json!(true), &json!(true)),
        "{report:#}"
    );
    assert_eq!(
        (upgrades(&report, &wallet), &program["payments_of_older_builds"]),
        (2, &json!(3)),
        "{report:#}"
    );
    let told = "3 payment(s) were made up to the slot in which the program was last changed: an older build may have decided them";
    assert!(report["remarks"].to_string().contains(told), "{report:#}");
}

/// A network on which the wallet may replace the program, an account with 100 USDC, and whom it pays.
async fn upgradeable() -> (Room, Wallet, Agent, Pubkey) {
    let room = Room::new();
    let wallet = room.wallet("wallet").await;
    gives_upgrade_authority(&room, &wallet).await;
    let app = TestApp::start(room.network.clone(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    // By a transaction, or the audit asks where the money came from.
    mints(&operator.chain, "100", &ada.token_account).await;
    let (payee, _) = operator.chain.new_payee().await;
    (room, wallet, ada, payee)
}

/// The upgrade authority lets one payment pass that the policy refuses, and puts the committed build back: what runs looks
/// well, and the relayer knew of nothing.
#[tokio::test(flavor = "multi_thread")]
async fn payment_that_a_modified_program_let_pass_is_found_after_the_committed_one_is_back() {
    if !sbf::has_compiler() {
        return;
    }
    let (room, wallet, ada, payee) = upgradeable().await;
    ada.sets_policy(json!({ "max_single_transfer": 10 })).await;
    let modified = sbf::builds_mutant("39-single-limit-ignored", room.folder.path());
    let is_refused = async || {
        let landing = ada.pays_directly("12", &payee, "too much").await;
        assert!(matches!(landing, DirectOutcome::Refused(_)), "{landing:?}");
    };
    ada.pays("10").to(&payee).await.is_settled();
    is_refused().await;
    room.done(&wallet, &deploy(&modified));
    let DirectOutcome::Settled(signature) = ada.pays_directly("12", &payee, "too much").await else {
        panic!("the modified program was to let it pass")
    };
    room.done(&wallet, &deploy(&binaries::program_so()));
    is_refused().await;
    ada.pays("1").to(&payee).await.is_settled();

    let report = audited(&room, &ada.operator.address).await;
    let broken = report["checks"].as_array().unwrap().iter();
    let broken: Vec<&Value> = broken.filter(|check| check["result"] == "does_not_hold").collect();
    let [check] = &broken[..] else { panic!("{report:#}") };
    let finding = &check["findings"][0];
    let text = "Payment 2 of 12.000000 USDC was made although policy version 2 refuses it: at most 10.000000 USDC at once.";
    assert_eq!((&check["check"], &finding["text"]), (&json!("single_limit"), &json!(text)), "{report:#}");
    assert_eq!(finding["signature"], signature.to_string());
    assert_eq!(finding["account"], ada.address.to_string());
    let program = &report["program"];
    assert_eq!((&report["holds"], &program["is_committed_build"]), (&json!(false), &json!(true)));
    assert_eq!(
        (upgrades(&report, &wallet), &program["payments_of_older_builds"]),
        (2, &json!(2)),
        "{report:#}"
    );
}

/// The upgrade authority has one payment, signed and logged as ever, go to somebody else, and puts the committed build back.
/// The node is honest: it shows what the token program was told.
#[tokio::test(flavor = "multi_thread")]
async fn payment_that_a_modified_program_moved_to_somebody_else_is_named_by_its_recipient() {
    if !sbf::has_compiler() {
        return;
    }
    let (room, wallet, ada, payee) = upgradeable().await;
    let (thief, _) = ada.operator.chain.new_payee().await;
    let patch = binaries::workspace().join("migrations/tests/wallet/pays-somebody-else");
    let modified = sbf::builds_mutant(patch.to_str().expect("the path is text"), room.folder.path());
    ada.pays("10").to(&payee).await.is_settled();
    room.done(&wallet, &deploy(&modified));
    let DirectOutcome::Settled(signature) = pays_past_the_payee(&ada, &payee, &thief).await else {
        panic!("the modified program was to let it pass")
    };
    room.done(&wallet, &deploy(&binaries::program_so()));
    ada.pays("1").to(&payee).await.is_settled();

    let report = audited(&room, &ada.operator.address).await;
    let broken = report["checks"].as_array().unwrap().iter();
    let broken: Vec<&Value> = broken.filter(|check| check["result"] == "does_not_hold").collect();
    let [check] = &broken[..] else { panic!("{report:#}") };
    let finding = &check["findings"][0];
    let text = format!("9.000000 USDC were to go to {payee}; the program moved 9.000000 USDC to {thief}.");
    assert_eq!((&check["check"], &finding["text"]), (&json!("recipients"), &json!(text)), "{report:#}");
    assert_eq!(finding["signature"], signature.to_string());
    assert_eq!(finding["account"], ada.address.to_string());
}

/// A field in a bit that is zero in every account there is: both builds read what either wrote, and the day's spend counts on.
#[tokio::test(flavor = "multi_thread")]
async fn upgrade_that_adds_a_field_goes_on_with_the_accounts_there_are_and_can_be_taken_back() {
    if !sbf::has_compiler() {
        return;
    }
    let (room, wallet, ada, payee) = upgradeable().await;
    let patch = binaries::workspace().join("migrations/tests/wallet/adds-a-field");
    let newer = sbf::builds_mutant(patch.to_str().expect("the path is text"), room.folder.path());
    let field = async || {
        let data = room.rpc().get_account_data(&ada.address).await.expect("the account is there");
        // The flags of the policy.
        data[154] >> 5
    };
    let is_past_the_day = async |usdc: &str, key: &str| {
        ada.pays(usdc).to(&payee).await.is_error(402, "policy_violation");
        let landing = ada.pays_directly(usdc, &payee, key).await;
        assert!(matches!(landing, DirectOutcome::Refused(_)), "{landing:?}");
    };
    ada.sets_policy(json!({ "max_daily_spend": 10 })).await;
    ada.pays("6").to(&payee).await.is_settled();
    room.done(&wallet, &deploy(&newer));
    is_past_the_day("5", "newer build").await;
    ada.pays("3").to(&payee).await.is_settled();
    assert_eq!(field().await, 0, "a payment changes no policy");
    ada.sets_policy(json!({ "max_daily_spend": 20 })).await;
    assert_eq!(field().await, 1);
    ada.pays("5").to(&payee).await.is_settled();
    room.done(&wallet, &deploy(&binaries::program_so()));
    is_past_the_day("7", "build before").await;
    ada.pays("4").to(&payee).await.is_settled();
    assert_eq!(field().await, 1, "the build before leaves alone what it does not know");
    ada.sets_policy(json!({ "max_daily_spend": 30 })).await;
    assert_eq!(field().await, 0);
    let report = audited(&room, &ada.operator.address).await;
    assert_eq!((&report["holds"], upgrades(&report, &wallet)), (&json!(true), 2), "{report:#}");
}

/// A payment of 9 USDC, with the thief where the program never looks: in the place of the token program.
async fn pays_past_the_payee(ada: &Agent, payee: &Pubkey, thief: &Pubkey) -> DirectOutcome {
    let chain = &ada.operator.chain;
    let authority = ada.operator.app().transfer_authority();
    let order = TransferOrder {
        operator: ada.operator.address,
        agent: ada.address,
        source: ada.token_account,
        destination: *payee,
        transfer_id: id_with_tag([7; 8], random_tag()),
        asked_at: u32::try_from(chain.now().await).expect("before 2106"),
        amount: 9_000_000,
        memo: "to the payee",
    };
    let mut pays = chain.program().transfer(authority.pubkey(), &order);
    let token_program = std::mem::replace(&mut pays.accounts[5], AccountMeta::new(*thief, false));
    pays.accounts.push(token_program);
    chain.all_land(&[pays], &[authority]).await
}

/// The upgrades that a report lists, each signed by this wallet.
fn upgrades(report: &Value, wallet: &Wallet) -> usize {
    let listed = report["program"]["upgrades"].as_array().unwrap().iter();
    let upgrades: Vec<&Value> = listed.filter(|change| change["what"] == "upgraded").collect();
    assert!(upgrades.iter().all(|change| change["authority"] == json!(wallet.address())), "{report:#}");
    upgrades.len()
}

async fn audited(room: &Room, operator: &Pubkey) -> Value {
    // Until all of it is final.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut audit = Command::new(binaries::relayer());
    audit.args(["audit", "--url", &room.network.rpc_url, "--operator", &operator.to_string(), "--json"]);
    let output = audit.current_dir(room.folder.path()).env_remove("PURSER_CONFIG").output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}
