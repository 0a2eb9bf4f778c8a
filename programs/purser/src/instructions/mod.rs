//! One file per instruction: load, authorise, decide, act, record.

pub mod accept_admin;
pub mod apply_draft;
pub mod close_agent;
pub mod close_draft;
pub mod create_agent;
pub mod create_operator;
pub mod grant;
pub mod halt;
pub mod open_draft;
pub mod policy_args;
pub mod rent;
pub(crate) mod room;
pub mod set_paused;
pub mod set_policy;
pub mod transfer;
pub mod update_operator;
pub mod withdraw;
pub mod write_draft;

pub use accept_admin::*;
pub use apply_draft::*;
pub use close_agent::*;
pub use close_draft::*;
pub use create_agent::*;
pub use create_operator::*;
pub use grant::*;
pub use halt::*;
pub use open_draft::*;
pub use policy_args::*;
pub use rent::*;
pub use set_paused::*;
pub use set_policy::*;
pub use transfer::*;
pub use update_operator::*;
pub use withdraw::*;
pub use write_draft::*;
