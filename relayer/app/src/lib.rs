//! Purser's relayer: maps a REST API onto the Purser program, and keeps what the chain does not. Start at [`app`].
//!
//! ```text
//! core  <-  model  <-  store  <-  webhooks  <-  service  <-  indexer, api  <-  app  <-  cli  <-  main
//!             ^------  chain  <-------------------'
//! ```
//!
//! What always holds:
//! - The chain is the judge: it also refuses whatever is refused here, and nothing here can widen a policy.
//! - Signed bytes are stored before they are sent, and a payment has one tag however often it is tried,
//!   so that no crash, retry or second relayer pays twice.
//! - `model` is pure; `store` and `chain` never know each other; `service` sees neither HTTP nor SQL nor RPC types.
//! - Every read of an operator's data takes the operator's id, so that another tenant's data cannot be found.

pub mod app;
pub mod config;
