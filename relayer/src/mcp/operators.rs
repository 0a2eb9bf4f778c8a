//! The tools of operators, if the configuration allows them. Each tool calls a route of REST, under that route's name. So
//! whatever REST checks, answers and keeps under an idempotency key holds here too.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Request, header};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool as Description, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tower::ServiceExt;
use tracing::Instrument;

use super::refusal::with_advice;
use super::schema;
use super::server::{check_rate, introduced, listed, no_such_tool, over_rate, span_of, unguarded};
use crate::domain::{AccountId, Invalid, PolicyUpdateFields, Principal};
use crate::http::auth::OverRate;
use crate::http::dress::with_error_body;
use crate::http::error::ApiError;
use crate::http::request_id::RequestId;
use crate::http::v1::accounts::{AccountResponse, CreateAccountBody};
use crate::http::v1::policies::PolicyResponse;
use crate::service::ServiceError;

/// Largest answer of a route, in bytes: a page of accounts with the longest policies is smaller.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Names fields of a policy that REST sets to `null`: a plain type cannot be null.
const REMOVE: &str = "remove";
const REMOVABLE: [&str; 3] = ["max_single_transfer", "max_daily_spend", "allowed_counterparties"];

const INSTRUCTIONS: &str = "\
The USDC accounts of one operator, and the policies that the chain enforces on their payments. No tool pays. A policy holds \
from the next transfer on; one that loosens something may have to wait, and the answer says until when. Give the version that \
you have read as expected_version: then nobody's change in between is lost. {\"paused\": true} stops all payments of an account. \
When create_account does not answer, call again with the same idempotency_key.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperatorTool {
    ListAccounts,
    CreateAccount,
    GetAccount,
    GetPolicy,
    UpdatePolicy,
}

