//! What is measured: one network, one relayer on it, and agents that pay.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use purser_tests::{Agent, AppSettings, TestApp, TestNetwork};
use solana_commitment_config::CommitmentConfig;
use solana_sdk::pubkey::Pubkey;

use crate::clients::{Relayer, Stock, TightLoop, signed_transfers};
use crate::load::{self, LOAD_THREADS, Times};
use crate::node::Node;
use crate::report::Row;
use crate::usage;

/// More than one, so that not every transfer writes the same account.
const AGENTS: usize = 8;
/// Transfers before the first that counts: connections open, caches fill.
const WARM_UP: usize = 16;

/// What to measure.
pub struct Options {
    pub transfers: usize,
    pub ceiling_transfers: usize,
    pub within: Duration,
    pub in_flight: Vec<usize>,
    pub commitment: &'static str,
}

/// Everything that runs while it is measured.
pub struct Bench {
    network: Arc<TestNetwork>,
    /// The relayer's door.
    node: Node,
    /// The door of the other two clients: what the relayer asks in the background is not theirs.
    clients: Node,
    app: Arc<TestApp>,
    agents: Vec<Agent>,
    payee: Pubkey,
    commitment: CommitmentConfig,
}

impl Bench {
    /// Starts a network with slots as long as on mainnet, a relayer that reaches it through a counting door, and agents
    /// without limits.
    pub async fn starts(options: &Options, door: impl Fn(&str, &str) -> Node) -> Bench {
        eprintln!("starting a network and a relayer");
        let network = TestNetwork::slow();
        let [node, clients] = [(); 2].map(|()| door(&network.rpc_url, &network.ws_url));
        let settings = AppSettings {
            commitment: options.commitment,
            rpc_url: Some(node.rpc_url.clone()),
            ws_url: Some(node.ws_url.clone()),
            requests_per_second: 1_000_000,
            burst: 1_000_000,
            // As by default.
            indexer_interval_ms: 10_000,
            ..AppSettings::default()
        };
        let app = TestApp::start(Arc::clone(&network), &settings).await;
        let operator = app.new_operator().await;
        let named = (0..AGENTS).map(|index| format!("Agent {index}"));
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
        Bench { network, node, clients, app, agents, payee, commitment }
    }

    /// Row by row, the scripted network last: what it confirms is not on the chain.
    pub async fn measures(&self, options: &Options) -> Result<Vec<Row>> {
        let &Options { transfers, ceiling_transfers, within, .. } = options;
        let mut rows = Vec::new();
        for client in ["loop", "stock", "purser", "purser_ceiling"] {
            let count = if client == "purser_ceiling" { ceiling_transfers } else { transfers };
            if client == "purser_ceiling" {
                self.node.follows_the_script().await?;
            }
            for &in_flight in &options.in_flight {
                self.run(client, WARM_UP, in_flight.min(WARM_UP), within).await?;
                let row = self.run(client, count, in_flight, within).await;
                let row = row.with_context(|| format!("{client}, {in_flight} in flight"))?;
                eprintln!(
                    "{client}, {in_flight} in flight: {} transfers, p50 {} ms, {} a second",
                    row.transfers, row.p50_ms, row.per_second
                );
                rows.push(row);
            }
        }
        Ok(rows)
    }

    async fn run(
        &self,
        client: &'static str,
        count: usize,
        in_flight: usize,
        within: Duration,
    ) -> Result<Row> {
        let prepared = || {
            let authority = self.app.transfer_authority();
            // Not through the door: making transfers ready is not measured.
            signed_transfers(&self.network.rpc_url, &self.agents, &self.payee, authority, count)
        };
        match client {
            "loop" => {
                let client = TightLoop::ready(&self.clients, prepared().await?, self.commitment).await?;
                self.measured(
                    "loop",
                    in_flight,
                    load::run(count, in_flight, within, move |index| client.clone().makes(index)),
                )
                .await
            }
            "stock" => {
                let client = Stock::ready(&self.clients, prepared().await?, self.commitment);
                self.measured(
                    "stock",
                    in_flight,
                    load::run(count, in_flight, within, move |index| client.clone().makes(index)),
                )
                .await
            }
            _ => {
                let relayer = Relayer::ready(&self.agents, &self.payee, count);
                self.measured(
                    client,
                    in_flight,
                    load::run(count, in_flight, within, move |index| relayer.clone().makes(index)),
                )
                .await
            }
        }
    }

    /// Runs a load and reads what it took: of the relayer, when it carries the transfers, else of the client.
    async fn measured(
        &self,
        client: &'static str,
        in_flight: usize,
        load: impl Future<Output = Result<Times>>,
    ) -> Result<Row> {
        let relayer = self.app.pid();
        let of_relayer = client.starts_with("purser");
        let cpu =
            || if of_relayer { usage::cpu_of_process(relayer) } else { usage::cpu_of_threads(LOAD_THREADS) };
        let node = if of_relayer { &self.node } else { &self.clients };
        let (calls_before, cpu_before) = (node.calls(), cpu());
        let times = load.await?;
        let cpu = cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        let rss_mb = if of_relayer { usage::rss_mb(relayer) } else { None };
        Ok(Row::of(client, in_flight, &times, node.calls() - calls_before, cpu, rss_mb))
    }
}
