//! The loop against a node that does as it is told, on a clock that only moves when everybody waits.

use super::*;
use async_trait::async_trait;
use serde_json::{Value, json};
use solana_rpc_client::rpc_sender::{RpcSender, RpcTransportStats};
use solana_rpc_client_api::client_error::Result as ClientResult;
use solana_rpc_client_api::request::{RpcError, RpcRequest};

/// What the node does. Heights and slots are the same number.
#[derive(Debug, Default)]
struct NodeState {
    finalized: u64,
    /// Slot at which statuses are answered, when behind the finalized tip.
    statuses_slot: Option<u64>,
    recent: Option<Value>,
    history: Option<Value>,
    down: bool,
    history_off: bool,
    sent: Vec<String>,
    status_calls: usize,
    history_searches: usize,
}

#[derive(Clone, Default)]
struct Node(Arc<Mutex<NodeState>>);

impl Node {
    fn set(&self, change: impl FnOnce(&mut NodeState)) {
        change(&mut self.0.lock().unwrap());
    }

    fn get<T>(&self, read: impl FnOnce(&NodeState) -> T) -> T {
        read(&self.0.lock().unwrap())
    }
}

#[async_trait]
impl RpcSender for Node {
    async fn send(&self, request: RpcRequest, params: Value) -> ClientResult<Value> {
        let mut node = self.0.lock().unwrap();
        if node.down {
            return Err(RpcError::RpcRequestError("HTTP status 503".into()).into());
        }
        Ok(match request {
            RpcRequest::SendTransaction => {
                node.sent.push(params[0].as_str().unwrap().to_owned());
                json!("signature")
            }
            RpcRequest::GetEpochInfo => {
                json!({ "absoluteSlot": node.finalized, "blockHeight": node.finalized })
            }
            RpcRequest::GetSignatureStatuses => {
                node.status_calls += 1;
                let searching = params[1]["searchTransactionHistory"] == json!(true);
                node.history_searches += usize::from(searching);
                if searching && node.history_off {
                    return Err(RpcError::RpcRequestError("history is off".into()).into());
                }
                let status = node.recent.clone().or_else(|| node.history.clone().filter(|_| searching));
                let slot = node.statuses_slot.unwrap_or(node.finalized);
                let statuses: Vec<_> = params[0].as_array().unwrap().iter().map(|_| status.clone()).collect();
                json!({ "context": { "slot": slot }, "value": statuses })
            }
            other => panic!("asked for {other}"),
        })
    }

    fn get_transport_stats(&self) -> RpcTransportStats {
        RpcTransportStats::default()
    }

    fn url(&self) -> String {
        String::new()
    }
}

const LAST_VALID: u64 = 150;
const TRANSACTION: Followed<'static> =
    Followed { bytes: b"signed bytes", signature: "signature", last_valid_block_height: LAST_VALID };

fn status(word: &str, err: Value) -> Option<Value> {
    Some(json!({ "slot": 77, "confirmations": null, "err": err, "confirmationStatus": word }))
}

