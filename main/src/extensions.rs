//! The extensions of this build, each a cargo feature: what each is given of the service, and what the configuration says of it. One knows
//! another only where its `Cargo.toml` names it.

#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(
    test,
    feature = "approvals",
    feature = "bulk",
    feature = "denials",
    feature = "mcp",
    feature = "x402"
))]
mod tests;

#[cfg(feature = "denials")]
use std::path::Path;
#[cfg(any(feature = "approvals", feature = "dashboard"))]
use std::sync::Arc;

use anyhow::Result;
use purser_api::http::{self, BesideRest, ExtensionRoutes};
#[cfg(feature = "dashboard")]
use purser_model::SealingKey;
use purser_relayer::{app, config};
use purser_service::Services;
use serde::Deserialize;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

#[derive(Clone, Copy)]
pub struct Extensions;

/// The commands of extensions.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Speak MCP on stdin and stdout for the agent of PURSER_AGENT_KEY, by way of a service's `/mcp`
    #[cfg(feature = "mcp")]
    Mcp(purser_mcp::bridge::Mcp),
}

/// The sections of the configuration that are of extensions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sections {
    #[cfg(feature = "denials")]
    denials: purser_denials::Section,
    #[cfg(feature = "mcp")]
    mcp: mcp::Section,
}

impl config::Sections for Sections {
    const NAMES: &'static [&'static str] = &[
        #[cfg(feature = "denials")]
        "denials",
        #[cfg(feature = "mcp")]
        "mcp",
    ];

    #[cfg(feature = "denials")]
    fn refusals_key(&self) -> Option<&Path> {
        self.denials.keypair.as_deref()
    }
}

impl purser_cli::Extensions for Extensions {
    type Command = Command;
    type Sections = Sections;

    async fn run(self, command: Command) -> Result<()> {
        match command {
            #[cfg(feature = "mcp")]
            Command::Mcp(arguments) => purser_mcp::bridge::run(arguments).await,
        }
    }

    fn described(self) -> OpenApi {
        let extensions = [
            #[cfg(feature = "approvals")]
            purser_approvals::described(),
            #[cfg(feature = "bulk")]
            purser_bulk::described(),
            #[cfg(feature = "denials")]
            purser_denials::described(),
            #[cfg(feature = "mcp")]
            purser_mcp::described(),
            #[cfg(feature = "x402")]
            purser_x402::described(),
        ];
        extensions.into_iter().fold(OpenApi::default(), OpenApi::merge_from)
    }
}

/// The extensions of a process.
struct Running {
    #[cfg(any(feature = "bulk", feature = "x402"))]
    services: Services,
    #[cfg(feature = "approvals")]
    approvals: purser_approvals::Approvals,
    #[cfg(feature = "bulk")]
    many: purser_bulk::Many,
    #[cfg(feature = "denials")]
    denials: purser_denials::Denials,
    #[cfg(feature = "mcp")]
    mcp: mcp::Section,
    #[cfg(feature = "dashboard")]
    sealing_key: Option<Arc<SealingKey>>,
}

impl app::Extensions for Sections {
    #[cfg_attr(
        not(all(feature = "approvals", feature = "bulk", feature = "denials")),
        allow(unused_variables)
    )]
    fn build(&self, services: &Services, parts: app::ExtensionParts) -> impl http::HttpExtensions {
        #[cfg(feature = "approvals")]
        let approvals = purser_approvals::Approvals::new(services, approval_links(&parts));
        #[cfg(feature = "approvals")]
        approvals.close_grants_until_stopped();
        #[cfg(feature = "denials")]
        let denials = {
            let signing = parts.refusals.map(|key| self.denials.parts(key));
            purser_denials::Denials::new(services, signing)
        };
        #[cfg(feature = "denials")]
        denials.sign_until_stopped();
        Running {
            #[cfg(any(feature = "bulk", feature = "x402"))]
            services: services.clone(),
            #[cfg(feature = "approvals")]
            approvals,
            #[cfg(feature = "bulk")]
            many: purser_bulk::Many::new(services.inside.clone()),
            #[cfg(feature = "denials")]
            denials,
            #[cfg(feature = "mcp")]
            mcp: self.mcp.clone(),
            #[cfg(feature = "dashboard")]
            sealing_key: parts.sealing,
        }
    }

    #[cfg(feature = "approvals")]
    fn approval_page(&self, parts: &app::ExtensionParts) -> Option<purser_service::ApprovalPage> {
        let links = approval_links(parts);
        Some(Arc::new(move |transfer| links.as_ref().map(|links| links.of(transfer))))
    }
}

/// Links to approvals. `None`: there is no address or no key for them.
#[cfg(feature = "approvals")]
fn approval_links(parts: &app::ExtensionParts) -> Option<purser_approvals::ApprovalLinks> {
    let (url, key) = parts.public_url.as_deref().zip(parts.sealing.clone())?;
    Some(purser_approvals::ApprovalLinks::new(url, key))
}

impl http::HttpExtensions for Running {
    fn rest(&self) -> OpenApiRouter {
        let extensions = [
            #[cfg(feature = "approvals")]
            purser_approvals::routes(self.approvals.clone()),
            #[cfg(feature = "bulk")]
            purser_bulk::routes(self.many.clone()),
            #[cfg(feature = "denials")]
            purser_denials::routes(self.denials.clone()),
        ];
        extensions.into_iter().fold(OpenApiRouter::default(), OpenApiRouter::merge)
    }

    fn paying(&self) -> OpenApiRouter {
        let extensions = [
            #[cfg(feature = "x402")]
            purser_x402::routes(&self.services),
        ];
        extensions.into_iter().fold(OpenApiRouter::default(), OpenApiRouter::merge)
    }

    #[cfg_attr(not(all(feature = "dashboard", feature = "mcp")), allow(unused_variables, unused_mut))]
    fn beside(&self, with: BesideRest<'_>) -> ExtensionRoutes {
        let mut opened = ExtensionRoutes::default();
        #[cfg(feature = "dashboard")]
        {
            let over = (with.services, self.approvals.clone(), self.many.clone());
            let (guard, key) = (with.guard.clone(), self.sealing_key.clone());
            opened.pages = purser_dashboard::routes(over, guard, with.public_url, key);
        }
        #[cfg(feature = "mcp")]
        {
            opened.pages =
                opened.pages.route("/register", axum::routing::post(purser_mcp::refuse_registration));
            opened.guarded = Some(mcp::open(&self.mcp, with));
        }
        opened
    }
}
