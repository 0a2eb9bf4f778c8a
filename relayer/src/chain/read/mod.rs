//! Decodes accounts: bytes to values.

pub mod decode;
