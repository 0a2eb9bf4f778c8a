//! The three ways to make a transfer.

use std::sync::Arc;
use std::time::Duration;

use anchor_lang::{InstructionData, ToAccountMetas};
use anyhow::{Context, Result, bail, ensure};
use axum::body::Bytes;
use futures::StreamExt;
use purser_policy::id_with_tag;
use purser_tests::agent::{random_tag, unique_key};
use purser_tests::chain::TOKEN_PROGRAM;
use purser_tests::{Agent, Node, TestApp};
use serde::Deserialize;
use serde_json::json;
use solana_commitment_config::CommitmentConfig;
use solana_pubsub_client::nonblocking::pubsub_client::PubsubClient;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_api::config::{RpcSendTransactionConfig, RpcSignatureSubscribeConfig};
use solana_rpc_client_api::response::RpcSignatureResult;
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use crate::connections::Connections;

/// The amount of every transfer: 0.000001 USDC.
const AMOUNT: &str = "0.000001";
const AMOUNT_MICROS: u64 = 1;
/// How long the loop waits for a notice before it asks for the status, as the relayer does: a node may miss one that falls due while
/// it subscribes, or not answer the subscription.
const NOTICE_WITHIN: Duration = Duration::from_secs(5);

/// A tight loop: sends, and waits on the websocket.
#[derive(Clone)]
pub struct TightLoop {
    rpc: Arc<RpcClient>,
    notices: Arc<PubsubClient>,
    transfers: Arc<Transfers>,
    commitment: CommitmentConfig,
}

impl TightLoop {
    /// A client with prepared transfers.
    pub async fn ready(node: &Node, transfers: Arc<Transfers>, commitment: CommitmentConfig) -> Result<Self> {
        let rpc = RpcClient::new_with_commitment(node.rpc_url.clone(), commitment);
        let notices = PubsubClient::new(node.ws_url.as_str()).await?;
        Ok(Self { rpc: Arc::new(rpc), notices: Arc::new(notices), transfers, commitment })
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        let transaction = self.transfers.sign(index);
        let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
        let watching = RpcSignatureSubscribeConfig {
            commitment: Some(self.commitment),
            ..RpcSignatureSubscribeConfig::default()
        };
        let noticed = async {
            let signature = &transaction.signatures[0];
            // The node ends a subscription after its notice, so there is nothing to unsubscribe.
            let (mut notices, _unsubscribe) =
                self.notices.signature_subscribe(signature, Some(watching)).await?;
            notices.next().await.context("the websocket ended")
        };
        let (noticed, sent) = tokio::join!(
            tokio::time::timeout(NOTICE_WITHIN, noticed),
            self.rpc.send_transaction_with_config(&transaction, config),
        );
        sent?;
        let err = match noticed {
            Ok(notice) => match notice?.value {
                RpcSignatureResult::ProcessedSignature(processed) => processed.err.map(Into::into),
                RpcSignatureResult::ReceivedSignature(_) => {
                    bail!("a notice of receipt, which was not asked for")
                }
            },
            Err(_) => {
                let signature = &transaction.signatures[0];
                let status =
                    self.rpc.get_signature_status_with_commitment(signature, self.commitment).await?;
                eprintln!("no notice came of a transfer of the loop within {} s", NOTICE_WITHIN.as_secs());
                status.context("a transfer did not land")?.err()
            }
        };
        ensure!(err.is_none(), "a transfer failed: {err:?}");
        Ok(())
    }
}

/// The stock `send_and_confirm_transaction`.
#[derive(Clone)]
pub struct Stock {
    rpc: Arc<RpcClient>,
    transfers: Arc<Transfers>,
}

impl Stock {
    /// A client with prepared transfers.
    pub fn ready(node: &Node, transfers: Arc<Transfers>, commitment: CommitmentConfig) -> Self {
        let rpc = RpcClient::new_with_commitment(node.rpc_url.clone(), commitment);
        Self { rpc: Arc::new(rpc), transfers }
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        self.rpc.send_and_confirm_transaction(&self.transfers.sign(index)).await?;
        Ok(())
    }
}