impl OperatorTool {
    const ALL: [Self; 5] =
        [Self::ListAccounts, Self::CreateAccount, Self::GetAccount, Self::GetPolicy, Self::UpdatePolicy];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ListAccounts => "list_accounts",
            Self::CreateAccount => "create_account",
            Self::GetAccount => "get_account",
            Self::GetPolicy => "get_policy",
            Self::UpdatePolicy => "update_policy",
        }
    }

    const fn title_and_description(self) -> (&'static str, &'static str) {
        match self {
            Self::ListAccounts => (
                "Accounts",
                "The operator's accounts, newest first, each with its balance and policy. For the next page give the \
                 cursor of the last.",
            ),
            Self::CreateAccount => (
                "New account",
                "Makes an account for an agent, with the policy that is given or without limits. It costs rent in SOL.",
            ),
            Self::GetAccount => ("An account", "One account by its id."),
            Self::GetPolicy => (
                "A policy",
                "The policy of an account as it stands on the chain, its version, and what waits to take its place.",
            ),
            Self::UpdatePolicy => (
                "Change a policy",
                "Changes the fields that are given; the others stay as they are. An allowlist is replaced as a whole. A limit \
                 or the list is taken away by naming it in `remove`.",
            ),
        }
    }

    fn description(self) -> Description {
        let (title, description) = self.title_and_description();
        let (arguments, answer) = self.schemas();
        let hints = ToolAnnotations::with_title(title).idempotent(true).open_world(false);
        let hints = match self {
            Self::ListAccounts | Self::GetAccount | Self::GetPolicy => hints.read_only(true),
            Self::CreateAccount => hints.read_only(false).destructive(false),
            Self::UpdatePolicy => hints.read_only(false).destructive(true),
        };
        Description::new(self.name(), description, Arc::new(arguments))
            .with_title(title)
            .with_raw_output_schema(Arc::new(schema::or_refusal(answer)))
            .with_annotations(hints)
    }

    /// The schemas of its arguments and of its answer.
    fn schemas(self) -> (JsonObject, JsonObject) {
        match self {
            Self::ListAccounts => {
                let arguments = json!({
                    "type": "object",
                    "properties": {
                        "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 },
                        "cursor": { "type": "string", "description": "The cursor of the page before, with the same filter." },
                        "status": { "type": "string", "enum": ["active", "paused"] },
                    },
                });
                (schema::object(arguments), schema::page_of::<AccountResponse>())
            }
            Self::CreateAccount => {
                let key = json!({
                    "type": "string", "minLength": 1, "maxLength": 128,
                    "description": "The name of this account's creation; keep it when you retry; a new one makes a second account.",
                });
                let arguments = schema::arguments::<CreateAccountBody>(&[], &["name", "idempotency_key"]);
                (with(arguments, "idempotency_key", key), schema::of::<AccountResponse>())
            }
            Self::GetAccount => (of_account(JsonObject::new()), schema::of::<AccountResponse>()),
            Self::GetPolicy => (of_account(JsonObject::new()), schema::of::<PolicyResponse>()),
            Self::UpdatePolicy => {
                let arguments = schema::arguments::<PolicyUpdateFields>(&[], &[]);
                let remove = json!({
                    "type": "array", "items": { "type": "string", "enum": REMOVABLE },
                    "description": "What to remove: any amount may be paid without a limit, and anyone without the list.",
                });
                (of_account(with(arguments, REMOVE, remove)), schema::of::<PolicyResponse>())
            }
        }
    }

    /// The REST request behind the tool.
    fn request(self, mut arguments: JsonObject) -> Result<Request<Body>, Invalid> {
        let (method, path) = match self {
            Self::ListAccounts => {
                (Method::GET, format!("/v1/accounts{}", query(std::mem::take(&mut arguments))?))
            }
            Self::CreateAccount => (Method::POST, "/v1/accounts".to_owned()),
            Self::GetAccount => (Method::GET, format!("/v1/accounts/{}", account_of(&mut arguments)?)),
            Self::GetPolicy => (Method::GET, format!("/v1/accounts/{}/policy", account_of(&mut arguments)?)),
            Self::UpdatePolicy => {
                (Method::PATCH, format!("/v1/accounts/{}/policy", account_of(&mut arguments)?))
            }
        };
        let mut request = Request::builder().method(&method).uri(path);
        if self == Self::CreateAccount {
            let Some(Value::String(key)) = arguments.remove("idempotency_key") else {
                return Err(Invalid::new("idempotency_key", "is required, as a text"));
            };
            request = request.header(IDEMPOTENCY_KEY, key.as_bytes());
        }
        if self == Self::UpdatePolicy {
            remove(&mut arguments)?;
        }
        let body = match (method == Method::GET, arguments.keys().next()) {
            (true, None) => Body::empty(),
            (true, Some(unknown)) => {
                return Err(Invalid::new(unknown.clone(), "is not an argument of this tool"));
            }
            (false, _) => {
                let body = Value::Object(arguments).to_string();
                request = request
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(header::CONTENT_LENGTH, body.len());
                Body::from(body)
            }
        };
        request.body(body).map_err(|_| Invalid::new("idempotency_key", "has control characters"))
    }

    /// What to do about a REST error, in addition to its message.
    fn advice(self, error: &Value) -> &'static str {
        let may_have_been_done =
            error["retryable"] == true || error["error"] == "internal_error" || error["error"] == "timeout";
        if error["error"] == "rate_limited" {
            return "This call did nothing. Call again in 1 s with the same arguments.";
        }
        match self {
            Self::CreateAccount if may_have_been_done => " Call again with the same idempotency_key.",
            Self::UpdatePolicy if error["error"] == "policy_changed" => {
                " Read the policy again, and decide again: somebody has changed it."
            }
            Self::UpdatePolicy if may_have_been_done => " Read the policy to see whether it was changed.",
            Self::ListAccounts
            | Self::CreateAccount
            | Self::GetAccount
            | Self::GetPolicy
            | Self::UpdatePolicy => "",
        }
    }
}

