//! Relayers: each a process with the real payment engine in it, which dies and is started again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{
    Chain, Clock, Network, Observer, Outside, Payer, PaymentEngine, RefusalLimits, Timestamp, Transfer,
    UsdcAmount,
};
use tokio_util::sync::CancellationToken;

use crate::ledger::SimLedger;
use crate::node::{SimChain, index};
use crate::tasks::SimTasks;
use crate::world::{Process, Relayer, World};

/// How long a caller waits for its transfer's end.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The clock of a relayer's host.
struct SimClock {
    world: Arc<World>,
    relayer: usize,
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.world.now(self.world.with(|state| state.clocks[self.relayer]))
    }

    fn id_bits(&self) -> u128 {
        self.world.with(|state| u128::from(state.rng.next()))
    }
}

struct SimObserver {
    world: Arc<World>,
}

#[async_trait]
impl Observer for SimObserver {
    fn submitted(&self, _: &Transfer) {}

    fn ended(&self, _: &Transfer) {}

    fn contradicted(&self, transfer: &Transfer) {
        self.world.tell(|| format!("ALARM: a payment contradicts {}", transfer.id));
    }

    async fn balance_read(&self, _: &Payer, _: UsdcAmount, _: Timestamp) {}

    fn paid(&self, _: &Payer) {}
}

/// Keeps one relayer running until the world ends.
pub async fn keep_running(world: Arc<World>, number: usize, end: CancellationToken) {
    let mut life = 0;
    loop {
        life += 1;
        let dies_after = world.with(|state| {
            let is_doomed = !state.is_calm && state.rng.chance(60);
            is_doomed.then(|| state.rng.between(1, 150))
        });
        let relayer = start(&world, number, life, dies_after);
        let name = relayer.process.name.clone();
        world.tell(|| format!("{name}: starts"));
        let (died, tasks) = (relayer.process.died.clone(), relayer.tasks.clone());
        world.with(|state| state.relayers[number] = Some(relayer));
        tokio::select! {
            biased;
            () = died.cancelled() => {}
            () = end.cancelled() => {}
        }
        world.with(|state| state.relayers[number] = None);
        tasks.end();
        if end.is_cancelled() {
            return;
        }
        world.tell(|| format!("{name}: dies"));
        world.pause(500, 25_000).await;
    }
}

fn start(world: &Arc<World>, number: usize, life: u32, dies_after: Option<u64>) -> Relayer {
    let process = Arc::new(Process::new(format!("relayer {number}.{life}"), dies_after));
    let database = world.with(|state| number % state.databases.len());
    let tasks = SimTasks::default();
    let chain: Arc<dyn Chain> = Arc::new(SimChain::new(world.clone(), process.clone()));
    let engine = PaymentEngine::new(Outside {
        ledger: Arc::new(SimLedger { world: world.clone(), process: process.clone(), database }),
        chains: BTreeMap::from([(Network::Test, chain)]),
        clock: Arc::new(SimClock { world: world.clone(), relayer: number }),
        observer: Arc::new(SimObserver { world: world.clone() }),
        tasks: Arc::new(tasks.clone()),
        stop: CancellationToken::new(),
        deadline: DEADLINE,
        refusals: RefusalLimits { per_account: 1_000, per_operator: 1_000 },
    });
    let sweeping = engine.clone();
    tasks.run(async move { sweeping.sweep_until_stopped().await });
    tasks.run(index(world.clone(), process.clone(), number));
    Relayer { engine, process, tasks, database }
}
