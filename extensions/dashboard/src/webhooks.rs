//! Webhooks: where events go, how their deliveries went, and replays.

pub mod delivery;
pub mod list;
pub mod one;
