//! What can be asked next with the id that an answer gives.

use utoipa::openapi::RefOr;
use utoipa::openapi::link::Link;
use utoipa::openapi::path::Operation;

/// Who answers, where the id is in the answer, and which operations take it as their `id`.
pub(super) const LINKS: [(&str, &str, &[&str]); 5] = [
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

/// Adds them to the answers of an operation that succeeded.
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
