//! The network as its users meet it: a process, JSON-RPC, websockets.

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use solana_rpc_client::rpc_client::RpcClient;
use solana_rpc_client_api::request::RpcRequest;
use solana_signer::Signer;
use support::{
    PROGRAM_ID, TestNetwork, connected, eventually, fresh_dir, posted, program_so, refused, sends, status_of,
};
use tungstenite::Message;

#[test]
fn networks_run_side_by_side_with_their_own_mints() {
    let (one, other) = (TestNetwork::start(&[]), TestNetwork::start(&[]));
    for fact in ["rpc_url", "ws_url", "usdc_mint", "mint_authority", "genesis_hash"] {
        assert_ne!(one.fact(fact), other.fact(fact), "{fact}");
    }
    for network in [&one, &other] {
        assert_eq!(network.call("getGenesisHash", json!([])), network.fact("genesis_hash"));
        let program = network.call("getAccountInfo", json!([PROGRAM_ID, { "encoding": "base64" }]));
        assert_eq!(program["value"]["executable"], true);
        let mint = json!([network.fact("usdc_mint"), { "encoding": "jsonParsed" }]);
        let mint = network.call("getAccountInfo", mint)["value"]["data"]["parsed"]["info"].take();
        assert_eq!(
            (&mint["decimals"], &mint["mintAuthority"]),
            (&json!(6), &json!(network.fact("mint_authority")))
        );
    }
}

#[test]
fn a_transaction_is_announced_and_finalized() {
    let network = TestNetwork::start(&[]);
    let payer = network.funded();
    let mut socket = tungstenite::connect(network.fact("ws_url")).expect("the websocket opens").0;
    let transaction = network.transfer_sol(&payer, 1_000_000, network.rpc.get_latest_blockhash().unwrap());
    let signature = transaction.signatures[0].to_string();
    let mut subscribe = |id: u32, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        socket.send(Message::text(request.to_string())).unwrap();
    };
    subscribe(1, "signatureSubscribe", json!([signature, { "commitment": "finalized" }]));
    let mentions = json!({ "mentions": [payer.pubkey().to_string()] });
    subscribe(2, "logsSubscribe", json!([mentions, { "commitment": "confirmed" }]));
    let mut read = || serde_json::from_str::<Value>(socket.read().unwrap().to_text().unwrap()).unwrap();
    let subscribed = [read(), read()];
    assert!(subscribed.iter().all(|answer| answer["result"].is_u64()), "{subscribed:?}");

    let sent = Instant::now();
    network.rpc.send_transaction(&transaction).unwrap();
    let accepted = sent.elapsed();
    let finalized = eventually("finalized", || {
        (network.status(&signature).as_deref() == Some("finalized")).then(|| sent.elapsed())
    });
    // The airdrop's logs mention the payer as well, so the kinds come in any order and number.
    let mut awaited = vec!["logsNotification", "signatureNotification"];
    while !awaited.is_empty() {
        let notice = read();
        let value = &notice["params"]["result"]["value"];
        let ours = value["signature"] == json!(signature) || value == &json!({ "err": null });
        awaited.retain(|kind| !(ours && notice["method"] == *kind));
    }
    println!("accepted after {accepted:?}, finalized after {finalized:?}");
    // 31 slots of 20 ms, and not the 6 s of slots of 200 ms.
    assert!((Duration::from_millis(500)..Duration::from_secs(6)).contains(&finalized), "{finalized:?}");
}

