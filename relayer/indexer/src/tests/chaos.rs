use std::collections::BTreeSet;

use super::node::Hides;
use super::world::{Expected, World};
use super::{Scene, address, pass_seconds};
use crate::Indexer;
use purser_chain::Commitment;
use purser_model::{HistoryEntry, HistoryFilter};

/// Cycles in which a well-behaved network must reveal everything.
const QUIET_CYCLES: usize = 12;

async fn comes_to_light(scene: &Scene, indexer: &Indexer) {
    scene.node.misbehaves(false);
    scene.node.world().comes_to_rest();
    for _ in 0..QUIET_CYCLES {
        pass_seconds(700);
        indexer.audit().await.expect("a quiet network");
        indexer.cycle().await;
    }
}

async fn assert_complete(scene: &Scene, seed: u64) {
    let expected: BTreeSet<Expected> = scene.node.world().expected().into_iter().collect();
    let recorded = scene.recorded().await;
    let missing: Vec<_> = expected.difference(&recorded).collect();
    let surplus: Vec<_> = recorded.difference(&expected).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "seed {seed}: missing {missing:#?}, surplus {surplus:#?}"
    );
    assert!(expected.len() > 20, "seed {seed}: too little happened to prove anything");
}

/// Every account's history adds up to what it holds, with nothing left unexplained.
async fn assert_adds_up(scene: &Scene, seed: u64) {
    let ledgers =
        scene.store.index.list_ledgers(purser_model::Network::Test, None, 1_000).await.expect("listed");
    let world = scene.node.world();
    for ledger in ledgers {
        let held = i64::try_from(world.balance(&ledger.token_account, u64::MAX)).expect("small");
        assert_eq!((ledger.booked, ledger.unexplained), (held, 0), "seed {seed}: {:?}", ledger.account_id);
    }
}

async fn survives(seed: u64, commitment: Commitment, rounds: usize) {
    let scene = Scene::new(World::new(seed, 12), commitment).await;
    let mut indexer = scene.indexer();
    scene.node.misbehaves(true);
    for round in 0..rounds {
        scene.node.world().goes_on();
        if round % 7 == 3 {
            scene.node.world().forks();
        }
        if round % 11 == 5 {
            // The process is killed and restarted.
            indexer = scene.indexer();
        }
        indexer.cycle().await;
        pass_seconds(1);
    }
    comes_to_light(&scene, &indexer).await;
    assert_complete(&scene, seed).await;
    assert_adds_up(&scene, seed).await;
}

#[tokio::test]
async fn nothing_is_missed_and_nothing_invented_at_finalized() {
    for seed in 0..12 {
        survives(seed, Commitment::Finalized, 40).await;
    }
}

#[tokio::test]
async fn nothing_is_missed_and_nothing_invented_at_confirmed_with_forks() {
    for seed in 100..112 {
        survives(seed, Commitment::Confirmed, 40).await;
    }
}

#[tokio::test]
async fn account_that_is_shown_at_an_address_which_is_not_its_own_is_not_adopted() {
    let scene = Scene::new(World::new(3, 12), Commitment::Finalized).await;
    let thiefs = address(9, 9);
    // The first that is made later.
    scene.node.world().agents[6].token_account = thiefs;
    let known = scene.node.world().agents.iter().filter(|agent| agent.is_known).count();
    let indexer = scene.indexer();
    while scene.node.world().agents.iter().any(|agent| !agent.exists) {
        scene.node.world().goes_on();
        indexer.cycle().await;
        pass_seconds(1);
    }
    comes_to_light(&scene, &indexer).await;
    let ledgers =
        scene.store.index.list_ledgers(purser_model::Network::Test, None, 1_000).await.expect("listed");
    assert!(ledgers.iter().all(|ledger| ledger.token_account != thiefs), "{ledgers:?}");
    assert!(ledgers.len() > known, "those that are shown where they are were found");
}

/// Walks of operators, interrupted now and then, must find all that the program did, without sweep or audit.
async fn walks_find_all(seed: u64, commitment: Commitment) {
    let scene = Scene::new(World::new(seed, 12), commitment).await;
    let indexer = scene.indexer();
    scene.node.falls_silent(true);
    scene.node.world().lag = 20..60;
    for round in 0..30 {
        // Enough for the first page of a walk to hold both final and forkable transactions.
        for _ in 0..16 {
            scene.node.world().goes_on();
        }
        indexer.look_at_operators().await;
        if round % 2 == 1 {
            scene.node.world().forks();
        }
        let _ = indexer.settle_open().await;
        pass_seconds(1);
    }
    scene.node.falls_silent(false);
    scene.node.world().comes_to_rest();
    // A walk of an operator ends after a few steps.
    for _ in 0..40 {
        pass_seconds(700);
        indexer.look_at_operators().await;
        indexer.settle_open().await.expect("a network that answers");
    }
    let by_the_program = |line: &Expected| line.kind != "deposit";
    let expected: BTreeSet<Expected> =
        scene.node.world().expected().into_iter().filter(by_the_program).collect();
    let recorded: BTreeSet<Expected> = scene.recorded().await.into_iter().filter(by_the_program).collect();
    let missing: Vec<_> = expected.difference(&recorded).collect();
    let surplus: Vec<_> = recorded.difference(&expected).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "seed {seed}: missing {missing:#?}, surplus {surplus:#?}"
    );
    assert!(expected.len() > 100, "seed {seed}: too little happened to prove anything");
}

