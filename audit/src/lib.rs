//! An audit of an operator and its agent accounts, from the chain alone, on a machine with a network and files. It trusts neither
//! relayer nor operator, and needs no key, no configuration and no database. What is decided, and how, is in `replay/`.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`node`] | a node over HTTP |
//! | `relayer` | a relayer's REST API over HTTP |
//! | [`folder`] | a directory with everything that was read |
//! | [`page`] | the audit as a page for a browser |
//! | [`attest`] | the verdict, signed |
//! | [`ledger`] | every movement of money, as CSV and as a workbook |
//! | [`follow`] | what is worth an alert, and what was told already |

pub mod attest;
mod audit;
pub mod folder;
pub mod follow;
pub mod ledger;
pub mod node;
pub mod page;
mod relayer;

pub use audit::{DenialsRequest, Request, Source, audit, audit_denials};
pub use purser_replay::{
    AuditError, DenialsReport, PROGRAM, archive, check, denials, denials_text, exit_status, gather, replay,
    report,
};
