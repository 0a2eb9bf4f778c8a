//! Version 1 of the interface: one file per resource, each request a body type and each answer a response type.

pub(super) mod accounts;
pub(super) mod checks;
pub(super) mod deliveries;
pub(super) mod events;
pub(super) mod halts;
pub(super) mod history;
pub(super) mod keys;
pub(super) mod limits;
pub(super) mod policies;
mod policy_read_only;
pub(super) mod transfer_list;
pub(super) mod transfers;
pub(super) mod webhooks;

use crate::domain::Timestamp;

/// A timestamp as it is answered.
fn text(at: Timestamp) -> String {
    at.to_string()
}
