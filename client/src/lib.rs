//! Everything needed to speak to the Purser program and to read what it did: its addresses, its instructions, owned
//! policies, and landed transactions.
//!
//! Nothing here contacts a node or signs. `purser` itself reads accounts and events (`Agent::read`, `purser::events`).

mod budget;
mod deployed;
mod instructions;
mod landed;
mod log;
mod policy;
mod staging;

pub use budget::{LOADED_BYTES, transfer_units};
pub use deployed::{
    Comparison, ProgramData, UPGRADEABLE_LOADER, committed_sha256, compare, program_data_address,
    security_txt,
};
pub use instructions::{Deployment, DraftAccounts, RentPayers, TokenSource, TransferOrder};
pub use landed::{
    Called, Landed, LandedWell, TokenBalance, WireHeader, WireInstruction, WireLanded, WireMessage,
    WireTransaction, arguments, transfer_arguments,
};
pub use log::{EventLog, decode_event};
pub use policy::{OwnedAllowlist, OwnedPolicy, Proposal, args_of, owned};
pub use purser;
pub use purser_policy;
pub use staging::{INLINE_ENTRIES_MAX, Staging, Step, StepKind, must_wait};
