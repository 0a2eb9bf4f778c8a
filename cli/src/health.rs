//! `purser health`: whether the relayer of this configuration takes requests. An image has no other program to ask with.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::Client;

use super::doctor::reachable;
use super::output::print_line;
use purser_relayer::config::Config;

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn run(config: &Config) -> Result<ExitCode> {
    let address = reachable(config.server.listen);
    let client = Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let asked = client.get(format!("http://{address}/healthz")).send().await;
    let answer = asked.with_context(|| format!("no relayer answers at {address}"))?;
    let status = answer.status();
    print_line(answer.text().await?.trim_end())?;
    Ok(if status.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