fn start(node: &Node) -> Arc<Submitter> {
    let submitter =
        Arc::new(Submitter::new(Arc::new(Rpc::over(node.clone(), Arc::default())), TaskTracker::new()));
    let looping = submitter.clone();
    TaskTracker::new().spawn(async move { looping.run(CancellationToken::new()).await });
    submitter
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Follows in the background; `try_now` says whether it has ended.
struct Following(tokio::task::JoinHandle<Landing>);

impl Following {
    fn begin(submitter: &Arc<Submitter>, commitment: Commitment) -> Self {
        let submitter = submitter.clone();
        Self(TaskTracker::new().spawn(async move { submitter.follow(TRANSACTION, commitment).await }))
    }

    fn is_open(&self) -> bool {
        !self.0.is_finished()
    }

    async fn end(self) -> Landing {
        tokio::time::timeout(Duration::from_secs(10), self.0).await.expect("still in flight").unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn it_settles_at_the_commitment_and_not_below_it() {
    let node = Node::default();
    let submitter = start(&node);
    let following = Following::begin(&submitter, Commitment::Finalized);
    node.set(|node| node.recent = status("confirmed", Value::Null));
    after(5).await;
    assert!(following.is_open());
    node.set(|node| node.recent = status("finalized", Value::Null));
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
    assert_eq!(submitter.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_landed_failure_is_final_with_its_code() {
    let node = Node::default();
    let following = Following::begin(&start(&node), Commitment::Confirmed);
    node.set(|node| {
        node.recent = status("confirmed", json!({ "InstructionError": [2, { "Custom": 6001 }] }))
    });
    let Landing::Failed { slot: 77, fault } = following.end().await else { panic!("not failed") };
    assert_eq!(fault.code, Some(6001));
}

#[tokio::test(start_paused = true)]
async fn the_same_bytes_are_sent_again_while_the_node_does_not_know_them() {
    let node = Node::default();
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(9).await;
    let sent = node.get(|node| node.sent.clone());
    assert!((3..=5).contains(&sent.len()), "{sent:?}");
    let bytes = base64::engine::general_purpose::STANDARD.encode(TRANSACTION.bytes);
    assert!(sent.iter().all(|transaction| *transaction == bytes));
    node.set(|node| node.recent = status("processed", Value::Null));
    after(1).await;
    let known = node.get(|node| node.sent.len());
    after(20).await;
    assert_eq!(node.get(|node| node.sent.len()), known);
    assert!(following.is_open());
}

#[tokio::test(start_paused = true)]
async fn it_expires_only_past_its_last_valid_finalized_height() {
    let node = Node::default();
    let following = Following::begin(&start(&node), Commitment::Finalized);
    node.set(|node| node.finalized = LAST_VALID);
    after(60).await;
    assert!(following.is_open());
    assert_eq!(node.get(|node| node.history_searches), 0);
    node.set(|node| node.finalized = LAST_VALID + 1);
    assert_eq!(following.end().await, Landing::Expired);
}

#[tokio::test(start_paused = true)]
async fn what_history_knows_has_not_expired() {
    let node = Node::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1_000;
        node.history = status("finalized", Value::Null);
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_node_behind_the_finalized_tip_cannot_expire_anything() {
    let node = Node::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1;
        node.statuses_slot = Some(LAST_VALID);
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(60).await;
    assert!(following.is_open());
    assert!(node.get(|node| node.history_searches) > 0);
    node.set(|node| node.statuses_slot = None);
    assert_eq!(following.end().await, Landing::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_node_without_history_or_answers_ends_nothing() {
    let node = Node::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1;
        node.history_off = true;
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(60).await;
    node.set(|node| node.down = true);
    after(600).await;
    assert!(following.is_open());
    node.set(|node| {
        node.down = false;
        node.recent = status("finalized", Value::Null);
    });
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn going_away_does_not_stop_the_following_and_asking_again_joins_it() {
    let node = Node::default();
    let submitter = start(&node);
    let given_up =
        tokio::time::timeout(Duration::from_secs(1), submitter.follow(TRANSACTION, Commitment::Finalized));
    assert!(given_up.await.is_err());
    assert_eq!(submitter.in_flight(), 1);
    let [first, second] = [(); 2].map(|()| Following::begin(&submitter, Commitment::Finalized));
    after(1).await;
    assert_eq!(submitter.in_flight(), 1);
    submitter.land(TRANSACTION.signature, Landing::Landed { slot: 5 });
    assert_eq!(first.end().await, Landing::Landed { slot: 5 });
    assert_eq!(second.end().await, Landing::Landed { slot: 5 });
}

#[tokio::test(start_paused = true)]
async fn many_in_flight_are_asked_for_together_and_nothing_is_asked_when_idle() {
    let node = Node::default();
    let submitter = start(&node);
    after(60).await;
    assert_eq!(node.get(|node| node.sent.len() + node.status_calls), 0);
    let names: Vec<String> = (0..300).map(|index| format!("signature {index}")).collect();
    let follows = names
        .iter()
        .map(|signature| submitter.follow(Followed { signature, ..TRANSACTION }, Commitment::Confirmed));
    node.set(|node| node.recent = status("confirmed", Value::Null));
    let begun = Instant::now();
    let landings = futures::future::join_all(follows).await;
    assert!(landings.iter().all(|landing| *landing == Landing::Landed { slot: 77 }));
    assert!(begun.elapsed() <= POLL_YOUNG * 2, "{:?}", begun.elapsed());
    assert!(node.get(|node| node.status_calls) <= 4);
}

#[tokio::test(start_paused = true)]
async fn silence_is_told_only_while_something_is_in_flight_and_ends_nothing() {
    let node = Node::default();
    let submitter = start(&node);
    let limit = Duration::from_secs(10);
    let silent_within = |seconds| tokio::time::timeout(Duration::from_secs(seconds), submitter.silent(limit));
    node.set(|node| node.down = true);
    assert!(silent_within(60).await.is_err(), "nothing is asked, so nothing is silent");
    let following = Following::begin(&submitter, Commitment::Finalized);
    assert!(silent_within(9).await.is_err());
    assert!(silent_within(5).await.is_ok());
    node.set(|node| node.down = false);
    after(5).await;
    assert!(silent_within(60).await.is_err());
    assert!(following.is_open());
}
