//! An audit of an operator and its agent accounts, from the chain alone. It trusts neither relayer nor operator, and needs no
//! key, no configuration and no database.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`node`] | one RPC node, in the questions of an audit |
//! | [`archive`] | a directory with everything that was read: the input of every audit, including a later one without a node |
//! | [`gather`] | fills an archive from a node; existing data is not requested again |
//! | [`scope`] | the subject of an archive |
//! | [`order`] | one order for transactions from several lists |
//! | [`signed`] | whether a transaction's signatures cover its contents |
//! | `tables` | whether lookup tables hold what the node says |
//! | `whole` | whether anything is missing, and is of one time |
//! | [`replay`] | replays every signed instruction: `purser_policy` decides again; log, balances and accounts must agree |
//! | [`network`] | the public networks, and whether the mint is theirs |
//! | [`program`] | which build runs, who may replace it and when it was replaced |
//! | [`history`] | a relayer's REST history, compared entry by entry |
//! | [`denials`] | a file of signed refusals, checked against its chain and its heads on Solana |
//! | [`check`] | the checks, by name |
//! | [`report`] | the result: text, JSON, one HTML file |
//! | [`attest`] | the verdict, signed |
//! | [`follow`] | what is worth an alert, and what was told already |
//!
//! One direction: node, archive, order, replay, report. `replay` does no IO.

pub mod archive;
pub mod attest;
mod audit;
pub mod check;
pub mod denials;
pub mod follow;
pub mod gather;
pub mod history;
pub mod network;
pub mod node;
pub mod order;
pub mod program;
pub mod replay;
pub mod report;
pub mod scope;
pub mod signed;
mod tables;
mod whole;

pub use audit::{Request, Source, audit};
pub use denials::{DenialsReport, DenialsRequest, audit_denials, denials_text};

use std::path::PathBuf;

use purser_rpc::RpcError;

/// Why an audit could not be done. It implies nothing about the accounts.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("{} cannot be read or written: {cause}", path.display())]
    File { path: PathBuf, cause: std::io::Error },
    #[error("{} does not say what an audit saves there: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("the node does not answer {method}: {why}")]
    Node { method: &'static str, why: String },
    #[error("{0}")]
    Refused(String),
}

impl From<RpcError> for AuditError {
    fn from(RpcError { method, cause }: RpcError) -> Self {
        Self::Node { method, why: cause.to_string() }
    }
}
