//! The doors of this build, each a cargo feature: what each is given of the service. None knows another.

#[cfg(feature = "mcp")]
mod mcp;

use anyhow::Result;
use purser_relayer::cli;
use purser_relayer::config::Config;
use purser_relayer::http::{Inside, Opened};
use utoipa::openapi::OpenApi;

#[derive(Clone, Copy)]
pub struct Doors;

/// The commands of doors.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Speak MCP on stdin and stdout for the agent of PURSER_AGENT_KEY, by way of a service's `/mcp`
    #[cfg(feature = "mcp")]
    Mcp(purser_mcp::bridge::Mcp),
}

impl cli::Doors for Doors {
    type Command = Command;

    async fn run(self, command: Command) -> Result<()> {
        match command {
            #[cfg(feature = "mcp")]
            Command::Mcp(arguments) => purser_mcp::bridge::run(arguments).await,
        }
    }

    fn described(self) -> OpenApi {
        let mut described = OpenApi::default();
        #[cfg(feature = "mcp")]
        described.merge(purser_mcp::described());
        described
    }

    fn open(self, config: &Config, inside: Inside<'_>) -> Opened {
        let pages = purser_relayer::dashboard::routes(inside.services, inside.guard.clone());
        Opened {
            #[cfg(feature = "mcp")]
            guarded: Some(mcp::open(config, inside)),
            #[cfg(not(feature = "mcp"))]
            guarded: None,
            pages,
        }
    }
}
