//! REST and what every extension over HTTP shares with it: bytes in, one call of a service, bytes out.
//!
//! [`web`] is what extensions may use; [`http`] is REST itself, its OpenAPI document and the listener. Start at `http/mod.rs`, which
//! has every route, then `http/v1/transfers.rs`.

pub mod http;
mod version;
pub mod web;

pub use version::Version;
