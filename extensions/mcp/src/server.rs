//! What the protocol asks of a server. `rmcp` implements the protocol itself.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::MatchedPath;
use axum::http::request::Parts;
use axum::http::{HeaderName, header};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, Implementation, InputRequest, InputRequiredResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as Description,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tower::ServiceExt;
use tracing::{Instrument, Span};

use crate::Caller;
use crate::document::Operation;
use crate::refusal::Refused;
use crate::strangers;
use crate::tools::{Effect, FOR_AGENTS, FOR_OPERATORS, Tool};

/// How long a client may cache the list of tools, which changes only with a release.
const TOOLS_FRESH_MS: u64 = 3_600_000;
/// Largest answer of a route, in bytes: a page of accounts with the longest policies is smaller.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

const TO_AGENTS: &str = "\
One USDC account on Solana, yours. It pays within limits that its operator set and the chain enforces; no tool changes them. \
Ask get_limits or preview_transfer before you pay. Give every payment a name of its own as idempotency_key, and keep that \
name when you call send_transfer again: however often you ask under one name, it is paid once. When a call times out or \
fails without a verdict, call again with the same idempotency_key, never with a new one. A refusal says what is possible \
instead; only the operator can change the limits.";

const TO_OPERATORS: &str = "\
The USDC accounts of one operator, and the policies that the chain enforces on their payments. No tool pays. A policy holds \
from the next transfer on; one that loosens something may have to wait, and the answer says until when. Give the version that \
you have read as expected_version: then nobody's change in between is lost. {\"paused\": true} stops all payments of an account. \
When create_account does not answer, call again with the same idempotency_key.";

/// The server for one kind of key: one for all clients, since it keeps nothing about any of them.
#[derive(Clone)]
pub(crate) struct Server {
    instructions: &'static str,
    tools: Arc<[Offered]>,
    /// REST's routes, for a caller that is already authenticated.
    rest: Router,
}

/// A tool whose operation REST has.
struct Offered {
    tool: &'static Tool,
    operation: Operation,
    description: Description,
}

impl Server {
    pub fn for_agents(rest: Router, document: &Value) -> Self {
        Self { instructions: TO_AGENTS, tools: offered(FOR_AGENTS, document), rest }
    }

    pub fn for_operators(rest: Router, document: &Value) -> Self {
        Self { instructions: TO_OPERATORS, tools: offered(FOR_OPERATORS, document), rest }
    }

    pub fn listed(&self) -> Vec<Description> {
        self.tools.iter().map(|offered| offered.description.clone()).collect()
    }

    fn named(&self, name: &str) -> Option<&Offered> {
        self.tools.iter().find(|offered| offered.tool.name == name)
    }

    async fn call(
        &self,
        offered: &Offered,
        arguments: JsonObject,
        asked: &Parts,
        caller: &Caller,
    ) -> CallToolResult {
        match self.ask(offered, arguments, asked, caller).await {
            Ok(answer) => {
                // A purchase that its seller refused is an error wherever it is read.
                let is_refused = answer["error"] == "payment_refused";
                let mut result = CallToolResult::structured(answer);
                result.is_error = Some(is_refused);
                result
            }
            Err(refused) => {
                let sentence = refused.sentence(&(offered.tool.advice)(&refused));
                let mut result = CallToolResult::error(vec![ContentBlock::text(sentence)]);
                result.structured_content = Some(refused.body);
                result
            }
        }
    }