#[test]
fn travel_is_exact_to_the_second_and_transactions_go_on() {
    let network = TestNetwork::start(&[]);
    let payer = network.funded();
    let old_blockhash = network.rpc.get_latest_blockhash().unwrap();
    // With time held, exact means equal.
    network.call("surfnet_pauseClock", json!([]));
    let start = network.second();
    for (seconds, expected) in [("86399", 86_399), ("1", 86_400), ("86400", 172_800)] {
        let answer = network.run(&["travel", "--seconds", seconds]);
        assert_eq!(answer["unix_timestamp"], start + expected);
        assert_eq!(network.second(), start + expected);
    }
    network.run(&["travel", "--to", &(start + 200_000).to_string()]);
    assert_eq!(network.second(), start + 200_000);

    let signature = network
        .rpc
        .send_transaction(&network.transfer_sol(&payer, 1_000_000, old_blockhash))
        .unwrap()
        .to_string();
    eventually("finalized while time is held", || {
        (network.status(&signature).as_deref() == Some("finalized")).then_some(())
    });
    assert_eq!(network.second(), start + 200_000);
    let details = json!([signature, { "encoding": "json", "maxSupportedTransactionVersion": 1 }]);
    assert_eq!(network.call("getTransaction", details)["blockTime"], start + 200_000);

    network.call("surfnet_resumeClock", json!([]));
    eventually("time goes on", || (network.second() >= start + 200_002).then_some(()));
}

#[test]
fn the_clock_keeps_real_time() {
    let network = TestNetwork::start(&[]);
    let tick = |after: i64| eventually("the next second", || (network.second() > after).then(Instant::now));
    let first = network.second();
    let start = tick(first);
    let end = tick(first + 6);
    let elapsed = end.duration_since(start).as_secs_f64();
    // A busy machine may notice a second late, and neither of the two clocks may run away.
    assert!((4.0..12.0).contains(&elapsed), "6 chain seconds took {elapsed} s");
    let host = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!((host - network.second()).abs() <= 5);
}

