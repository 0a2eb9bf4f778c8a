//! Delivers events to webhooks: a dispatcher finds what is due, one queue per endpoint attempts it, a recorder stores the
//! outcomes. Nothing here decides what is announced or to whom: events are written with their facts, and get their deliveries with their
//! places (`store::streams`). Start at `dispatcher.rs`.
//!
//! What always holds:
//! - A delivery is leased before it is attempted, and no transaction is open while we wait for a receiver.
//!   A process that dies leaves leases that expire; its attempts under way are made again.
//! - An endpoint has at most a few attempts under way, and failing ones share places of their own, so one that hangs
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
pub use self::fetcher::{Asked, Fetch, Fetched, Fetcher, NotFetched};
pub use self::payload::Payload;
pub use self::resolver::{Resolve, Resolved, SystemResolver};
pub use self::signature::{service_signature, standard_signature};
use purser_model::Timestamp;

/// The current time. An argument, so that a test can control it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
