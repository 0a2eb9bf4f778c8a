//! The doors of this build, each a cargo feature: what each is given of the service. None knows another.

#[cfg(feature = "mcp")]
mod mcp;

use anyhow::Result;
use purser_relayer::config::Config;
use purser_relayer::http::{DoorRoutes, Inside};
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

impl purser_cli::Doors for Doors {
    type Command = Command;

    async fn run(self, command: Command) -> Result<()> {
        match command {
            #[cfg(feature = "mcp")]
            Command::Mcp(arguments) => purser_mcp::bridge::run(arguments).await,
        }
    }

    #[cfg_attr(not(feature = "mcp"), allow(unused_mut))]
    fn described(self) -> OpenApi {
        let mut described = OpenApi::default();
        #[cfg(feature = "mcp")]
        described.merge(purser_mcp::described());
        described
    }

    #[cfg_attr(not(all(feature = "dashboard", feature = "mcp")), allow(unused_variables, unused_mut))]
    fn open(self, config: &Config, inside: Inside<'_>) -> DoorRoutes {
        let mut opened = DoorRoutes::default();
        #[cfg(feature = "dashboard")]
        {
            opened.pages = purser_dashboard::routes(inside.services, inside.guard.clone());
        }
        #[cfg(feature = "mcp")]
        {
            opened.guarded = Some(mcp::open(config, inside));
        }
        opened
    }
}
