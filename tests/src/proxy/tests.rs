//! The proxy in front of a single-threaded network that answers every call with its own id and an increasing number.

use std::io::BufReader;
use std::net::TcpListener;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use serde_json::json;

use super::*;

fn network() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let calls = Arc::clone(&calls);
            thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                let mut reader = BufReader::new(stream);
                while let Ok(Some(request)) = read_message(&mut reader) {
                    let call: Value = serde_json::from_slice(&request.body).unwrap();
                    let number = calls.fetch_add(1, Ordering::SeqCst) + 1;
                    let answer = json!({ "id": call["id"], "result": number }).to_string();
                    writer.write_all(&response(answer.as_bytes())).unwrap();
                }
            });
        }
    });
    format!("http://{address}")
}

async fn asks(proxy: &Proxy, method: &str, id: u64) -> Result<Value, reqwest::Error> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(2)).build()?;
    let call = json!({ "id": id, "method": method });
    client.post(proxy.url()).json(&call).send().await?.error_for_status()?.json().await
}

#[tokio::test]
async fn unspoiled_calls_pass_and_are_counted() {
    let proxy = Proxy::to(&network());
    for number in 1..=3 {
        assert_eq!(asks(&proxy, "get", 7).await.unwrap(), json!({ "id": 7, "result": number }));
    }
    assert_eq!(proxy.calls()["get"], 3);
}

#[tokio::test]
async fn faults_meet_the_calls_of_their_method_one_each() {
    let proxy = Proxy::to(&network());
    let spoiled = [Fault::Dropped, Fault::Reset, Fault::HalfOpen, Fault::Truncated, Fault::Status(503)];
    proxy.faults().orders("get", spoiled);
    assert!(asks(&proxy, "other", 1).await.is_ok());
    for fault in spoiled {
        assert!(asks(&proxy, "get", 1).await.is_err(), "{fault:?}");
    }
    // The dropped call never reached the network; the others did.
    assert_eq!(asks(&proxy, "get", 1).await.unwrap()["result"], 6);
}

#[tokio::test]
async fn answers_come_late_or_to_the_wrong_one_when_ordered_so() {
    let proxy = Proxy::to(&network());
    proxy.faults().orders("get", [Fault::Delayed(Duration::from_millis(150))]);
    let begun = Instant::now();
    assert!(asks(&proxy, "get", 1).await.is_ok());
    assert!(begun.elapsed() >= Duration::from_millis(150));
    proxy.faults().orders("get", [Fault::Misdelivered; 2]);
    assert_eq!(asks(&proxy, "get", 2).await.unwrap()["id"], 2);
    assert_eq!(asks(&proxy, "get", 3).await.unwrap()["id"], 2);
    proxy.faults().orders("get", [Fault::Overtaken]);
    let (held, overtaking) = tokio::join!(asks(&proxy, "get", 4), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        asks(&proxy, "get", 5).await
    });
    assert!(held.is_ok() && overtaking.is_ok());
}

#[tokio::test]
async fn a_cut_line_refuses_and_a_mended_one_serves() {
    let proxy = Proxy::to(&network());
    assert!(asks(&proxy, "get", 1).await.is_ok());
    proxy.cuts();
    assert!(asks(&proxy, "get", 1).await.is_err());
    proxy.mends();
    assert!(asks(&proxy, "get", 1).await.is_ok());
}
