//! A counting proxy (the door) in front of the network, over HTTP and websocket. On demand a script replaces the network for
//! transfers: it confirms every transaction when it is sent, and accounts never change. Or the door adds a provider's latency,
//! delays token account notices as a validator does, drops notices, or cuts websockets.

mod token_accounts;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use base64::Engine;
use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use socket2::SockRef;
use solana_sdk::pubkey::Pubkey;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};

use self::token_accounts::TokenAccounts;
use crate::chain::TOKEN_PROGRAM;

/// How often, and how many times, an account that should change is read.
const READ_EVERY: Duration = Duration::from_millis(20);
const CHANGES_WITHIN: u32 = 3_000;
/// As long as a real transfer's logs.
const LOGS: [&str; 6] = [
    "Program PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx invoke [1]",
    "Program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA invoke [2]",
    "Program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA success",
    "Program data: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "Program PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx consumed 3227 of 25000 compute units",
    "Program PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx success",
];

/// A door with two addresses. Clones share the same door.
#[derive(Clone)]
pub struct Node {
    pub rpc_url: String,
    pub ws_url: String,
    door: Arc<Door>,
}

struct Door {
    rpc_url: String,
    ws_url: String,
    http: reqwest::Client,
    calls: AtomicU64,
    /// How many transactions the script received, duplicates included.
    sends: AtomicU64,
    /// Delay added to every HTTP answer.
    answers_after_ms: AtomicU64,
    /// Delay added to every token account notice.
    notifies_after_ms: AtomicU64,
    /// How many of 1,000 token account notices are dropped.
    dropped_per_mille: AtomicU64,
    /// Token account notices so far.
    notices: AtomicU64,
    /// The token account subscriptions that the door serves itself.
    token_accounts: TokenAccounts,
    /// How often all websockets were cut.
    cuts: watch::Sender<u64>,
    scripted: AtomicBool,
    /// Whether the script confirms what is sent.
    confirming: AtomicBool,
    /// The script's only slot.
    slot: AtomicU64,
    script: Mutex<Script>,
    /// [`LOGS`] as JSON.
    logs: String,
}

/// A call over HTTP, parsed only as far as needed: CPU that the script uses is missing in the measurement.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default)]
struct Script {
    sent: HashSet<String>,
    /// The subscribers of transactions that name an account.
    subscribers: Vec<Subscriber>,
    /// Answers about accounts, by the requested accounts.
    accounts: HashMap<String, Value>,
}

/// A `logsSubscribe` on a websocket.
struct Subscriber {
    socket: UnboundedSender<Message>,
    mentions: Pubkey,
    number: u64,
}

impl Node {
    /// Opens a door in front of the network, on the threads of `runtime`.
    pub fn before(rpc_url: &str, ws_url: &str, runtime: &Handle) -> Node {
        let door = Arc::new(Door {
            rpc_url: rpc_url.to_owned(),
            ws_url: ws_url.to_owned(),
            http: reqwest::Client::new(),
            calls: AtomicU64::new(0),
            sends: AtomicU64::new(0),
            answers_after_ms: AtomicU64::new(0),
            notifies_after_ms: AtomicU64::new(0),
            dropped_per_mille: AtomicU64::new(0),
            notices: AtomicU64::new(0),
            token_accounts: TokenAccounts::default(),
            cuts: watch::Sender::new(0),
            scripted: AtomicBool::new(false),
            confirming: AtomicBool::new(true),
            slot: AtomicU64::new(0),
            script: Mutex::default(),
            logs: json!(LOGS).to_string(),
        });
        let (http, http_address) = listener(runtime);
        let (ws, ws_address) = listener(runtime);
        let app = Router::new().route("/", post(answers)).with_state(Arc::clone(&door));
        runtime.spawn(async move { axum::serve(http, app).await });
        let subscribers = Arc::clone(&door);
        runtime.spawn(async move {
            while let Ok((stream, _)) = ws.accept().await {
                let door = Arc::clone(&subscribers);
                tokio::spawn(async move {
                    if let Err(error) = door.serves(stream).await {
                        eprintln!("a websocket ended: {error:#}");
                    }
                });
            }
        });
        Node { rpc_url: format!("http://{http_address}"), ws_url: format!("ws://{ws_address}"), door }
    }

