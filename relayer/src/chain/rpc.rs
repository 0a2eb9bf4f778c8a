//! JSON-RPC to one node: the dozen questions that are asked, each with a timeout, counted, and its errors classified.
//!
//! Answers are read field by field and not into the library's types: a node newer than the library (another transaction
//! version, another error variant) must not make a whole batch unreadable.

use super::transport::{CountingSender, RpcCounters, classify, is_lagging};
use super::wire::{
    AtSlot, FinalizedTip, LandedTransaction, LatestBlockhash, RawAccount, SignatureLine, SignatureStatus,
    WireAccount,
};
use super::{ChainError, Commitment};
use serde_json::{Value, json};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client::rpc_client::RpcClientConfig;
use solana_rpc_client::rpc_sender::RpcSender;
use solana_rpc_client_api::request::RpcRequest;
use solana_rpc_client_api::response::Response;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use std::time::Duration;

/// Most keys that `getMultipleAccounts` takes.
pub(super) const ACCOUNTS_MAX: usize = 100;
/// Most signatures that `getSignatureStatuses` takes.
pub(super) const STATUSES_MAX: usize = 256;
/// How often a node that has not reached the wanted slot is asked again, and how long apart.
const LAGGING_RETRIES: usize = 4;
const LAGGING_PAUSE: Duration = Duration::from_millis(150);

/// One node. Cheap to share.
pub(super) struct Rpc {
    client: RpcClient,
    counters: Arc<RpcCounters>,
}

impl Rpc {
    pub fn new(url: &str) -> Result<Self, ChainError> {
        let counters = Arc::new(RpcCounters::default());
        let sender = CountingSender::new(url, counters.clone())?;
        Ok(Self::over(sender, counters))
    }

    /// Over any transport.
    pub fn over(sender: impl RpcSender + Send + Sync + 'static, counters: Arc<RpcCounters>) -> Self {
        Self { client: RpcClient::new_sender(sender, RpcClientConfig::default()), counters }
    }

    pub fn counters(&self) -> Arc<RpcCounters> {
        self.counters.clone()
    }

