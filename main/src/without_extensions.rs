//! Runs the relayer without extensions. Tests use it to turn extensions off.

mod version;

use std::process::ExitCode;

use anyhow::Result;
use purser_api::http::HttpExtensions;
use purser_relayer::{app, config};
use purser_service::Services;
use serde::Deserialize;
use utoipa::openapi::OpenApi;

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoExtensions {}

#[derive(clap::Subcommand)]
enum NoCommand {}

impl purser_cli::Extensions for NoExtensions {
    type Command = NoCommand;
    type Sections = NoExtensions;

    async fn run(self, command: NoCommand) -> Result<()> {
        match command {}
    }

    fn described(self) -> OpenApi {
        OpenApi::default()
    }
}

impl config::Sections for NoExtensions {
    const NAMES: &'static [&'static str] = &[];
}

impl app::Extensions for NoExtensions {
    fn build(&self, _: &Services, _: app::ExtensionParts) -> impl HttpExtensions {
        Self {}
    }
}

impl HttpExtensions for NoExtensions {}

fn main() -> ExitCode {
    purser_cli::run(version::VERSION, NoExtensions {})
}
