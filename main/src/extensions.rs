//! The extensions of this build, each a cargo feature: what each is given of the service, and what the configuration says of it. One knows
//! another only where its `Cargo.toml` names it.

#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(test, feature = "bulk", feature = "mcp", feature = "x402"))]
mod tests;

use anyhow::Result;
use purser_api::http::{self, ExtensionRoutes, Inside};
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
    #[cfg(feature = "mcp")]
    mcp: mcp::Section,
}

impl config::Sections for Sections {
    const NAMES: &'static [&'static str] = &[
        #[cfg(feature = "mcp")]
        "mcp",
    ];
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
            #[cfg(feature = "bulk")]
            purser_bulk::described(),
            #[cfg(feature = "mcp")]
            purser_mcp::described(),
            #[cfg(feature = "x402")]
            purser_x402::described(),
        ];
        extensions.into_iter().fold(OpenApi::default(), OpenApi::merge_from)
    }
}

/// The extensions of a process.
struct Running<'a> {
    #[cfg_attr(
        not(feature = "mcp"),
        expect(dead_code, reason = "the only extension with settings is left out")
    )]
    sections: &'a Sections,
    #[cfg_attr(
        not(any(feature = "bulk", feature = "x402")),
        expect(dead_code, reason = "REST has no more routes")
    )]
    services: Services,
    #[cfg(feature = "bulk")]
    many: purser_bulk::Many,
}

impl app::Extensions for Sections {
    fn build(&self, services: &Services) -> impl http::HttpExtensions {
        Running {
            sections: self,
            services: services.clone(),
            #[cfg(feature = "bulk")]
            many: purser_bulk::Many::new(services),
        }
    }
}

impl http::HttpExtensions for Running<'_> {
    fn rest(&self) -> OpenApiRouter {
        let extensions = [
            #[cfg(feature = "bulk")]
            purser_bulk::routes(self.many.clone(), &self.services),
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
    fn beside(&self, inside: Inside<'_>) -> ExtensionRoutes {
        let mut opened = ExtensionRoutes::default();
        #[cfg(feature = "dashboard")]
        {
            let many = self.many.clone();
            opened.pages =
                purser_dashboard::routes(inside.services, many, inside.guard.clone(), inside.public_url);
        }
        #[cfg(feature = "mcp")]
        {
            opened.pages =
                opened.pages.route("/register", axum::routing::post(purser_mcp::refuse_registration));
            opened.guarded = Some(mcp::open(&self.sections.mcp, inside));
        }
        opened
    }
}