#[test]
fn a_block_has_one_time_whoever_is_asked() {
    let network = TestNetwork::start(&[]);
    let payer = network.funded();
    // One in each of a second's slots, so that some lie at its edge; a travel moves all that follow.
    for lamports in 0..120 {
        if lamports == 60 {
            network.run(&["travel", "--seconds", "100"]);
        }
        // A busy machine takes longer for all of them than one blockhash lives.
        let blockhash = network.rpc.get_latest_blockhash().unwrap();
        network.rpc.send_transaction(&network.transfer_sol(&payer, 1_000_000 + lamports, blockhash)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let listed = network.call("getSignaturesForAddress", json!([payer.pubkey().to_string()]));
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 121, "and the airdrop");
    for line in listed {
        let details = json!([line["signature"], { "encoding": "json", "maxSupportedTransactionVersion": 1 }]);
        assert_eq!(line["blockTime"], network.call("getTransaction", details)["blockTime"], "{line}");
        assert_eq!(line["blockTime"], network.call("getBlockTime", json!([line["slot"]])), "{line}");
    }
}

#[test]
fn a_blockhash_expires_after_150_blocks() {
    let network = TestNetwork::start(&[]);
    let payer = network.funded();
    let answer = network.call("getLatestBlockhash", json!([{ "commitment": "finalized" }]));
    let blockhash = answer["value"]["blockhash"].as_str().unwrap().parse().unwrap();
    let last_valid = answer["value"]["lastValidBlockHeight"].as_u64().unwrap();
    let height = || network.call("getBlockHeight", json!([{ "commitment": "processed" }])).as_u64().unwrap();
    assert!(height() < last_valid);
    network.rpc.send_transaction(&network.transfer_sol(&payer, 1_000_000, blockhash)).expect("still valid");
    eventually("expiry", || (height() > last_valid + 1).then_some(()));
    let late = network.rpc.send_transaction(&network.transfer_sol(&payer, 2_000_000, blockhash));
    assert!(late.unwrap_err().to_string().contains("Blockhash not found"));
}

#[test]
fn minted_usdc_adds_up_and_has_a_signature() {
    let network = TestNetwork::start(&[]);
    let wallet = solana_keypair::Keypair::new().pubkey().to_string();
    let mint = network.fact("usdc_mint");
    let first = network.run(&["mint", "--mint", mint, "--to", &wallet, "--amount", "12.5"]);
    let account = first["token_account"].as_str().unwrap();
    let second = network.run(&["mint", "--mint", mint, "--to", account, "--amount", "0.000001"]);
    assert_eq!(
        (&first["balance_micros"], &second["balance_micros"]),
        (&json!(12_500_000), &json!(12_500_001))
    );
    assert_eq!(second["token_account"], account);
    let found = network.call("getSignaturesForAddress", json!([account]));
    let found: Vec<_> = found.as_array().unwrap().iter().map(|entry| entry["signature"].clone()).collect();
    assert_eq!(found, [second["signature"].clone(), first["signature"].clone()]);
}

#[test]
fn control_gives_money_and_time_and_holds_back_or_refuses_what_is_sent() {
    let network = TestNetwork::start(&["--control-port", "0"]);
    let control = RpcClient::new(network.fact("control_url").to_string());
    let ask = |method: &'static str, params: Value| -> Value {
        control
            .send(RpcRequest::Custom { method }, params)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    let before = network.second();
    ask("advance", json!([3_600]));
    assert!(network.second() >= before + 3_600);

    let payer = network.funded();
    let pays = |lamports| {
        let blockhash = network.rpc.get_latest_blockhash().expect("a blockhash");
        let payment = network.transfer_sol(&payer, lamports, blockhash);
        (payment.signatures[0].to_string(), network.rpc.send_transaction(&payment))
    };
    ask("fail_next_send", json!([1]));
    let wallet = payer.pubkey().to_string();
    assert_eq!(ask("fund", json!([wallet, "12.5"]))["balance_micros"], 12_500_000, "money is spared");
    let (refused, answer) = pays(1_000_000);
    assert!(answer.is_err(), "{answer:?}");
    let (sent, answer) = pays(2_000_000);
    answer.expect("one was refused, not two");
    eventually("it is confirmed", || network.status(&sent));
    assert_eq!(network.status(&refused), None);

    ask("slow", json!([500]));
    let asked = Instant::now();
    pays(3_000_000).1.expect("it is sent later");
    assert!(asked.elapsed() >= Duration::from_millis(500));
}

#[test]
fn page_of_another_site_reads_the_chain_and_neither_changes_nor_steers_it() {
    let network = TestNetwork::start(&["--control-port", "0"]);
    let (rpc, control) = (network.fact("rpc_url"), network.fact("control_url"));
    let slot = r#"{"jsonrpc":"2.0","id":1,"method":"getSlot"}"#;
    let travels = r#"{"jsonrpc":"2.0","id":1,"method":"surfnet_timeTravel","params":[{"absoluteTimestamp":9999999999000}]}"#;
    let advances = r#"{"jsonrpc":"2.0","id":1,"method":"advance","params":[3600]}"#;
    let before = network.second();
    let (foreign, rebound) = ("Origin: https://evil.example\r\n", "evil.example");
    let rebound_page = "Origin: http://evil.example\r\n";
    assert_eq!(posted(rpc, "localhost", foreign, slot), 200, "explorers read");
    for (url, host, headers, body) in [
        (rpc, "localhost", foreign, travels),
        (rpc, "localhost", "Origin: null\r\n", travels),
        (rpc, rebound, rebound_page, travels),
        (rpc, rebound, "", slot),
        (control, "localhost", foreign, advances),
        (control, rebound, rebound_page, advances),
        (control, rebound, "", advances),
    ] {
        assert_eq!(posted(url, host, headers, body), 403, "{url} {host} {headers} {body}");
    }
    assert!(network.second() < before + 3_600, "nothing moved the clock");
    let ws = network.fact("ws_url").replace("ws://", "http://");
    assert_eq!(posted(&ws, rebound, "", slot), 403, "the websocket has the same gate");
    // One connection, and another page's request on it.
    let mut both = connected(rpc);
    for (headers, body, status) in [("Origin: http://localhost:3000\r\n", slot, 200), (foreign, travels, 403)]
    {
        sends(&mut both, "127.0.0.1", headers, body);
        assert_eq!(status_of(&mut both), status, "{headers}");
    }
    let local = "Origin: http://127.0.0.1:3000\r\n";
    assert_eq!(posted(rpc, "127.0.0.1", local, travels), 200, "a page that this machine serves");
    assert!(network.second() > before + 3_600);
}

#[test]
fn a_state_dir_survives_a_stop_and_a_crash() {
    let dir = fresh_dir("state");
    let arguments = ["--state-dir", dir.to_str().unwrap()];
    let network = TestNetwork::start(&arguments);
    let payer = network.funded();
    let mint = network.fact("usdc_mint").to_string();
    let minted =
        network.run(&["mint", "--mint", &mint, "--to", &payer.pubkey().to_string(), "--amount", "7"]);
    let signature = minted["signature"].as_str().unwrap().to_string();
    let account = minted["token_account"].as_str().unwrap().to_string();
    let genesis = network.fact("genesis_hash").to_string();
    let traveled = network.run(&["travel", "--seconds", "86400"])["unix_timestamp"].as_i64().unwrap();
    let height = network.call("getBlockHeight", json!([])).as_u64().unwrap();
    eventually("final", || (network.status(&signature).as_deref() == Some("finalized")).then_some(()));

    let mut network = network;
    for end in ["-TERM", "-KILL", "-TERM"] {
        network.stop(end);
        network = TestNetwork::start(&arguments);
        assert_eq!(
            (network.fact("usdc_mint"), network.fact("genesis_hash")),
            (mint.as_str(), genesis.as_str())
        );
        let balance = network.call("getTokenAccountBalance", json!([account]));
        assert_eq!(balance["value"]["amount"], "7000000", "after {end}");
        assert_eq!(network.status(&signature).as_deref(), Some("finalized"), "after {end}");
        assert!(network.second() >= traveled && network.second() < traveled + 60, "after {end}");
        assert!(network.call("getBlockHeight", json!([])).as_u64().unwrap() >= height, "after {end}");
        let blockhash = network.rpc.get_latest_blockhash().unwrap();
        let again = network.transfer_sol(&payer, 1_000_000, blockhash);
        network.rpc.send_and_confirm_transaction(&again).expect("transactions go on");
    }
    let second_use = refused(&[
        "start",
        "--program-so",
        program_so().to_str().unwrap(),
        "--program-id",
        PROGRAM_ID,
        "--state-dir",
        arguments[1],
    ]);
    assert!(second_use.contains("another network is using"), "{second_use}");
}

#[test]
fn it_stops_at_once_when_asked() {
    for signal in ["-INT", "-TERM"] {
        let took = TestNetwork::start(&[]).stop(signal);
        assert!(took < Duration::from_secs(10), "{signal} took {took:?}");
    }
    let mut network = TestNetwork::start(&[]);
    let asked = Instant::now();
    drop(network.process.stdin.take());
    assert!(network.process.wait().unwrap().success());
    assert!(asked.elapsed() < Duration::from_secs(10), "end of stdin took {:?}", asked.elapsed());
}

#[test]
fn mistakes_are_answered_in_one_line() {
    let network = TestNetwork::start(&[]);
    let (url, mint) = (network.fact("rpc_url"), network.fact("usdc_mint"));
    let so = program_so();
    let so = so.to_str().unwrap();
    let taken = url.rsplit(':').next().unwrap();
    for (arguments, expected) in [
        (vec!["start", "--program-so", "/nowhere.so"], "cannot read /nowhere.so"),
        (vec!["start", "--program-so", "Cargo.toml", "--program-id", PROGRAM_ID], "is not a program"),
        (vec!["start", "--program-so", so, "--program-id", "x"], "is not a Solana address"),
        (vec!["start", "--program-so", so, "--program-id", PROGRAM_ID, "--fund", "x"], "write PUBKEY=SOL"),
        (vec!["start", "--program-so", so, "--program-id", PROGRAM_ID, "--rpc-port", taken], "is in use"),
        (
            vec!["mint", "--rpc-url", url, "--mint", mint, "--to", mint, "--amount", "1.0000001"],
            "at most 6 decimals",
        ),
        (
            vec!["mint", "--rpc-url", url, "--mint", PROGRAM_ID, "--to", mint, "--amount", "1"],
            "is not a mint that",
        ),
        (
            vec!["mint", "--rpc-url", "http://127.0.0.1:1", "--mint", mint, "--to", mint, "--amount", "1"],
            "does not answer",
        ),
        (vec!["travel", "--rpc-url", url, "--to", "1000"], "does not lie ahead"),
    ] {
        let answer = refused(&arguments);
        assert!(answer.contains(expected), "{arguments:?} answered {answer}");
    }
}
