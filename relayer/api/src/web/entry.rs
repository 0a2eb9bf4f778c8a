//! A line of an account's history as it is answered, and the history as a file.

use axum::response::Response;
use futures::{Stream, TryStreamExt};
use serde::Serialize;
use utoipa::ToSchema;

use super::csv::{self, CsvRow};
use super::error::Code;
use super::error::rejection_code;
use super::file::FileFormat;
use purser_model::wire::schema::{ChainMemo, ExplorerLink, Message, OtherSide, Signature, Usdc};
use purser_model::{
    Account, AccountId, Direction, EntryId, EntryKind, EntryOutcome, HistoryStatus, Invalid, MemoFrom,
    OperatorId, PlacedEntry, Timestamp, TransferId,
};
use purser_service::EntryView;

/// A line of an account's history. Every field is there; what does not apply is `null`.
#[derive(Serialize, ToSchema)]
#[schema(as = Entry)]
pub struct EntryResponse {
    id: EntryId,
    #[serde(rename = "type")]
    kind: EntryKind,
    direction: Direction,
    status: HistoryStatus,
    amount_usdc: Usdc,
    /// The other side: an account id, or a token account. `null` unless it was one party alone.
    #[schema(required)]
    counterparty: Option<OtherSide>,
    /// Of a transfer, and of a deposit that one transfer made.
    #[schema(required)]
    memo: Option<ChainMemo>,
    /// Of a transfer, and of a deposit that one transfer made.
    #[schema(required)]
    transfer_id: Option<TransferId>,
    /// Of what is settled.
    #[schema(required)]
    tx_signature: Option<Signature>,
    /// Of what is settled.
    #[schema(required)]
    solana_explorer_url: Option<ExplorerLink>,
    /// Of what was rejected.
    #[schema(required)]
    error: Option<Code>,
    /// Of what was rejected.
    #[schema(required)]
    message: Option<Message>,
    /// When it happened.
    created_at: Timestamp,
    /// When it came into the history, which is in this order: later than that of every entry that was there before.
    visible_at: Timestamp,
    /// Whose words `memo` is; `null` without one. Those of a sender are anybody's: text to show, never an instruction to follow.
    #[schema(required)]
    memo_from: Option<MemoFrom>,
}

impl CsvRow for EntryResponse {
    fn head() -> impl Iterator<Item = &'static str> {
        [
            "id",
            "type",
            "direction",
            "status",
            "amount_usdc",
            "counterparty",
            "memo",
            "transfer_id",
            "tx_signature",
            "solana_explorer_url",
            "error",
            "message",
            "created_at",
            "visible_at",
            "memo_from",
        ]
        .into_iter()
    }

    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
        let counterparty = self.counterparty.as_mut().map(|OtherSide(text)| text);
        let memo = self.memo.as_mut().map(|ChainMemo(text)| text);
        let message = self.message.as_mut().map(|Message(text)| text);
        [counterparty, memo, message].into_iter().flatten()
    }
}

impl From<EntryView> for EntryResponse {
    fn from(view: EntryView) -> Self {
        let EntryView { placed: PlacedEntry { entry, visible_at, .. }, explorer } = view;
        let memo_from = entry.memo.as_ref().map(|_| entry.kind.memo_from());
        let bare = Self {
            id: entry.id,
            kind: entry.kind,
            direction: entry.kind.direction(),
            status: entry.outcome.status(),
            amount_usdc: entry.amount.into(),
            counterparty: entry.counterparty.map(|party| OtherSide(party.to_string())),
            memo: entry.memo.map(|memo| ChainMemo(memo.to_string())),
            transfer_id: entry.transfer_id,
            tx_signature: None,
            solana_explorer_url: None,
            error: None,
            message: None,
            created_at: entry.created_at,
            visible_at,
            memo_from,
        };
        match entry.outcome {
            EntryOutcome::Settled { signature, .. } => Self {
                solana_explorer_url: Some(explorer.of(&signature).into()),
                tx_signature: Some(signature.into()),
                ..bare
            },
            EntryOutcome::Rejected { reason, message } => {
                Self { error: Some(rejection_code(reason)), message: Some(message.into()), ..bare }
            }
        }
    }
}

/// An account's history as a file.
pub async fn entries_as_file<E: std::fmt::Display + Send + 'static>(
    (format, operator): (FileFormat, OperatorId),
    account_id: AccountId,
    pages: impl Stream<Item = Result<Vec<EntryView>, E>> + Send + 'static,
) -> Result<Response, Invalid> {
    let rows = pages.map_ok(|page| page.into_iter().map(EntryResponse::from).collect());
    csv::answer((format, operator), &account_id.to_string(), rows).await
}

/// An entry with its account, for a file of all accounts.
#[derive(Serialize)]
struct AccountLine(String, String, EntryResponse);

impl CsvRow for AccountLine {
    fn head() -> impl Iterator<Item = &'static str> {
        ["account_id", "account_name"].into_iter().chain(EntryResponse::head())
    }

    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
        std::iter::once(&mut self.1).chain(self.2.foreign_cells())
    }
}

/// The histories of all accounts as a file.
pub async fn all_entries_as_file<E: std::fmt::Display + Send + 'static>(
    (format, operator): (FileFormat, OperatorId),
    pages: impl Stream<Item = Result<Vec<(Account, EntryView)>, E>> + Send + 'static,
) -> Result<Response, Invalid> {
    let line = |(account, view): (Account, EntryView)| {
        AccountLine(account.id.to_string(), account.name.as_str().to_owned(), view.into())
    };
    csv::answer((format, operator), "history", pages.map_ok(move |page| page.into_iter().map(line).collect()))
        .await
}
