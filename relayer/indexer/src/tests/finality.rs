use super::Scene;
use super::node::Hides;
use super::world::{Expected, World};
use crate::Indexer;
use purser_chain::Commitment;

/// A chain whose newest transaction is a payment that is recorded but not final yet; also returns its signature.
async fn open_payment() -> (Scene, Indexer, String) {
    let mut world = World::new(9, 12);
    // Nothing becomes final by itself.
    world.lag = 10_000..10_001;
    let scene = Scene::new(world, Commitment::Confirmed).await;
    let indexer = scene.indexer();
    loop {
        scene.node.world().goes_on();
        let newest = scene.node.world().transactions.last().expect("there is one").signature.clone();
        let is_payment =
            |line: &Expected| line.signature == newest && line.slot > 100 && line.kind == "transfer";
        if scene.node.world().expected().iter().any(is_payment) {
            indexer.cycle().await;
            assert!(!lines_of(&scene, &newest).await.is_empty());
            return (scene, indexer, newest);
        }
    }
}

async fn lines_of(scene: &Scene, signature: &str) -> Vec<Expected> {
    scene.recorded().await.into_iter().filter(|line| line.signature == signature).collect()
}

fn expected_of(scene: &Scene, signature: &str) -> Vec<Expected> {
    let mut lines = scene.node.world().expected();
    lines.retain(|line| line.signature == signature);
    lines.sort();
    lines
}

#[tokio::test]
async fn payment_that_landed_again_elsewhere_takes_its_new_place() {
    let (scene, indexer, signature) = open_payment().await;
    let before = lines_of(&scene, &signature).await;
    {
        let mut world = scene.node.world();
        world.transactions.last_mut().expect("there is one").slot += 7;
        world.tip += 7;
        world.comes_to_rest();
    }
    indexer.settle_open().await.expect("a quiet network");
    let after = lines_of(&scene, &signature).await;
    assert_eq!(after, expected_of(&scene, &signature));
    assert!(after.iter().zip(&before).all(|(after, before)| after.slot == before.slot + 7));
    indexer.settle_open().await.expect("a quiet network");
    let open =
        scene.store.index.list_open_transactions(purser_model::Network::Test, 10).await.expect("listed");
    assert!(open.is_empty(), "{open:?}");
}

#[tokio::test]
async fn payment_is_taken_back_only_when_it_is_missing_three_times_running() {
    let (scene, indexer, signature) = open_payment().await;
    let looks = async |times: usize| {
        for _ in 0..times {
            indexer.settle_open().await.expect("a quiet network");
        }
        lines_of(&scene, &signature).await.len()
    };
    let all = lines_of(&scene, &signature).await.len();
    scene.node.hides(&signature, Hides::Forgotten);
    assert_eq!(looks(5).await, all, "its slot is not final");
    let tip = scene.node.world().tip;
    scene.node.world().finalized = tip;
    assert_eq!(looks(2).await, all);
    scene.node.hides_nothing();
    // Not final again, so that the payment stays open.
    scene.node.world().finalized = 100;
    assert_eq!(looks(1).await, all);
    scene.node.hides(&signature, Hides::Forgotten);
    scene.node.world().finalized = tip;
    assert_eq!(looks(2).await, all, "it was found in between");
    assert_eq!(looks(1).await, 0);
}
