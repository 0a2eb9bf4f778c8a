//! From a call to signed bytes: `instructions` (what the program understands), `signing`, by a `signer` that `payers` have SOL
//! for.

pub mod instructions;
pub mod payers;
pub mod signer;
pub mod signing;
