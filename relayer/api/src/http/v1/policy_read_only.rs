//! A policy that was read, edited and sent back carries fields that nobody can set. They are accepted if they are unchanged,
//! and they say which policy was read.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::web::error::ApiError;
use purser_model::{Invalid, PolicyUpdate};
use purser_service::ServiceError;

/// The fields that tell one policy of an account from another.
const VERSION: [&str; 2] = ["version", "updated_at"];
/// All fields that nobody can set.
pub(super) const READ_ONLY: [&str; 6] =
    ["version", "updated_at", "account_id", "counterparty_kinds", "by_grant_only", "pending"];

/// The read-only fields of a change.
pub(super) struct ReadOnly(BTreeMap<&'static str, Value>);

impl ReadOnly {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// PolicyChanged: the policy has changed since. Invalid: a read-only field was edited.
    pub fn check(&self, now: &impl Serialize) -> Result<(), ApiError> {
        let now = serde_json::to_value(now).map_err(|_| ServiceError::Internal)?;
        for name in READ_ONLY {
            let Some(sent) = self.0.get(name) else { continue };
            let current = now.get(name).unwrap_or(&Value::Null);
            if sent == current {
                continue;
            }
            let is_of_its_kind =
                (sent.is_u64() && current.is_u64()) || (sent.is_string() && current.is_string());
            return Err(if VERSION.contains(&name) && is_of_its_kind {
                ServiceError::PolicyChanged.into()
            } else {
                Invalid::new(name, "is read-only: leave it out, or send it as it was read").into()
            });
        }
        Ok(())
    }
}

/// A change, and the read-only fields of its body.
pub(super) fn read(body: &[u8]) -> Result<(PolicyUpdate, ReadOnly), Invalid> {
    let fields: Option<BTreeMap<String, &RawValue>> = serde_json::from_slice(body).ok();
    let mut read_only = BTreeMap::new();
    // The parser of the rest refuses anything but an object.
    let Some(mut fields) = fields else { return Ok((PolicyUpdate::from_json(body)?, ReadOnly(read_only))) };
    for name in READ_ONLY {
        if let Some(json) = fields.remove(name) {
            let value = serde_json::from_str(json.get());
            read_only.insert(name, value.map_err(|_| Invalid::new(name, "is not valid JSON"))?);
        }
    }
    let rest = serde_json::to_vec(&fields).map_err(|_| Invalid::new("body", "must be a JSON object"))?;
    Ok((PolicyUpdate::from_json(&rest)?, ReadOnly(read_only)))
}
