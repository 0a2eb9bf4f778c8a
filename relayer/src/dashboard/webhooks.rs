//! Webhooks: where events go, how that went, and sending them once more.

pub mod delivery;
pub mod list;
pub mod one;
