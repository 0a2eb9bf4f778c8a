//! What it takes to speak to the Purser program: its addresses, its instructions, and policies as one owns them.
//!
//! Nothing here asks a node or signs. Accounts and events are read by `purser` itself (`Agent::read`, `purser::events`).

mod budget;
mod instructions;
mod policy;
mod staging;

pub use budget::{LOADED_BYTES, transfer_units};
pub use instructions::{Deployment, DraftAccounts, RentPayers, TokenSource, TransferOrder};
pub use policy::{OwnedAllowlist, OwnedPolicy, Proposal};
pub use purser;
pub use purser_policy;
pub use staging::{INLINE_ENTRIES_MAX, Staging, WRITE_ENTRIES_MAX, must_wait};