#[tokio::test]
async fn interrupted_walks_find_all_that_the_program_did_without_a_sweep_at_finalized() {
    for seed in 200..204 {
        walks_find_all(seed, Commitment::Finalized).await;
    }
}

#[tokio::test]
async fn interrupted_walks_find_all_that_the_program_did_without_a_sweep_at_confirmed() {
    for seed in 300..306 {
        walks_find_all(seed, Commitment::Confirmed).await;
    }
}

#[tokio::test]
async fn one_transaction_that_no_node_can_show_keeps_no_other_from_being_found() {
    for how in [Hides::InSilence, Hides::Unreadable] {
        let scene = Scene::new(World::new(5, 12), Commitment::Finalized).await;
        let indexer = scene.indexer();
        let mut hidden = String::new();
        for round in 0..40 {
            scene.node.world().goes_on();
            if round == 10 {
                let world = scene.node.world();
                let paid = world.expected().into_iter().rfind(|line| line.kind == "transfer");
                hidden = paid.expect("a payment").signature;
                drop(world);
                scene.node.hides(&hidden, how);
            }
            // Indexing starts only once the transaction is hidden.
            if round >= 10 {
                indexer.cycle().await;
                pass_seconds(1);
            }
        }
        scene.node.world().comes_to_rest();
        for _ in 0..QUIET_CYCLES {
            pass_seconds(700);
            indexer.cycle().await;
        }
        let expected: BTreeSet<Expected> =
            scene.node.world().expected().into_iter().filter(|line| line.signature != hidden).collect();
        let recorded = scene.recorded().await;
        let missing: Vec<_> = expected.difference(&recorded).collect();
        assert!(missing.is_empty() && recorded == expected, "{how:?}: missing {missing:#?}");
    }
}

#[tokio::test]
async fn indexing_anew_gives_the_same_history_with_the_same_ids() {
    let scene = Scene::new(World::new(77, 12), Commitment::Finalized).await;
    let indexer = scene.indexer();
    for _ in 0..40 {
        scene.node.world().goes_on();
        indexer.cycle().await;
    }
    comes_to_light(&scene, &indexer).await;
    let world = std::mem::replace(&mut *scene.node.world(), World::new(77, 12));
    let again = Scene::new(world, Commitment::Finalized).await;
    comes_to_light(&again, &again.indexer()).await;
    assert_complete(&again, 77).await;
    let (operators, agents) = again.node.parties();
    for agent in agents {
        let operator = operators[agent.operator].id;
        let of = async |store: &purser_store::Store| {
            let listed = store
                .history
                .list_history(operator, agent.id, &HistoryFilter::default(), None, u32::MAX)
                .await;
            let mut entries: Vec<_> =
                listed.expect("listed").into_iter().map(|placed| placed.entry).collect();
            // They became visible in different orders.
            entries.sort_by_key(HistoryEntry::chain_position);
            entries
        };
        assert_eq!(of(&scene.store).await, of(&again.store).await);
    }
}

#[tokio::test]
async fn confirmed_entry_whose_slot_is_forked_away_is_taken_back() {
    let scene = Scene::new(World::new(3, 12), Commitment::Confirmed).await;
    let indexer = scene.indexer();
    let mut taken_back = false;
    for _ in 0..60 {
        scene.node.world().goes_on();
        indexer.cycle().await;
        let shown: BTreeSet<String> = scene.recorded().await.into_iter().map(|line| line.signature).collect();
        scene.node.world().forks();
        let left: BTreeSet<String> =
            scene.node.world().transactions.iter().map(|transaction| transaction.signature.clone()).collect();
        taken_back |= !shown.is_subset(&left);
        indexer.cycle().await;
    }
    assert!(taken_back, "the forks took away something that was shown");
    comes_to_light(&scene, &indexer).await;
    assert_complete(&scene, 3).await;
    assert_adds_up(&scene, 3).await;
}