fn with(mut arguments: JsonObject, name: &str, schema: Value) -> JsonObject {
    if let Some(properties) = arguments.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
        properties.insert(name.to_owned(), schema);
    }
    arguments
}

/// Arguments that also name an account.
fn of_account(mut arguments: JsonObject) -> JsonObject {
    arguments.insert("type".to_owned(), json!("object"));
    arguments.insert("required".to_owned(), json!(["account_id"]));
    with(arguments, "account_id", json!({ "type": "string", "description": "Begins with `acct_`." }))
}

/// Sets what is to be removed to `null`, as REST has it.
fn remove(arguments: &mut JsonObject) -> Result<(), Invalid> {
    let names = match arguments.remove(REMOVE) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(names)) => names,
        Some(_) => return Err(Invalid::new(REMOVE, "must be a list of texts")),
    };
    for name in names {
        let name = name.as_str().filter(|name| REMOVABLE.contains(name));
        let name =
            name.ok_or_else(|| Invalid::new(REMOVE, format!("may name `{}`", REMOVABLE.join("`, `"))))?;
        if arguments.insert(name.to_owned(), Value::Null).is_some_and(|given| !given.is_null()) {
            return Err(Invalid::new(name, "cannot be both set and removed"));
        }
    }
    Ok(())
}

/// The named account. It must be an account id, so nothing else gets into a path.
fn account_of(arguments: &mut JsonObject) -> Result<AccountId, Invalid> {
    let Some(Value::String(id)) = arguments.remove("account_id") else {
        return Err(Invalid::new("account_id", "is required, as a text"));
    };
    id.parse()
        .map_err(|_| Invalid::new("account_id", "is not the id of an account, which begins with `acct_`"))
}

fn query(arguments: JsonObject) -> Result<String, Invalid> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments {
        match value {
            Value::String(text) => query.append_pair(&name, &text),
            Value::Number(number) => query.append_pair(&name, &number.to_string()),
            Value::Null => &mut query,
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err(Invalid::new(name, "must be a text or a number"));
            }
        };
    }
    Ok(format!("?{}", query.finish()))
}

/// The server behind `/mcp` for operator keys.
#[derive(Clone)]
pub(super) struct OperatorServer {
    /// REST's routes, for a caller that is already authenticated.
    routes: Router,
}

impl OperatorServer {
    pub const fn new(routes: Router) -> Self {
        Self { routes }
    }

    /// REST's answer, or `Err` with its error body.
    async fn call(
        &self,
        tool: OperatorTool,
        arguments: JsonObject,
        caller: OperatorCaller,
    ) -> Result<Value, Value> {
        let OperatorCaller { key, principal, request_id, over_rate } = caller;
        let error = |error: ApiError| json!(error.into_body(request_id).0);
        let mut request = tool.request(arguments).map_err(|invalid| error(invalid.into()))?;
        if let Some(over) = over_rate {
            request = over.let_stops_pass(&principal, request).await.map_err(error)?;
        }
        // The guard has already found out who the caller is.
        request.headers_mut().insert(header::AUTHORIZATION, key);
        request.extensions_mut().insert(principal);
        request.extensions_mut().insert(request_id);
        let answer = match self.routes.clone().oneshot(request).await {
            Ok(answer) => with_error_body(answer, request_id),
            Err(never) => match never {},
        };
        let is_done = answer.status().is_success();
        let body = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await.ok();
        match body.and_then(|body| serde_json::from_slice::<Value>(&body).ok()) {
            Some(body) if is_done => Ok(body),
            Some(body) => Err(body),
            None => {
                tracing::error!(tool = tool.name(), "cannot read a REST answer");
                Err(error(ApiError::Service(ServiceError::Internal)))
            }
        }
    }
}

