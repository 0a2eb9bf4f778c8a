//! Decodes accounts: bytes to values.

pub mod bounds;
pub mod decode;
