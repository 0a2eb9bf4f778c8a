use anyhow::{Context, Result, bail};
use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;

use super::output::{Format, print_one};
use purser_model::ReplayScope;
use purser_model::{EventId, Timestamp, WebhookId, WebhookStatus};
use purser_relayer::config::Config;
use purser_service::SystemClock;
use purser_store::Store;

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The webhook's id, `whk_...`
    #[arg(long, value_name = "ID")]
    webhook: WebhookId,
    /// One event, whatever became of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["since", "until", "all"], required_unless_present = "since")]
    event: Option<EventId>,
    /// Events from this moment on: 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Events before this moment; without it, until now
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Delivered events and those from before the registration too, not only those that were given up or still fail
    #[arg(long)]
    all: bool,
}

/// Makes deliveries due again. A running service attempts them within a second.
pub(super) async fn run(config: &Config, format: Format, arguments: ReplayArgs) -> Result<()> {
    let store = Store::open(config.database.url.expose_secret()).await?;
    let done = replay(&store, format, arguments).await;
    store.close().await;
    done
}

async fn replay(store: &Store, format: Format, arguments: ReplayArgs) -> Result<()> {
    let webhook = store.webhooks.find_any_webhook(arguments.webhook).await?.context("no such webhook")?;
    match webhook.status {
        WebhookStatus::Enabled => {}
        WebhookStatus::Disabled { .. } => bail!("the webhook is disabled: enable it first"),
    }
    let now = SystemClock::of(store).now();
    let replayed = match (arguments.event, arguments.since) {
        (Some(event), _) => {
            let event =
                store.events.find_event(webhook.operator_id, event).await?.context("no such event")?;
            u64::from(store.webhooks.replay_event(&webhook, &event, now).await?)
        }
        (None, Some(since)) => {
            let scope = if arguments.all { ReplayScope::All } else { ReplayScope::NotDelivered };
            store.webhooks.replay_span(&webhook, since, arguments.until.unwrap_or(now), scope, now).await?
        }
        (None, None) => bail!("name --event or --since"),
    };
    print_one(format, &[("webhook_id", json!(webhook.id.to_string())), ("replayed", json!(replayed))])
}