/// The caller of a tool, and its request.
struct OperatorCaller {
    key: HeaderValue,
    principal: Principal,
    request_id: RequestId,
    over_rate: Option<OverRate>,
}

impl OperatorCaller {
    fn of(asked: &Parts) -> Option<Self> {
        Some(Self {
            key: asked.headers.get(header::AUTHORIZATION)?.clone(),
            principal: asked.extensions.get::<Principal>()?.clone(),
            request_id: *asked.extensions.get::<RequestId>()?,
            over_rate: over_rate(Some(asked)),
        })
    }
}

impl ServerHandler for OperatorServer {
    fn get_info(&self) -> ServerConfig {
        introduced(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_rate(context.extensions.get::<Parts>())?;
        Ok(listed(OperatorTool::ALL.map(OperatorTool::description).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Description> {
        OperatorTool::named(name).map(OperatorTool::description)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = OperatorTool::named(&request.name) else {
            return Err(no_such_tool(&request.name));
        };
        let asked = context.extensions.get::<Parts>();
        let caller = asked.and_then(OperatorCaller::of).ok_or_else(unguarded)?;
        let arguments = request.arguments.unwrap_or_default();
        let called = self.call(tool, arguments, caller).instrument(span_of(asked)).await;
        let result = called.map_or_else(
            |error| {
                let message = error["message"].as_str().unwrap_or_default();
                let sentence = with_advice(message, tool.advice(&error));
                let mut result = CallToolResult::error(vec![ContentBlock::text(sentence)]);
                result.structured_content = Some(error);
                result
            },
            CallToolResult::structured,
        );
        Ok(result.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn request(tool: OperatorTool, arguments: Value) -> Result<(String, String), Invalid> {
        tool.request(schema::object(arguments))
            .map(|request| (request.method().to_string(), request.uri().to_string()))
    }

    #[test]
    fn a_tool_is_the_request_of_its_route() {
        let asked = |tool, arguments| request(tool, arguments).expect("a request");
        let list = asked(OperatorTool::ListAccounts, json!({ "limit": 5, "cursor": "a/b&status=paused" }));
        assert_eq!(list.1, "/v1/accounts?cursor=a%2Fb%26status%3Dpaused&limit=5");
        assert_eq!(
            asked(OperatorTool::GetPolicy, json!({ "account_id": ID })),
            ("GET".into(), format!("/v1/accounts/{ID}/policy"))
        );
        let update = asked(OperatorTool::UpdatePolicy, json!({ "account_id": ID, "paused": true }));
        assert_eq!(update, ("PATCH".into(), format!("/v1/accounts/{ID}/policy")));
        assert_eq!(
            asked(OperatorTool::CreateAccount, json!({ "idempotency_key": "a", "name": "b" })).0,
            "POST"
        );
    }

    #[test]
    fn nothing_but_an_account_gets_into_a_path_and_nothing_unknown_past_it() {
        for id in [json!("../webhooks"), json!("acct_01/../x"), json!(""), json!(null), json!(["x"])] {
            request(OperatorTool::GetAccount, json!({ "account_id": id })).expect_err("no account");
        }
        request(OperatorTool::GetAccount, json!({})).expect_err("none");
        request(OperatorTool::GetAccount, json!({ "account_id": ID, "x": 1 })).expect_err("unknown");
        for remove in [json!("paused"), json!(["paused"]), json!([7])] {
            request(OperatorTool::UpdatePolicy, json!({ "account_id": ID, "remove": remove }))
                .expect_err("no rule");
        }
        let both = json!({ "account_id": ID, "max_daily_spend": "5", "remove": ["max_daily_spend"] });
        request(OperatorTool::UpdatePolicy, both).expect_err("set and removed");
        request(OperatorTool::CreateAccount, json!({ "name": "b" })).expect_err("no key");
        request(OperatorTool::CreateAccount, json!({ "name": "b", "idempotency_key": "a\nb" }))
            .expect_err("two lines");
    }
}
