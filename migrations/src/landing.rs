//! One signed transaction until it is certain what became of it.

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
/// Longer than any blockhash lives: a transaction with a nonce may wait for ever, and whoever sent it should not.
const WAIT_MAX: Duration = Duration::from_secs(180);
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

/// How long a transaction can land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodUntil {
    BlockHeight(u64),
    /// The nonce account holds this value.
    NonceUsed(Pubkey, Hash),
}

impl GoodUntil {
    /// An upper bound for a blockhash that was read before.
    pub async fn from_now(network: &Network) -> Result<Self, Error> {
        let height = network.rpc.get_block_height_with_commitment(CommitmentConfig::processed()).await;
        let height = height.map_err(|error| failure::explain_read(&error, &network.url))?;
        Ok(Self::BlockHeight(height + BLOCKHASH_BLOCKS))
    }

    /// Whether that is over, for good.
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

/// A durable nonce account: the system program's, in its current version, and in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    pub authority: Pubkey,
    /// Stands where a blockhash would.
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

/// Sends until the transaction reached the network's commitment, was refused, or cannot land any more.
pub async fn land(
    network: &Network,
    transaction: &Transaction,
    good_until: GoodUntil,
) -> Result<Signature, Refusal> {
    let unreadable = |error| Refusal::Other(failure::explain_read(&error, &network.url));
    let signature = transaction.signatures.first().copied().unwrap_or_default();
    if let Err(error) = network.rpc.send_transaction(transaction).await {
        match error.get_transaction_error() {
            // Somebody sent it before: what became of it is looked up.
            Some(TransactionError::AlreadyProcessed) => {}
            Some(refused) => return Err(Refusal::Transaction(refused)),
            // A node that answers with an error did not take it; a line that broke may have carried it.
            None if matches!(error.kind(), ErrorKind::RpcError(RpcError::RpcResponseError { .. })) => {
                return Err(unreadable(error));
            }
            None => {}
        }
    }
    let begun = Instant::now();
    let (mut heard, mut sent) = (Instant::now(), Instant::now());
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

async fn look(network: &Network, signature: &Signature, good_until: &GoodUntil) -> Result<Seen, Error> {
    // The end first: what is unknown after it had passed stays unknown.
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

/// Hands a transaction to the cluster without asking what it thinks of it; what became of it is looked up anyway.
pub async fn send_blindly(network: &Network, transaction: &Transaction) {
    let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
    let _ = network.rpc.send_transaction_with_config(transaction, config).await;
}
