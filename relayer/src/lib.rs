//! Purser's relayer: maps a REST API onto the Purser program, and keeps what the chain does not.

pub mod chain;
pub mod domain;
pub mod http;
pub mod service;
pub mod store;
