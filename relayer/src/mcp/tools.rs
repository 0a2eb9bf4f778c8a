//! The tools: one verb of the product each, with REST's bodies and answers. No tool touches a policy.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Description, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::schema;
use crate::domain::read_body;
use crate::domain::{AccountId, Invalid, Principal};
use crate::http::body::Nothing;
use crate::http::error::ApiError;
use crate::http::page::{ListQuery, PageResponse};
use crate::http::request_id::RequestId;
use crate::http::v1::accounts::{AccountResponse, BalanceResponse};
use crate::http::v1::history::{self, EntryResponse};
use crate::http::v1::limits::LimitsResponse;
use crate::http::v1::transfers::{CreateTransferBody, PreviewResponse, TransferResponse};
use crate::http::v1::x402::{CreatePurchaseBody, PurchaseResponse};
use crate::service::{Resource, ServiceError, Services};

const IDEMPOTENCY_KEY: &str = "the name of this payment; keep it when you retry; a new one is a second payment. At most 128 characters.";

/// The caller of a tool: an agent key, which names the account, and its request.
pub(super) struct AgentCaller {
    principal: Principal,
    account_id: AccountId,
    pub request_id: RequestId,
}

impl AgentCaller {
    /// `None` for an operator.
    pub fn of(principal: Principal, request_id: RequestId) -> Option<Self> {
        match &principal {
            Principal::Operator { .. } => None,
            Principal::Agent { account_id, .. } => {
                let account_id = *account_id;
                Some(Self { principal, account_id, request_id })
            }
        }
    }
}

/// A tool for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentTool {
    GetAccount,
    GetBalance,
    GetLimits,
    PreviewTransfer,
    SendTransfer,
    PayHttp,
    GetTransfer,
    ListTransactions,
}

