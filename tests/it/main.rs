//! Black-box tests over HTTP: the real relayer binary against a real network process.
//!
//! One file per subject; every test is a sentence. See `purser_tests` for what they stand on.

mod accounts;
mod allowlist;
mod amounts;
mod auth_matrix;
mod authorities;
mod concurrency;
mod connections;
mod counting;
mod crash;
mod database_outage;
mod error_codes;
mod events;
mod files;
mod halts;
mod health;
mod history;
mod history_rebuilt;
mod hostile_bodies;
mod hostile_http;
mod hostile_input;
mod idempotency;
mod identical_requests;
mod keys;
mod limits_preview;
mod loosening;
mod mcp;
mod networks;
mod onchain_refusal;
mod outbound;
mod panics;
mod policy;
mod quotas;
mod races;
mod receivers;
mod relayers;
mod rent;
mod restart;
mod routes;
mod scripted_rpc;
mod sealing_key;
mod stop;
mod transfers;
mod webhooks;
mod window;
