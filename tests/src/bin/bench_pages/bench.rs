//! The network, the relayer, its operators and accounts; the requests, and how long they take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use purser_tests::usage::rss_mb;
use purser_tests::{
    Answer, AppSettings, Browser, Client, Node, Operator, TestApp, TestDatabase, TestNetwork,
};
use serde_json::json;
use tokio::time::sleep;

use crate::fill::{Database, Moments, Owner, fill};
use crate::pages::{Asked, Extension, Ground, Way};
use crate::report::{Report, Row, ms};

const CREATED_AT_ONCE: usize = 512;
const STOPS_WITHIN: Duration = Duration::from_secs(30);
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Retention is off, so rows of any age stay; the admin listener says when the relayer is ready.
const SERVER: &str = "admin_listen = \"127.0.0.1:0\"\n";
const SECTIONS: &str = "[retention]\nattempts_days = 0\nevents_days = 0\n";

/// What to measure.
pub struct Options {
    pub rows: u64,
    pub accounts: u64,
    pub operators: usize,
    pub asks: u32,
    pub calm: Duration,
    /// A Postgres; without one there is a SQLite file.
    pub database: Option<String>,
}

/// Makes everything, and asks for every page.
pub async fn measures(options: &Options, extension: impl Fn(&str, &str) -> Node) -> Result<Report> {
    let network = TestNetwork::slow();
    let node = extension(&network.rpc_url, &network.ws_url);
    node.serves_token_accounts();
    let database = match &options.database {
        Some(server) => Some(TestDatabase::create_on(server).await),
        None => None,
    };
    let settings = AppSettings {
        rpc_url: Some(node.rpc_url.clone()),
        ws_url: Some(node.ws_url.clone()),
        requests_per_second: 1_000_000,
        burst: 1_000_000,
        indexer_interval_ms: 10_000,
        quotas: Some((100_000, 1_000)),
        denials: None,
        server: SERVER,
        sections: SECTIONS,
        database: database.clone(),
        ..AppSettings::default()
    };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let (first, owners) = creates(&app, options).await?;
    ensure!(app.stops(STOPS_WITHIN).await, "the relayer does not stop");
    let sqlite = || format!("sqlite://{}", app.folder().join("purser.db").display());
    let mut filled = Database::open(&database.map_or_else(sqlite, |database| database.url())).await?;
    let moments = Moments::until_now(options.rows);
    let begun = Instant::now();
    fill(&mut filled, &owners, &moments, options.rows).await?;
    drop(filled);
    eprintln!("filled in {:.0} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    app.starts();
    let listening = begun.elapsed();
    ready(&app).await?;
    let ready = begun.elapsed();
    sleep(options.calm).await;
    let settled_rss_mb = rss_mb(app.pid());
    let first = first.reconnected();
    let browser = Browser::signed_in(&app.base_url(), first.client.key()).await;
    let ground = Ground { owners: &owners, moments: &moments, rows: options.rows, asks: options.asks };
    let mut pages = Vec::new();
    for asked in ground.everything() {
        let times = asks(&asked, options.asks, &first.client, &browser).await;
        let row = Row::of(asked.name, times.with_context(|| asked.name)?);
        eprintln!("{}: p50 {} ms, p99 {} ms", row.page, row.p50_ms, row.p99_ms);
        pages.push(row);
    }
    Ok(Report {
        database: if options.database.is_some() { "Postgres" } else { "SQLite" },
        rows: options.rows,
        accounts: options.accounts,
        listening_ms: ms(listening),
        ready_ms: ms(ready),
        settled_rss_mb,
        rss_mb: rss_mb(app.pid()),
        pages,
    })
}

/// Makes operators with a webhook each, and their accounts in turn: every other account is the first operator's, or each, if that
/// is the only one.
async fn creates(app: &Arc<TestApp>, options: &Options) -> Result<(Operator, Vec<Owner>)> {
    let accounts = options.accounts;
    let mut operators = Vec::new();
    for _ in 0..options.operators {
        let operator = app.new_operator().await;
        let hook =
            json!({ "url": "http://127.0.0.1:9/", "events": ["transfer.settled", "transfer.rejected"] });
        let hook = operator.client.post("/v1/webhooks", &hook).await.has_status(201);
        operators.push((operator, hook.text_of("id").to_owned()));
    }
    eprintln!("creating {accounts} accounts");
    let begun = Instant::now();
    let created = futures::stream::iter(0..accounts).map(|number| {
        let turn = usize::try_from(number).expect("few");
        let others = options.operators - 1;
        let (operator, webhook_id) =
            &operators[if turn % 2 == 0 || others == 0 { 0 } else { 1 + turn / 2 % others }];
        owner(operator, webhook_id, number)
    });
    let owners = created.buffered(CREATED_AT_ONCE).collect().await;
    eprintln!("created in {:.0} s", begun.elapsed().as_secs_f64());
    let (first, _) = operators.swap_remove(0);
    Ok((first, owners))
}

async fn owner(operator: &Operator, webhook_id: &str, number: u64) -> Owner {
    let client = &operator.client;
    let name = json!({ "name": format!("Account {number}") });
    let created = client.post("/v1/accounts", &name).await.has_status(201);
    let account_id = created.text_of("account_id").to_owned();
    let key = client.post(&format!("/v1/accounts/{account_id}/keys"), &json!({})).await.has_status(201);
    Owner {
        operator_id: operator.id.clone(),
        account_id,
        token_account: created.text_of("usdc_token_account").to_owned(),
        key_id: key.text_of("id").to_owned(),
        webhook_id: webhook_id.to_owned(),
    }
}

async fn ready(app: &TestApp) -> Result<()> {
    let begun = Instant::now();
    while app.admin_client().get("/readyz").await.status != 200 {
        ensure!(begun.elapsed() < READY_WITHIN, "it is not ready; {}", app.log_tail());
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn asks(asked: &Asked, count: u32, client: &Client, browser: &Browser) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut path = String::new();
    for number in 0..count as usize {
        let mut fields: &[(&str, String)] = &[];
        path = match &asked.way {
            Way::List(first) if path.is_empty() => first.clone(),
            Way::List(_) => path,
            Way::Each(paths) => paths[number % paths.len()].clone(),
            Way::Form(path, filled_in) => {
                fields = &filled_in[number % filled_in.len()];
                (*path).to_owned()
            }
        };
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let begun = Instant::now();
        let answer = match asked.extension {
            Extension::Api => client.get(&path).await,
            Extension::Dashboard if fields.is_empty() => browser.reads(&path).await,
            Extension::Dashboard => browser.sends_form(&path, &fields).await,
        };
        times.push(begun.elapsed());
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text);
        if let Way::List(first) = &asked.way {
            path = next(first, &answer).unwrap_or_default();
        }
    }
    Ok(times)
}

/// The path of the next page, if there is one.
fn next(first: &str, answer: &Answer) -> Option<String> {
    let cursor = match answer.body["cursor"].as_str() {
        Some(cursor) => cursor.to_owned(),
        None => {
            let rest = answer.text.split("cursor=").nth(1)?;
            rest.split(['"', '&']).next()?.to_owned()
        }
    };
    let joined = if first.contains('?') { '&' } else { '?' };
    Some(format!("{first}{joined}cursor={cursor}"))
}
