//! A network, two nodes in front of it, an operator, accounts, and a copy of the database from before any transfer.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::{join_all, try_join_all};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::sync::watch;

use super::announced::Announced;
use super::client::{Client, Passing, Record};
use super::disk::SmallDisk;
use super::ledger::{Ledger, Payment};
use super::maker::{Made, Maker};
use super::patience::{Deadline, Ticks};
use super::person::Approver;
use super::plan::{ACCOUNTS, NewAccount, PAYEES, Relayers, RoundPlan, RunPlan, SINGLE_LIMIT_MICROS, To};
use super::relayer::{Home, Relayer, database_folder};
use super::storm::{Authorities, Storm};
use super::thief::Thief;
use super::verdict::{self, Day};
use super::{Phase, Report, audit};
use crate::agent::Agent;
use crate::app::TestApp;
use crate::clock::HostClock;
use crate::network::TestNetwork;
use crate::operator::Operator;
use crate::proxy::Proxy;
use crate::settings::AppSettings;
use crate::wallet::mints;

/// Finality takes 0.3 s and a blockhash lives 1.5 s, so expiry happens often.
const SLOT_MS: &str = "10";
const PURSE_USDC: &str = "1000000";
/// How long the storm lasts at most. A relayer that has not died by its end lives on, and every payment must reach an end.
const STORM: Duration = Duration::from_secs(8);
/// How long everything at dusk may take.
const DUSK: Duration = Duration::from_secs(8);
/// How long a round may take in all, and the payments after it; by ticks.
const ROUND: Duration = Duration::from_secs(90);
const LAST_RUNS: Duration = Duration::from_secs(60);
/// How long after them events may lack their deliveries.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(20);
/// Ten minutes longer than a request is good for.
const AWAY_SECONDS: i64 = 70 * 60;
/// How long a day after waits for its relayers to come up, so that the clocks move while they run.
const UP_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct World {
    network: Arc<TestNetwork>,
    /// The relayer that prepares the world knows only the first one.
    nodes: [Proxy; 2],
    app: Arc<TestApp>,
    operator: Operator,
    authorities: Authorities,
    agents: Vec<Agent>,
    payees: Vec<Pubkey>,
    thief: Thief,
    approver: Arc<Approver>,
    announced: Announced,
    /// The database from before any account, and from before any transfer.
    bare: Vec<(PathBuf, Vec<u8>)>,
    pristine: Vec<(PathBuf, Vec<u8>)>,
    /// By how many seconds the chain's clock is ahead of the real one, because days passed.
    ahead: AtomicI64,
    ticks: Ticks,
}

