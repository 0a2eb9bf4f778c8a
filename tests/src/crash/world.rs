//! A network, two nodes in front of it, an operator, accounts, and a copy of the database from before any transfer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::{join_all, try_join_all};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::sync::watch;

use super::client::{Client, Record};
use super::disk::SmallDisk;
use super::ledger::Ledger;
use super::plan::{ACCOUNTS, PAYEES, Relayers, RoundPlan, RunPlan, SINGLE_LIMIT_MICROS, To};
use super::relayer::{Home, Relayer, database_folder};
use super::storm::{Authorities, Storm};
use super::verdict;
use super::{Phase, Report};
use crate::agent::Agent;
use crate::app::TestApp;
use crate::clock::HostClock;
use crate::network::TestNetwork;
use crate::operator::Operator;
use crate::proxy::Proxy;
use crate::settings::AppSettings;

/// Finality takes 0.3 s and a blockhash lives 1.5 s, so expiry happens often.
const SLOT_MS: &str = "10";
const PURSE_USDC: &str = "1000000";
/// How long the storm lasts at most. A relayer that has not died by its end lives on, and every payment must reach an end.
const STORM: Duration = Duration::from_secs(8);
/// How long everything at dusk may take.
const DUSK: Duration = Duration::from_secs(8);
/// How long a round may take in all.
const ROUND: Duration = Duration::from_secs(90);

pub(super) struct World {
    network: Arc<TestNetwork>,
    /// The relayer that prepares the world knows only the first one.
    nodes: [Proxy; 2],
    app: Arc<TestApp>,
    operator: Operator,
    authorities: Authorities,
    agents: Vec<Agent>,
    payees: Vec<Pubkey>,
    /// The database from before any transfer.
    pristine: Vec<(PathBuf, Vec<u8>)>,
}

impl World {
    pub async fn new() -> World {
        let network = TestNetwork::own_with_slots_of(SLOT_MS);
        let first = Proxy::to(&network.rpc_url);
        let nodes = [first.beside(), first];
        let settings =
            AppSettings { rpc_url: Some(nodes[0].url()), deadline_seconds: 3, ..AppSettings::default() };
        let app = TestApp::start(Arc::clone(&network), &settings).await;
        let operator = app.new_operator().await;
        let authorities = Authorities {
            operator: operator.clone(),
            first: app.transfer_authority().pubkey(),
            second: app.further_authority().await,
            foreign: Keypair::new(),
        };
        let make = |number: usize| {
            let operator = &operator;
            async move {
                let agent = operator.creates_account_with(&format!("Account {number}"), PURSE_USDC).await;
                let limit = SINGLE_LIMIT_MICROS / 1_000_000;
                agent.sets_policy(json!({ "max_single_transfer": limit })).await;
                agent
            }
        };
        let agents = join_all((0..ACCOUNTS).map(make)).await;
        let mut payees = Vec::new();
        for _ in 0..PAYEES {
            payees.push(operator.chain.new_payee().await.0);
        }
        assert!(app.stops(Duration::from_secs(20)).await, "the relayer stops before the first round");
        let pristine = app.saved_database();
        World { network, nodes, app, operator, authorities, agents, payees, pristine }
    }

    /// Plays one round and judges it.
    pub async fn plays(&self, plan: &RoundPlan) -> Report {
        let (agents, payees) = (&self.agents, &self.payees);
        let accounts: Vec<Pubkey> =
            agents.iter().map(|agent| agent.token_account).chain(payees.iter().copied()).collect();
        let addresses: Vec<Pubkey> = agents.iter().map(|agent| agent.address).collect();
        let ledger = Ledger::at(&self.network.rpc_url, purser::ID);
        let before = ledger.stands(&addresses, &accounts).await;
        let mut met = met_by(plan);
        let disks = self.small_disks(plan);
        if disks.is_empty() && !plan.hazards.full_disk.is_empty() {
            met.insert("full disk: none, a file system cannot be mounted here".to_owned(), 1);
        }
        let storm =
            Storm { hazards: &plan.hazards, nodes: &self.nodes, disks, authorities: &self.authorities };
        let relayers = self.relayers(plan);
        let (records, deaths) = self.weathers(plan, &storm, &relayers).await;
        let after = ledger.stands(&addresses, &accounts).await;
        let payments = ledger.payments_since(&addresses, &before).await;
        for death in deaths {
            *met.entry(death).or_default() += 1;
        }
        let sources: Vec<(Pubkey, Pubkey)> =
            agents.iter().map(|agent| (agent.address, agent.token_account)).collect();
        let scene = verdict::Scene {
            plan,
            agents: &sources,
            accounts: &accounts,
            before: &before,
            after: &after,
            payments: &payments,
        };
        let mut report = verdict::judges(&scene, &records);
        report.met = met;
        if !report.is_clean() {
            report.failures.push(self.keeps_logs(plan, &relayers, &records));
        }
        report
    }

