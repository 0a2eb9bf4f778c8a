//! What an audit of an operator decides, from the chain alone, and what it asks for to do so. It does no IO: nodes, a relayer,
//! files and the time are given, so a command line and a page in a browser run the same audit.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`node`] | one RPC node, in the questions of an audit |
//! | [`archive`] | everything that was read: the input of every audit, including a later one without a node |
//! | [`gather`] | fills an archive from a node; existing data is not requested again |
//! | [`scope`] | the subject of an archive |
//! | [`order`] | one order for transactions from several lists |
//! | [`signed`] | whether a transaction's signatures cover its contents |
//! | `tables` | whether lookup tables hold what the node says |
//! | `shown` | a transaction as the node shows it, on its way into the replay |
//! | `whole` | whether anything is missing, and is of one time |
//! | [`replay`] | replays every signed instruction: `purser_policy` decides again; log, balances and accounts must agree |
//! | [`network`] | the public networks, and whether the mint is theirs |
//! | [`program`] | which build runs, who may replace it and when it was replaced |
//! | [`history`] | a relayer's REST history, compared entry by entry |
//! | [`denials`] | a file of signed refusals, checked against its chain and its heads on Solana |
//! | [`check`] | the checks, by name |
//! | [`report`] | the result: text, JSON, one HTML file |
//! | [`turns`] | an audit as questions and answers, for whoever cannot wait for a future |
//!
//! One direction: node, archive, order, replay, report.

pub mod archive;
mod audit;
pub mod check;
pub mod denials;
pub mod gather;
pub mod history;
pub mod network;
pub mod node;
pub mod order;
pub mod program;
pub mod replay;
pub mod report;
pub mod scope;
mod shown;
pub mod signed;
mod tables;
pub mod turns;
mod whole;

pub use audit::{Inputs, Reading, audit};
pub use denials::{DenialsInputs, DenialsReport, audit_denials, denials_text};

use std::path::PathBuf;

use anchor_lang::prelude::Pubkey;

/// The program at its own address.
pub const PROGRAM: Pubkey = purser::ID;

/// How an audit ends, for whoever can say no more than a number.
pub const fn exit_status(holds: bool, complete: bool) -> u8 {
    match (holds, complete) {
        (true, true) => 0,
        // Something does not hold.
        (false, _) => 1,
        // The audit, or a part of it, could not be done.
        (true, false) => 2,
    }
}

/// Why an audit could not be done. It implies nothing about the accounts.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("{} cannot be read or written: {cause}", path.display())]
    File { path: PathBuf, cause: std::io::Error },
    #[error("{} does not say what an audit saves there: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{host} does not answer {method}: {why}")]
    Node { host: String, method: &'static str, why: String },
    #[error("{0}")]
    Refused(String),
}
