//! Accounts that a node left out of their operator's history.

use std::time::Duration;

use super::Scene;
use super::world::World;
use purser_chain::Commitment;
use purser_model::Network;

#[tokio::test]
async fn account_that_no_history_of_its_operator_shows_is_found_once_a_node_shows_its_first_transaction() {
    let mut world = World::new(3, 12);
    (0..400).for_each(|_| world.goes_on());
    world.comes_to_rest();
    let registered = |operator: usize| operator < 2;
    let created: Vec<_> = world
        .agents
        .iter()
        .filter(|it| it.exists && !it.is_known && registered(it.operator))
        .cloned()
        .collect();
    assert!(!created.is_empty(), "the world creates accounts");
    let scene = Scene::new(world, Commitment::Finalized).await;
    let indexer = scene.indexer();
    let known = async || {
        let addresses: Vec<_> = created.iter().map(|agent| agent.address).collect();
        scene.store.index.find_parties(Network::Test, &addresses).await.expect("read").len()
    };
    scene.node.lists_at_most(1);
    for _ in 0..10 {
        indexer.cycle().await;
    }
    assert_eq!(known().await, 0, "the node shows their creation to nobody");
    // Ever more rarely: a node that has pruned an account's past never shows how it began.
    indexer.cycle().await;
    scene.node.take_calls();
    for _ in 0..20 {
        indexer.cycle().await;
    }
    let calls = scene.node.take_calls();
    assert!(calls < 20 * 8, "{calls} calls");
    scene.node.lists_at_most(usize::MAX);
    tokio::time::timeout(Duration::from_secs(120), async {
        while known().await < created.len() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            indexer.cycle().await;
        }
    })
    .await
    .expect("all are found");
}
