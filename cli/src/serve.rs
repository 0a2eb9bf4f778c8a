use anyhow::{Result, anyhow};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::output::print_line;
use purser_api::Version;
use purser_base::traces::Traces;
use purser_relayer::app::{App, Extensions};
use purser_relayer::config::Config;

/// Serves until the first SIGINT or SIGTERM; a second one ends the process at once. Traces are flushed last.
pub(super) async fn run(
    config: &Config,
    traces: Option<Traces>,
    version: Version,
    extensions: &impl Extensions,
) -> Result<()> {
    let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut app = tokio::select! {
        app = App::start(config, version, extensions) => app?,
        () = either(&mut signals) => return Ok(()),
    };
    let mut said = json!({ "listening": app.url() });
    if let Some(url) = app.admin_url() {
        said["admin"] = url.into();
        tracing::info!(url, "admin listener: /metrics, /readyz, /healthz");
    }
    print_line(&said.to_string())?;
    tracing::info!(url = app.url(), version = version.text, "listening");
    let ended = tokio::select! {
        () = either(&mut signals) => Ok(()),
        error = app.failed() => Err(error.into()),
    };
    tracing::info!("stopping; a second signal stops at once");
    let stopped = async {
        app.stop().await;
        if let Some(traces) = traces {
            traces.end().await;
        }
    };
    tokio::select! {
        () = stopped => ended,
        () = either(&mut signals) => Err(anyhow!("stopped at the second signal; the next start finishes what was under way")),
    }
}

pub(super) async fn either((interrupt, terminate): &mut (Signal, Signal)) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
