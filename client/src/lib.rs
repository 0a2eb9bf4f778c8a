#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod account_ids;
mod budget;
mod deployed;
mod instructions;
mod landed;
mod log;
mod policy;
mod staging;

pub use account_ids::AccountIds;
pub use budget::{
    LOADED_BYTES, TAG_BUCKETS_MAX, extended_transfer_units, loaded_bytes, table_units, transfer_units,
};
pub use deployed::{
    Comparison, ProgramData, UPGRADEABLE_LOADER, committed_sha256, compare, program_data_address,
    security_txt,
};
pub use instructions::{Deployment, DraftAccounts, RESUMED_MAX, RentRefunds, TokenSource, TransferOrder};
pub use landed::{
    Called, Landed, LandedWell, TokenBalance, TokenCall, WireHeader, WireInstruction, WireLanded,
    WireMessage, WireTransaction, arguments, transfer_arguments,
};
pub use log::{EventLog, decode_event};
pub use policy::{OnChainPolicy, OwnedAllowlist, Proposal, args_of, owned, policy_of};
pub use purser;
pub use purser_policy;
pub use staging::{INLINE_ENTRIES_MAX, Staging, Step, StepKind, must_wait};
