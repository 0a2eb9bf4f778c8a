//! The record of what was changed, as a file.

use axum::response::Response;
use futures::{Stream, TryStreamExt};

use super::csv::{self, CsvRow};
use super::file::FileFormat;
use purser_model::wire::ActionResponse;
use purser_model::{Invalid, ListedAction, OperatorId};

impl CsvRow for ActionResponse {
    fn head() -> impl Iterator<Item = &'static str> {
        [
            "id",
            "action",
            "outcome",
            "key_id",
            "key_name",
            "key_hint",
            "session_id",
            "address",
            "object_id",
            "made_id",
            "after",
            "tx_signature",
            "request_id",
            "created_at",
            "passkey_name",
        ]
        .into_iter()
    }

    // The objects begin with a brace.
    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.key_name, &mut self.passkey_name].into_iter().flatten()
    }
}

/// The record as a file.
pub async fn actions_as_file<E: std::fmt::Display + Send + 'static>(
    (format, operator): (FileFormat, OperatorId),
    pages: impl Stream<Item = Result<Vec<ListedAction>, E>> + Send + 'static,
) -> Result<Response, Invalid> {
    let rows = pages.map_ok(|page| page.into_iter().map(ActionResponse::from).collect());
    csv::answer((format, operator), "actions", rows).await
}
