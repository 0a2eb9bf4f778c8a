//! Policies: their form in requests and answers, and that no change overwrites a policy that its writer has not seen.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};

use super::{Answer, Relayer, policy_with};
use purser_chain::Destination;
use purser_chain::scripted::{vault_at, wallet_at};
use purser_model::Address;

impl Relayer {
    async fn policy(&self, method: &str, path: &str, if_match: &str, body: &Value) -> Answer {
        self.policy_matching(method, path, &[if_match], body).await
    }

    async fn policy_matching(&self, method: &str, path: &str, if_match: &[&str], body: &Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key))
            .header(header::CONTENT_TYPE, "application/json");
        let request = if_match.iter().fold(request, |request, tag| request.header(header::IF_MATCH, *tag));
        self.answer(request.body(Body::from(body.to_string())).expect("a request")).await
    }
}

fn address(byte: u8) -> Address {
    wallet_at(byte.into())
}

fn many(count: u16) -> Vec<String> {
    (0..count).map(|number| wallet_at(number).to_string()).collect()
}

/// Addresses in the order of an allowlist.
fn by_bytes(addresses: &[&str]) -> Vec<String> {
    let mut addresses: Vec<Address> =
        addresses.iter().map(|text| text.parse().expect("an address")).collect();
    addresses.sort_by_key(|address| address.bytes());
    addresses.iter().map(Address::to_string).collect()
}

#[tokio::test]
async fn a_policy_is_answered_as_it_stands_on_the_chain() {
    let relayer = Relayer::start().await;
    let (account, other) = (relayer.account().await, relayer.account().await);
    let path = format!("/v1/accounts/{account}/policy");
    let pda = relayer.get(&format!("/v1/accounts/{other}")).await.body["solana_address"].clone();
    let wallet = address(200).to_string();
    let policy = json!({
        "max_single_transfer": "18446744073709.551615", "max_daily_spend": "0.000001",
        "allowed_counterparties": [wallet, other, pda, wallet]
    });
    let put = relayer.put(&path, &policy).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.body);
    let listed = by_bytes(&[&wallet, pda.as_str().expect("text")]);
    assert_eq!(put.body["allowed_counterparties"], json!(listed));
    assert_eq!(put.body["counterparty_kinds"], json!(["wallet", "wallet"]));
    assert!(put.text.contains(r#""max_single_transfer":18446744073709.551615,"max_daily_spend":0.000001,"#));
    assert_eq!((&put.body["version"], put.body["tx_signature"].is_string()), (&json!(2), true));
    assert_eq!(
        (&put.body["pending"], &put.headers[header::ETAG]),
        (&json!(null), &"\"2\"".parse().expect("text"))
    );
    let read = relayer.get(&path).await;
    assert_eq!(read.body["allowed_counterparties"], json!(listed));
    assert!(read.body.get("tx_signature").is_none() && read.body.get("effective_at").is_none());
    assert_eq!(read.headers[header::ETAG], "\"2\"");

    let paused = relayer.put(&path, &json!({ "paused": true })).await;
    assert_eq!(
        (&paused.body["paused"], &paused.body["max_daily_spend"]),
        (&json!(true), &put.body["max_daily_spend"])
    );
    assert_eq!(relayer.get(&format!("/v1/accounts/{account}")).await.body["status"], "paused");
    let open = relayer.put(&path, &json!({ "require_memo": true })).await;
    assert_eq!((&open.body["paused"], &open.body["allowed_counterparties"]), (&json!(false), &json!(null)));
}

#[tokio::test]
async fn kind_of_an_entry_is_stated_or_read_or_kept() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let (token, wallet, pda) = (address(10).to_string(), address(11).to_string(), vault_at(12).to_string());
    let stands = Destination::TokenAccount { owner: address(9) };
    relayer.chain.script().destinations.insert(address(10), stands);

    let unclear = relayer.put(&path, &json!({ "allowed_counterparties": [wallet, token, pda] })).await;
    assert_eq!(
        (unclear.error(), &unclear.body["param"]),
        ((400, "invalid_request"), &json!("allowed_counterparties[2]"))
    );
    let message = unclear.body["message"].as_str().expect("text");
    assert!(message.contains(&format!("{{\"wallet\": \"{pda}\"}}")), "{message}");

    let said = json!({ "allowed_counterparties": [wallet, token, { "wallet": pda }, { "token_account": wallet }, pda] });
    let unclear = relayer.put(&path, &said).await;
    assert_eq!(unclear.body["param"], "allowed_counterparties[4]", "what another entry says is not in force");
    let said =
        json!({ "allowed_counterparties": [wallet, token, { "wallet": pda }, { "token_account": wallet }] });
    let put = relayer.put(&path, &said).await;
    assert_eq!(put.body["allowed_counterparties"], json!([wallet, pda, token, wallet]), "{}", put.body);
    assert_eq!(put.body["counterparty_kinds"], json!(["wallet", "wallet", "token_account", "token_account"]));
    let read = relayer.get(&path).await;
    for field in ["allowed_counterparties", "counterparty_kinds"] {
        assert_eq!(read.body[field], put.body[field]);
    }

    // A listed address keeps the kind that it was listed with, whatever stands there by now.
    relayer.chain.script().destinations.remove(&address(10));
    let again = relayer.put(&path, &json!({ "allowed_counterparties": [pda, token] })).await;
    assert_eq!(again.body["counterparty_kinds"], json!(["wallet", "token_account"]), "{}", again.body);
    let patched = relayer.patch(&path, &json!({ "require_memo": true })).await;
    assert_eq!(patched.body["allowed_counterparties"], json!([pda, token]));
}

