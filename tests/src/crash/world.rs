//! A network, a proxy before it, an operator, accounts, and a database as it was before any transfer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::{join_all, try_join_all};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use tokio::sync::watch;

use super::Report;
use super::client::{Client, Record};
use super::ledger::Ledger;
use super::plan::{ACCOUNTS, PAYEES, Relayers, RoundPlan, RunPlan, SINGLE_LIMIT_MICROS, To};
use super::relayer::{Home, Relayer};
use super::verdict;
use crate::agent::Agent;
use crate::app::TestApp;
use crate::network::TestNetwork;
use crate::operator::Operator;
use crate::proxy::Proxy;
use crate::settings::AppSettings;

/// Finality after 0.3 s, and a blockhash lives 1.5 s: expiry is met often.
const SLOT_MS: &str = "10";
const PURSE_USDC: &str = "1000000";
/// When a round's weather ends, whoever has not died yet lives on, and all must come to an end.
const STORM: Duration = Duration::from_secs(8);
/// How long a round may take in all.
const ROUND: Duration = Duration::from_secs(90);

pub(super) struct World {
    network: Arc<TestNetwork>,
    proxy: Proxy,
    app: Arc<TestApp>,
    operator: Operator,
    agents: Vec<Agent>,
    payees: Vec<Pubkey>,
    /// The database before any transfer.
    pristine: Vec<(PathBuf, Vec<u8>)>,
}

impl World {
    pub async fn new() -> World {
        let network = TestNetwork::own_with_slots_of(SLOT_MS);
        let proxy = Proxy::to(&network.rpc_url);
        let settings =
            AppSettings { rpc_url: Some(proxy.url()), deadline_seconds: 3, ..AppSettings::default() };
        let app = TestApp::start(Arc::clone(&network), &settings).await;
        let operator = app.new_operator().await;
        let make = |number: usize| {
            let operator = &operator;
            async move {
                let agent = operator.creates_account_with(&format!("Account {number}"), PURSE_USDC).await;
                let limit = SINGLE_LIMIT_MICROS / 1_000_000;
                agent.has_policy(json!({ "max_single_transfer": limit })).await;
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
        World { network, proxy, app, operator, agents, payees, pristine }
    }

    /// Plays one round and judges it.
    pub async fn plays(&self, plan: &RoundPlan) -> Report {
        let began = Instant::now();
        let relayers = self.relayers(plan);
        let (agents, payees) = (&self.agents, &self.payees);
        let accounts: Vec<Pubkey> =
            agents.iter().map(|agent| agent.token_account).chain(payees.iter().copied()).collect();
        let addresses: Vec<Pubkey> = agents.iter().map(|agent| agent.address).collect();
        let ledger = Ledger::at(&self.network.rpc_url, purser::ID);
        let before = ledger.stands(&addresses, &accounts).await;
        self.proxy.outcomes().clears();
        for run in &plan.runs {
            self.proxy.outcomes().orders(&run.key, run.outcomes.iter().copied());
        }
        // The relayers come up in good weather; after that a supervisor starts them in any.
        let (calm, when_calm) = watch::channel(false);
        let lives: Vec<_> = relayers
            .iter()
            .zip(&plan.deaths)
            .map(|(relayer, deaths)| {
                tokio::spawn(Arc::clone(relayer).lives(deaths.clone(), when_calm.clone()))
            })
            .collect();
        let weather = plan.seed ^ plan.index;
        self.proxy.faults().rains(weather, plan.faults_per_mille, RoundPlan::wire_faults());
        let deadline = began + ROUND;
        let busy = Arc::new(AtomicUsize::new(plan.runs.len()));
        let clients = plan.runs.iter().map(|run| {
            let client = Client::new(run, self.body_of(run), self.operator.client.key(), &relayers, deadline);
            let (when_calm, busy) = (when_calm.clone(), Arc::clone(&busy));
            tokio::spawn(async move { client.goes(when_calm, &busy).await })
        });
        let clients: Vec<_> = clients.collect();
        // Until every client has an answer or has gone away, or the storm has lasted long enough.
        while busy.load(Ordering::SeqCst) > 0 && began.elapsed() < STORM {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.proxy.faults().clears();
        let _ = calm.send(true);
        let records = try_join_all(clients).await.expect("clients do not panic");
        self.waits_for_late_transactions().await;
        let after = ledger.stands(&addresses, &accounts).await;
        let payments = ledger.payments_since(&addresses, &before).await;
        let mut met = BTreeMap::new();
        for relayer in &relayers {
            relayer.ends();
        }
        for life in lives {
            for death in life.await.expect("supervisors do not panic") {
                *met.entry(death).or_default() += 1;
            }
        }
        *met.entry(format!("{:?}", plan.relayers)).or_default() += plan.runs.len() as u64;
        for run in &plan.runs {
            for outcome in &run.outcomes {
                let name = format!("{outcome:?}");
                let name = name.split(['(', ' ']).next().unwrap_or_default();
                *met.entry(format!("network: {name}")).or_default() += 1;
            }
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

    fn relayers(&self, plan: &RoundPlan) -> Vec<Arc<Relayer>> {
        let shared = plan.relayers == Relayers::TwoOnOneDatabase;
        let relayers = (0..plan.relayers.count()).map(|number| {
            let home = Home {
                folder: self.app.folder().to_path_buf(),
                config: self.app.config(),
                database: if shared { 0 } else { number },
                number,
                commitment: plan.commitment,
                forgets: plan.relayers == Relayers::OneThatForgets,
                pristine: self.pristine.clone(),
            };
            home.is_made_anew();
            Arc::new(Relayer::new(home))
        });
        relayers.collect()
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

    /// Whatever the proxy still holds comes to the network before the chain is read.
    async fn waits_for_late_transactions(&self) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.proxy.outcomes().held() > 0 && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }

    /// Where the relayers' logs of a bad round and all answers can be read.
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
        format!(
            "round {}: again with `cargo xtask crash --seed {} --round {}`; logs in {}",
            plan.index,
            plan.seed,
            plan.index,
            kept.display()
        )
    }
}
