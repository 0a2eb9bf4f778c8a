//! The name of a request.

use std::fmt;

use ulid::Ulid;

/// What a client quotes when it asks about a request: `req_...`, in `X-Request-Id` and in every error body.
#[derive(Debug, Clone, Copy)]
pub struct RequestId(Ulid);

impl RequestId {
    /// An existing id.
    pub const fn of(id: Ulid) -> Self {
        Self(id)
    }

    pub fn generate() -> Self {
        Self(Ulid::generate())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{}", self.0)
    }
}