    /// REST's answer, or its refusal.
    async fn ask(
        &self,
        Offered { tool, operation, .. }: &Offered,
        arguments: JsonObject,
        asked: &Parts,
        caller: &Caller,
    ) -> Result<Value, Refused> {
        let mut request = tool
            .request(operation, arguments, caller.account_id.as_deref())
            .map_err(|wrong| Refused { body: wrong.body(&caller.request_id), retry_after: None })?;
        // The guard has already found out who the caller is, and left it there.
        *request.extensions_mut() = asked.extensions.clone();
        // Or the path there would go on from this one.
        request.extensions_mut().remove::<MatchedPath>();
        if let Some(key) = asked.headers.get(header::AUTHORIZATION) {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        let answer = match self.rest.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let (head, body) = answer.into_parts();
        let retry_after =
            head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = to_bytes(body, ANSWER_BYTES_MAX).await.ok();
        match body.and_then(|body| serde_json::from_slice::<Value>(&body).ok()) {
            Some(mut body) if head.status.is_success() => {
                // REST says in a header that an answer was given before.
                if tool.effect == Effect::Pays && head.headers.contains_key(IDEMPOTENT_REPLAYED) {
                    body["replayed"] = true.into();
                }
                strangers::disarm(&mut body);
                Ok(body)
            }
            Some(body) => Err(Refused { body, retry_after }),
            None => {
                tracing::error!(tool = tool.name, "cannot read a REST answer");
                let message = "Something went wrong on our side; it has been logged under this request id.";
                let id = &caller.request_id;
                let body = json!({ "error": "internal_error", "message": message, "request_id": id });
                Err(Refused { body, retry_after: None })
            }
        }
    }
}

fn offered(tools: &'static [Tool], document: &Value) -> Arc<[Offered]> {
    let offered = |tool: &'static Tool| {
        let operation = Operation::named(document, tool.operation)?;
        let description = tool.describe(document, &operation);
        Some(Offered { tool, operation, description })
    };
    tools.iter().filter_map(offered).collect()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("purser", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // No tool is called: an error of the protocol ends no session.
        if caller_of(&context)?.1.is_over_rate {
            let message = "Too many requests under this key. Ask again in 1 s.";
            return Err(ErrorData::internal_error(message, None));
        }
        let listed = ListToolsResult::with_all_items(self.listed());
        Ok(listed.with_ttl_ms(TOOLS_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Description> {
        self.named(name).map(|offered| offered.description.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offered) = self.named(&request.name) else {
            return Err(ErrorData::invalid_params(format!("There is no tool `{}`.", request.name), None));
        };
        let (asked, caller) = caller_of(&context)?;
        let span = asked.extensions.get::<Span>().cloned().unwrap_or_else(Span::none);
        let arguments = request.arguments.unwrap_or_default();
        // Answered once, whatever the user said: what became of it, the service knows by the chain.
        let asks_user = request.input_responses.is_none() && shows_pages(&context);
        let result = self.call(offered, arguments, asked, caller).instrument(span).await;
        let page = asks_user.then(|| page_of(offered, &result)).flatten();
        Ok(page.map_or_else(|| result.into(), CallToolResponse::from))
    }
}

/// Whether the client says that it can lead its user to a page, in a revision in which an answer may ask for that.
fn shows_pages(context: &RequestContext<RoleServer>) -> bool {
    let is_new = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let elicits = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    is_new && elicits.is_some_and(|elicits| elicits.url.is_some())
}

/// The page on which a person approves the payment that this call asked for.
fn page_of(offered: &Offered, result: &CallToolResult) -> Option<InputRequiredResult> {
    let answer = result.structured_content.as_ref()?;
    if offered.tool.effect != Effect::Pays || answer["status"] != "pending_approval" {
        return None;
    }
    let [amount, to, refused] = ["amount_usdc", "to", "message"].map(|field| answer[field].as_str());
    let params = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "{} USDC to {}: a person may approve this payment, on this page, with the wallet of an approver. {}",
            amount?,
            to?,
            refused.unwrap_or_default()
        ),
        url: answer["approval_url"].as_str()?.to_owned(),
        elicitation_id: answer["transfer_id"].as_str()?.to_owned(),
    };
    let page = InputRequest::Elicitation(ElicitRequest::new(params));
    Some(InputRequiredResult::from_input_requests([("approval".to_owned(), page)].into()))
}

/// The HTTP request of a message, and who sent it.
fn caller_of(context: &RequestContext<RoleServer>) -> Result<(&Parts, &Caller), ErrorData> {
    let asked = context.extensions.get::<Parts>();
    let caller = asked.and_then(|asked| Some((asked, asked.extensions.get::<Caller>()?)));
    caller.ok_or_else(|| ErrorData::internal_error("The request was not authenticated.", None))
}