impl AgentTool {
    pub const ALL: [Self; 8] = [
        Self::GetAccount,
        Self::GetBalance,
        Self::GetLimits,
        Self::PreviewTransfer,
        Self::SendTransfer,
        Self::PayHttp,
        Self::GetTransfer,
        Self::ListTransactions,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::GetAccount => "get_account",
            Self::GetBalance => "get_balance",
            Self::GetLimits => "get_limits",
            Self::PreviewTransfer => "preview_transfer",
            Self::SendTransfer => "send_transfer",
            Self::PayHttp => "pay_http",
            Self::GetTransfer => "get_transfer",
            Self::ListTransactions => "list_transactions",
        }
    }

    const fn title_and_description(self) -> (&'static str, &'static str) {
        match self {
            Self::GetAccount => (
                "Your account",
                "Your account: its name, status, balance, and the USDC token account to which it is funded.",
            ),
            Self::GetBalance => ("Your balance", "Your account's USDC balance, read from the chain now."),
            Self::GetLimits => (
                "Your limits",
                "What you may pay: at most per transfer and per rolling 24 hours, what of it is left, and when the \
                 oldest payment stops counting. Amounts are in USDC; null means no limit.",
            ),
            Self::PreviewTransfer => (
                "Would it be paid?",
                "Says whether a transfer would be allowed now, and how every rule judges it. Pays nothing.",
            ),
            Self::SendTransfer => (
                "Pay USDC",
                "Pays USDC from your account: checked against your limits, then signed and settled on Solana. It cannot \
                 be taken back. Answers with status `settled`, or `submitted` when settlement takes longer: then ask \
                 get_transfer how it ended. When no answer came, call again with the same idempotency_key.",
            ),
            Self::PayHttp => (
                "Buy by x402",
                "Asks the server at url for a resource, and pays the USDC that it asks for by x402, at most max_amount, from your \
                 account and within your limits. Answers with what the server gave and how the payment ended. When no answer \
                 came, or it is still `submitted`, call again with the same idempotency_key: it is never paid twice. Under \
                 a new one it may be. Many sellers refuse smart wallets, such as your account is: `payment_refused` \
                 is then the answer for good. Give offer in place of url for a tool or an agent that asks you for an x402 \
                 payment: the answer has the signed payment, which you hand over yourself (over MCP: call that tool again \
                 with it in _meta under x402/payment).",
            ),
            Self::GetTransfer => {
                ("A transfer", "One of your transfers by its id: its status, and its transaction.")
            }
            Self::ListTransactions => (
                "Your history",
                "Your account's history, newest first: payments, refusals and deposits. For the next page give the \
                 cursor of the last.",
            ),
        }
    }

    /// Its entry in `tools/list`.
    pub fn description(self) -> Description {
        let (title, description) = self.title_and_description();
        let (arguments, answer) = self.schemas();
        let hints = match self {
            Self::SendTransfer | Self::PayHttp => {
                ToolAnnotations::with_title(title).read_only(false).destructive(true).idempotent(true)
            }
            Self::GetAccount
            | Self::GetBalance
            | Self::GetLimits
            | Self::PreviewTransfer
            | Self::GetTransfer
            | Self::ListTransactions => ToolAnnotations::with_title(title).read_only(true).idempotent(true),
        };
        // Only a payment reaches beyond the service, to whomever it names.
        let hints = hints.open_world(matches!(self, Self::SendTransfer | Self::PayHttp));
        Description::new(self.name(), description, Arc::new(arguments))
            .with_title(title)
            .with_raw_output_schema(Arc::new(schema::or_refusal(answer)))
            .with_annotations(hints)
    }

    /// The schemas of its arguments and of its answer.
    fn schemas(self) -> (JsonObject, JsonObject) {
        let nothing = || schema::object(json!({ "type": "object", "properties": {} }));
        match self {
            Self::GetAccount => (nothing(), schema::of::<AccountResponse>()),
            Self::GetBalance => (nothing(), schema::of::<BalanceResponse>()),
            Self::GetLimits => (nothing(), schema::of::<LimitsResponse>()),
            Self::PreviewTransfer => {
                let left_out = ["from", "idempotency_key"];
                let arguments = schema::arguments::<CreateTransferBody>(&left_out, &["to", "amount"]);
                (arguments, schema::of::<PreviewResponse>())
            }
            Self::SendTransfer => {
                let required = ["to", "amount", "idempotency_key"];
                let arguments = schema::arguments::<CreateTransferBody>(&["from"], &required);
                (named(arguments), may_be_replayed(schema::of::<TransferResponse>()))
            }
            Self::PayHttp => {
                let required = ["max_amount", "idempotency_key"];
                let arguments = schema::arguments::<CreatePurchaseBody>(&["from"], &required);
                (named(arguments), may_be_replayed(schema::of::<PurchaseResponse>()))
            }
            Self::GetTransfer => (transfer_arguments(), schema::of::<TransferResponse>()),
            Self::ListTransactions => (page_arguments(), schema::page_of::<EntryResponse>()),
        }
    }

    /// Does what the REST route does, for the caller's account.
    pub async fn call(
        self,
        services: &Services,
        caller: &AgentCaller,
        arguments: JsonObject,
    ) -> Result<Value, ApiError> {
        let AgentCaller { principal, account_id, .. } = caller;
        match self {
            Self::GetAccount => {
                let Nothing {} = read(arguments)?;
                written(AccountResponse::from(services.accounts.get(principal, *account_id).await?))
            }
            Self::GetBalance => {
                let Nothing {} = read(arguments)?;
                written(BalanceResponse::from(services.accounts.balance(principal, *account_id).await?))
            }
            Self::GetLimits => {
                let Nothing {} = read(arguments)?;
                written(LimitsResponse::from(services.transfers.limits(principal, *account_id).await?))
            }
            Self::PreviewTransfer => {
                let body: CreateTransferBody = body_from(*account_id, arguments)?;
                let request = body.into_preview(None)?;
                written(PreviewResponse::from(services.transfers.preview(principal, request).await?))
            }
            Self::SendTransfer => {
                let body: CreateTransferBody = body_from(*account_id, arguments)?;
                let request = body.into_request(None)?;
                let answer = Box::pin(services.transfers.create(principal, request)).await?;
                let replayed = answer.replayed;
                Ok(marked(written(TransferResponse::try_from(answer)?)?, replayed))
            }
            Self::PayHttp => {
                let body: CreatePurchaseBody = body_from(*account_id, arguments)?;
                let purchase = body.into_purchase(None, &services.purchases)?;
                let answer = Box::pin(services.purchases.pay(principal, purchase)).await?;
                let replayed = answer.transfer.as_ref().is_some_and(|transfer| transfer.replayed);
                Ok(marked(written(PurchaseResponse::try_from(answer)?)?, replayed))
            }
            Self::GetTransfer => {
                let GetTransferArguments { transfer_id } = read(arguments)?;
                let id = transfer_id.ok_or_else(|| Invalid::new("transfer_id", "is required"))?;
                let id = id.parse().map_err(|_| ServiceError::NotFound(Resource::Transfer))?;
                written(TransferResponse::from(services.transfers.get(principal, id).await?))
            }
            Self::ListTransactions => {
                let (filter, page) = history::asked(principal, *account_id, query(arguments)?)?;
                let page = services.history.list(principal, *account_id, filter, page).await?;
                written(PageResponse::from(page.map(EntryResponse::from)))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetTransferArguments {
    transfer_id: Option<String>,
}

fn transfer_arguments() -> JsonObject {
    schema::object(json!({
        "type": "object",
        "properties": { "transfer_id": { "type": "string", "description": "Begins with `txn_`." } },
        "required": ["transfer_id"],
    }))
}

/// The query parameters of `GET /v1/accounts/{id}/transactions`.
fn page_arguments() -> JsonObject {
    schema::object(json!({
        "type": "object",
        "properties": {
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 25 },
            "cursor": { "type": "string", "description": "The cursor of the page before, with the same filters." },
            "status": { "type": "string", "enum": ["settled", "rejected", "all"], "default": "all" },
            "type": { "type": "string", "enum": ["transfer", "deposit", "withdrawal"] },
            "since": { "type": "string", "format": "date-time", "description": "Only what became visible later." },
            "until": { "type": "string", "format": "date-time", "description": "Only what became visible then or earlier." },
        },
    }))
}

/// A schema of arguments whose idempotency key says what it is for.
fn named(mut arguments: JsonObject) -> JsonObject {
    let properties = arguments.get_mut("properties");
    if let Some(key) = properties.and_then(|all| all.get_mut("idempotency_key")) {
        key["description"] = IDEMPOTENCY_KEY.into();
    }
    arguments
}

/// REST says in a header that an answer was given before.
fn marked(mut answer: Value, replayed: bool) -> Value {
    if replayed && let Value::Object(answer) = &mut answer {
        answer.insert("replayed".to_owned(), true.into());
    }
    answer
}

fn may_be_replayed(mut answer: JsonObject) -> JsonObject {
    if let Some(properties) = answer.get_mut("properties") {
        properties["replayed"] =
            json!({ "type": "boolean", "description": "Asked for under this key before." });
    }
    answer
}

/// The body of REST, with the account of the key added.
fn body_from<T: serde::de::DeserializeOwned>(
    account_id: AccountId,
    mut arguments: JsonObject,
) -> Result<T, Invalid> {
    if arguments.insert("from".to_owned(), account_id.to_string().into()).is_some() {
        return Err(Invalid::new("from", "is not an argument: the key names the account that pays"));
    }
    read(arguments)
}

fn query(arguments: JsonObject) -> Result<ListQuery, Invalid> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok(Some((name, text))),
        Value::Number(number) => Ok(Some((name, number.to_string()))),
        Value::Null => Ok(None),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(Invalid::new(name, "must be a text or a number"))
        }
    };
    let parameters: Vec<_> = arguments.into_iter().map(text).collect::<Result<_, _>>()?;
    Ok(ListQuery::of(parameters.into_iter().flatten()))
}

fn read<T: serde::de::DeserializeOwned>(arguments: JsonObject) -> Result<T, Invalid> {
    read_body(Value::Object(arguments).to_string().as_bytes())
}

fn written(answer: impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(answer).map_err(|error| {
        tracing::error!(%error, "cannot write an answer as JSON");
        ApiError::Service(ServiceError::Internal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn schemas_hold_all_that_they_refer_to() {
        for tool in AgentTool::ALL {
            let (arguments, answer) = tool.schemas();
            for schema in [Value::from(arguments), Value::from(schema::or_refusal(answer))] {
                let mut found = Vec::new();
                references(&schema, &mut found);
                for reference in found {
                    let pointer = reference.strip_prefix('#').expect("within the schema");
                    assert!(schema.pointer(pointer).is_some(), "{tool:?}: {reference}");
                }
            }
        }
    }
}
