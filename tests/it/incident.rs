//! A server was compromised: the steps of docs/run/emergency.md as printed, without a checkout, against a thief who holds all that
//! was on the server.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use purser_tests::agent::random_tag;
use purser_tests::chain::{DirectOutcome, DirectTransfer};
use purser_tests::{Client, page, wallet};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::read_keypair_file;
use solana_sdk::signer::Signer;

use crate::operator::{begins, is_added};
use crate::rotation::configures;
use crate::set_up::{Scene, named, word};

/// Waits until the service has found the account, which the operator made without it.
async fn is_known(client: &Client, id: &str) {
    let begun = Instant::now();
    while client.get(&format!("/v1/accounts/{id}")).await.status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{id} is not found");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_after_a_break_in_leave_the_thief_nothing_and_the_agents_pay_again() {
    let mut scene = Scene::set().await;
    let chain = scene.network.chain();
    begins(&mut scene).await;
    let created = scene.types(&page::blocks("docs/run/own-wallet.md", "sh operator")[0]);
    let (operator, agent) = (named(&created, "operator"), named(&created, "agent"));
    let id = named(&created, "account_id");
    wallet::mints(&chain, "20", &named(&created, "usdc_token_account").parse().expect("base58")).await;
    let key = is_added(&mut scene, operator.clone());
    let value_of = |scene: &Scene, name: &str| {
        let found = scene.variables.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("{name} is not set")).1.clone()
    };
    let operator_id = value_of(&scene, "OPERATOR_ID");
    let old_transfer = value_of(&scene, "TRANSFER_AUTHORITY");
    let (serving, url) = scene.serves();
    let client = Client::new(&url, Some(&key));
    let (payee, _) = chain.new_payee().await;
    let orders =
        |name: &str| json!({ "from": id, "to": payee.to_string(), "amount": "1", "idempotency_key": name });
    let keys = format!("/v1/accounts/{id}/keys");
    is_known(&client, &id).await;
    client.post("/v1/transfers", &orders("before")).await.is_settled();
    let agents = client.post(&keys, &json!({})).await.has_status(201).text_of("key").to_owned();

    // The thief takes the key files, makes itself a key of the API, and has a looser policy wait.
    let folder = scene.folder.path().join("purser");
    let stolen = read_keypair_file(folder.join("transfer-authority.json")).expect("init made it");
    let thiefs = named(&scene.types(&format!("purser key create --operator {operator_id}")), "key");
    let policy = format!("/v1/accounts/{id}/policy");
    client.with_key(&thiefs).put(&policy, &json!({ "max_single_transfer": 1000 })).await.has_status(202);

    let recipient = payee.to_string();
    let places = [
        ("OPERATOR", operator.as_str()),
        ("ACCOUNT", agent.as_str()),
        ("RECIPIENT", recipient.as_str()),
        ("OPERATOR_ID", operator_id.as_str()),
        ("OLD_TRANSFER_AUTHORITY", old_transfer.as_str()),
    ];
    let blocks = page::blocks("docs/run/emergency.md", "sh incident");
    let [halt, new_keys, update, look, api_keys, revoke, remove, resume] = &blocks[..] else {
        panic!("{blocks:?}")
    };
    // 1. At the top of the page with node and wallet on the line, and here from the environment, which finds it halted.
    scene.variables.push(("WALLET", scene.folder.path().join("wallet.json").display().to_string()));
    scene.types(&page::filled(&page::blocks("docs/run/emergency.md", "sh halt")[0], &places));
    let [names_node_and_wallet] = &page::blocks("docs/run/emergency.md", "sh wallet")[..] else {
        panic!("one block")
    };
    let shows = "printenv ANCHOR_PROVIDER_URL ANCHOR_WALLET";
    let exported = scene.types(&format!("{names_node_and_wallet}{shows}"));
    for (name, value) in ["ANCHOR_PROVIDER_URL", "ANCHOR_WALLET"].into_iter().zip(exported.lines()) {
        scene.variables.push((name, value.to_owned()));
    }
    client.post("/v1/transfers", &orders("halted-first")).await.is_error(402, "account_paused");
    scene.types(&page::filled(halt, &places));
    client.post("/v1/transfers", &orders("halted")).await.is_error(402, "account_paused");
    // 2. On a clean machine: beside the thief's copies, the files would be there already.
    let server = std::mem::replace(&mut scene.place, scene.folder.path().to_path_buf());
    let made = scene.types(new_keys);
    scene.place = server;
    let made: Vec<&str> = made.split_whitespace().filter(|word| word.parse::<Pubkey>().is_ok()).collect();
    let [new_policy, new_transfer] = made[..] else { panic!("{made:?}") };
    for address in [new_policy, new_transfer] {
        chain.funds(&address.parse().expect("base58"), 1).await;
    }
    let named_now =
        [&places[..], &[("NEW_POLICY_AUTHORITY", new_policy), ("NEW_TRANSFER_AUTHORITY", new_transfer)]];
    scene.types(&page::filled(update, &named_now.concat()));
    // 3.
    let looked = scene.types(&page::filled(look, &places));
    assert!(looked.contains("1000.000000"), "what the thief had wait is seen: {looked}");
    let read = client.get(&policy).await.has_status(200);
    assert!(read["pending"].is_null(), "{}", read.text);
    // 4. The clean machine: the database, and none of the old keys.
    assert!(serving.stops(Duration::from_secs(60)), "it ends by itself");
    for (setting, name) in [
        ("policy_authority_keypair", "policy-authority.json"),
        ("transfer_authority_keypair", "transfer-authority.json"),
    ] {
        fs::rename(scene.folder.path().join(name), folder.join(name)).expect("the folder is writable");
        configures(&folder, &format!("{setting} = \"{}\"", folder.join(name).display()));
    }
    let printed = scene.types(&page::filled(api_keys, &places));
    let (new_id, new_key) = (word(&printed, |word| word.starts_with("key_")), named(&printed, "key"));
    let others: BTreeSet<&str> = printed.split_whitespace().filter(|word| word.starts_with("key_")).collect();
    let others: Vec<&str> = others.into_iter().filter(|other| *other != new_id).collect();
    assert_eq!(others.len(), 3, "the operator's, its agent's and the thief's: {printed}");
    for other in others {
        scene.types(&page::filled(revoke, &[("KEY_ID", other)]));
    }
    let (_serving, url) = scene.serves();
    let client = Client::new(&url, Some(&new_key));
    for old in [&key, &agents, &thiefs] {
        client.with_key(old).get("/v1/accounts").await.is_error(401, "unauthorized");
    }
    let agents = client.post(&keys, &json!({})).await.has_status(201).text_of("key").to_owned();
    let paying = client.with_key(&agents);
    paying.post("/v1/transfers", &orders("still halted")).await.is_error(402, "account_paused");
    // 5.
    let removed = scene.types(&page::filled(remove, &places));
    let shown = removed.split("transfer_authorities").last().expect("it shows the operator");
    assert!(shown.contains(new_transfer) && !shown.contains(&old_transfer), "{removed}");
    // 6.
    scene.types(&page::filled(resume, &places));
    paying.post("/v1/transfers", &orders("after")).await.is_settled();
    // The thief still has the old transfer authority, which signs nothing any more.
    let order = DirectTransfer {
        operator: operator.parse().expect("base58"),
        agent: agent.parse().expect("base58"),
        destination: payee,
        amount_micros: 1_000_000,
        memo: "",
        tag: random_tag(),
    };
    let landing = chain.transfers(&order, &stolen).await;
    assert!(matches!(landing, DirectOutcome::Refused(_)), "{landing:?} by {}", stolen.pubkey());
    assert_eq!(chain.usdc_micros(&payee).await, 2_000_000);
}
