//! What the protocol asks of a server. `rmcp` implements the protocol itself.

use std::panic::AssertUnwindSafe;

use axum::http::request::Parts;
use futures::FutureExt;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as ToolDescription,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tracing::{Instrument, Span};

use super::refusal;
use super::tools::{AgentCaller, AgentTool};
use crate::domain::Principal;
use crate::http::auth::OverRate;
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::request_id::RequestId;
use crate::service::Services;
use crate::tasks::panic_message;

/// How long a client may cache the list of tools, which changes only with a release.
const TOOLS_FRESH_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "\
One USDC account on Solana, yours. It pays within limits that its operator set and the chain enforces; no tool changes them. \
Ask get_limits or preview_transfer before you pay. Give every payment a name of its own as idempotency_key, and keep that \
name when you call send_transfer again: however often you ask under one name, it is paid once. When a call times out or \
fails without a verdict, call again with the same idempotency_key, never with a new one. A refusal says what is possible \
instead; only the operator can change the limits.";

/// The answer to `tools/list`.
pub(super) fn listed(tools: Vec<ToolDescription>) -> ListToolsResult {
    ListToolsResult::with_all_items(tools).with_ttl_ms(TOOLS_FRESH_MS).with_cache_scope(CacheScope::Private)
}

/// What a server says of itself.
pub(super) fn introduced(instructions: &str) -> ServerConfig {
    let capabilities = ServerCapabilities::builder().enable_tools().build();
    ServerConfig::new(capabilities)
        .with_server_info(Implementation::new("purser", env!("CARGO_PKG_VERSION")))
        .with_instructions(instructions)
}

pub(super) fn no_such_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("There is no tool `{name}`."), None)
}

/// The error of a request without a caller.
pub(super) fn unguarded() -> ErrorData {
    ErrorData::internal_error("The request was not authenticated.", None)
}

/// The span of a request, for the log of its tool.
pub(super) fn span_of(asked: Option<&Parts>) -> Span {
    asked.and_then(|asked| asked.extensions.get::<Span>()).cloned().unwrap_or_else(Span::none)
}

/// The mark of a request that came too soon.
pub(super) fn over_rate(asked: Option<&Parts>) -> Option<OverRate> {
    asked.and_then(|asked| asked.extensions.get::<OverRate>()).cloned()
}

/// The same where no tool is called: an error of the protocol, which ends no session.
pub(super) fn check_rate(asked: Option<&Parts>) -> Result<(), ErrorData> {
    match over_rate(asked) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::internal_error("Too many requests under this key. Ask again in 1 s.", None))
        }
    }
}

/// The server behind `/mcp` for agent keys: one for all clients, since it keeps nothing about any of them.
#[derive(Clone)]
pub(super) struct AgentServer {
    services: Services,
}

impl AgentServer {
    pub fn new(services: Services) -> Self {
        Self { services }
    }

    async fn run(
        &self,
        tool: AgentTool,
        caller: &AgentCaller,
        over_rate: Option<OverRate>,
        request: CallToolRequestParams,
    ) -> CallToolResult {
        let arguments = request.arguments.unwrap_or_default();
        let call = async {
            // No tool of an agent stops anything.
            over_rate.map_or(Ok(()), |over| Err(over.refusal))?;
            tool.call(&self.services, caller, arguments).await
        };
        let called = AssertUnwindSafe(call).catch_unwind().await;
        let answer = called.unwrap_or_else(|panic| {
            tracing::error!(panic = panic_message(&*panic), "a tool panicked");
            Err(ApiError::Panic)
        });
        match answer {
            Ok(value) => {
                // A purchase that its seller refused is an error wherever it is read.
                let is_refused = value["error"] == Code::PaymentRefused.as_str();
                let mut result = CallToolResult::structured(value);
                result.is_error = Some(is_refused);
                result
            }
            Err(error) => {
                let sentence = refusal::sentence(tool, &error, caller.request_id);
                let (body, _) = error.into_body(caller.request_id);
                let mut result = CallToolResult::error(vec![ContentBlock::text(sentence)]);
                result.structured_content = serde_json::to_value(body).ok();
                result
            }
        }
    }
}

impl ServerHandler for AgentServer {
    fn get_info(&self) -> ServerConfig {
        introduced(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_rate(context.extensions.get::<Parts>())?;
        Ok(listed(AgentTool::ALL.map(AgentTool::description).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<ToolDescription> {
        AgentTool::named(name).map(AgentTool::description)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = AgentTool::named(&request.name) else {
            return Err(no_such_tool(&request.name));
        };
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| {
            let principal = parts.extensions.get::<Principal>()?.clone();
            let request_id = *parts.extensions.get::<RequestId>()?;
            AgentCaller::of(principal, request_id)
        });
        let caller = caller.ok_or_else(unguarded)?;
        Ok(self.run(tool, &caller, over_rate(parts), request).instrument(span_of(parts)).await.into())
    }
}
