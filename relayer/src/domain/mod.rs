//! What the service talks about: pure types, parsed once at the edge. Knows no network, database or HTTP.

pub mod address;
pub mod network;

pub use address::{Address, AddressError};
pub use network::{Network, NetworkError};