#[tokio::test]
async fn policies_that_cannot_be_are_400_and_change_nothing() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let unknown = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let both: Vec<Value> = many(200)
        .into_iter()
        .flat_map(|address| [json!({ "wallet": address }), json!({ "token_account": address })])
        .collect();
    for (body, param) in [
        (json!({ "allowed_counterparties": many(257) }), "allowed_counterparties"),
        (json!({ "allowed_counterparties": both }), "allowed_counterparties"),
        (json!({ "allowed_counterparties": [address(3).to_string(), unknown] }), "allowed_counterparties[1]"),
        (json!({ "allowed_counterparties": ["nobody"] }), "allowed_counterparties[0]"),
        (
            json!({ "allowed_counterparties": [{ "pda": address(3).to_string() }] }),
            "allowed_counterparties[0]",
        ),
        (json!({ "max_daily_spend": -1 }), "max_daily_spend"),
        (json!({ "max_daily_spend": "0.0000001" }), "max_daily_spend"),
        (json!({ "paused": "yes" }), "paused"),
        (json!({ "expected_version": 1.5 }), "expected_version"),
    ] {
        for answer in [relayer.put(&path, &body).await, relayer.patch(&path, &body).await] {
            assert_eq!(answer.error(), (400, "invalid_request"));
            assert_eq!(answer.body["param"], param);
        }
    }
    assert_eq!(relayer.get(&path).await.body["version"], 1);
    let doubled = [many(256), many(256)].concat();
    let most = relayer.put(&path, &json!({ "allowed_counterparties": doubled })).await;
    assert_eq!(most.status, StatusCode::OK, "duplicates collapse before entries are counted");
    assert_eq!(most.body["allowed_counterparties"], json!(many(256)));
}

