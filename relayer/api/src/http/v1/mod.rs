//! Version 1 of the interface: one file per resource, each request a body type and each answer a response type.

pub(crate) mod accounts;
pub(super) mod actions;
pub(super) mod budgets;
pub(crate) mod deliveries;
mod event_stream;
pub(super) mod events;
pub(super) mod grants;
pub(super) mod halts;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod policies;
mod policy_read_only;
pub(super) mod policy_versions;
pub(super) mod transfer_list;
pub(crate) mod transfers;
pub(crate) mod webhooks;
