//! REST and what every door over HTTP shares with it: bytes in, one call of a service, bytes out.
//!
//! [`web`] is what doors may use; [`http`] is REST itself, its OpenAPI document and the listener.

pub mod http;
mod version;
pub mod web;

pub use version::Version;
