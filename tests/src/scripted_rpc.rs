//! A node that agrees to everything at once: it answers what the relayer asks, from accounts that were copied from a real
//! network, and calls every transaction final the moment it is sent. It measures the relayer, not a network: nothing is
//! executed, balances never change.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";
/// Where the unix time stands in the clock.
const UNIX_TIME: std::ops::Range<usize> = 32..40;
const SLOT: Duration = Duration::from_millis(400);
const BLOCKHASH_BLOCKS: u64 = 150;

/// The node, on a port of its own, while this lives.
pub struct ScriptedRpc {
    address: SocketAddr,
    node: Arc<Node>,
    /// Its own, so that a blocked test runtime cannot stop it.
    runtime: Option<tokio::runtime::Runtime>,
}

struct Node {
    genesis_hash: String,
    /// By address, as a node puts them into an answer.
    accounts: HashMap<String, Value>,
    began: Instant,
    first_slot: u64,
    /// Slots of the transactions that were sent, by signature.
    sent: Mutex<HashMap<String, u64>>,
    calls: [AtomicU64; METHODS.len()],
}

/// The methods that are answered; every other is `method not found`, counted as the last.
const METHODS: [&str; 15] = [
    "getMultipleAccounts",
    "getSignatureStatuses",
    "sendTransaction",
    "getLatestBlockhash",
    "getEpochInfo",
    "getBlockHeight",
    "getSlot",
    "getGenesisHash",
    "getAccountInfo",
    "getBalance",
    "getSignaturesForAddress",
    "getTransaction",
    "getBlockTime",
    "getHealth",
    "other",
];

impl ScriptedRpc {
    /// A node that knows `addresses` as the network at `rpc_url` knows them now, and its genesis.
    /// Name the program, the mint, the signers, the operator, agents, their token accounts and the recipients.
    pub async fn copies(rpc_url: &str, addresses: &[Pubkey]) -> ScriptedRpc {
        let genesis = asks(rpc_url, "getGenesisHash", json!([])).await;
        let genesis_hash = genesis.as_str().expect("a network has a genesis").to_owned();
        let clock: Pubkey = CLOCK.parse().expect("the clock's address is an address");
        let mut accounts = HashMap::new();
        let all: Vec<Pubkey> = addresses.iter().copied().chain([clock]).collect();
        for batch in all.chunks(100) {
            let names: Vec<String> = batch.iter().map(Pubkey::to_string).collect();
            let read = asks(rpc_url, "getMultipleAccounts", json!([names, { "encoding": "base64" }])).await;
            let values = read["value"].as_array().expect("accounts are a list").clone();
            accounts.extend(names.into_iter().zip(values));
        }
        ScriptedRpc::knows(genesis_hash, accounts).await
    }

    /// A node that knows these accounts, each in the form of `getMultipleAccounts` with base64.
    pub async fn knows(genesis_hash: String, accounts: HashMap<String, Value>) -> ScriptedRpc {
        let node = Arc::new(Node {
            genesis_hash,
            accounts,
            began: Instant::now(),
            first_slot: 1_000,
            sent: Mutex::default(),
            calls: Default::default(),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let listener = runtime.spawn(tokio::net::TcpListener::bind("127.0.0.1:0")).await;
        let listener = listener.expect("binding does not panic").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let router = Router::new().route("/", post(answers)).with_state(Arc::clone(&node));
        runtime.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        ScriptedRpc { address, node, runtime: Some(runtime) }
    }

    /// The address to give to the relayer.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often each method was called.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        let counted = METHODS.iter().zip(&self.node.calls);
        counted.map(|(method, calls)| (*method, calls.load(Ordering::Relaxed))).collect()
    }

    /// How many different transactions were sent.
    pub fn transactions(&self) -> usize {
        self.node.sent().len()
    }
}

impl Drop for ScriptedRpc {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn asks(url: &str, method: &str, params: Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = reqwest::Client::new().post(url).json(&call).send().await.expect("the network answers");
    let mut answer: Value = answer.json().await.expect("the network answers JSON");
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].take()
}

async fn answers(State(node): State<Arc<Node>>, body: Bytes) -> impl IntoResponse {
    let call: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let method = call["method"].as_str().unwrap_or_default();
    let known = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
    node.calls[known].fetch_add(1, Ordering::Relaxed);
    let answer = match node.result(method, &call["params"]) {
        Some(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
        None => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            json!({ "jsonrpc": "2.0", "id": call["id"], "error": error })
        }
    };
    ([(CONTENT_TYPE, "application/json")], answer.to_string())
}

impl Node {
    /// `None` when the method is unknown.
    fn result(&self, method: &str, params: &Value) -> Option<Value> {
        let slot = self.slot();
        let at_slot = |value: Value| json!({ "context": { "slot": slot }, "value": value });
        Some(match method {
            "getMultipleAccounts" => {
                let names = params[0].as_array().map(Vec::as_slice).unwrap_or_default();
                at_slot(names.iter().map(|name| self.account(name)).collect())
            }
            "getAccountInfo" => at_slot(self.account(&params[0])),
            "getBalance" => at_slot(self.account(&params[0])["lamports"].clone()),
            "getSignatureStatuses" => {
                let signatures = params[0].as_array().map(Vec::as_slice).unwrap_or_default();
                let sent = self.sent();
                let status = |signature: &Value| match sent.get(signature.as_str().unwrap_or_default()) {
                    Some(landed) => json!({ "slot": landed, "confirmations": null, "err": null,
                        "status": { "Ok": null }, "confirmationStatus": "finalized" }),
                    None => Value::Null,
                };
                at_slot(signatures.iter().map(status).collect())
            }
            "sendTransaction" => {
                let bytes = STANDARD.decode(params[0].as_str().unwrap_or_default()).unwrap_or_default();
                let signature = bs58::encode(bytes.get(1..65)?).into_string();
                self.sent().entry(signature.clone()).or_insert(slot);
                json!(signature)
            }
            "getLatestBlockhash" => {
                // A new one each slot, as on a network.
                let mut hash = [7; 32];
                hash[..8].copy_from_slice(&slot.to_le_bytes());
                let blockhash = bs58::encode(hash).into_string();
                at_slot(json!({ "blockhash": blockhash, "lastValidBlockHeight": slot + BLOCKHASH_BLOCKS }))
            }
            "getEpochInfo" => {
                json!({ "absoluteSlot": slot, "blockHeight": slot, "epoch": 0, "slotIndex": slot,
                "slotsInEpoch": 432_000, "transactionCount": null })
            }
            "getBlockHeight" | "getSlot" => json!(slot),
            "getGenesisHash" => json!(self.genesis_hash),
            "getSignaturesForAddress" => json!([]),
            "getTransaction" => Value::Null,
            "getBlockTime" => json!(unix_seconds()),
            "getHealth" => json!("ok"),
            _ => return None,
        })
    }

    fn account(&self, name: &Value) -> Value {
        let name = name.as_str().unwrap_or_default();
        let mut account = self.accounts.get(name).cloned().unwrap_or(Value::Null);
        if name == CLOCK
            && let Some(mut data) = account["data"][0].as_str().and_then(|data| STANDARD.decode(data).ok())
            && data.len() >= UNIX_TIME.end
        {
            data[UNIX_TIME].copy_from_slice(&unix_seconds().to_le_bytes());
            account["data"][0] = json!(STANDARD.encode(data));
        }
        account
    }

    fn slot(&self) -> u64 {
        self.first_slot + (self.began.elapsed().as_millis() / SLOT.as_millis()) as u64
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