    /// Runs storm, dusk and calm. Returns the answers that clients got, and how relayers died.
    async fn weathers(
        &self,
        plan: &RoundPlan,
        storm: &Storm<'_>,
        relayers: &[Arc<Relayer>],
    ) -> (Vec<Record>, Vec<String>) {
        let began = Instant::now();
        let outcomes = self.nodes[0].outcomes();
        outcomes.clears();
        for run in &plan.runs {
            outcomes.orders(&run.key, run.outcomes.iter().copied());
        }
        // The relayers first start in good weather; later a supervisor restarts them in any weather.
        let (relayers_phase, clients_phase) =
            (watch::Sender::new(Phase::Storm), watch::Sender::new(Phase::Storm));
        let lives: Vec<_> = relayers
            .iter()
            .zip(&plan.deaths)
            .map(|(relayer, deaths)| {
                let phase = relayers_phase.subscribe();
                tokio::spawn(Arc::clone(relayer).lives(deaths.clone(), phase))
            })
            .collect();
        for (number, node) in (0..).zip(&self.nodes) {
            let weather = (plan.seed ^ plan.index).wrapping_add(number << 32);
            node.faults().rains(weather, plan.faults_per_mille, RoundPlan::wire_faults());
        }
        let busy = Arc::new(AtomicUsize::new(plan.runs.len()));
        let clients = plan.runs.iter().map(|run| {
            let key = self.operator.client.key();
            let client = Client::new(run, self.body_of(run), key, relayers, began + ROUND);
            let (phase, busy) = (clients_phase.subscribe(), Arc::clone(&busy));
            tokio::spawn(async move { client.goes(phase, &busy).await })
        });
        let clients: Vec<_> = clients.collect();
        // Until every client has an answer or has gone away, or the storm's time is over.
        let served = waits_until(began + STORM, || busy.load(Ordering::SeqCst) == 0);
        tokio::select! {
            () = served => {}
            () = async { storm.rages().await; std::future::pending::<()>().await } => {}
        }
        self.nodes.iter().for_each(|node| node.faults().clears());
        storm.passes().await;
        if plan.hazards.has_dusk() {
            let nightfall = Instant::now() + DUSK;
            if plan.hazards.dies_at_dusk {
                relayers_phase.send_replace(Phase::Dusk);
                waits_until(nightfall, || relayers.iter().all(|relayer| relayer.has_risen())).await;
            }
            // Clients that are not done with the storm still ask at dusk.
            busy.fetch_add(plan.runs.len(), Ordering::SeqCst);
            clients_phase.send_replace(Phase::Dusk);
            waits_until(nightfall, || busy.load(Ordering::SeqCst) == 0).await;
        }
        storm.calms_down();
        relayers.iter().for_each(|relayer| relayer.home.clock.is_ahead(0));
        relayers_phase.send_replace(Phase::Calm);
        clients_phase.send_replace(Phase::Calm);
        let records = try_join_all(clients).await.expect("clients do not panic");
        self.waits_for_late_transactions().await;
        relayers.iter().for_each(|relayer| relayer.ends());
        let deaths = try_join_all(lives).await.expect("supervisors do not panic");
        (records, deaths.into_iter().flatten().collect())
    }

