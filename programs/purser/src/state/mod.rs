//! Accounts of the program. All are zero-copy, little-endian, and begin with Anchor's eight discriminator bytes.

mod agent;
mod draft;
mod operator;

pub use agent::{Agent, AgentView};
pub use draft::AllowlistDraft;
pub use operator::{Authority, Operator};
