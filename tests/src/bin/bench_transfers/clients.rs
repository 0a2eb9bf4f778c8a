//! The three ways to make a transfer, each ready to go before the clock runs.

use std::sync::Arc;

use anchor_lang::{InstructionData, ToAccountMetas};
use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use purser_tests::agent::{random_tag, unique_key};
use purser_tests::chain::TOKEN_PROGRAM;
use purser_tests::{Agent, Client};
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_pubsub_client::nonblocking::pubsub_client::PubsubClient;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_api::config::{RpcSendTransactionConfig, RpcSignatureSubscribeConfig};
use solana_rpc_client_api::response::RpcSignatureResult;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use crate::node::Node;

/// What every transfer pays: 0.000001 USDC.
const AMOUNT: &str = "0.000001";
const AMOUNT_MICROS: u64 = 1;

/// Sends and waits on the websocket, and does nothing else.
#[derive(Clone)]
pub struct TightLoop {
    rpc: Arc<RpcClient>,
    notices: Arc<PubsubClient>,
    transactions: Arc<Vec<Transaction>>,
    commitment: CommitmentConfig,
}

impl TightLoop {
    /// A client with transactions to send.
    pub async fn ready(
        node: &Node,
        transactions: Vec<Transaction>,
        commitment: CommitmentConfig,
    ) -> Result<Self> {
        let rpc = RpcClient::new_with_commitment(node.rpc_url.clone(), commitment);
        let notices = PubsubClient::new(node.ws_url.as_str()).await?;
        Ok(Self {
            rpc: Arc::new(rpc),
            notices: Arc::new(notices),
            transactions: Arc::new(transactions),
            commitment,
        })
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        let transaction = &self.transactions[index];
        let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
        let watching = RpcSignatureSubscribeConfig {
            commitment: Some(self.commitment),
            ..RpcSignatureSubscribeConfig::default()
        };
        let (subscribed, sent) = tokio::join!(
            self.notices.signature_subscribe(&transaction.signatures[0], Some(watching)),
            self.rpc.send_transaction_with_config(transaction, config),
        );
        sent?;
        // A notice ends its subscription on the node: nothing is to be unsubscribed.
        let (mut notices, _unsubscribe) = subscribed?;
        match notices.next().await.context("the websocket ended")?.value {
            RpcSignatureResult::ProcessedSignature(processed) => {
                ensure!(processed.err.is_none(), "a transfer failed: {:?}", processed.err);
                Ok(())
            }
            RpcSignatureResult::ReceivedSignature(_) => bail!("a notice of receipt, which was not asked for"),
        }
    }
}

/// `send_and_confirm_transaction`, as it comes.
#[derive(Clone)]
pub struct Stock {
    rpc: Arc<RpcClient>,
    transactions: Arc<Vec<Transaction>>,
}

impl Stock {
    /// A client with transactions to send.
    pub fn ready(node: &Node, transactions: Vec<Transaction>, commitment: CommitmentConfig) -> Self {
        let rpc = RpcClient::new_with_commitment(node.rpc_url.clone(), commitment);
        Self { rpc: Arc::new(rpc), transactions: Arc::new(transactions) }
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        self.rpc.send_and_confirm_transaction(&self.transactions[index]).await?;
        Ok(())
    }
}

/// `POST /v1/transfers`.
#[derive(Clone)]
pub struct Relayer {
    client: Client,
    bodies: Arc<Vec<Value>>,
}

impl Relayer {
    /// A client with requests to send, each with an idempotency key of its own.
    pub fn ready(agents: &[Agent], payee: &Pubkey, count: usize) -> Self {
        let body = |agent: &Agent| json!({ "from": agent.id, "to": payee.to_string(), "amount": AMOUNT, "idempotency_key": unique_key() });
        let bodies = agents.iter().cycle().take(count).map(body).collect();
        Self { client: agents[0].operator.client.clone(), bodies: Arc::new(bodies) }
    }

    pub async fn makes(self, index: usize) -> Result<()> {
        let answer = self.client.post("/v1/transfers", &self.bodies[index]).await;
        let settled = answer.status == 200 && answer.body["status"] == "settled";
        ensure!(settled, "{} instead of a settled transfer: {}", answer.status, answer.text);
        Ok(())
    }
}

/// Signed transfers of distinct tags, straight to the program.
pub async fn signed_transfers(
    rpc_url: &str,
    agents: &[Agent],
    payee: &Pubkey,
    authority: &Keypair,
    count: usize,
) -> Result<Vec<Transaction>> {
    let rpc = RpcClient::new(rpc_url.to_owned());
    let (blockhash, _) = rpc.get_latest_blockhash_with_commitment(CommitmentConfig::confirmed()).await?;
    let sign = |agent: &Agent| {
        let accounts = purser::accounts::Transfer {
            transfer_authority: authority.pubkey(),
            operator: agent.operator.address,
            agent: agent.address,
            source: agent.token_account,
            destination: *payee,
            token_program: TOKEN_PROGRAM,
        };
        let tag = random_tag();
        let mut transfer_id = [0; 16];
        transfer_id[..8].copy_from_slice(&tag.to_le_bytes());
        let data =
            purser::instruction::Transfer { transfer_id, tag, amount: AMOUNT_MICROS, memo: String::new() };
        let instruction = Instruction {
            program_id: purser::ID,
            accounts: accounts.to_account_metas(None),
            data: data.data(),
        };
        Transaction::new_signed_with_payer(&[instruction], Some(&authority.pubkey()), &[authority], blockhash)
    };
    Ok(agents.iter().cycle().take(count).map(sign).collect())
}
