//! Solana's nodes, for the relayer and the audit: several nodes used as one ([`Rpc`]), what they report
//! unasked ([`websocket`]), and bounds on whatever they answer. It knows nothing of Purser.
//!
//! We read answers field by field, not into the library's types: a node newer than the library (another transaction version,
//! another error variant) must not make a whole batch unreadable.

pub mod counters;
mod every_node;
pub mod node_fault;
mod nodes;
#[cfg(any(test, feature = "scripted"))]
pub mod scripted_node;
pub mod sysvar;
pub mod topics;
pub mod transport;
pub mod websocket;
pub mod wire;

pub use counters::{MethodCount, NodeFigures};
pub use node_fault::{CallError, NodeFault, RpcError};
pub use nodes::COMPARE_EVERY;
pub use transport::{Calls, NoClient, Patience, Resolver, Through};
pub use wire::{AtSlot, Commitment, RawAccount, SignatureInfo, SignatureStatus};

use crate::counters::RpcCounters;
use crate::nodes::{Answered, Nodes};
use crate::transport::{HttpTransport, Transport};
use crate::wire::{FinalizedTip, LatestBlockhash, RpcResponse, WireAccount};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

/// Most keys that `getMultipleAccounts` takes.
pub const ACCOUNTS_MAX: usize = 100;
pub(crate) const SEND: &str = "sendTransaction";
/// How many bytes of an account are read; our own accounts are shorter.
pub const ACCOUNT_BYTES_MAX: usize = 64 * 1024;
/// Most signatures that `getSignatureStatuses` takes.
pub const STATUSES_MAX: usize = 256;
/// The pause before a call is tried again; it doubles with each try.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// The longest that a node may ask to wait before the next try.
const TRY_AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);

/// The nodes of one network, used as one.
pub struct Rpc {
    nodes: Nodes,
    /// In the order of the nodes.
    counters: Vec<Arc<RpcCounters>>,
    /// How often a call is made before its failure counts.
    tries: u32,
}

impl Rpc {
    /// Uses HTTP; the preferred node comes first. Sends go on as `tasks`.
    pub fn new(urls: &[String], calls: &Calls, tasks: TaskTracker) -> Result<Self, NoClient> {
        let counters: Vec<Arc<RpcCounters>> = urls.iter().map(|_| Arc::default()).collect();
        let transport =
            |(url, counters): (&String, &Arc<RpcCounters>)| -> Result<Box<dyn Transport>, NoClient> {
                Ok(Box::new(HttpTransport::new(url, calls, counters.clone())?))
            };
        let transports = urls.iter().zip(&counters).map(transport).collect::<Result<_, _>>()?;
        let nodes = Nodes::new(transports, calls.patience.timeout, tasks);
        Ok(Self { nodes, counters, tries: calls.patience.tries })
    }

    /// Uses any transports, each with the counters of its calls.
    pub fn over(
        transports: Vec<Box<dyn Transport>>,
        counters: Vec<Arc<RpcCounters>>,
        tasks: TaskTracker,
    ) -> Self {
        let Patience { timeout, tries } = Patience::default();
        Self { nodes: Nodes::new(transports, timeout, tasks), counters, tries }
    }

    /// Each node's figures, in the order of the configuration.
    pub fn figures(&self) -> Vec<NodeFigures> {
        let resting = self.nodes.resting();
        let of_node = |(counters, is_resting): (&Arc<RpcCounters>, bool)| NodeFigures {
            methods: counters.read(),
            is_resting,
        };
        self.counters.iter().zip(resting).map(of_node).collect()
    }

    pub fn nodes(&self) -> usize {
        self.nodes.count()
    }

    /// From now on, uses only nodes of this cluster.
    pub fn require_genesis(&self, genesis: &str) {
        self.nodes.require_genesis(genesis);
    }

    /// The genesis hash of our cluster, base58, once it is required.
    pub fn genesis(&self) -> Option<&str> {
        self.nodes.genesis()
    }

    /// True if this node's slot has moved within the last minute.
    pub fn moves(&self, node: usize) -> bool {
        self.nodes.moving().contains(&node)
    }

    /// Leaves a node alone whose report the others deny.
    pub fn blame_contradicted(&self, node: usize) {
        self.nodes.blame(node, NodeFault::Contradicted);
    }

    /// What the nodes' clocks say now, unix seconds, with several nodes; `None` while no clock is known.
    pub fn clocks(&self) -> Option<Vec<i64>> {
        self.nodes.clocks()
    }

    /// Compares several nodes with each other, once. Do so every [`COMPARE_EVERY`].
    pub async fn compare_nodes(&self) {
        self.nodes.compare().await;
    }

