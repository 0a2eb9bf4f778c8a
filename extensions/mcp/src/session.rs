//! Session ids of the revisions before 2026-07-28. A session holds nothing and grants nothing: its id says which key opened
//! it, and is valid with that key alone, at every relayer, for as long as the key is. See decision 24.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ulid::Ulid;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Opens a session for this key.
pub(crate) fn open(headers: &mut HeaderMap, key_id: &str) {
    if let Ok(id) = HeaderValue::from_str(&format!("{key_id}.{}", Ulid::generate())) {
        headers.insert(MCP_SESSION_ID, id);
    }
}

/// Whether the request names no session but those that this key opened.
pub(crate) fn is_own(headers: &HeaderMap, key_id: &str) -> bool {
    let is_own = |id: &HeaderValue| {
        let (key, session) = id.to_str().ok()?.split_once('.')?;
        Some(key == key_id && Ulid::from_string(session).is_ok())
    };
    let mut ids = headers.get_all(MCP_SESSION_ID).iter();
    ids.all(|id| is_own(id) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_good_with_the_key_that_opened_it_and_with_no_other() {
        let (own, other) = ("key_01ARZ3NDEKTSV4RRFFQ69G5FAV", "key_01ARZ3NDEKTSV4RRFFQ69G5FAW");
        let mut headers = HeaderMap::new();
        assert!(is_own(&headers, own), "none is needed");
        open(&mut headers, own);
        assert!(is_own(&headers, own));
        assert!(!is_own(&headers, other));
        for id in ["", ".", "made-up", own] {
            headers.insert(MCP_SESSION_ID, HeaderValue::from_static(id));
            assert!(!is_own(&headers, own), "{id}");
        }
    }
}