    fn relayers(&self, plan: &RoundPlan) -> Vec<Arc<Relayer>> {
        let shared = plan.relayers == Relayers::TwoOnOneDatabase;
        let keypairs = self.app.transfer_keypairs().map(|path| path.display().to_string()).join(",");
        let relayers = (0..plan.relayers.count()).map(|number| {
            let mut environment = vec![
                ("PURSER__NETWORKS__TEST__COMMITMENT", plan.commitment.to_owned()),
                ("PURSER__NETWORKS__TEST__TRANSFER_AUTHORITY_KEYPAIR", keypairs.clone()),
            ];
            if plan.hazards.two_nodes {
                environment.push(("PURSER__NETWORKS__TEST__RPC_URLS", self.nodes[1].url()));
            }
            let clock = HostClock::new();
            clock.is_ahead(plan.hazards.skews[number]);
            let home = Home {
                folder: self.app.folder().to_path_buf(),
                config: self.app.config(),
                database: if shared { 0 } else { number },
                number,
                environment,
                restore: plan.hazards.restores[number],
                clock,
                forgets: plan.relayers == Relayers::OneThatForgets,
                pristine: self.pristine.clone(),
            };
            home.starts_over();
            Arc::new(Relayer::new(home))
        });
        relayers.collect()
    }

    /// A file system for each database, if disks fill up in this round and the process may mount one.
    fn small_disks(&self, plan: &RoundPlan) -> Vec<SmallDisk> {
        let databases = match plan.relayers {
            _ if plan.hazards.full_disk.is_empty() => 0,
            Relayers::One | Relayers::OneThatForgets | Relayers::TwoOnOneDatabase => 1,
            Relayers::TwoOnSeparateDatabases => 2,
        };
        (0..databases)
            .map_while(|number| SmallDisk::at(&database_folder(self.app.folder(), number)))
            .collect()
    }

    fn body_of(&self, run: &RunPlan) -> serde_json::Value {
        let to = match run.to {
            To::Payee(number) => self.payees[number].to_string(),
            To::Account(number) => self.agents[number].id.clone(),
        };
        json!({
            "from": self.agents[run.from].id,
            "to": to,
            "amount": crate::money::text_of(run.amount_micros),
            "idempotency_key": run.key,
            "memo": run.key,
        })
    }

    /// Waits until the proxy has forwarded every transaction that it still holds; only then is the chain read.
    async fn waits_for_late_transactions(&self) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.nodes[0].outcomes().held() > 0 && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }

    /// Keeps the relayers' logs and all answers of a bad round, and says where.
    fn keeps_logs(&self, plan: &RoundPlan, relayers: &[Arc<Relayer>], records: &[Record]) -> String {
        let kept = std::env::temp_dir().join(format!("purser-crash-{}-{}", plan.seed, plan.index));
        let _ = std::fs::create_dir_all(&kept);
        for relayer in relayers {
            let name = format!("relayer-{}.log", relayer.home.number);
            let _ = std::fs::copy(relayer.home.log(), kept.join(name));
        }
        let said: String = records.iter().map(|record| format!("{record:#?}\n")).collect();
        let _ = std::fs::write(kept.join("answers.txt"), said);
        let _ = std::fs::write(kept.join("plan.txt"), format!("{plan:#?}"));
        format!("round {}: again with `{}`; logs in {}", plan.index, plan.command(), kept.display())
    }
}

async fn waits_until(deadline: Instant, is_so: impl Fn() -> bool) {
    while !is_so() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The events that follow from the plan alone.
fn met_by(plan: &RoundPlan) -> BTreeMap<String, u64> {
    let mut met = BTreeMap::new();
    let runs = plan.runs.len() as u64;
    let of_all = plan.hazards.names().into_iter().map(|name| format!("hazard: {name}"));
    for name in of_all.chain([format!("{:?}", plan.relayers)]) {
        *met.entry(name).or_default() += runs;
    }
    for outcome in plan.runs.iter().flat_map(|run| &run.outcomes) {
        let name = format!("{outcome:?}");
        let name = name.split(['(', ' ']).next().unwrap_or_default();
        *met.entry(format!("network: {name}")).or_default() += 1;
    }
    met
}