    /// Calls over HTTP and messages from clients over the websocket, since the start.
    pub fn calls(&self) -> u64 {
        self.door.calls.load(Ordering::Relaxed)
    }

    /// From now on every HTTP answer takes this much longer.
    pub fn answers_after(&self, delay: Duration) {
        self.door.answers_after_ms.store(ms(delay), Ordering::Relaxed);
    }

    /// From now on token account notices arrive this much later. The network notifies as soon as a transaction was executed,
    /// whatever the commitment; a validator waits until the commitment is reached.
    pub fn tells_after(&self, delay: Duration) {
        self.door.notifies_after_ms.store(ms(delay), Ordering::Relaxed);
    }

    /// From now on the door serves token account subscriptions itself, and notifies of the accounts that
    /// [`tells_of`](Node::tells_of) names.
    pub fn serves_token_accounts(&self) {
        self.door.token_accounts.turn_on();
    }

    /// Notifies of a token account once the given transaction has changed it.
    pub async fn tells_of(
        &self,
        token_account: &Pubkey,
        sent: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let before = self.door.reads(token_account).await?;
        sent.await?;
        for _ in 0..CHANGES_WITHIN {
            let now = self.door.reads(token_account).await?;
            if now["value"] != before["value"] {
                self.door.token_accounts.notify(&token_account.to_string(), &now, || self.door.notifies_at());
                return Ok(());
            }
            sleep(READ_EVERY).await;
        }
        bail!("what was sent to {token_account} did not arrive")
    }

    /// From now on this many of 1,000 token account notices are dropped.
    pub fn leaves_out(&self, per_mille: u64) {
        self.door.dropped_per_mille.store(per_mille, Ordering::Relaxed);
    }

    /// Cuts all open websockets.
    pub fn cuts_websockets(&self) {
        self.door.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// How many transactions the script received, and how many different ones it confirmed.
    pub fn sends(&self) -> (u64, usize) {
        (self.door.sends.load(Ordering::Relaxed), self.door.script().sent.len())
    }

    /// From now on the script answers. It confirms everything that is sent, or nothing.
    pub async fn follows_the_script(&self, confirming: bool) -> Result<()> {
        self.door.confirming.store(confirming, Ordering::Relaxed);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "getSlot", "params": [{ "commitment": "confirmed" }] });
        let answer: Value =
            serde_json::from_slice(&self.door.asks(Bytes::from(serde_json::to_vec(&call)?)).await?)?;
        self.door
            .slot
            .store(answer["result"].as_u64().context("getSlot answers a number")?, Ordering::Relaxed);
        self.door.scripted.store(true, Ordering::Relaxed);
        Ok(())
    }
}

async fn answers(State(door): State<Arc<Door>>, body: Bytes) -> Result<Vec<u8>, StatusCode> {
    door.calls.fetch_add(1, Ordering::Relaxed);
    let delay = Duration::from_millis(door.answers_after_ms.load(Ordering::Relaxed));
    if !delay.is_zero() {
        sleep(delay).await;
    }
    let answered = if door.scripted.load(Ordering::Relaxed) {
        door.plays(body).await
    } else {
        door.asks(body).await.map(|answer| answer.to_vec())
    };
    answered.map_err(|error| {
        eprintln!("a call was not answered: {error:#}");
        StatusCode::BAD_GATEWAY
    })
}