    pub(super) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        during: &'static str,
        request: RpcRequest,
        params: Value,
    ) -> Result<T, ChainError> {
        self.client.send(request, params).await.map_err(|error| classify(during, &error))
    }

    async fn ask_at_slot<T: serde::de::DeserializeOwned>(
        &self,
        during: &'static str,
        request: RpcRequest,
        params: Value,
    ) -> Result<AtSlot<T>, ChainError> {
        let Response { context, value } = self.ask(during, request, params).await?;
        Ok(AtSlot { slot: context.slot, value })
    }

    /// Up to [`ACCOUNTS_MAX`] accounts at one confirmed slot that is not before `min_slot`.
    pub async fn accounts(
        &self,
        keys: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<RawAccount>>>, ChainError> {
        self.accounts_at(Commitment::Confirmed, keys, min_slot).await
    }

    /// [`Rpc::accounts`] at another commitment.
    pub async fn accounts_at(
        &self,
        commitment: Commitment,
        keys: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<RawAccount>>>, ChainError> {
        const DURING: &str = "getMultipleAccounts";
        let keys_text: Vec<String> = keys.iter().map(Pubkey::to_string).collect();
        let mut config = json!({ "encoding": "base64", "commitment": commitment.as_str() });
        if min_slot > 0 {
            config["minContextSlot"] = min_slot.into();
        }
        let params = json!([keys_text, config]);
        let mut retries = LAGGING_RETRIES;
        let answer = loop {
            let request = self.client.send(RpcRequest::GetMultipleAccounts, params.clone());
            match request.await {
                Ok(answer) => break answer,
                Err(error) if retries > 0 && is_lagging(&error) => retries -= 1,
                Err(error) => return Err(classify(DURING, &error)),
            }
            tokio::time::sleep(LAGGING_PAUSE).await;
        };
        let Response::<Vec<Option<WireAccount>>> { context, value } = answer;
        let unreadable = || ChainError::Unavailable { during: DURING, reason: "unreadable answer".into() };
        if value.len() != keys.len() {
            return Err(unreadable());
        }
        let decode = |account: Option<WireAccount>| match account {
            None => Ok(None),
            Some(account) => account.decode().map(Some).ok_or_else(unreadable),
        };
        let value = value.into_iter().map(decode).collect::<Result<_, _>>()?;
        Ok(AtSlot { slot: context.slot, value })
    }

    /// The newest confirmed blockhash.
    pub async fn latest_blockhash(&self) -> Result<AtSlot<LatestBlockhash>, ChainError> {
        let params = json!([{ "commitment": Commitment::Confirmed.as_str() }]);
        self.ask_at_slot("getLatestBlockhash", RpcRequest::GetLatestBlockhash, params).await
    }

    /// Slot and block height of the newest finalized block, in one answer.
    pub async fn finalized_tip(&self) -> Result<FinalizedTip, ChainError> {
        let params = json!([{ "commitment": Commitment::Finalized.as_str() }]);
        self.ask("getEpochInfo", RpcRequest::GetEpochInfo, params).await
    }

    /// What the node knows of up to [`STATUSES_MAX`] signatures; with `search_history`, beyond its recent memory.
    pub async fn statuses(
        &self,
        signatures: &[String],
        search_history: bool,
    ) -> Result<AtSlot<Vec<Option<SignatureStatus>>>, ChainError> {
        const DURING: &str = "getSignatureStatuses";
        let params = json!([signatures, { "searchTransactionHistory": search_history }]);
        let statuses: AtSlot<Vec<_>> =
            self.ask_at_slot(DURING, RpcRequest::GetSignatureStatuses, params).await?;
        if statuses.value.len() != signatures.len() {
            return Err(ChainError::Unavailable { during: DURING, reason: "unreadable answer".into() });
        }
        Ok(statuses)
    }

    /// Hands signed bytes (base64) to the node: no preflight, no retries of the node's own.
    pub async fn send(&self, transaction_base64: &str) -> Result<(), ChainError> {
        let config = json!({ "encoding": "base64", "skipPreflight": true, "maxRetries": 0 });
        let params = json!([transaction_base64, config]);
        self.ask::<Value>("sendTransaction", RpcRequest::SendTransaction, params).await.map(|_| ())
    }

    /// Signatures that touched `address`, newest first, older than `before` and newer than `until`. A node that does
    /// not know `until` goes on to the oldest; one that does not know `before` has nothing to say.
    pub async fn signatures_of(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        until: Option<&str>,
        limit: usize,
        commitment: Commitment,
    ) -> Result<Vec<SignatureLine>, ChainError> {
        let mut config = json!({ "limit": limit, "commitment": commitment.as_str() });
        if let Some(before) = before {
            config["before"] = before.into();
        }
        if let Some(until) = until {
            config["until"] = until.into();
        }
        let params = json!([address.to_string(), config]);
        self.ask("getSignaturesForAddress", RpcRequest::GetSignaturesForAddress, params).await
    }

    /// A landed transaction of any version; `None` when the node does not know it at `commitment`.
    pub async fn transaction(
        &self,
        signature: &str,
        commitment: Commitment,
    ) -> Result<Option<LandedTransaction>, ChainError> {
        let params = json!([
            signature,
            { "encoding": "json", "maxSupportedTransactionVersion": 1, "commitment": commitment.as_str() }
        ]);
        self.ask("getTransaction", RpcRequest::GetTransaction, params).await
    }

    /// When the block of `slot` was made, unix seconds; `None` where the node does not know.
    pub async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainError> {
        self.ask("getBlockTime", RpcRequest::GetBlockTime, json!([slot])).await
    }

    /// The cluster's identity, base58.
    pub async fn genesis_hash(&self) -> Result<String, ChainError> {
        self.ask("getGenesisHash", RpcRequest::GetGenesisHash, Value::Null).await
    }
}