/// `POST /v1/transfers`.
#[derive(Clone)]
pub struct Relayer {
    /// To each relayer; requests go to each in turn.
    relayers: Arc<Vec<Connections>>,
    accounts: usize,
    bodies: Arc<Vec<Bytes>>,
}

/// What the load reads of an answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outcome<'a> {
    status: &'a str,
    error: &'a str,
}

impl Relayer {
    /// A client with prepared requests, each with its own idempotency key.
    pub fn ready(apps: &[Arc<TestApp>], agents: &[Agent], payee: &Pubkey, count: usize) -> Result<Self> {
        let body = |agent: &Agent| json!({ "from": agent.id, "to": payee.to_string(), "amount": AMOUNT, "idempotency_key": unique_key() });
        let bodies = agents.iter().cycle().take(count).map(|agent| body(agent).to_string().into()).collect();
        let key = agents[0].operator.client.key();
        let relayers = apps.iter().map(|app| Connections::to(&app.base_url(), key)).collect::<Result<_>>()?;
        Ok(Self { relayers: Arc::new(relayers), accounts: agents.len(), bodies: Arc::new(bodies) })
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        let (code, text) = self.asks(index).await?;
        let settled = code == 200 && read(&text).status == "settled";
        ensure!(settled, "{code} instead of a settled transfer: {}", String::from_utf8_lossy(&text));
        Ok(())
    }

    async fn asks(&self, index: usize) -> Result<(u16, Bytes)> {
        // An account's payments go to each relayer in turn, too.
        let turn = index + index / self.accounts;
        self.relayers[turn % self.relayers.len()].post("/v1/transfers", self.bodies[index].clone()).await
    }

    /// The same while nothing is confirmed: the request waits in vain, or is refused because enough others wait.
    pub async fn asks_in_vain(self, index: usize) -> Result<()> {
        let (code, text) = self.asks(index).await?;
        let is_full = code == 429 && read(&text).error == "too_many_pending";
        ensure!(is_full || code == 202, "{code} instead of a refusal: {}", String::from_utf8_lossy(&text));
        Ok(())
    }
}

fn read(text: &[u8]) -> Outcome<'_> {
    serde_json::from_slice(text).unwrap_or_default()
}

/// Transfers with distinct tags, straight to the program, from each agent in turn.
pub struct Transfers {
    agents: Vec<Agent>,
    asked_at: u32,
    payee: Pubkey,
    authority: Keypair,
    blockhash: Hash,
}

impl Transfers {
    pub async fn ready(
        rpc_url: &str,
        agents: &[Agent],
        payee: &Pubkey,
        authority: &Keypair,
    ) -> Result<Arc<Self>> {
        let rpc = RpcClient::new(rpc_url.to_owned());
        let (blockhash, _) = rpc.get_latest_blockhash_with_commitment(CommitmentConfig::confirmed()).await?;
        let chain = &agents.first().context("no agents")?.operator.chain;
        let asked_at = chain.now().await as u32;
        let (agents, authority) = (agents.to_vec(), authority.insecure_clone());
        Ok(Arc::new(Self { agents, asked_at, payee: *payee, authority, blockhash }))
    }

    /// Signs a transfer.
    fn sign(&self, index: usize) -> Transaction {
        let agent = &self.agents[index % self.agents.len()];
        let accounts = purser::accounts::Transfer {
            transfer_authority: self.authority.pubkey(),
            operator: agent.operator.address,
            agent: agent.address,
            source: agent.token_account,
            destination: self.payee,
            token_program: TOKEN_PROGRAM,
        };
        let transfer_id = id_with_tag([0; 8], random_tag());
        let (amount, memo) = (AMOUNT_MICROS, Vec::new());
        let data = purser::instruction::Transfer { transfer_id, asked_at: self.asked_at, amount, memo };
        let instruction = Instruction {
            program_id: purser::ID,
            accounts: accounts.to_account_metas(None),
            data: data.data(),
        };
        let payer = Some(&self.authority.pubkey());
        Transaction::new_signed_with_payer(&[instruction], payer, &[&self.authority], self.blockhash)
    }
}
