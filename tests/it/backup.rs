//! Restores a backup of the database, with the commands of docs/run/operating.md as printed. The backup lacks a payment that was
//! made after it.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use purser_tests::{Client, TestDatabase, page};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

use crate::set_up::{Scene, sets_up_managed};

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        let _ = writeln!(std::io::stderr(), "skipped: there is no {program}");
    }
    found
}

/// Retries an order for as long as the answer is that the chain has to be read first.
async fn settles(client: &Client, order: &Value) -> Value {
    for _ in 0..300 {
        let answer = client.post("/v1/transfers", order).await;
        if answer.status != 503 && answer["status"] != "submitted" {
            return answer.is_settled().body.clone();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("{order} never settles");
}

/// Backs up, pays, restores, and retries the payment that the backup lacks.
async fn goes_on_from_a_copy(mut scene: Scene, backup: &str, restore: &str) {
    let printed = |kind: &str| page::blocks("docs/run/operating.md", &format!("sh {kind}"));
    let ([backup], [restore]) = (&printed(backup)[..], &printed(restore)[..]) else {
        panic!("one block each")
    };
    let key = sets_up_managed(&mut scene).await;
    let chain = scene.network.chain();
    let (payee, _) = chain.new_payee().await;
    let (serving, url) = scene.serves();
    let client = Client::new(&url, Some(&key));
    let account = client
        .post("/v1/accounts", &json!({ "name": "Ada", "policy": { "max_daily_spend": 5 } }))
        .await
        .has_status(201);
    let token_account: Pubkey = account.text_of("usdc_token_account").parse().expect("base58");
    purser_tests::wallet::mints(&chain, "5", &token_account).await;
    let id = account.text_of("account_id");
    let order =
        |key: &str| json!({ "from": id, "to": payee.to_string(), "amount": "1", "idempotency_key": key });
    let first = settles(&client, &order("first")).await;
    scene.types(backup);
    let later = settles(&client, &order("later")).await;
    let keys = format!("/v1/accounts/{id}/keys");
    let lost = client.post(&keys, &json!({})).await.has_status(201).text_of("key").to_owned();
    assert!(serving.stops(Duration::from_secs(60)), "it ends by itself");
    let found = scene.types(restore);
    assert!(found.contains("Everything is well."), "{found}");

    let (_serving, url) = scene.serves();
    let client = Client::new(&url, Some(&key));
    assert_eq!(settles(&client, &order("first")).await["transfer_id"], first["transfer_id"]);
    assert_eq!(settles(&client, &order("later")).await["tx_signature"], later["tx_signature"]);
    settles(&client, &order("new")).await;
    assert_eq!(chain.usdc_micros(&payee).await, 3_000_000);
    let read = client.get(&format!("/v1/accounts/{id}")).await.has_status(200);
    assert_eq!(read["name"], "Ada");
    client.with_key(&lost).get(&format!("/v1/accounts/{id}")).await.is_error(401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_of_the_sqlite_file_takes_its_place_and_nothing_is_paid_twice() {
    if is_there("sqlite3") {
        goes_on_from_a_copy(Scene::set().await, "backup", "restore").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dump_of_postgres_takes_its_place_and_nothing_is_paid_twice() {
    let Some(database) = TestDatabase::create().await else { return };
    if is_there("pg_dump") && is_there("pg_restore") {
        let mut scene = Scene::set().await;
        for name in ["DATABASE_URL", "PURSER__DATABASE__URL"] {
            scene.variables.push((name, database.url()));
        }
        goes_on_from_a_copy(scene, "backup of Postgres", "restore of Postgres").await;
    }
}
