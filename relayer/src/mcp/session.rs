//! Session ids of the revisions before 2026-07-28. A session holds nothing and grants nothing: its id says which key opened
//! it, and is valid with that key alone, at every relayer, for as long as the key is. See decision 24.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ulid::Ulid;

use crate::domain::KeyId;
use crate::http::error::ApiError;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Opens a session for this key.
pub(super) fn open(headers: &mut HeaderMap, key_id: KeyId) {
    if let Ok(id) = HeaderValue::from_str(&format!("{key_id}.{}", Ulid::generate())) {
        headers.insert(MCP_SESSION_ID, id);
    }
}

/// Errors: the request has a session id that this key did not open.
pub(super) fn check(headers: &HeaderMap, key_id: KeyId) -> Result<(), ApiError> {
    let is_own = |id: &HeaderValue| {
        let (key, session) = id.to_str().ok()?.split_once('.')?;
        Some(key.parse() == Ok(key_id) && Ulid::from_string(session).is_ok())
    };
    let mut ids = headers.get_all(MCP_SESSION_ID).iter();
    if ids.all(|id| is_own(id) == Some(true)) { Ok(()) } else { Err(ApiError::SessionUnknown) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_good_with_the_key_that_opened_it_and_with_no_other() {
        let (own, other) = (KeyId::from_bytes([1; 16]), KeyId::from_bytes([2; 16]));
        let mut headers = HeaderMap::new();
        assert!(check(&headers, own).is_ok(), "none is needed");
        open(&mut headers, own);
        assert!(check(&headers, own).is_ok());
        assert!(check(&headers, other).is_err());
        for id in ["", ".", "made-up", "key_01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            headers.insert(MCP_SESSION_ID, HeaderValue::from_static(id));
            assert!(check(&headers, own).is_err(), "{id}");
        }
    }
}
