//! From a call to signed bytes. `instructions` encodes what the program understands; `signing` signs it with a `signer` whose SOL
//! `payers` tracks. A `source` says where the key is; another service may hold it (`remote`, through a `backend`).

mod backend;
pub mod beside;
pub mod instructions;
mod opening;
pub mod payers;
mod remote;
pub mod signer;
pub mod signing;
pub mod source;
