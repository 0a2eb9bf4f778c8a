//! What is measured: one network, relayers on it, and agents that pay.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use purser_tests::{Agent, AppSettings, Node, TestApp, TestDatabase, TestNetwork, usage};
use solana_commitment_config::CommitmentConfig;
use solana_sdk::pubkey::Pubkey;

use crate::clients::{Relayer, Stock, TightLoop, Transfers};
use crate::load::{LOAD_THREADS, Load};
use crate::report::{Row, Used};

/// The clients, in the order of the table.
pub const CLIENTS: [&str; 5] = ["loop", "stock", "purser", "purser_ceiling", "purser_full"];
/// How many transfers wait on a network that confirms nothing, and how long their requests wait.
const PENDING_WHEN_FULL: u32 = 32;
const DEADLINE_WHEN_FULL_SECONDS: u64 = 2;
/// Requests in flight that are refused while others wait, row by row.
const IN_FLIGHT_WHEN_FULL: [usize; 3] = [64, 512, 4_096];
/// More than the time allows.
const REQUESTS_WHEN_FULL: usize = 200_000;
/// Uncounted transfers for each agent and for each in flight: connections open, caches fill.
const WARM_UP_ROUNDS: usize = 2;
/// The default interval.
const INDEXER_INTERVAL: Duration = Duration::from_secs(10);
/// The agents' initial money comes from no transaction. The relayer looks for one in three sweeps before it gives up.
const THREE_SWEEPS: Duration = Duration::from_secs(35);

/// With the script no account shows a payment, and it would be given room all the time.
const NO_MORE_ROOM: &str = "[quotas]\ntag_buckets_per_account = 1\n";

/// What to measure.
pub struct Options {
    pub transfers: usize,
    pub ceiling_transfers: usize,
    pub within: Duration,
    /// Some of [`CLIENTS`].
    pub clients: Vec<String>,
    pub in_flight: Vec<usize>,
    /// How many accounts pay, in turn.
    pub accounts: usize,
    /// How many buckets of tags these have at first; 0: as many as a new account.
    pub buckets: u16,
    /// How many relayers share a database, row by row.
    pub relayers: Vec<usize>,
    /// A Postgres; without one, a SQLite file.
    pub database: Option<String>,
    pub commitment: &'static str,
}

/// Everything that runs during a measurement.
pub struct Bench {
    network: Arc<TestNetwork>,
    /// The relayers' extension.
    node: Node,
    /// The extension of the clients without a relayer: the relayers' background calls must not count as theirs.
    clients: Node,
    /// Relayers that share one database.
    apps: Vec<Arc<TestApp>>,
    agents: Vec<Agent>,
    payee: Pubkey,
    commitment: CommitmentConfig,
    has_postgres: bool,
}

/// Measures every client on one network with mainnet's slot length, the tight loop and the stock client first. Each kind has
/// its own agents and relayer: a relayer reads other clients' payments into the history, which is not part of a transfer's cost.
pub async fn measures_all(options: &Options, extension: impl Fn(&str, &str) -> Node) -> Result<Vec<Row>> {
    let most = options.relayers.iter().max().copied().unwrap_or(1);
    ensure!(
        most == 1 || options.database.is_some(),
        "a SQLite file serves one relayer: name a Postgres with --database"
    );
    eprintln!("starting a network");
    let network = TestNetwork::slow();
    // With the script, the sweep would look for payments that the script confirmed but no chain ever saw.
    let never = Duration::from_secs(3_600);
    let mut rows = Vec::new();
    for (clients, indexer_interval) in [
        (&["loop", "stock"][..], INDEXER_INTERVAL),
        (&["purser"], INDEXER_INTERVAL),
        (&["purser_ceiling"], never),
        (&["purser_full"], never),
    ] {
        let clients: Vec<_> =
            clients.iter().filter(|client| options.clients.iter().any(|asked| asked == *client)).collect();
        if clients.is_empty() {
            continue;
        }
        let is_full = clients.contains(&&"purser_full");
        // The first two clients use no relayer.
        let without = clients.contains(&&"loop") || clients.contains(&&"stock");
        for &relayers in if without { &[1][..] } else { &options.relayers } {
            let bench =
                Bench::starts(Arc::clone(&network), options, relayers, &extension, indexer_interval, is_full)
                    .await;
            for client in &clients {
                bench.measures(client, options, &mut rows).await?;
            }
        }
    }
    Ok(rows)
}

