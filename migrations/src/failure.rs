//! Errors, each in one line that says what to do. Error codes tell them apart, never their text.

use anchor_lang::prelude::Pubkey;
use anyhow::{Error, anyhow};
use purser::error::PurserError;
use solana_rpc_client_api::client_error::{Error as RpcClientError, ErrorKind, TransactionError};
use solana_rpc_client_api::request::RpcError;
use solana_sdk::instruction::InstructionError;

/// An error with its causes, on one line.
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
            anyhow!("the cluster's nodes disagree about the newest block: run the command again")
        }
        TransactionError::ProgramAccountNotFound => {
            anyhow!(
                "the program is not on this cluster: run `purser-migrate deploy` first, or name another with --program-id"
            )
        }
        other => anyhow!("the chain refuses: {other}"),
    }
}

/// What the program said, and what to do about it if that is not obvious.
fn explain_program(error: PurserError, wallet: &Pubkey) -> Error {
    let advice = match error {
        PurserError::Unauthorized => {
            return anyhow!("{error}: the wallet {wallet} signed; `operator show` names the keys that may");
        }
        PurserError::Halted => {
            "`operator show` and `account show` say by whom; the admin lifts it with `operator resume` or `account resume`"
        }
        PurserError::PolicyChanged => {
            "somebody changed the policy after this command read it, and nothing of yours is in force: look with \
             `account show`, and run the command again if you still want it"
        }
        PurserError::LooseningMustWait => {
            "`account set-policy` seals it and says when its time comes, `account apply-policy` applies it then; the \
             admin's wallet may do so at once"
        }
        PurserError::TransferAuthorityCount => "give one to eight different --transfer-authority keys",
        PurserError::LooseningDelayTooLong => "give a --loosening-delay of 30d or less",
        PurserError::WrongRentRefund => {
            "the account was closed and made anew while this command ran: run it again"
        }
        PurserError::DraftMismatch | PurserError::DraftIncomplete | PurserError::DraftOutOfOrder => {
            "somebody else put another policy in this draft's place: look with `account show`, and run the command again \
             if you still want it"
        }
        PurserError::RecipientIsSource => "name another token account with --to",
        _ => return anyhow!("{error}"),
    };
    anyhow!("{error}: {advice}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(error: PurserError) -> String {
        let code = InstructionError::Custom(u32::from(error));
        explain_transaction(&TransactionError::InstructionError(0, code), &Pubkey::default()).to_string()
    }

    #[test]
    fn refusals_say_what_to_do() {
        let cases = [
            (PurserError::Unauthorized, "`operator show` names the keys"),
            (PurserError::Halted, "`account resume`"),
            (PurserError::PolicyChanged, "nothing of yours is in force: look with `account show`"),
            (PurserError::LooseningMustWait, "`account apply-policy`"),
            (PurserError::TransferAuthorityCount, "one to eight different --transfer-authority keys"),
            (PurserError::LooseningDelayTooLong, "30d or less"),
            (PurserError::WrongRentRefund, "run it again"),
            (PurserError::DraftMismatch, "run the command again"),
        ];
        for (error, advice) in cases {
            let text = explained(error);
            assert!(text.contains(advice) && text.contains(&error.to_string()), "{text}");
        }
        // The codes that clients in other languages know.
        assert_eq!((u32::from(PurserError::Halted), u32::from(PurserError::WrongRentRefund)), (6030, 6035));
    }
}
