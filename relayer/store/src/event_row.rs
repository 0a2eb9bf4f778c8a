//! Events as rows.

use super::row::{row, unreadable};
use purser_model::{Event, Subject};

row! { Event of events {
    id: event_id, operator_id, event_type,
    subject(account_id, transfer_id, threshold_usdc, webhook_id) =
        match (account_id, transfer_id, threshold_usdc, webhook_id) {
            (Some(account_id), Some(transfer_id), None, None) => {
                Subject::Transfer { account_id, transfer_id }
            }
            (Some(account_id), None, Some(threshold), None) => Subject::Balance { account_id, threshold },
            (Some(account_id), None, None, None) => Subject::Account { account_id },
            (None, None, None, None) => Subject::Operator,
            (_, None, None, Some(webhook_id)) => Subject::Webhook(webhook_id),
            _ => return Err(unreadable("transfer_id")),
        },
    data, created_at, fact = None,
}}
