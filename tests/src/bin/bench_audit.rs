//! `cargo xtask bench audit`: how long `purser audit` takes, reading from a node, again where nothing is new, and from its own saved
//! folder.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use futures::StreamExt;
use purser_tests::bench::ends;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::usage::{cpu_of_process, rss_mb};
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, Node, TestApp, TestNetwork, binaries, saved};
use serde::Serialize;
use serde_json::{Value, json};

/// The chain's clock.
const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";
/// How often the audit's memory and CPU time are sampled.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// By then everything is final.
const FINAL_WITHIN: Duration = Duration::from_secs(10);

/// Makes payments, and audits them: read from the embedded network, then what is new since, and then from the folder that this saved
#[derive(Parser)]
#[command(name = "bench_audit")]
struct Arguments {
    /// How many payments there are
    #[arg(long, default_value_t = 10_000)]
    payments: usize,
    /// How many accounts make them
    #[arg(long, default_value_t = 64)]
    accounts: usize,
    /// How many are in flight while they are made
    #[arg(long, default_value_t = 64)]
    in_flight: usize,
    /// How late the node answers that has nothing new
    #[arg(long, default_value_t = 100)]
    answers_after_ms: u64,
    /// Print one line of JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
}

/// One audit.
#[derive(Debug, Serialize)]
struct Row {
    read_from: &'static str,
    payments: usize,
    seconds: f64,
    cpu_seconds: f64,
    rss_mb: f64,
    /// Calls to the node.
    rpc_calls: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    ends(measures(&arguments).await, arguments.json, |rows| print_table(rows))
}

fn print_table(rows: &[Row]) {
    println!("read from   payments  seconds  CPU s  RSS MB  RPC calls");
    for row in rows {
        let Row { read_from, payments, seconds, cpu_seconds, rss_mb, rpc_calls } = row;
        println!(
            "{read_from:<11} {payments:>8} {seconds:>8.1} {cpu_seconds:>6.1} {rss_mb:>7.0} {rpc_calls:>10}"
        );
    }
}

async fn measures(arguments: &Arguments) -> Result<Vec<Row>> {
    let settings = AppSettings { requests_per_second: 1_000_000, burst: 1_000_000, ..AppSettings::default() };
    let network = TestNetwork::slow();
    let app = TestApp::start(network.clone(), &settings).await;
    let operator = app.new_operator().await;
    eprintln!("making {} accounts", arguments.accounts);
    let made = futures::stream::iter(0..arguments.accounts).map(async |number| {
        let agent = operator.creates_account(&format!("Agent {number}")).await;
        // Minted on the chain: the audit would report money without a source.
        mints(&operator.chain, "1", &agent.token_account).await;
        agent
    });
    let agents: Vec<_> = made.buffered(arguments.in_flight).collect().await;
    let (payee, _) = operator.chain.new_payee().await;
    eprintln!("making {} payments", arguments.payments);
    let paid = futures::stream::iter(0..arguments.payments)
        .map(|number| {
            let (agent, payee) = (agents[number % agents.len()].clone(), payee);
            async move { agent.pays("0.000001").to(&payee).memo("audited").insists().await }
        })
        .buffer_unordered(arguments.in_flight);
    ensure!(paid.count().await == arguments.payments, "some were not made");
    tokio::time::sleep(FINAL_WITHIN).await;
    let extension = Node::before(&network.rpc_url, &network.ws_url, &tokio::runtime::Handle::current());
    let kept = temp_folder();
    let (folder, address) = (path_text(kept.path()), operator.address.to_string());
    let from_node = ["--url", &extension.rpc_url, "--operator", &address, "--save", folder];
    let node = audited("a node", &from_node, arguments.payments, &extension).await?;
    // A node that has what was read and no more, so that it is not the embedded network that is measured: that one scans all of its
    // transactions for each list.
    let url = saved::lies(kept.path(), of_today).await;
    let late = Node::before(&url, &network.ws_url, &tokio::runtime::Handle::current());
    late.answers_after(Duration::from_millis(arguments.answers_after_ms));
    let from_late = ["--url", &late.rpc_url, "--operator", &address, "--save", folder];
    let again = audited("nothing new", &from_late, arguments.payments, &late).await?;
    let folder = audited("its folder", &["--from", folder], arguments.payments, &extension).await?;
    Ok(vec![node, again, folder])
}

/// What was read, as if it stood so now.
fn of_today(call: &Value, mut answer: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(now).unwrap_or_default();
    if call["method"] == "getBlockTime" {
        return json!(now);
    }
    if let Some(keys) = call["params"][0].as_array()
        && let Some(at) = keys.iter().position(|key| key == CLOCK)
    {
        let slot = answer["context"]["slot"].as_u64().unwrap_or_default();
        answer["value"][at] = saved::clock(slot, now);
    }
    answer
}

/// Runs the audit to its end; it must find nothing wrong.
async fn audited(
    read_from: &'static str,
    arguments: &[&str],
    payments: usize,
    extension: &Node,
) -> Result<Row> {
    let nowhere = temp_folder();
    let (begun, calls) = (Instant::now(), extension.calls());
    let mut audit = Command::new(binaries::audit_alone());
    audit.args(arguments).current_dir(nowhere.path());
    let report = std::fs::File::create(nowhere.path().join("report.json"))?;
    let mut audit = audit.stdout(Stdio::from(report)).spawn()?;
    let (mut cpu, mut rss) = (Duration::ZERO, 0.0_f64);
    let status = loop {
        cpu = cpu_of_process(audit.id()).unwrap_or(cpu).max(cpu);
        rss = rss_mb(audit.id()).unwrap_or(rss).max(rss);
        if let Some(status) = audit.try_wait()? {
            break status;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    let seconds = begun.elapsed().as_secs_f64();
    let report = read(&nowhere.path().join("report.json"))?;
    ensure!(status.success(), "{status}: {report}");
    let rpc_calls = extension.calls() - calls;
    Ok(Row { read_from, payments, seconds, cpu_seconds: cpu.as_secs_f64(), rss_mb: rss, rpc_calls })
}

fn read(report: &Path) -> Result<String> {
    let text = std::fs::read_to_string(report).context("no report")?;
    Ok(text.chars().take(2_000).collect())
}
