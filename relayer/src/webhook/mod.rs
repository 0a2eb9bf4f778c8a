//! Tells webhooks what happened: a dispatcher finds what is due, one queue per endpoint attempts it, a recorder writes
//! down how it went. Nothing here decides what is announced; that is written with the fact itself (`store::events`).
//!
//! What always holds:
//! - A delivery is leased before it is attempted, and no transaction is open while anybody waits for a receiver.
//!   A process that dies leaves leases that end by themselves; what was under way is attempted again.
//! - An endpoint has at most a few attempts under way, and those that fail share places of their own: one that hangs
//!   takes nothing from the others.
//! - A connection is only made to an address that was checked (`client`, `resolver`).

mod client;
mod deliverer;
mod dispatcher;
mod fetcher;
mod lanes;
mod payload;
mod recorder;
mod resolver;
mod signature;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::client::{ATTEMPT_TIMEOUT, HttpClient, Post};
pub use self::deliverer::Deliverer;
pub use self::dispatcher::Dispatcher;
pub use self::fetcher::Fetcher;
pub use self::payload::Payload;
pub use self::resolver::SystemResolver;
pub use self::signature::{service_signature, standard_signature};
use crate::domain::Timestamp;

/// What time it is. An argument, so that a test can hold it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
