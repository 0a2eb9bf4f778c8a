//! `purser audit --follow`: an audit again and again, that tells what is new.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use purser_audit::Request;
use purser_audit::follow::{Alert, AlertKind, AlertLog};
use purser_audit::report::{Report, Verdict};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::output::{Format, ends_progress, print_line, progress};
use super::serve::either;
use purser_model::{EventId, Timestamp, WebhookSecret};
use purser_webhooks::standard_signature;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);

const FOLLOWING: &str = "Following";

#[derive(Debug, Args)]
pub(super) struct Following {
    /// Audit again and again, and tell what is new: a loosened or sealed policy, a change of the program or the admin, a right
    /// over an account's money, and whatever does not hold
    #[arg(long, requires_all = ["save", "url"], conflicts_with_all = ["from", "denials", "html", "csv", "xlsx", "sign"], help_heading = FOLLOWING)]
    pub follow: bool,
    /// How long to wait after an audit
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), requires = "follow", help_heading = FOLLOWING)]
    interval: u64,
    /// Where to post what is new
    #[arg(long, value_name = "URL", requires = "follow", help_heading = FOLLOWING)]
    webhook: Option<Url>,
    /// What to sign it with, by Standard Webhooks: whsec_ and base64
    #[arg(long, env = "PURSER_AUDIT_WEBHOOK_SECRET", hide_env_values = true, value_name = "SECRET", help_heading = FOLLOWING)]
    webhook_secret: Option<SecretString>,
    /// Serve /metrics at this address
    #[arg(long, value_name = "ADDRESS:PORT", requires = "follow", help_heading = FOLLOWING)]
    metrics: Option<SocketAddr>,
}

/// Follows until SIGINT or SIGTERM.
pub(super) async fn follow(
    format: Format,
    following: &Following,
    folder: &Path,
    request: &(dyn Fn() -> Result<Request> + Sync),
) -> Result<()> {
    let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut told = AlertLog::read(folder)?;
    let webhook = following.webhook.clone().map(|url| AlertHook::new(url, following.webhook_secret.as_ref()));
    let webhook = webhook.transpose()?;
    let figures = AuditFigures::default();
    if let Some(address) = following.metrics {
        let url = figures.serve(address).await?;
        print_line(&json!({ "metrics": url }).to_string())?;
    }
    loop {
        let round = round(format, request, &mut told, webhook.as_ref(), &figures);
        tokio::select! {
            done = round => if let Err(error) = done {
                figures.failures.inc();
                eprintln!("error: {error:#}");
            },
            () = either(&mut signals) => return Ok(()),
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(following.interval)) => {}
            () = either(&mut signals) => return Ok(()),
        }
    }
}

/// One audit, and what is new in it. What cannot be told now is told in the next one.
async fn round(
    format: Format,
    request: &(dyn Fn() -> Result<Request> + Sync),
    told: &mut AlertLog,
    webhook: Option<&AlertHook>,
    figures: &AuditFigures,
) -> Result<()> {
    let report = purser_audit::audit(request()?, &progress).await;
    ends_progress();
    let report = report?;
    let new = told.new_in(&report)?;
    figures.audited(&report, new.len());
    let mut undelivered = Ok(());
    for alert in new {
        // One that is not taken keeps no other back.
        if let Some(webhook) = webhook
            && let Err(error) = webhook.post(&alert).await
        {
            undelivered = Err(error.context(format!("{} is not delivered yet", alert.id)));
            continue;
        }
        told.was_told(&alert)?;
        figures.told(&alert);
        match format {
            Format::Json => print_line(&serde_json::to_string(&alert)?)?,
            Format::Text | Format::Env => {
                let whose = alert.account.as_ref().unwrap_or(&alert.operator);
                let at =
                    alert.at.as_ref().map_or(String::new(), |at| format!(" {} {}", at.time, at.signature));
                print_line(&format!("{} {whose}: {}{at}", alert.kind.as_str(), alert.text))?;
            }
        }
    }
    undelivered
}

struct AlertHook {
    client: Client,
    url: Url,
    secret: Option<WebhookSecret>,
}

