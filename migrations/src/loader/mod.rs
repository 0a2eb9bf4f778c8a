//! The program's bytes on a cluster, kept by the upgradeable loader (version 3).

pub mod authority;
pub mod buffer;
mod costs;
pub mod deploy;
pub mod migrate;
pub mod program;
pub mod progress;
pub mod verify;
