//! What stands in accounts: bytes to values.

pub mod decode;
