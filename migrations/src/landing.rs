//! Follows one signed transaction until its outcome is certain.

use std::time::{Duration, Instant};

use anchor_lang::prelude::Pubkey;
use anyhow::{Error, anyhow};
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client_api::client_error::{ErrorKind, TransactionError};
use solana_rpc_client_api::config::RpcSendTransactionConfig;
use solana_rpc_client_api::request::RpcError;
use solana_sdk::account::Account;
use solana_sdk::hash::Hash;
use solana_sdk::signature::Signature;
use solana_sdk::transaction::Transaction;

use crate::failure;
use crate::network::Network;

/// Blocks after its blockhash within which a transaction can land.
pub const BLOCKHASH_BLOCKS: u64 = 150;
const POLL_EVERY: Duration = Duration::from_millis(250);
const SEND_AGAIN_EVERY: Duration = Duration::from_secs(2);
/// Longer than any blockhash lives. A transaction with a nonce may stay valid for ever, and its sender should not wait for that.
const WAIT_MAX: Duration = Duration::from_secs(180);
/// If the cluster has not answered for this long, the outcome is "unknown".
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

    /// An explanation for the person whose `wallet` signed.
    pub fn explain(self, wallet: &Pubkey) -> Error {
        match self {
            Self::Transaction(error) => failure::explain_transaction(&error, wallet),
            Self::Other(error) => error,
        }
    }
}

/// Until when a transaction can land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodUntil {
    BlockHeight(u64),
    /// As long as the nonce account holds this value.
    NonceUsed(Pubkey, Hash),
}

impl GoodUntil {
    /// An upper bound for a blockhash that was read earlier.
    pub async fn from_now(network: &Network) -> Result<Self, Error> {
        let height = network.rpc.get_block_height_with_commitment(CommitmentConfig::processed()).await;
        let height = height.map_err(|error| failure::explain_read(&error, &network.url))?;
        Ok(Self::BlockHeight(height + BLOCKHASH_BLOCKS))
    }

    /// Whether that time is over, for good.
    async fn is_over(&self, network: &Network) -> Result<bool, Error> {
        let finalized = CommitmentConfig::finalized();
        match self {
            Self::BlockHeight(last) => {
                let height = network.rpc.get_block_height_with_commitment(finalized).await;
                Ok(height.map_err(|error| failure::explain_read(&error, &network.url))? > *last)
            }
            Self::NonceUsed(address, value) => {
                let found = network.rpc.get_account_with_commitment(address, finalized).await;
                let found = found.map_err(|error| failure::explain_read(&error, &network.url))?.value;
                Ok(found.and_then(|account| Nonce::read(&account)).is_none_or(|nonce| nonce.value != *value))
            }
        }
    }
}

/// A durable nonce account: owned by the system program, of the current version, and in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    pub authority: Pubkey,
    /// Used in place of a blockhash.
    pub value: Hash,
}

impl Nonce {
    pub fn read(account: &Account) -> Option<Self> {
        const CURRENT_AND_IN_USE: [u8; 8] = [1, 0, 0, 0, 1, 0, 0, 0];
        let data = &account.data;
        let is_nonce =
            account.owner == anchor_lang::system_program::ID && data.starts_with(&CURRENT_AND_IN_USE);
        let bytes = |from: usize| -> Option<[u8; 32]> { data.get(from..from + 32)?.try_into().ok() };
        is_nonce.then_some(())?;
        Some(Self { authority: Pubkey::new_from_array(bytes(8)?), value: Hash::new_from_array(bytes(40)?) })
    }
}

/// Sends until the transaction reached the network's commitment, was refused, or can no longer land.
pub async fn land(
    network: &Network,
    transaction: &Transaction,
    good_until: GoodUntil,
) -> Result<Signature, Refusal> {
    let unreadable = |error| Refusal::Other(failure::explain_read(&error, &network.url));
    let signature = transaction.signatures.first().copied().unwrap_or_default();
    if let Err(error) = network.rpc.send_transaction(transaction).await {
        match error.get_transaction_error() {
            // Somebody sent it before: look up its outcome.
            Some(TransactionError::AlreadyProcessed) => {}
            Some(refused) => return Err(Refusal::Transaction(refused)),
            // A node that answers with an error did not take it; over a broken connection it may have arrived.
            None if matches!(error.kind(), ErrorKind::RpcError(RpcError::RpcResponseError { .. })) => {
                return Err(unreadable(error));
            }
            None => {}
        }
    }
    let begun = Instant::now();
    let (mut last_answer_at, mut sent) = (Instant::now(), Instant::now());
    loop {
        tokio::time::sleep(POLL_EVERY).await;
        match look(network, &signature, &good_until).await {
            Ok(Seen::Done) => return Ok(signature),
            Ok(Seen::Refused(error)) => return Err(Refusal::Transaction(error)),
            Ok(Seen::Expired) => {
                return Err(Refusal::Other(anyhow!(
                    "transaction {signature} expired before a block took it, so nothing changed: run the command again, \
                 with --priority-fee if the cluster is busy"
                )));
            }
            Ok(Seen::Waiting) if begun.elapsed() > WAIT_MAX => {
                return Err(Refusal::Other(anyhow!(
                    "transaction {signature} has not landed yet, and may as long as its nonce is not used: submit it again, \
                     or look it up"
                )));
            }
            Ok(Seen::Waiting) => last_answer_at = Instant::now(),
            Err(error) if last_answer_at.elapsed() > SILENCE_MAX => {
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
    /// Not landed, and can no longer land.
    Expired,
}

async fn look(network: &Network, signature: &Signature, good_until: &GoodUntil) -> Result<Seen, Error> {
    // Check expiry first: a transaction that is unknown after its expiry never lands.
    let expired = good_until.is_over(network).await?;
    let statuses = match expired {
        true => network.rpc.get_signature_statuses_with_history(&[*signature]).await,
        false => network.rpc.get_signature_statuses(&[*signature]).await,
    };
    let statuses = statuses.map_err(|error| failure::explain_read(&error, &network.url))?;
    Ok(match statuses.value.into_iter().flatten().next() {
        Some(status) => match status.err.clone() {
            Some(error) => Seen::Refused(error),
            None if status.satisfies_commitment(network.commitment) => Seen::Done,
            None => Seen::Waiting,
        },
        None if expired => Seen::Expired,
        None => Seen::Waiting,
    })
}

/// Sends a transaction to the cluster and ignores the answer; its outcome is looked up anyway.
pub async fn send_blindly(network: &Network, transaction: &Transaction) {
    let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
    let _ = network.rpc.send_transaction_with_config(transaction, config).await;
}
