//! A node that has only what an audit saved.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Starts a node that serves what an audit saved in `folder`, as it stands there when asked; returns its address.
pub async fn serves(folder: &Path) -> String {
    lies(folder, |_, answer| answer).await
}

/// Such a node, whose answers `lie` replaces: it gets the call, and what was saved.
pub async fn lies(
    folder: &Path,
    lie: impl Fn(&Value, Value) -> Value + Clone + Send + Sync + 'static,
) -> String {
    let folder = folder.to_owned();
    let answers = move |Json(call): Json<Value>| async move {
        let result = lie(&call, answer(&folder, &call));
        Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let node = Router::new().route("/", post(answers).options(async || {}));
    let node = node.layer(map_response(for_pages));
    tokio::spawn(async move { axum::serve(listener, node).await });
    format!("http://{address}")
}

/// Public nodes let pages of every origin ask.
async fn for_pages(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
    answer
}

/// Such a node, before which `gate` stands: it may let a call wait, or turn it away for so many seconds.
pub async fn gated<Passed>(
    folder: &Path,
    gate: impl Fn(Value) -> Passed + Clone + Send + Sync + 'static,
) -> String
where
    Passed: Future<Output = Option<u64>> + Send + 'static,
{
    let folder = folder.to_owned();
    let answers = move |Json(call): Json<Value>| async move {
        if let Some(seconds) = gate(call.clone()).await {
            let after = [(header::RETRY_AFTER, seconds.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, after).into_response();
        }
        Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": answer(&folder, &call) })).into_response()
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(answers))).await });
    format!("http://{address}")
}

fn answer(folder: &Path, call: &Value) -> Value {
    let file = |path: &Path| -> Value {
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    };
    let read = |part: &str, name: &Value| {
        file(&folder.join(part).join(format!("{}.json", name.as_str().unwrap_or_default())))
    };
    let manifest = || file(&folder.join("audit.json"));
    let (asked, config) = (&call["params"][0], &call["params"][1]);
    match call["method"].as_str() {
        Some("getGenesisHash") => manifest()["genesis_hash"].take(),
        Some("getSlot") => manifest()["until_slot"].take(),
        Some("getBlockTime") => manifest()["until_time"].take(),
        Some("getSignaturesForAddress") => {
            let lines = read("signatures", asked);
            let lines = lines.as_array().into_iter().flatten();
            let is = |line: &&Value, place: &str| line["signature"] == config[place];
            let from = lines.clone().position(|line| is(&line, "before")).map_or(0, |at| at + 1);
            let older = lines.skip(from).take_while(|line| config["until"].is_null() || !is(line, "until"));
            older.take(1_000).cloned().collect()
        }
        Some("getProgramAccounts") => {
            let standing = manifest()["standing"].take();
            let standing = standing.as_array().into_iter().flatten();
            standing.map(|address| json!({ "pubkey": address })).collect()
        }
        Some("getTransaction") => read("transactions", asked),
        Some("getSignatureStatuses") => {
            let status = |signature: &Value| match read("transactions", signature)["slot"].take() {
                Value::Null => Value::Null,
                slot => json!({ "slot": slot, "err": null }),
            };
            json!({ "value": asked.as_array().expect("signatures").iter().map(status).collect::<Vec<_>>() })
        }
        Some("getMultipleAccounts") => {
            let found = asked.as_array().expect("addresses").iter().map(|address| read("accounts", address));
            let found: Vec<Value> = found.collect();
            let account = |snapshot: &Value| match &snapshot["account"] {
                Value::Null => Value::Null,
                account => json!({ "owner": account["owner"], "data": [account["data"], "base64"] }),
            };
            let accounts: Vec<Value> = found.iter().map(account).collect();
            let slot = found.iter().find_map(|snapshot| snapshot["slot"].as_u64());
            json!({ "context": { "slot": slot.map_or(manifest()["until_slot"].take(), Value::from) }, "value": accounts })
        }
        other => panic!("{other:?} was asked"),
    }
}

/// A relayer that answers each list, by its path, with what `lists` gives, on one page, and a balance as it is; `null` is 403, and
/// a number of seconds is 429, to be asked again after them.
pub async fn relayer(lists: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> String {
    let answers = move |uri: Uri| async move {
        match lists(uri.path()) {
            Value::Null => (StatusCode::FORBIDDEN, Json(Value::Null)).into_response(),
            Value::Number(seconds) => {
                let after = [(header::RETRY_AFTER, seconds.to_string())];
                (StatusCode::TOO_MANY_REQUESTS, after).into_response()
            }
            balance if uri.path().ends_with("/balance") => Json(balance).into_response(),
            data => Json(json!({ "data": data, "cursor": null, "has_more": false })).into_response(),
        }
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let router = Router::new().fallback(answers);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// The chain's clock account at a slot and a time, as a node answers it.
pub fn clock(slot: u64, unix_seconds: i64) -> Value {
    let data = [&slot.to_le_bytes()[..], &[0; 24], &unix_seconds.to_le_bytes()].concat();
    json!({ "owner": "Sysvar1111111111111111111111111111111111111", "data": [STANDARD.encode(data), "base64"] })
}
