use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::text;
use crate::domain::{AccountId, EntryOutcome, HistoryStatus, Invalid, PageRequest, Principal, Timestamp};
use crate::http::error::{ApiError, rejection_code};
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{EntryView, History, HistoryFilter};

const LIMIT_DEFAULT: u32 = 25;
const LIMIT_MAX: u32 = 100;

/// A line of an account's history. Every field is there; what does not apply is `null`.
#[derive(Serialize, ToSchema)]
pub struct EntryResponse {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    direction: &'static str,
    status: &'static str,
    amount_usdc: String,
    #[schema(required)]
    counterparty: Option<String>,
    #[schema(required)]
    memo: Option<String>,
    #[schema(required)]
    transfer_id: Option<String>,
    #[schema(required)]
    tx_signature: Option<String>,
    #[schema(required)]
    solana_explorer_url: Option<String>,
    #[schema(required)]
    error: Option<&'static str>,
    #[schema(required)]
    message: Option<String>,
    created_at: String,
}

impl From<EntryView> for EntryResponse {
    fn from(view: EntryView) -> Self {
        let EntryView { entry, explorer } = view;
        let bare = Self {
            id: entry.id.to_string(),
            kind: entry.kind.as_str(),
            direction: entry.kind.direction(),
            status: entry.outcome.status().as_str(),
            amount_usdc: entry.amount.to_string(),
            counterparty: entry.counterparty.map(|party| party.to_string()),
            memo: entry.memo.map(|memo| memo.as_str().to_owned()),
            transfer_id: entry.transfer_id.map(|id| id.to_string()),
            tx_signature: None,
            solana_explorer_url: None,
            error: None,
            message: None,
            created_at: text(entry.created_at),
        };
        match entry.outcome {
            EntryOutcome::Settled { signature, .. } => Self {
                solana_explorer_url: Some(explorer.of(&signature)),
                tx_signature: Some(signature),
                ..bare
            },
            EntryOutcome::Rejected { reason, message } => {
                Self { error: Some(rejection_code(reason).1), message: Some(message), ..bare }
            }
        }
    }
}

/// `settled`, `rejected`, or `all`.
fn status(text: &str) -> Result<Option<HistoryStatus>, Invalid> {
    match text {
        "settled" => Ok(Some(HistoryStatus::Settled)),
        "rejected" => Ok(Some(HistoryStatus::Rejected)),
        "all" => Ok(None),
        _ => Err(Invalid::new("status", "must be `settled`, `rejected` or `all`")),
    }
}

fn since(text: &str) -> Result<Timestamp, Invalid> {
    text.parse().map_err(|error| Invalid::new("since", format!("{error}")))
}

/// Which entries are asked for, and which page of them.
pub(crate) fn asked(
    principal: &Principal,
    account_id: AccountId,
    mut query: Query,
) -> Result<(HistoryFilter, PageRequest), Invalid> {
    let filter = HistoryFilter {
        status: query.take("status").map_or(Ok(None), |text| status(&text))?,
        since: query.take("since").map(|text| since(&text)).transpose()?,
    };
    let bound = filter.text(principal.operator_id(), account_id);
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &bound)?;
    query.finish()?;
    Ok((filter, request))
}

/// `GET /v1/accounts/{id}/transactions`
pub async fn list(
    State(history): State<History>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
    query: Query,
) -> Result<Json<PageResponse<EntryResponse>>, ApiError> {
    let (filter, request) = asked(&principal, account_id, query)?;
    Ok(Json(history.list(&principal, account_id, filter, request).await?.map(EntryResponse::from).into()))
}