    pub async fn ask<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, RpcError> {
        Ok(self.ask_any(method, params).await?.1)
    }

    /// The same; also says which node answered.
    pub async fn ask_any<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<(usize, T), RpcError> {
        let Answered { node, value } = self.call_among(method, &params, |_| true).await?;
        Ok((node, read(method, value)?))
    }

    /// Asks the nodes that `suits` accepts, again and again while a fault may pass and there are tries left.
    async fn call_among(
        &self,
        method: &'static str,
        params: &Value,
        suits: impl Fn(usize) -> bool + Send + Sync,
    ) -> Result<Answered, RpcError> {
        let (mut pause, mut tries) = (TRY_AGAIN_AFTER, 1);
        loop {
            match self.nodes.call_among(method, params, &suits).await {
                Ok(answered) => return Ok(answered),
                Err(CallError::Node(fault)) if tries < self.tries && fault.may_pass() => {
                    sleep(fault.asked_pause().unwrap_or(pause).min(TRY_AGAIN_AFTER_MAX)).await;
                    (tries, pause) = (tries + 1, pause * 2);
                }
                Err(cause) => return Err(RpcError { method, cause }),
            }
        }
    }

    async fn ask_at_slot<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
        suits: impl Fn(usize) -> bool + Send + Sync,
    ) -> Result<AtSlot<T>, RpcError> {
        let Answered { node, value } = self.call_among(method, &params, suits).await?;
        let RpcResponse { context, value } = read(method, value)?;
        Ok(AtSlot { slot: context.slot, value, node })
    }

    /// Up to [`ACCOUNTS_MAX`] accounts at one confirmed slot, not before `min_slot`.
    pub async fn accounts(
        &self,
        keys: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<RawAccount>>>, RpcError> {
        self.accounts_at(Commitment::Confirmed, keys, min_slot).await
    }

    /// [`Rpc::accounts`] at another commitment.
    pub async fn accounts_at(
        &self,
        commitment: Commitment,
        keys: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<RawAccount>>>, RpcError> {
        const METHOD: &str = "getMultipleAccounts";
        let keys_text: Vec<String> = keys.iter().map(Pubkey::to_string).collect();
        // A recipient can be any account on the chain, even one of 10 MiB. No account that we decode is as long as this slice.
        let slice = json!({ "offset": 0, "length": ACCOUNT_BYTES_MAX });
        let mut config =
            json!({ "encoding": "base64", "commitment": commitment.as_str(), "dataSlice": slice });
        if min_slot > 0 {
            config["minContextSlot"] = min_slot.into();
        }
        let answer: AtSlot<Vec<Option<WireAccount>>> =
            self.ask_at_slot(METHOD, json!([keys_text, config]), |_| true).await?;
        // Not every node knows `minContextSlot`; one that does not must not show us an older state either.
        if answer.slot < min_slot {
            return Err(NodeFault::Lagging.of(METHOD));
        }
        if answer.value.len() != keys.len() {
            return Err(unreadable(METHOD));
        }
        let decode = |account: Option<WireAccount>| match account {
            None => Ok(None),
            Some(account) => account.decode().map(Some).ok_or_else(|| unreadable(METHOD)),
        };
        let value = answer.value.into_iter().map(decode).collect::<Result<_, _>>()?;
        Ok(AtSlot { slot: answer.slot, value, node: answer.node })
    }

    /// One confirmed account in full, whatever its length.
    pub async fn whole_account(&self, key: &Pubkey) -> Result<Option<RawAccount>, RpcError> {
        const METHOD: &str = "getAccountInfo";
        let params =
            json!([key.to_string(), { "encoding": "base64", "commitment": Commitment::Confirmed.as_str() }]);
        let answer: AtSlot<Option<WireAccount>> = self.ask_at_slot(METHOD, params, |_| true).await?;
        answer.value.map(|account| account.decode().ok_or_else(|| unreadable(METHOD))).transpose()
    }

    /// The newest confirmed blockhash, of a block not before `min_slot`.
    pub async fn latest_blockhash(&self, min_slot: u64) -> Result<AtSlot<LatestBlockhash>, RpcError> {
        const METHOD: &str = "getLatestBlockhash";
        let mut config = json!({ "commitment": Commitment::Confirmed.as_str() });
        if min_slot > 0 {
            config["minContextSlot"] = min_slot.into();
        }
        let answer: AtSlot<LatestBlockhash> = self.ask_at_slot(METHOD, json!([config]), |_| true).await?;
        if answer.slot < min_slot {
            return Err(NodeFault::Lagging.of(METHOD));
        }
        Ok(answer)
    }

    /// Slot and block height of the newest finalized block, in one answer.
    pub async fn finalized_tip(&self) -> Result<FinalizedTip, RpcError> {
        let params = json!([{ "commitment": Commitment::Finalized.as_str() }]);
        self.ask("getEpochInfo", params).await
    }

    /// What a node knows of up to [`STATUSES_MAX`] signatures; `search_history` looks beyond its recent memory.
    pub async fn statuses(
        &self,
        signatures: &[String],
        search_history: bool,
    ) -> Result<AtSlot<Vec<Option<SignatureStatus>>>, RpcError> {
        self.statuses_of(signatures, search_history, |_| true).await
    }

    /// As [`Rpc::statuses`], asking only nodes that `suits` accepts.
    pub async fn statuses_of(
        &self,
        signatures: &[String],
        search_history: bool,
        suits: impl Fn(usize) -> bool + Send + Sync,
    ) -> Result<AtSlot<Vec<Option<SignatureStatus>>>, RpcError> {
        const METHOD: &str = "getSignatureStatuses";
        let params = json!([signatures, { "searchTransactionHistory": search_history }]);
        let statuses: AtSlot<Vec<_>> = self.ask_at_slot(METHOD, params, suits).await?;
        if statuses.value.len() != signatures.len() {
            return Err(unreadable(METHOD));
        }
        Ok(statuses)
    }

    /// Hands signed bytes (base64) to one node, and to all if it does not accept them at once. No preflight, and no retries by
    /// the node. Returns the node, if no other got them.
    pub async fn send(&self, transaction_base64: &str) -> Result<Option<usize>, RpcError> {
        let sent = self.nodes.send(&sending(transaction_base64)).await;
        sent.map_err(|cause| RpcError { method: SEND, cause })
    }

    /// Hands signed bytes (base64) to every node.
    pub async fn send_to_all(&self, transaction_base64: &str) -> Result<(), RpcError> {
        let sent = self.nodes.send_to_all(&sending(transaction_base64)).await;
        sent.map_err(|cause| RpcError { method: SEND, cause })
    }

    /// Notes whether bytes that were first sent to this node reached the chain, or only once all nodes had them.
    pub fn note_forwarding(&self, node: usize, forwarded: bool) {
        self.nodes.note_forwarding(node, forwarded);
    }

    /// Signatures that touched `address`, newest first, older than `before` and newer than `until`. A node that does not
    /// know `until` goes on to the oldest; one that does not know `before` returns nothing.
    pub async fn signatures_of(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        until: Option<&str>,
        limit: usize,
        commitment: Commitment,
    ) -> Result<Vec<SignatureInfo>, RpcError> {
        let mut config = json!({ "limit": limit, "commitment": commitment.as_str() });
        if let Some(before) = before {
            config["before"] = before.into();
        }
        if let Some(until) = until {
            config["until"] = until.into();
        }
        let params = json!([address.to_string(), config]);
        self.ask("getSignaturesForAddress", params).await
    }

    /// When the block of `slot` was made, unix seconds; `None` where the node does not know.
    pub async fn block_time(&self, slot: u64) -> Result<Option<i64>, RpcError> {
        self.ask("getBlockTime", json!([slot])).await
    }

    /// How many of these accounts the node at this place answers for in one call.
    pub async fn counted_accounts(&self, node: usize, keys: &[Pubkey]) -> Result<usize, RpcError> {
        let keys: Vec<String> = keys.iter().map(Pubkey::to_string).collect();
        let config = json!({ "encoding": "base64", "dataSlice": { "offset": 0, "length": 0 } });
        let params = json!([keys, config]);
        let read: AtSlot<Vec<Value>> =
            self.ask_at_slot("getMultipleAccounts", params, |number| number == node).await?;
        Ok(read.value.len())
    }

    /// The cluster's genesis hash, base58, as this node reports it.
    pub async fn genesis_hash(&self, node: usize) -> Result<String, RpcError> {
        const METHOD: &str = "getGenesisHash";
        read(METHOD, self.call_among(METHOD, &Value::Null, |number| number == node).await?.value)
    }
}

fn sending(transaction_base64: &str) -> Value {
    let config = json!({ "encoding": "base64", "skipPreflight": true, "maxRetries": 0 });
    json!([transaction_base64, config])
}

fn read<T: DeserializeOwned>(method: &'static str, value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value).map_err(|_| unreadable(method))
}

fn unreadable(method: &'static str) -> RpcError {
    NodeFault::Unreadable.of(method)
}