impl AlertHook {
    fn new(url: Url, secret: Option<&SecretString>) -> Result<Self> {
        let secret = secret.map(|secret| {
            let read = WebhookSecret::parse(secret.expose_secret());
            read.ok_or_else(|| anyhow!("--webhook-secret must be whsec_ and base64"))
        });
        let client = Client::builder().timeout(WEBHOOK_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        Ok(Self { client: client.build()?, url, secret: secret.transpose()? })
    }

    async fn post(&self, alert: &Alert) -> Result<()> {
        let id: EventId = alert.id.parse().map_err(|_| anyhow!("{} is no event's id", alert.id))?;
        let body = serde_json::to_vec(alert)?;
        let now = now();
        let mut post = self.client.post(self.url.clone()).header(header::CONTENT_TYPE, "application/json");
        post =
            post.header("webhook-id", &alert.id).header("webhook-timestamp", now.unix_seconds().to_string());
        if let Some(secret) = &self.secret {
            post = post.header("webhook-signature", standard_signature(&[secret], id, now, &body));
        }
        // Without the URL, which may hold a key.
        let answer = post.body(body).send().await.map_err(reqwest::Error::without_url)?;
        anyhow::ensure!(answer.status().is_success(), "the webhook answers {}", answer.status());
        Ok(())
    }
}

/// What Prometheus reads.
#[derive(Default)]
struct AuditFigures {
    audits: Counter,
    failures: Counter,
    alerts: Family<[(&'static str, &'static str); 1], Counter>,
    pending: Gauge,
    findings: Gauge,
    incomplete: Gauge,
    until_slot: Gauge<u64, AtomicU64>,
    last_audit: Gauge<u64, AtomicU64>,
}

impl AuditFigures {
    fn audited(&self, report: &Report, new: usize) {
        let count = |is: Verdict| report.checks.iter().filter(|check| check.result == is).count();
        let findings: usize = report.checks.iter().map(|check| check.findings.len()).sum();
        self.audits.inc();
        self.findings.set(i64::try_from(findings).unwrap_or(i64::MAX));
        self.incomplete.set(i64::try_from(count(Verdict::Incomplete)).unwrap_or(i64::MAX));
        self.pending.set(i64::try_from(new).unwrap_or(i64::MAX));
        self.until_slot.set(report.until_slot);
        self.last_audit.set(u64::try_from(now().unix_seconds()).unwrap_or_default());
    }

    fn told(&self, alert: &Alert) {
        self.pending.dec();
        self.alerts.get_or_create(&[("type", alert.kind.as_str())]).inc();
    }

    fn registry(&self) -> Registry {
        for kind in AlertKind::ALL {
            drop(self.alerts.get_or_create(&[("type", kind.as_str())]));
        }
        let mut registry = Registry::with_prefix("purser_audit");
        registry.register("rounds", "Audits that were made", self.audits.clone());
        registry.register(
            "failures",
            "Rounds that ended early: no audit, or an alert that was not delivered",
            self.failures.clone(),
        );
        registry.register("alerts", "What was told, by its type", self.alerts.clone());
        registry.register("alerts_pending", "What is new and not told yet", self.pending.clone());
        registry.register("findings", "What does not hold, by the last audit", self.findings.clone());
        registry.register(
            "incomplete_checks",
            "Checks that the last audit could not make",
            self.incomplete.clone(),
        );
        registry.register("until_slot", "Up to where the last audit looked", self.until_slot.clone());
        let help = "When the last audit was made, in Unix seconds";
        registry.register_with_unit("last_timestamp", help, Unit::Seconds, self.last_audit.clone());
        registry
    }

    /// Returns the URL.
    async fn serve(&self, address: SocketAddr) -> Result<String> {
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address}"))?;
        let url = format!("http://{}/metrics", listener.local_addr()?);
        let registry = Arc::new(self.registry());
        let answer = move || {
            let registry = Arc::clone(&registry);
            async move { metrics(&registry) }
        };
        let router = Router::new().route("/metrics", get(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(url)
    }
}

fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

fn metrics(registry: &Registry) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
