//! The program's bytes on a cluster, kept by the upgradeable loader (version 3).

pub mod authority;
mod buffer;
pub mod deploy;
pub mod migrate;
mod program;
pub mod progress;
pub mod verify;
