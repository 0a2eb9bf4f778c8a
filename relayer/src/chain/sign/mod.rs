//! From a call to signed bytes: `instructions` (what the program understands), `signing`, by a `signer` that `payers` have SOL
//! for. Where its key is says a `source`; another service may keep it (`remote`, by way of a `backend`).

mod backend;
pub mod instructions;
mod opening;
pub mod payers;
mod remote;
pub mod signer;
pub mod signing;
pub mod source;