impl Door {
    /// The result of `getAccountInfo`.
    async fn reads(&self, account: &Pubkey) -> Result<Value> {
        let params = json!([account.to_string(), { "encoding": "base64", "commitment": "processed" }]);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "getAccountInfo", "params": params });
        let mut answer: Value = serde_json::from_slice(&self.asks(Bytes::from(call.to_string())).await?)?;
        Ok(answer["result"].take())
    }

    async fn asks(&self, body: Bytes) -> Result<Bytes> {
        let request = self.http.post(&self.rpc_url).header("content-type", "application/json").body(body);
        Ok(request.send().await?.bytes().await?)
    }

    async fn plays(&self, body: Bytes) -> Result<Vec<u8>> {
        let call: Call<'_> = serde_json::from_slice(&body)?;
        let slot = self.slot.load(Ordering::Relaxed);
        let at_slot = |value: Value| json!({ "context": { "slot": slot }, "value": value });
        let params: Vec<&RawValue> = serde_json::from_str(call.params.map_or("[]", RawValue::get))?;
        let first = || params.first().context("something is asked for").map(|first| first.get());
        let result = match call.method {
            "sendTransaction" => json!(self.confirms(serde_json::from_str(first()?)?)?),
            "getSignatureStatuses" => {
                let confirmed = json!({
                    "slot": slot, "err": null, "status": { "Ok": null },
                    "confirmations": null, "confirmationStatus": "finalized"
                });
                let signatures: Vec<String> = serde_json::from_str(first()?)?;
                let script = self.script();
                let status = |signature| {
                    if script.sent.contains(signature) { confirmed.clone() } else { Value::Null }
                };
                at_slot(signatures.iter().map(status).collect())
            }
            "getMultipleAccounts" => {
                let asked = first()?.to_owned();
                let known = self.script().accounts.get(&asked).cloned();
                match known {
                    Some(value) => at_slot(value),
                    None => {
                        let answer = self.asks(body.clone()).await?;
                        let read: Value = serde_json::from_slice(&answer)?;
                        let value = read["result"]["value"].clone();
                        if value.is_null() {
                            // An error: pass on the network's own answer, and ask again next time.
                            return Ok(answer.to_vec());
                        }
                        self.script().accounts.insert(asked, value.clone());
                        at_slot(value)
                    }
                }
            }
            _ => return Ok(self.asks(body.clone()).await?.to_vec()),
        };
        Ok(serde_json::to_vec(&json!({ "jsonrpc": "2.0", "id": call.id, "result": result }))?)
    }

    fn confirms(&self, transaction: &str) -> Result<String> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(transaction)?;
        let signature = bytes.get(1..65).context("a transaction begins with its signatures")?;
        let signature = bs58::encode(signature).into_string();
        self.sends.fetch_add(1, Ordering::Relaxed);
        if !self.confirming.load(Ordering::Relaxed) {
            return Ok(signature);
        }
        let names = |account: &Pubkey| bytes.windows(32).any(|window| window == account.as_ref());
        let mut script = self.script();
        script.sent.insert(signature.clone());
        let slot = self.slot.load(Ordering::Relaxed);
        for subscriber in script.subscribers.iter().filter(|subscriber| names(&subscriber.mentions)) {
            let notice = format!(
                r#"{{"jsonrpc":"2.0","method":"logsNotification","params":{{"result":{{"context":{{"slot":{slot}}},"value":{{"signature":"{signature}","err":null,"logs":{}}}}},"subscription":{}}}}}"#,
                self.logs, subscriber.number
            );
            // A subscriber that has gone needs no notice.
            let _ = subscriber.socket.send(Message::text(notice));
        }
        Ok(signature)
    }

    /// Serves one websocket until either side closes it.
    async fn serves(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let (mut to_client, mut from_client) = accept_async(stream).await?.split();
        let socket = TcpStream::connect(self.ws_url.trim_start_matches("ws://")).await?;
        let at_once = SockRef::from(&socket).try_clone()?;
        let (network, _) = client_async(&self.ws_url, socket).await?;
        let (mut to_network, mut from_network) = network.split();
        let (socket, mut notices) = unbounded_channel();
        let (late, held) = unbounded_channel();
        tokio::spawn(passes_on(held, socket.clone()));
        let mut cuts = self.cuts.subscribe();
        // Subscriptions that the network has not confirmed yet.
        let mut asked: HashMap<u64, Pubkey> = HashMap::new();
        loop {
            tokio::select! {
                message = from_client.next() => {
                    let Some(Ok(message)) = message else { break };
                    if message.is_text() {
                        self.calls.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Some(answer) = self.token_accounts.takes(&message, &late) {
                        to_client.send(answer).await?;
                        continue;
                    }
                    asked.extend(logs_asked_for(&message));
                    to_network.send(message).await?;
                }
                message = from_network.next() => {
                    let Some(Ok(message)) = message else { break };
                    // The network's server holds the next notice back until this one is acknowledged (Nagle), for which
                    // the kernel takes 40 ms unless it is told each time.
                    at_once.set_tcp_quickack(true)?;
                    if let Some((id, number)) = granted(&message)
                        && let Some(mentions) = asked.remove(&id)
                    {
                        let socket = socket.clone();
                        self.script().subscribers.push(Subscriber { socket, mentions, number });
                    }
                    if !is_of_token_account(&message) {
                        to_client.send(message).await?;
                    } else if let Some(at) = self.notifies_at() {
                        late.send((at, message))?;
                    }
                }
                _ = cuts.changed() => break,
                Some(notice) = notices.recv() => {
                    to_client.feed(notice).await?;
                    while let Ok(notice) = notices.try_recv() {
                        to_client.feed(notice).await?;
                    }
                    to_client.flush().await?;
                }
            }
        }
        Ok(())
    }

    /// When to pass on the next token account notice; `None` if it is dropped.
    fn notifies_at(&self) -> Option<Instant> {
        let notice = self.notices.fetch_add(1, Ordering::Relaxed);
        // Spreads the drops over the thousand, the same way in each run.
        let is_left_out = notice * 619 % 1_000 < self.dropped_per_mille.load(Ordering::Relaxed);
        let delay = Duration::from_millis(self.notifies_after_ms.load(Ordering::Relaxed));
        (!is_left_out).then(|| Instant::now() + delay)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listener(runtime: &Handle) -> (TcpListener, SocketAddr) {
    let _entered = runtime.enter();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a local port is free");
    listener.set_nonblocking(true).expect("a listener can be made non-blocking");
    let address = listener.local_addr().expect("the listener is bound");
    (TcpListener::from_std(listener).expect("the runtime takes the listener"), address)
}

/// Sends each message at its time, in order.
async fn passes_on(mut held: UnboundedReceiver<(Instant, Message)>, socket: UnboundedSender<Message>) {
    while let Some((at, message)) = held.recv().await {
        sleep_until(at).await;
        if socket.send(message).is_err() {
            return;
        }
    }
}

fn is_of_token_account(message: &Message) -> bool {
    let text = message.to_text().unwrap_or_default();
    text.contains("accountNotification") && text.contains(&TOKEN_PROGRAM.to_string())
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis().try_into().expect("short")
}

/// The id and account of a `logsSubscribe`.
fn logs_asked_for(message: &Message) -> Option<(u64, Pubkey)> {
    let call: Value = serde_json::from_str(message.to_text().ok()?).ok()?;
    let mentions = call["params"][0]["mentions"][0].as_str()?.parse().ok()?;
    Some((call["id"].as_u64()?, mentions))
}

/// The id and subscription number of a confirmed subscription.
fn granted(message: &Message) -> Option<(u64, u64)> {
    let answer: Value = serde_json::from_str(message.to_text().ok()?).ok()?;
    Some((answer["id"].as_u64()?, answer["result"].as_u64()?))
}
