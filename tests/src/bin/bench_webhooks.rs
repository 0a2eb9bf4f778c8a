//! `cargo xtask bench webhooks`: how soon after a settlement webhooks are notified, how many deliveries a second go out, and
//! what it costs the healthy endpoints when half of all endpoints hang.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};
use clap::Parser;
use futures::StreamExt;
use purser_tests::bench::ends;
use purser_tests::clock::unix_micros_of;
use purser_tests::receiver::Delivery;
use purser_tests::{AppSettings, Operator, Receiver, TestApp, TestNetwork};
use serde::Serialize;
use serde_json::json;

/// Measures deliveries to receivers on this machine: with all endpoints healthy, then with half of them hanging
#[derive(Parser)]
#[command(name = "bench_webhooks")]
struct Arguments {
    /// How many endpoints hear of every event
    #[arg(long, default_value_t = 50)]
    endpoints: usize,
    /// How many transfers settle while the time to the first attempt is measured
    #[arg(long, default_value_t = 40)]
    transfers: usize,
    /// How many of them are in flight
    #[arg(long, default_value_t = 4)]
    in_flight: usize,
    /// How many events are delivered to each endpoint while the rate is measured
    #[arg(long, default_value_t = 60)]
    events: usize,
    /// Print one line of JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
}

/// One mix of endpoints.
#[derive(Debug, Serialize)]
struct Row {
    endpoints: &'static str,
    healthy: usize,
    hanging: usize,
    /// From the recorded settlement until a healthy endpoint gets the request.
    settle_to_first_attempt_p50_ms: f64,
    settle_to_first_attempt_p99_ms: f64,
    /// Deliveries to healthy endpoints.
    deliveries: usize,
    deliveries_per_second: f64,
    per_second_and_endpoint: f64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    ends(measure(&arguments).await, arguments.json, |rows| print_table(rows))
}

async fn measure(arguments: &Arguments) -> Result<Vec<Row>> {
    ensure!((2..=100).contains(&arguments.endpoints), "--endpoints is from 2 to 100");
    let network = TestNetwork::shared().await;
    let app = TestApp::start(network, &AppSettings::default()).await;
    let mut rows = Vec::new();
    for (name, hanging) in [("all healthy", 0), ("half hanging", arguments.endpoints / 2)] {
        let operator = app.new_operator().await;
        rows.push(measure_one(arguments, &operator, name, hanging).await);
    }
    Ok(rows)
}

async fn measure_one(arguments: &Arguments, operator: &Operator, name: &'static str, hanging: usize) -> Row {
    let receiver = Receiver::start();
    let healthy = arguments.endpoints - hanging;
    let agent = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    let mut webhooks = Vec::new();
    for number in 0..arguments.endpoints {
        let path = if number < hanging { format!("/hangs/{number}") } else { format!("/well/{number}") };
        if number < hanging {
            receiver.hangs(&path);
        }
        let body = json!({ "url": receiver.url(&path), "events": ["transfer.settled", "transfer.rejected"] });
        let created = operator.client.post("/v1/webhooks", &body).await.has_status(201);
        webhooks.push(created.text_of("id").to_owned());
    }

    // The relayer knows hanging endpoints after their first attempts; this measures the time before and after together.
    let payments = (0..arguments.transfers).map(|_| agent.pays("0.01").to(&payee));
    let pays = async |payment: purser_tests::Payment| {
        payment.await.is_settled();
    };
    futures::stream::iter(payments).map(pays).buffer_unordered(arguments.in_flight).collect::<Vec<_>>().await;
    waits(&receiver, healthy * arguments.transfers).await;
    let mut delays: Vec<Duration> = healthy_ones(&receiver).iter().filter_map(delay_of).collect();
    delays.sort_unstable();

    // Events that cost the chain nothing, first delivered to nobody: this measures delivery alone.
    agent.has_policy(json!({ "paused": true })).await;
    let since = agent.pays("0.01").to(&payee).await;
    assert_eq!(since.status, 402, "{}", since.text);
    for _ in 1..arguments.events {
        agent.pays("0.01").to(&payee).await.is_error(402, "account_paused");
    }
    let before = healthy * (arguments.transfers + arguments.events);
    waits(&receiver, before).await;
    let newest = operator.client.get("/v1/events?type=transfer.rejected&limit=100").await.has_status(200);
    let events = newest["data"].as_array().expect("a list").len();
    let oldest = newest["data"][events - 1]["created_at"].as_str().expect("a time").to_owned();
    let started = Instant::now();
    let replays = webhooks.iter().map(async |id| {
        let body = json!({ "since": oldest, "status": "all" });
        operator.client.post(&format!("/v1/webhooks/{id}/replay"), &body).await.has_status(202)
    });
    let replays = futures::future::join_all(replays).await;
    // The hanging endpoints were registered first. Events that were still being recorded are not replayed.
    let replayed = replays[hanging..].iter().map(|answer| answer["replayed"].as_u64().expect("a number"));
    let deliveries = replayed.sum::<u64>() as usize;
    waits(&receiver, before + deliveries).await;
    let per_second = deliveries as f64 / started.elapsed().as_secs_f64();
    Row {
        endpoints: name,
        healthy,
        hanging,
        settle_to_first_attempt_p50_ms: percentile_ms(&delays, 50),
        settle_to_first_attempt_p99_ms: percentile_ms(&delays, 99),
        deliveries,
        deliveries_per_second: rounded(per_second),
        per_second_and_endpoint: rounded(per_second / healthy as f64),
    }
}

fn healthy_ones(receiver: &Receiver) -> Vec<Delivery> {
    receiver.all_received().into_iter().filter(|delivery| delivery.path.starts_with("/well")).collect()
}

/// Waits for `count` deliveries to healthy endpoints.
async fn waits(receiver: &Receiver, count: usize) {
    let started = Instant::now();
    while receiver.count_below("/well") < count {
        let arrived = receiver.count_below("/well");
        assert!(started.elapsed() < Duration::from_secs(300), "{arrived} of {count} arrived");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn delay_of(delivery: &Delivery) -> Option<Duration> {
    let event = delivery.event();
    let settled = event["type"] == "transfer.settled";
    let recorded = unix_micros_of(event["created_at"].as_str()?);
    let arrived = delivery.arrived_at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_micros();
    settled.then(|| Duration::from_micros(u64::try_from(arrived).unwrap_or(0).saturating_sub(recorded)))
}

/// The smallest time that `percent` of the times do not exceed.
fn percentile_ms(ascending: &[Duration], percent: usize) -> f64 {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).map_or(0.0, |time| rounded(time.as_secs_f64() * 1_000.0))
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn print_table(rows: &[Row]) {
    println!(
        "{:<13} {:>8} {:>8} {:>24} {:>8} {:>12} {:>23}",
        "endpoints",
        "healthy",
        "hanging",
        "settle to attempt p50 ms",
        "p99 ms",
        "deliveries/s",
        "per second and endpoint"
    );
    for row in rows {
        println!(
            "{:<13} {:>8} {:>8} {:>24.1} {:>8.1} {:>12.1} {:>23.1}",
            row.endpoints,
            row.healthy,
            row.hanging,
            row.settle_to_first_attempt_p50_ms,
            row.settle_to_first_attempt_p99_ms,
            row.deliveries_per_second,
            row.per_second_and_endpoint
        );
    }
}