impl Bench {
    /// Starts relayers that reach the network through a counting extension, and makes agents without limits.
    async fn starts(
        network: Arc<TestNetwork>,
        options: &Options,
        relayers: usize,
        extension: impl Fn(&str, &str) -> Node,
        indexer_interval: Duration,
        is_full: bool,
    ) -> Bench {
        let [node, clients] = [(); 2].map(|()| extension(&network.rpc_url, &network.ws_url));
        let settings = AppSettings {
            commitment: options.commitment,
            rpc_url: Some(node.rpc_url.clone()),
            ws_url: Some(node.ws_url.clone()),
            requests_per_second: 1_000_000,
            burst: 1_000_000,
            indexer_interval_ms: indexer_interval.as_millis().try_into().expect("short"),
            sections: if indexer_interval > INDEXER_INTERVAL { NO_MORE_ROOM } else { "" },
            ..AppSettings::default()
        };
        let settings = if is_full {
            let (pending, deadline_seconds) = (PENDING_WHEN_FULL, DEADLINE_WHEN_FULL_SECONDS);
            AppSettings { pending_per_account: pending, deadline_seconds, ..settings }
        } else {
            settings
        };
        let database = match &options.database {
            Some(server) => Some(TestDatabase::create_on(server).await),
            None => None,
        };
        let settings = AppSettings { database, ..settings };
        let app = TestApp::start(Arc::clone(&network), &settings).await;
        let others = (1..relayers).map(|_| app.twin(&settings));
        let apps: Vec<_> = std::iter::once(app.clone()).chain(others).collect();
        let operator = app.new_operator().await;
        let named = (0..options.accounts).map(|index| format!("Agent {index}"));
        let created = named.map(|name| {
            let operator = operator.clone();
            async move { operator.creates_account_with(&name, "1000000").await }
        });
        let agents = futures::future::join_all(created).await;
        let (payee, _) = operator.chain.new_payee().await;
        let commitment = match options.commitment {
            "finalized" => CommitmentConfig::finalized(),
            _ => CommitmentConfig::confirmed(),
        };
        Bench {
            network,
            node,
            clients,
            apps,
            agents,
            payee,
            commitment,
            has_postgres: options.database.is_some(),
        }
    }

    /// Adds a row for each number of transfers in flight.
    async fn measures(&self, client: &'static str, options: &Options, rows: &mut Vec<Row>) -> Result<()> {
        let (count, all_in_flight) = match client {
            "purser_full" => (REQUESTS_WHEN_FULL, &IN_FLIGHT_WHEN_FULL[..]),
            "purser_ceiling" => (options.ceiling_transfers, &options.in_flight[..]),
            _ => (options.transfers, &options.in_flight[..]),
        };
        // The script counts no payments.
        if ["loop", "stock", "purser"].contains(&client) {
            futures::future::join_all(self.agents.iter().map(|agent| agent.gets_room(options.buckets))).await;
        }
        match client {
            "purser" => {
                eprintln!("the relayer comes to terms with what the agents were given");
                tokio::time::sleep(THREE_SWEEPS).await;
            }
            "purser_ceiling" => self.node.follows_the_script(true).await?,
            "purser_full" => self.node.follows_the_script(false).await?,
            _ => {}
        }
        for &in_flight in all_in_flight {
            let warm_up = if client == "purser_full" {
                in_flight
            } else {
                WARM_UP_ROUNDS * in_flight.max(self.agents.len())
            };
            let load = Load { warm_up, count, in_flight, within: options.within };
            let row = self.run(client, load).await;
            let row = row.with_context(|| format!("{client}, {in_flight} in flight"))?;
            eprintln!(
                "{client}, {} relayers, {in_flight} in flight: {} transfers, p50 {} ms, {} a second",
                row.relayers, row.transfers, row.p50_ms, row.per_second
            );
            rows.push(row);
        }
        Ok(())
    }

    async fn run(&self, client: &'static str, load: Load) -> Result<Row> {
        let transfers = || {
            let authority = self.apps[0].transfer_authority();
            // Bypasses the extension: preparation is not measured.
            Transfers::ready(&self.network.rpc_url, &self.agents, &self.payee, authority)
        };
        match client {
            "loop" => {
                let client = TightLoop::ready(&self.clients, transfers().await?, self.commitment).await?;
                self.measured("loop", load, move |index| client.clone().makes(index)).await
            }
            "stock" => {
                let client = Stock::ready(&self.clients, transfers().await?, self.commitment);
                self.measured("stock", load, move |index| client.clone().makes(index)).await
            }
            "purser_full" => {
                let relayer = Relayer::ready(&self.apps, &self.agents, &self.payee, load.transfers())?;
                self.measured(client, load, move |index| relayer.clone().asks_in_vain(index)).await
            }
            _ => {
                let relayer = Relayer::ready(&self.apps, &self.agents, &self.payee, load.transfers())?;
                self.measured(client, load, move |index| relayer.clone().makes(index)).await
            }
        }
    }

    /// Runs a load and reads the resources used: by the relayer if it carries the transfers, else by the client.
    async fn measured<F, M>(&self, client: &'static str, load: Load, makes: M) -> Result<Row>
    where
        F: Future<Output = Result<()>> + Send,
        M: Fn(usize) -> F + Clone + Send + 'static,
    {
        load.warm_up(makes.clone()).await?;
        let relayers: Vec<u32> = self.apps.iter().map(|app| app.pid()).collect();
        let of_relayer = client.starts_with("purser");
        let cpu = || {
            if of_relayer {
                relayers.iter().map(|relayer| usage::cpu_of_process(*relayer)).sum()
            } else {
                usage::cpu_of_threads(LOAD_THREADS)
            }
        };
        let node = if of_relayer { &self.node } else { &self.clients };
        let database = || self.has_postgres.then(|| usage::cpu_of_programs("postgres")).flatten();
        let rss = || -> Option<f64> {
            relayers.iter().map(|relayer| usage::rss_mb(*relayer).filter(|_| of_relayer)).sum()
        };
        let rss_before_mb = rss();
        let (calls_before, cpu_before, database_before) = (node.calls(), cpu(), database());
        let times = load.run(makes).await?;
        let spent = |after: Option<Duration>, before: Option<Duration>| Some(after?.saturating_sub(before?));
        let used = Used {
            rpc_calls: node.calls() - calls_before,
            cpu: spent(cpu(), cpu_before),
            database_cpu: spent(database(), database_before),
            rss_before_mb,
            rss_mb: rss(),
        };
        Ok(Row::of(client, self.apps.len(), load.in_flight, &times, &used))
    }
}
