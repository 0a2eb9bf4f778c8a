//! The requests that can follow with the id from an answer.

use utoipa::openapi::RefOr;
use utoipa::openapi::link::Link;
use utoipa::openapi::path::Operation;

/// The operation that answers, where the id is in its answer, and the operations that take it as their `id`.
pub(super) const LINKS: [(&str, &str, &[&str]); 6] = [
    (
        "create_account",
        "account_id",
        &[
            "get_account",
            "update_account",
            "get_balance",
            "get_limits",
            "get_policy",
            "replace_policy",
            "update_policy",
            "drop_pending_policy",
            "list_policy_versions",
            "list_transactions",
            "create_key",
            "list_keys",
        ],
    ),
    ("create_key", "id", &["revoke_key"]),
    ("create_operator_key", "id", &["revoke_key"]),
    ("create_transfer", "transfer_id", &["get_transfer"]),
    (
        "create_webhook",
        "id",
        &[
            "get_webhook",
            "update_webhook",
            "delete_webhook",
            "rotate_secret",
            "test_webhook",
            "list_deliveries",
            "replay_events",
        ],
    ),
    ("list_events", "data/0/id", &["get_event"]),
];

/// Adds the links to an operation's successful answers.
pub(super) fn add(operation: &mut Operation) {
    let name = operation.operation_id.clone().unwrap_or_default();
    for (_, field, nexts) in LINKS.iter().filter(|(from, ..)| *from == name) {
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(response) = response else { continue };
            if !status.starts_with('2') {
                continue;
            }
            for next in *nexts {
                let link = Link::builder()
                    .operation_id(*next)
                    .parameter("id", format!("$response.body#/{field}"))
                    .build();
                response.links.insert((*next).to_owned(), link.into());
            }
        }
    }
}
