//! One file per instruction: load, authorise, decide, act, record.

pub mod accept_admin;
pub mod close_agent;
pub mod close_draft;
pub mod create_agent;
pub mod create_operator;
pub mod open_draft;
pub mod set_operator_paused;
pub mod set_paused;
pub mod set_policy;
pub mod transfer;
pub mod update_operator;
pub mod withdraw;
pub mod write_draft;

pub use accept_admin::*;
pub use close_agent::*;
pub use close_draft::*;
pub use create_agent::*;
pub use create_operator::*;
pub use open_draft::*;
pub use set_operator_paused::*;
pub use set_paused::*;
pub use set_policy::*;
pub use transfer::*;
pub use update_operator::*;
pub use withdraw::*;
pub use write_draft::*;
