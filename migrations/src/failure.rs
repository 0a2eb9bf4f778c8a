//! What went wrong, in one line that says what to do. Errors are told apart by code, never by their text.

use anchor_client::ClientError;
use anchor_lang::prelude::Pubkey;
use anyhow::{Error, anyhow};
use purser::error::PurserError;
use solana_rpc_client_api::client_error::{Error as RpcClientError, ErrorKind, TransactionError};
use solana_rpc_client_api::request::RpcError;
use solana_sdk::instruction::InstructionError;

/// An error with its causes, without line breaks.
pub fn one_line(error: &Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why a read failed.
pub fn explain_read(error: &RpcClientError, url: &str) -> Error {
    match error.kind() {
        ErrorKind::Reqwest(cause) => {
            anyhow!("{url} does not answer ({}): is the cluster up, and the address right?", innermost(cause))
        }
        ErrorKind::RpcError(RpcError::RpcResponseError { code, message, .. }) => {
            anyhow!("{url} refuses ({code}): {message}")
        }
        ErrorKind::Io(_)
        | ErrorKind::Middleware(_)
        | ErrorKind::RpcError(_)
        | ErrorKind::SerdeJson(_)
        | ErrorKind::SigningError(_)
        | ErrorKind::TransactionError(_)
        | ErrorKind::Custom(_) => anyhow!("{url} did not answer as a Solana node does: {error}"),
    }
}

/// Why Anchor's client could not build and sign a transaction.
pub fn explain_client(error: ClientError, url: &str) -> Error {
    match error {
        ClientError::SolanaClientError(error) => explain_read(&error, url),
        other => anyhow!("the transaction cannot be built: {other}"),
    }
}

/// Why the chain refused a transaction that `wallet` signed and paid for.
pub fn explain_transaction(error: &TransactionError, wallet: &Pubkey) -> Error {
    match error {
        TransactionError::InstructionError(_, InstructionError::Custom(code)) => {
            match PurserError::from_code(*code) {
                Some(error) => explain_program(error, wallet),
                // `SystemError::ResultWithNegativeLamports`, or the token program's `InsufficientFunds`.
                None if *code == 1 => too_little_sol(wallet),
                None => anyhow!("the chain refuses: program error {code}"),
            }
        }
        TransactionError::InstructionError(_, InstructionError::InsufficientFunds)
        | TransactionError::AccountNotFound
        | TransactionError::InsufficientFundsForFee
        | TransactionError::InsufficientFundsForRent { .. } => too_little_sol(wallet),
        TransactionError::BlockhashNotFound => {
            anyhow!("the cluster's nodes are not of one mind about the newest block: run the command again")
        }
        TransactionError::ProgramAccountNotFound => {
            anyhow!("the program {} is not on this cluster: run `purser-migrate deploy` first", purser::ID)
        }
        other => anyhow!("the chain refuses: {other}"),
    }
}

fn explain_program(error: PurserError, wallet: &Pubkey) -> Error {
    match error {
        PurserError::Unauthorized => {
            anyhow!("{error}: the wallet {wallet} signed; `operator show` names the keys that may")
        }
        other => anyhow!("{other}"),
    }
}

fn too_little_sol(wallet: &Pubkey) -> Error {
    anyhow!("the wallet {wallet} has too little SOL for this: send it some and run the command again")
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