impl World {
    pub async fn new() -> World {
        let network = TestNetwork::own_with_slots_of(SLOT_MS);
        let first = Proxy::to(&network.rpc_url);
        let nodes = [first.beside(), first];
        let settings = AppSettings {
            rpc_url: Some(nodes[0].url()),
            server: "public_url = \"https://pay.example.com\"",
            ..AppSettings::default()
        };
        let app = TestApp::start(Arc::clone(&network), &settings).await;
        let thieves = app.new_operator().await;
        let operator = app.new_operator().await;
        assert!(app.stops(Duration::from_secs(60)).await, "the relayer stops before it has accounts");
        let bare = app.saved_database();
        app.starts();
        let operator = operator.reconnected();
        let authorities = Authorities {
            operator: operator.clone(),
            first: app.transfer_authority().pubkey(),
            second: app.further_authority().await,
            foreign: Keypair::new(),
        };
        let make = |number: usize| {
            let operator = &operator;
            async move {
                let agent = operator.creates_account(&format!("Account {number}")).await;
                mints(&operator.chain, PURSE_USDC, &agent.token_account).await;
                let limit = SINGLE_LIMIT_MICROS / 1_000_000;
                let policy = json!({ "max_single_transfer": limit });
                // Networks of other rounds may keep this one waiting, for a minute at most.
                for tries_left in (0..120).rev() {
                    let set = operator.client.put(&agent.path("/policy"), &policy).await;
                    if set.status != 503 || tries_left == 0 {
                        set.has_status(200);
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                agent
            }
        };
        let agents = join_all((0..ACCOUNTS).map(make)).await;
        let mut payees = Vec::new();
        for _ in 0..PAYEES {
            payees.push(operator.chain.new_payee().await.0);
        }
        let announced = Announced::to_webhook_of(&operator).await;
        assert!(app.stops(Duration::from_secs(60)).await, "the relayer stops before the first round");
        let pristine = app.saved_database();
        let thief = Thief::of(thieves, &agents).await;
        let approver = Arc::new(Approver::of(&operator, &network.rpc_url).await);
        World {
            network,
            nodes,
            app,
            operator,
            authorities,
            agents,
            payees,
            thief,
            approver,
            announced,
            bare,
            pristine,
            ahead: AtomicI64::new(0),
            ticks: Ticks::begin(),
        }
    }

    /// Plays one round and judges it, and the day after it if there is one.
    pub async fn plays(&self, plan: &RoundPlan) -> Report {
        let (mut report, payments) = self.plays_day(plan, None).await;
        if let Some(tomorrow) = plan.tomorrow() {
            let yesterday = Day { plan, payments };
            let (second, _) = self.plays_day(&tomorrow, Some(&yesterday)).await;
            // They are the same keys.
            report.takes_in(Report { runs: 0, ..second });
        }
        report
    }

    /// Audits the operator after the last of these rounds.
    pub async fn is_audited(&self, rounds: &[u64]) -> Report {
        audit::audits(&self.network.rpc_url, &self.operator.address.to_string(), rounds).await
    }

    async fn plays_day(&self, plan: &RoundPlan, yesterday: Option<&Day<'_>>) -> (Report, Vec<Payment>) {
        let (agents, payees) = (&self.agents, &self.payees);
        let accounts: Vec<Pubkey> =
            agents.iter().map(|agent| agent.token_account).chain(payees.iter().copied()).collect();
        let addresses: Vec<Pubkey> = agents.iter().map(|agent| agent.address).collect();
        let ledger = Ledger::at(&self.network.rpc_url, purser::ID);
        let before = ledger.stands(&addresses, &accounts).await;
        let agents_before = ledger.agents_of(&self.operator.address).await;
        let mut met = met_by(plan);
        let disks = self.small_disks(plan);
        if disks.is_empty() && !plan.hazards.full_disk.is_empty() {
            met.insert("full disk: none, a file system cannot be mounted here".to_owned(), 1);
        }
        if let Some(day) = plan.day.filter(|day| !day.begins_late) {
            self.lets_pass(day.seconds).await;
        }
        let storm = Storm {
            hazards: &plan.hazards,
            nodes: &self.nodes,
            disks,
            authorities: &self.authorities,
            thief: &self.thief,
        };
        let relayers = self.relayers(plan);
        let passing = Arc::new(Passing::of(plan, yesterday, &self.nodes[0], &ledger));
        let outcome = self.weathers(plan, &storm, &relayers, &passing).await;
        let after = ledger.stands(&addresses, &accounts).await;
        let payments = ledger.payments_since(&addresses, &before).await;
        for death in outcome.deaths {
            *met.entry(death).or_default() += 1;
        }
        let sources: Vec<(Pubkey, Pubkey)> =
            agents.iter().map(|agent| (agent.address, agent.token_account)).collect();
        let scene = verdict::Scene {
            plan,
            runs: &outcome.runs,
            yesterday,
            agents: &sources,
            payees,
            accounts: &accounts,
            before: &before,
            after: &after,
            payments: &payments,
            forked: &outcome.forked,
        };
        let mut report = verdict::judges(&scene, &outcome.records);
        let new_agents = ledger.agents_of(&self.operator.address).await - agents_before;
        verdict::judges_accounts(&outcome.made, new_agents, &mut report);
        report.mismatches += (outcome.took.len() + outcome.unannounced.len()) as u64;
        report.failures.extend(outcome.unannounced);
        report.failures.extend(outcome.took.into_iter().map(|what| format!("another operator got {what}")));
        let is_made = |made: &&Made| !made.ids.is_empty();
        met.insert("accounts made".to_owned(), outcome.made.iter().filter(is_made).count() as u64);
        for (what, count) in self.approver.did() {
            met.insert(what.to_owned(), count);
        }
        let dropped = dropped(&scene, &outcome.records);
        if dropped > 0 {
            met.insert("a fork dropped what was settled".to_owned(), dropped);
        }
        report.met = met;
        if !report.is_clean() {
            report.failures.push(self.keeps_logs(plan, &relayers, &outcome.records));
        }
        (report, payments)
    }

    /// Runs storm, dusk and calm.
    async fn weathers(
        &self,
        plan: &RoundPlan,
        storm: &Storm<'_>,
        relayers: &[Arc<Relayer>],
        passing: &Arc<Passing>,
    ) -> Outcome {
        let mut began = Instant::now();
        let outcomes = self.nodes[0].outcomes();
        outcomes.clears();
        for run in &plan.runs {
            outcomes.orders(&run.memo, run.outcomes.iter().copied());
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
        if let Some(day) = plan.day.filter(|day| day.begins_late) {
            waits_until(began + UP_WITHIN, || relayers.iter().all(|relayer| relayer.url().is_some())).await;
            self.lets_pass(day.seconds).await;
            self.sets_clocks(relayers, &plan.hazards.skews);
            began = Instant::now();
        }
        for (number, node) in (0..).zip(&self.nodes) {
            let weather = (plan.seed ^ plan.index).wrapping_add(number << 32);
            node.faults().rains(weather, plan.faults_per_mille, RoundPlan::wire_faults());
        }
        let busy = Arc::new(AtomicUsize::new(plan.runs.len()));
        let goes = |run: &RunPlan, deadline: Deadline| {
            let key = self.operator.client.key();
            let client = Client::new(run, self.body_of(run), key, relayers, passing, deadline);
            let (phase, busy) = (clients_phase.subscribe(), Arc::clone(&busy));
            tokio::spawn(async move { client.goes(phase, &busy).await })
        };
        let clients: Vec<_> = plan.runs.iter().map(|run| goes(run, self.ticks.within(ROUND))).collect();
        let makes = |account: &NewAccount| {
            let key = self.operator.client.key().to_owned();
            let (deadline, relayers) = (self.ticks.within(ROUND), relayers.to_vec());
            let maker = Maker { plan: account.clone(), key, relayers, deadline };
            tokio::spawn(maker.makes(clients_phase.subscribe()))
        };
        let makers: Vec<_> = plan.accounts.iter().map(makes).collect();
        let attends = Arc::clone(&self.approver).attends(&plan.runs, relayers);
        let person = tokio::spawn(attends);
        let mut took = Vec::new();
        // Until every client has an answer or has gone away, or the storm's time is over.
        let served = waits_until(began + STORM, || busy.load(Ordering::SeqCst) == 0);
        tokio::select! {
            () = served => {}
            () = async { storm.rages(relayers, &mut took).await; std::future::pending::<()>().await } => {}
        }
        self.nodes.iter().for_each(|node| node.faults().clears());
        storm.passes().await;
        if plan.hazards.has_dusk() {
            let nightfall = Instant::now() + DUSK;
            if plan.hazards.dies_at_dusk {
                relayers_phase.send_replace(Phase::Dusk);
                if plan.hazards.are_away {
                    self.lets_pass(AWAY_SECONDS).await;
                    self.sets_clocks(relayers, &plan.hazards.skews);
                }
                waits_until(nightfall, || relayers.iter().all(|relayer| relayer.has_risen())).await;
            }
            // Clients that are not done with the storm still ask at dusk.
            busy.fetch_add(plan.runs.len(), Ordering::SeqCst);
            clients_phase.send_replace(Phase::Dusk);
            waits_until(nightfall, || busy.load(Ordering::SeqCst) == 0).await;
        }
        storm.calms_down();
        self.sets_clocks(relayers, &[0, 0]);
        relayers_phase.send_replace(Phase::Calm);
        clients_phase.send_replace(Phase::Calm);
        let mut records = try_join_all(clients).await.expect("clients do not panic");
        let made = try_join_all(makers).await.expect("clients do not panic");
        person.abort();
        let mut runs = plan.runs.clone();
        busy.fetch_add(plan.last_runs().len(), Ordering::SeqCst);
        let last: Vec<_> =
            plan.last_runs().iter().map(|run| goes(run, self.ticks.within(LAST_RUNS))).collect();
        records.extend(try_join_all(last).await.expect("clients do not panic"));
        runs.extend(plan.last_runs());
        if plan.hazards.copy.is_some() {
            took.extend(self.thief.concludes(relayers, &self.ticks.within(LAST_RUNS)).await);
        }
        let mut unannounced = Vec::new();
        // The database from before any account has no webhook either.
        for (number, relayer) in relayers.iter().enumerate().filter(|_| !plan.lost_accounts()) {
            let missing = self.announced.is_missing_in(relayer, &self.ticks.within(ANNOUNCED_WITHIN)).await;
            unannounced.extend(missing.map(|missing| format!("relayer {number}: {missing}")));
        }
        self.waits_for_late_transactions().await;
        relayers.iter().for_each(|relayer| relayer.ends());
        let deaths = try_join_all(lives).await.expect("supervisors do not panic");
        let deaths = deaths.into_iter().flatten().collect();
        Outcome { runs, records, made, deaths, took, unannounced, forked: outcomes.forked() }
    }

    /// Moves the chain's clock on.
    async fn lets_pass(&self, seconds: i64) {
        let chain = &self.operator.chain;
        chain.moves_on(seconds).await;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        self.ahead.store(chain.now().await - now.cast_signed(), Ordering::SeqCst);
    }

    /// Sets the clocks of the relayers' hosts by the chain's, each off by its skew.
    fn sets_clocks(&self, relayers: &[Arc<Relayer>], skews: &[i64; 2]) {
        for (relayer, skew) in relayers.iter().zip(skews) {
            relayer.home.clock.is_ahead(self.ahead.load(Ordering::SeqCst) + skew);
        }
    }

    fn relayers(&self, plan: &RoundPlan) -> Vec<Arc<Relayer>> {
        let shared = plan.relayers == Relayers::TwoOnOneDatabase;
        let keypairs = self.app.transfer_keypairs().map(|path| path.display().to_string()).join(",");
        let relayers = (0..plan.relayers.count()).map(|number| {
            let mut environment = vec![
                ("PURSER__TRANSFERS__DEADLINE_SECONDS", "3".to_owned()),
                ("PURSER__NETWORKS__TEST__COMMITMENT", plan.commitment.to_owned()),
                ("PURSER__NETWORKS__TEST__TRANSFER_AUTHORITY_KEYPAIR", keypairs.clone()),
            ];
            if plan.hazards.two_nodes {
                environment.push(("PURSER__NETWORKS__TEST__RPC_URLS", self.nodes[1].url()));
            }
            let home = Home {
                folder: self.app.folder().to_path_buf(),
                config: self.app.config(),
                database: if shared { 0 } else { number },
                number,
                environment,
                restore: plan.hazards.restores[number],
                clock: HostClock::new(),
                forgets: plan.relayers == Relayers::OneThatForgets,
                pristine: if plan.lost_accounts() { self.bare.clone() } else { self.pristine.clone() },
            };
            if plan.day.is_none() {
                home.starts_over();
            }
            Arc::new(Relayer::new(home))
        });
        let relayers: Vec<_> = relayers.collect();
        self.sets_clocks(&relayers, &plan.hazards.skews);
        relayers
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
            "memo": run.memo,
            "approval": if run.person.is_some() { "request" } else { "never" },
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

    /// Keeps the relayers' logs and databases and all answers of a bad round, and says where.
    fn keeps_logs(&self, plan: &RoundPlan, relayers: &[Arc<Relayer>], records: &[Record]) -> String {
        let day = if plan.day.is_some() { "-day-after" } else { "" };
        let kept = std::env::temp_dir().join(format!("purser-crash-{}-{}{day}", plan.seed, plan.index));
        let _ = std::fs::create_dir_all(&kept);
        for relayer in relayers {
            let name = format!("relayer-{}.log", relayer.home.number);
            let _ = std::fs::copy(relayer.home.log(), kept.join(name));
        }
        for number in 0..plan.relayers.count() {
            let databases = std::fs::read_dir(database_folder(self.app.folder(), number));
            for file in databases.into_iter().flatten().flatten() {
                let name = format!("{number}-{}", file.file_name().display());
                let _ = std::fs::copy(file.path(), kept.join(name));
            }
        }
        let said: String = records.iter().map(|record| format!("{record:#?}\n")).collect();
        let _ = std::fs::write(kept.join("answers.txt"), said);
        let _ = std::fs::write(kept.join("plan.txt"), format!("{plan:#?}"));
        format!("round {}: again with `{}`; logs in {}", plan.index, plan.command(), kept.display())
    }
}

/// What came of a round.
struct Outcome {
    /// The planned runs, and those after everything else.
    runs: Vec<RunPlan>,
    records: Vec<Record>,
    /// What the makers of accounts were answered.
    made: Vec<Made>,
    /// How relayers died.
    deaths: Vec<String>,
    /// What the other operator got.
    took: Vec<String>,
    /// Relayers whose deliveries do not match their events.
    unannounced: Vec<String>,
    forked: HashSet<String>,
}

/// How many runs were answered as settled by what a fork dropped.
fn dropped(scene: &verdict::Scene, records: &[Record]) -> u64 {
    let is_dropped = |signature: &str| {
        scene.forked.contains(signature)
            && !scene.payments.iter().any(|payment| payment.signature == signature)
    };
    let was_told = |record: &&Record| record.said.iter().filter_map(|said| said.signature()).any(is_dropped);
    records.iter().filter(was_told).count() as u64
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
