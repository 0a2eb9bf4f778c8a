//! One signed transaction until it is certain what became of it.

use std::time::{Duration, Instant};

use anchor_lang::prelude::Pubkey;
use anyhow::{Error, anyhow};
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client_api::client_error::{ErrorKind, TransactionError};
use solana_rpc_client_api::config::RpcSendTransactionConfig;
use solana_rpc_client_api::request::RpcError;
use solana_sdk::signature::Signature;
use solana_sdk::transaction::Transaction;

use crate::failure;
use crate::network::Network;

/// Blocks after its blockhash within which a transaction can land.
pub const BLOCKHASH_BLOCKS: u64 = 150;
const POLL_EVERY: Duration = Duration::from_millis(250);
const SEND_AGAIN_EVERY: Duration = Duration::from_secs(2);
/// With no word from the cluster for so long, the answer is "unknown".
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Why a transaction had no effect, or may have had none.
#[derive(Debug)]
pub enum Refusal {
    /// The chain refused it.
    Transaction(TransactionError),
    Other(Error),
}

impl Refusal {
    pub fn other(error: Error) -> Self {
        Self::Other(error)
    }

    /// For the person whose `wallet` signed.
    pub fn explain(self, wallet: &Pubkey) -> Error {
        match self {
            Self::Transaction(error) => failure::explain_transaction(&error, wallet),
            Self::Other(error) => error,
        }
    }
}

/// Sends until the transaction reached the network's commitment, was refused, or cannot land any more.
pub async fn submit(network: &Network, transaction: &Transaction) -> Result<Signature, Refusal> {
    let unreadable = |error| Refusal::Other(failure::explain_read(&error, &network.url));
    // An upper bound of the transaction's last block: its blockhash was read before.
    let height = network.rpc.get_block_height_with_commitment(CommitmentConfig::processed()).await;
    let last_valid_height = height.map_err(unreadable)? + BLOCKHASH_BLOCKS;
    let signature = transaction.signatures.first().copied().unwrap_or_default();
    if let Err(error) = network.rpc.send_transaction(transaction).await {
        if let Some(refused) = error.get_transaction_error() {
            return Err(Refusal::Transaction(refused));
        }
        // A node that answers with an error did not take it; a line that broke may have carried it.
        if matches!(error.kind(), ErrorKind::RpcError(RpcError::RpcResponseError { .. })) {
            return Err(unreadable(error));
        }
    }
    let (mut heard, mut sent) = (Instant::now(), Instant::now());
    loop {
        tokio::time::sleep(POLL_EVERY).await;
        match look(network, &signature, last_valid_height).await {
            Ok(Seen::Done) => return Ok(signature),
            Ok(Seen::Refused(error)) => return Err(Refusal::Transaction(error)),
            Ok(Seen::Expired) => {
                return Err(Refusal::Other(anyhow!(
                    "transaction {signature} expired before a block took it, so nothing changed: run the command again, \
                 with --priority-fee if the cluster is busy"
                )));
            }
            Ok(Seen::Waiting) => heard = Instant::now(),
            Err(error) if heard.elapsed() > SILENCE_MAX => {
                return Err(Refusal::Other(error.context(format!(
                    "it is not known whether transaction {signature} landed: look it up before you run the command again"
                ))));
            }
            Err(_) => {}
        }
        if sent.elapsed() > SEND_AGAIN_EVERY {
            sent = Instant::now();
            send_blindly(network, transaction).await;
        }
    }
}

enum Seen {
    Done,
    Refused(TransactionError),
    Waiting,
    /// Not landed, and cannot any more.
    Expired,
}

async fn look(network: &Network, signature: &Signature, last_valid_height: u64) -> Result<Seen, Error> {
    let explain = |error| failure::explain_read(&error, &network.url);
    // The height first: what is unknown after it had passed stays unknown.
    let height = network.rpc.get_block_height_with_commitment(CommitmentConfig::finalized()).await;
    let expired = height.map_err(explain)? > last_valid_height;
    let statuses = match expired {
        true => network.rpc.get_signature_statuses_with_history(&[*signature]).await,
        false => network.rpc.get_signature_statuses(&[*signature]).await,
    };
    Ok(match statuses.map_err(explain)?.value.into_iter().flatten().next() {
        Some(status) => match status.err.clone() {
            Some(error) => Seen::Refused(error),
            None if status.satisfies_commitment(network.commitment) => Seen::Done,
            None => Seen::Waiting,
        },
        None if expired => Seen::Expired,
        None => Seen::Waiting,
    })
}

/// Hands a transaction to the cluster without asking what it thinks of it; what became of it is looked up anyway.
pub async fn send_blindly(network: &Network, transaction: &Transaction) {
    let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
    let _ = network.rpc.send_transaction_with_config(transaction, config).await;
}