#[tokio::test]
async fn an_account_may_begin_with_its_policy() {
    let relayer = Relayer::start().await;
    let other = relayer.account().await;
    let policy =
        json!({ "max_daily_spend": "50", "allowed_counterparties": [other, address(7).to_string()] });
    let created = relayer.post("/v1/accounts", &json!({ "name": "a", "policy": policy })).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let pda = relayer.get(&format!("/v1/accounts/{other}")).await.body["solana_address"].clone();
    let listed = by_bytes(&[pda.as_str().expect("text"), &address(7).to_string()]);
    let expected = policy_with(json!({
        "max_daily_spend": 50, "allowed_counterparties": listed, "counterparty_kinds": ["wallet", "wallet"],
    }));
    assert_eq!(created.body["policy"], expected);
    let path = format!("/v1/accounts/{}", created.body["account_id"].as_str().expect("text"));
    assert_eq!(relayer.get(&path).await.body["policy"], expected);
    assert_eq!(relayer.get(&format!("{path}/policy")).await.body["version"], 1);

    for (policy, param) in [
        (json!({ "allowed_counterparties": many(16) }), "policy.allowed_counterparties"),
        (json!({ "allowed_counterparties": ["nobody"] }), "policy.allowed_counterparties[0]"),
        (json!({ "max_daily_spend": -1 }), "policy.max_daily_spend"),
        (json!({ "expected_version": 1 }), "policy.expected_version"),
        (json!({ "colour": 1 }), "policy.colour"),
        (json!([]), "policy"),
    ] {
        let answer = relayer.post("/v1/accounts", &json!({ "name": "a", "policy": policy })).await;
        assert_eq!((answer.error(), &answer.body["param"]), ((400, "invalid_request"), &json!(param)));
    }
    let most = json!({ "name": "a", "policy": { "allowed_counterparties": many(15), "paused": true } });
    let created = relayer.post("/v1/accounts", &most).await;
    assert_eq!((created.status, &created.body["status"]), (StatusCode::CREATED, &json!("paused")));
    let none = relayer.post("/v1/accounts", &json!({ "name": "a", "policy": null })).await;
    assert_eq!(none.body["policy"]["max_daily_spend"], json!(null));
}

#[tokio::test]
async fn changes_at_the_same_time_do_not_undo_each_other() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    relayer.chain.script().policies_held = true;
    let (memo, limit) = (json!({ "require_memo": true }), json!({ "max_daily_spend": 5 }));
    let release = async {
        relayer.chain.comes_to(|script| script.policies_under_way > 0).await;
        relayer.chain.release();
    };
    let (one, two, ()) = tokio::join!(relayer.patch(&path, &memo), relayer.patch(&path, &limit), release);
    assert_eq!((one.status, two.status), (StatusCode::OK, StatusCode::OK));
    let read = relayer.get(&path).await;
    assert_eq!((&read.body["require_memo"], &read.body["max_daily_spend"]), (&json!(true), &json!(5)));
    assert_eq!(read.body["version"], 3);
}

#[tokio::test]
async fn a_change_is_made_to_the_version_that_it_is_meant_for() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let memo = json!({ "require_memo": true });
    for method in ["PUT", "PATCH"] {
        let version = relayer.get(&path).await.body["version"].as_u64().expect("a number");
        let stale = relayer.policy(method, &path, &format!("\"{}\"", version - 1), &memo).await;
        assert_eq!(stale.error(), (409, "policy_changed"));
        assert_eq!((&stale.body["retryable"], stale.body["request_id"].is_string()), (&json!(false), true));
        let done = relayer.policy(method, &path, &version.to_string(), &memo).await;
        assert_eq!(done.headers[header::ETAG], format!("\"{}\"", version + 1));
    }
    let mut body = json!({ "require_memo": true, "expected_version": 3 });
    assert_eq!(relayer.put(&path, &body).await.status, StatusCode::OK);
    assert_eq!(relayer.put(&path, &body).await.error(), (409, "policy_changed"));
    let unlike = relayer.policy("PUT", &path, "4", &body).await;
    assert_eq!(
        (unlike.error(), &unlike.body["param"]),
        ((400, "invalid_request"), &json!("expected_version"))
    );
    body["expected_version"] = json!(4);
    assert_eq!(relayer.policy("PUT", &path, "\"4\"", &body).await.status, StatusCode::OK);
    for header in [
        "W/5",
        "w/\"5\"",
        "W/\"*\"",
        "\"*\"",
        "*, \"5\"",
        "\"4\", \"5\"",
        "",
        "-1",
        "+5",
        "\"\"",
        "99999999999999999999",
    ] {
        let answer = relayer.policy("PUT", &path, header, &memo).await;
        assert_eq!(
            (answer.error(), &answer.body["param"]),
            ((400, "invalid_request"), &json!("If-Match")),
            "{header}"
        );
    }

    // A pause applies at any version. An unpause at another version than the one meant is refused.
    assert_eq!(relayer.policy("PUT", &path, "1", &json!({ "paused": true })).await.body["version"], 6);
    assert_eq!(
        relayer.policy("PUT", &path, "1", &json!({ "paused": false })).await.error(),
        (409, "policy_changed")
    );
    let lifted = relayer.policy("PUT", &path, "6", &json!({ "paused": false })).await;
    assert_eq!((&lifted.body["paused"], &lifted.body["require_memo"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn weak_tag_of_a_proxy_names_its_version_and_a_star_names_none() {
    let relayer = Relayer::start().await;
    let path = format!("/v1/accounts/{}/policy", relayer.account().await);
    let memo = json!({ "require_memo": true });
    for method in ["PUT", "PATCH"] {
        let version = relayer.get(&path).await.body["version"].as_u64().expect("a number");
        let stale = relayer.policy(method, &path, &format!("W/\"{}\"", version - 1), &memo).await;
        assert_eq!(stale.error(), (409, "policy_changed"), "{method}");
        let weak = relayer.policy(method, &path, &format!("W/\"{version}\""), &memo).await;
        assert_eq!(weak.body["version"], version + 1, "{method} {}", weak.body);
        let any = relayer.policy(method, &path, "*", &memo).await;
        assert_eq!(any.body["version"], version + 2, "{method} {}", any.body);
        // The body's own still counts, beside a star and beside a weak tag.
        let bound = json!({ "require_memo": true, "expected_version": version });
        assert_eq!(relayer.policy(method, &path, "*", &bound).await.error(), (409, "policy_changed"));
        let unlike = relayer.policy(method, &path, &format!("W/\"{}\"", version + 2), &bound).await;
        assert_eq!(unlike.body["param"], "expected_version", "{}", unlike.body);
        let twice = relayer.policy_matching(method, &path, &["*", "*"], &memo).await;
        assert_eq!((twice.error(), &twice.body["param"]), ((400, "invalid_request"), &json!("If-Match")));
    }
}

/// Two relayers that do not know of each other: one is in the middle of a change when the other pauses the account.
async fn paused_in_the_middle(method: &str, if_match: &[&str], body: &Value) -> (Relayer, String, Answer) {
    let relayer = Relayer::start().await;
    let beside = relayer.beside().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    relayer.chain.script().policies_held = true;
    let pause = async {
        relayer.chain.comes_to(|script| script.policies_under_way == 1).await;
        let paused = beside.put(&path, &json!({ "paused": true })).await;
        assert_eq!((paused.status, &paused.body["paused"]), (StatusCode::OK, &json!(true)), "at once");
        relayer.chain.release();
    };
    let (changed, ()) = tokio::join!(relayer.policy_matching(method, &path, if_match, body), pause);
    (relayer, path, changed)
}

#[tokio::test]
async fn nothing_that_was_asked_for_before_a_pause_takes_it_back() {
    for (method, if_match, body) in [
        ("PATCH", &[][..], json!({ "max_daily_spend": 5 })),
        // A merge is held to what it merged, also where no version is asked for.
        ("PATCH", &["*"], json!({ "max_daily_spend": 5 })),
        ("PATCH", &[], json!({ "paused": false, "require_memo": true })),
        ("PUT", &[], json!({ "require_memo": true })),
        ("PUT", &["*"], json!({ "require_memo": true })),
        ("PUT", &[], json!({ "require_memo": true, "expected_version": 1 })),
    ] {
        let (relayer, path, changed) = paused_in_the_middle(method, if_match, &body).await;
        assert_eq!(changed.error(), (409, "policy_changed"), "{method} {body}");
        let read = relayer.get(&path).await;
        assert_eq!(
            (&read.body["paused"], &read.body["version"]),
            (&json!(true), &json!(2)),
            "{method} {body}"
        );
        // From here on the pause is known, so this request means to lift it.
        assert_eq!(relayer.put(&path, &json!({ "require_memo": true })).await.body["paused"], false);
    }
}

#[tokio::test]
async fn change_reads_the_account_once_before_it_writes_and_once_after() {
    let relayer = Relayer::start().await;
    let path = format!("/v1/accounts/{}/policy", relayer.account().await);
    for change in [json!({ "require_memo": true }), json!({ "max_daily_spend": 5 })] {
        let before = relayer.chain.script().agent_reads;
        assert_eq!(relayer.put(&path, &change).await.status, StatusCode::OK);
        assert_eq!(relayer.chain.script().agent_reads - before, 2, "{change}");
    }
}

#[tokio::test]
async fn replacement_overwrites_a_change_in_between() {
    let (relayer, path, changed) =
        paused_in_the_middle("PUT", &[], &json!({ "require_memo": true, "paused": true })).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
    let read = relayer.get(&path).await;
    assert_eq!((&read.body["version"], &read.body["require_memo"]), (&json!(4), &json!(true)));
}

fn rules(body: &Value) -> [Value; 4] {
    ["paused", "max_single_transfer", "max_daily_spend", "require_memo"].map(|field| body[field].clone())
}

#[tokio::test]
async fn a_pause_among_other_fields_applies_first_and_the_rest_follows_as_put_and_patch_do() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let limited = json!({ "max_daily_spend": 10, "require_memo": true });
    for paused in [true, false] {
        relayer.put(&path, &limited).await;
        let body = json!({ "paused": paused, "max_single_transfer": 4 });
        let merged = relayer.patch(&path, &body).await;
        assert_eq!(rules(&merged.body), [json!(paused), json!(4), json!(10), json!(true)], "{}", merged.body);
        relayer.put(&path, &limited).await;
        let replaced = relayer.put(&path, &body).await;
        let expected = [json!(paused), json!(4), json!(null), json!(false)];
        assert_eq!((replaced.status, rules(&replaced.body)), (StatusCode::OK, expected), "{}", replaced.body);
    }
    relayer.put(&path, &limited).await;
    let listed = json!({ "paused": true, "allowed_counterparties": [address(7).to_string()] });
    let replaced = relayer.put(&path, &listed).await;
    assert_eq!(rules(&replaced.body), [json!(true), json!(null), json!(null), json!(false)]);

    // Nothing is left to say after the pause.
    relayer
        .put(&path, &json!({ "max_single_transfer": 4, "max_daily_spend": 10, "require_memo": true }))
        .await;
    let version = relayer.get(&path).await.body["version"].as_u64().expect("a number");
    let whole = json!({
        "paused": true, "max_single_transfer": 4, "max_daily_spend": 10, "require_memo": true,
        "allowed_counterparties": null, "expected_version": version
    });
    let stopped = relayer.put(&path, &whole).await;
    assert_eq!((stopped.status, &stopped.body["version"]), (StatusCode::OK, &json!(version + 1)));
    assert!(stopped.body["tx_signature"].is_string());

    // What comes after the pause is meant for the version that was read.
    relayer.put(&path, &json!({ "paused": false })).await;
    let tighter = json!({ "paused": true, "max_daily_spend": 9, "expected_version": version + 2 });
    let stopped = relayer.patch(&path, &tighter).await;
    assert_eq!((stopped.status, &stopped.body["version"]), (StatusCode::OK, &json!(version + 4)));
}

#[tokio::test]
async fn a_pause_holds_at_any_version_and_what_is_refused_beside_it_says_so() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let limited = json!({ "max_daily_spend": 9, "require_memo": true });
    relayer.put(&path, &limited).await;
    let read = relayer.get(&path).await.body;
    let mut edited = read.clone();
    (edited["paused"], edited["max_daily_spend"]) = (json!(true), json!(8));
    let version = || async { relayer.get(&path).await.body["version"].as_u64().expect("a number") };
    let stale = json!({ "paused": true, "max_daily_spend": 8, "expected_version": 1 });
    let limit = json!({ "paused": true, "max_daily_spend": 8 });
    let of_other =
        json!({ "paused": true, "max_daily_spend": 8, "account_id": "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV" });
    for (if_match, body, error) in [
        (None, &stale, (409, "policy_changed")),
        (Some("1"), &limit, (409, "policy_changed")),
        (Some("99"), &stale, (400, "invalid_request")),
        (Some("\"*\""), &limit, (400, "invalid_request")),
        (None, &of_other, (400, "invalid_request")),
        (None, &edited, (409, "policy_changed")),
    ] {
        for method in ["PUT", "PATCH"] {
            relayer.put(&path, &json!({ "paused": false })).await;
            assert_eq!(relayer.get(&path).await.body["paused"], false);
            let before = version().await;
            let answer = match if_match {
                Some(header) => relayer.policy(method, &path, header, body).await,
                None => relayer.send(method, &path, &relayer.key, Some(&body.to_string())).await,
            };
            assert_eq!(answer.error(), error, "{method} {if_match:?} {body}: {}", answer.body);
            let message = answer.body["message"].as_str().expect("text");
            assert!(message.starts_with("The pause holds."), "{message}");
            let read = relayer.get(&path).await.body;
            assert_eq!(rules(&read), [json!(true), json!(null), json!(9), json!(true)], "{method} {body}");
            assert_eq!(read["version"], before + 1, "only the pause applies");
        }
    }
    // Nothing stands beside these.
    for body in [json!({ "paused": true, "version": 1 }), json!({ "paused": true, "expected_version": 1 })] {
        relayer.put(&path, &json!({ "paused": false })).await;
        let paused = relayer.policy("PUT", &path, "1", &body).await;
        assert_eq!(
            (paused.status, &paused.body["paused"]),
            (StatusCode::OK, &json!(true)),
            "{}",
            paused.body
        );
    }
}

#[tokio::test]
async fn a_cap_beside_a_pause_is_set() {
    let relayer = Relayer::start().await;
    let path = format!("/v1/accounts/{}/policy", relayer.account().await);
    let capped = relayer.patch(&path, &json!({ "paused": true, "max_30_day_spend": 60 })).await;
    assert_eq!(
        (&capped.body["paused"], &capped.body["max_30_day_spend"]),
        (&json!(true), &json!(60)),
        "{}",
        capped.body
    );
}

impl Relayer {
    /// From now on the database refuses every action.
    fn refuses_records(&self) {
        let database =
            rusqlite::Connection::open(self.folder.path().join("purser.db")).expect("the database");
        let trigger =
            "CREATE TRIGGER full BEFORE INSERT ON actions BEGIN SELECT RAISE(ABORT, 'no room'); END";
        database.execute_batch(trigger).expect("a trigger");
    }
}

#[tokio::test]
async fn nothing_but_the_pause_is_changed_without_a_record() {
    let relayer = Relayer::start().await;
    let mut paths = Vec::new();
    for _ in 0..4 {
        let path = format!("/v1/accounts/{}/policy", relayer.account().await);
        relayer.put(&path, &json!({ "max_daily_spend": 5 })).await;
        paths.push(path);
    }
    let recorded = relayer.get("/v1/actions?limit=100").await.body["data"].clone();
    relayer.refuses_records();
    let thief = address(66).to_string();
    let loose = json!({ "paused": true, "max_daily_spend": 500, "allowed_counterparties": [thief] });
    let long = json!({ "paused": true, "max_daily_spend": 500, "allowed_counterparties": many(200) });
    let capped = json!({ "paused": true, "max_30_day_spend": 500 });
    for (path, method, body) in [
        (&paths[0], "PATCH", &loose),
        (&paths[1], "PUT", &loose),
        (&paths[2], "PUT", &long),
        (&paths[3], "PATCH", &capped),
    ] {
        let answer = relayer.send(method, path, &relayer.key, Some(&body.to_string())).await;
        assert_eq!(answer.error(), (503, "service_unavailable"), "{method}: {}", answer.body);
        let message = answer.body["message"].as_str().expect("text");
        assert!(message.starts_with("The pause holds. The rest of the change failed: "), "{message}");
        let again = relayer.send(method, path, &relayer.key, Some(&body.to_string())).await;
        assert_eq!(again.error(), (503, "service_unavailable"), "it is paused already: {}", again.body);
    }
    for path in &paths {
        let read = relayer.get(path).await.body;
        assert_eq!(rules(&read), [json!(true), json!(null), json!(5), json!(false)], "{path}");
        assert_eq!(
            (&read["allowed_counterparties"], &read["max_30_day_spend"]),
            (&json!(null), &json!(null))
        );
        // A pause alone needs no record; lifting one does.
        assert_eq!(relayer.put(path, &json!({ "paused": true })).await.status, StatusCode::OK);
        assert!(relayer.put(path, &json!({ "paused": false })).await.status.is_server_error());
        assert_eq!(relayer.get(path).await.body["paused"], true);
    }
    assert_eq!(relayer.get("/v1/actions?limit=100").await.body["data"], recorded);
}

#[tokio::test]
async fn beyond_the_rate_only_the_pause_is_carried_out() {
    let relayer = Relayer::start().await;
    let one = std::num::NonZeroU32::MIN;
    let slow = crate::web::HttpSettings { requests_per_second: one, burst: one, ..super::settings() };
    for (method, body) in [
        ("PATCH", json!({ "paused": true, "max_daily_spend": 500 })),
        ("PUT", json!({ "paused": true, "allowed_counterparties": [address(66).to_string()] })),
    ] {
        let path = format!("/v1/accounts/{}/policy", relayer.account().await);
        relayer.put(&path, &json!({ "max_daily_spend": 5 })).await;
        let limited = crate::http::router(&relayer.services, slow.clone(), &super::NoExtensions);
        let sends = async |method: &str, body: Option<&Value>| {
            let text = body.map(Value::to_string).unwrap_or_default();
            let request = Request::builder()
                .method(method)
                .uri(&path)
                .header(header::AUTHORIZATION, format!("Bearer {}", relayer.key))
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::CONTENT_LENGTH, text.len());
            let request = request.body(Body::from(text)).expect("a request");
            let response = tower::ServiceExt::oneshot(limited.clone(), request).await.expect("infallible");
            let status = response.status();
            let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("a body");
            (status, serde_json::from_slice::<Value>(&bytes).expect("JSON"))
        };
        assert_eq!(sends("GET", None).await.0, StatusCode::OK);
        let (status, answer) = sends(method, Some(&body)).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{answer}");
        assert!(
            answer["message"].as_str().is_some_and(|text| text.starts_with("The pause holds.")),
            "{answer}"
        );
        let read = relayer.get(&path).await.body;
        assert_eq!(rules(&read), [json!(true), json!(null), json!(5), json!(false)], "{method}");
        assert_eq!(read["allowed_counterparties"], json!(null));
    }
}
