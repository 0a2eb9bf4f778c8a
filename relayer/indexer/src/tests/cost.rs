use std::collections::BTreeSet;

use super::world::{Expected, World};
use super::{CLOCK, Scene};
use crate::walk::Walked;
use purser_chain::Commitment;
use purser_model::{
    Account, AccountId, AccountStatus, Address, ApprovalRule, DuplicateRule, Label, Network, Tags,
};
use purser_store::WalkOwner;

const ACCOUNTS: u32 = 10_000;

#[tokio::test]
async fn ten_thousand_accounts_are_swept_with_at_most_110_calls() {
    let scene = Scene::new(World::new(1, 6), Commitment::Finalized).await;
    let operator = scene.node.parties().0[0].clone();
    for number in 0..ACCOUNTS - 4 {
        let mut bytes = [9; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        let mut token_account = bytes;
        token_account[31] = 8;
        let mut id = [50; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let account = Account {
            id: AccountId::from_bytes(id),
            operator_id: operator.id,
            name: Label::parse("one of many").expect("valid"),
            metadata: None,
            tags: Tags::default(),
            address: Address::from_bytes(bytes),
            token_account: Address::from_bytes(token_account),
            status: AccountStatus::Active,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            created_at: CLOCK.now(),
        };
        scene.store.accounts.insert_account(&account).await.expect("inserted");
    }
    let indexer = scene.indexer();
    // The first cycles find everything there is.
    for _ in 0..3 {
        indexer.cycle().await;
    }
    scene.node.take_calls();
    for _ in 0..3 {
        indexer.cycle().await;
        let calls = scene.node.take_calls();
        assert!((100..=110).contains(&calls), "{calls} calls");
    }
}

#[tokio::test]
async fn a_walk_of_an_operator_ends_after_its_steps_and_the_next_one_resumes() {
    let mut world = World::new(2, 6);
    (0..300).for_each(|_| world.goes_on());
    world.comes_to_rest();
    let expected: BTreeSet<_> = world.expected().into_iter().collect();
    let scene = Scene::new(world, Commitment::Finalized).await;
    let operator = scene.node.parties().0[0].clone();
    let indexer = scene.indexer();
    let mut walks = 0;
    loop {
        scene.node.take_calls();
        indexer.walk(operator.address, WalkOwner::Operator(operator.id)).await.expect("walked");
        walks += 1;
        let calls = scene.node.take_calls();
        assert!(calls <= 50, "{calls} calls for six steps of five transactions");
        let walk = scene.store.index.find_walk(Network::Test, &operator.address).await.expect("read");
        if walk.is_some_and(|walk| walk.under_way.is_none()) {
            break;
        }
    }
    assert!(walks > 1, "{walks}");
    // Those of token accounts end after their steps too.
    for _ in 0..10 {
        indexer.cycle().await;
    }
    assert_eq!(scene.recorded().await, expected);
}

#[tokio::test]
async fn the_whole_past_of_a_token_account_is_read_by_turns_too() {
    let mut world = World::new(2, 6);
    (0..300).for_each(|_| world.goes_on());
    world.comes_to_rest();
    let expected: BTreeSet<_> = world.expected().into_iter().collect();
    let scene = Scene::new(world, Commitment::Finalized).await;
    let agent = scene.node.parties().1[0].clone();
    let indexer = scene.indexer();
    let walks_all = async || {
        let mut turns = 0;
        loop {
            scene.node.take_calls();
            let walked =
                indexer.walk_all(agent.token_account, WalkOwner::Account(agent.id)).await.expect("walked");
            turns += 1;
            let calls = scene.node.take_calls();
            assert!(calls <= 60, "{calls} calls for six steps of five transactions and the pages between");
            if walked == Walked::ToItsEnd {
                return turns;
            }
            // Ordinary walks go on with it.
            indexer.walk(agent.token_account, WalkOwner::Account(agent.id)).await.expect("walked");
        }
    };
    assert!(walks_all().await > 1);
    let of_agent = |lines: BTreeSet<Expected>| -> BTreeSet<Expected> {
        lines.into_iter().filter(|line| line.account == agent.id).collect()
    };
    assert_eq!(of_agent(scene.recorded().await), of_agent(expected));
    assert_eq!(walks_all().await, 1, "what is known takes no turns");
}

#[tokio::test]
async fn a_walk_of_a_token_account_ends_after_its_steps_too_and_later_looks_find_all() {
    let mut world = World::new(2, 6);
    (0..300).for_each(|_| world.goes_on());
    world.comes_to_rest();
    let expected: BTreeSet<_> = world.expected().into_iter().collect();
    let scene = Scene::new(world, Commitment::Finalized).await;
    let agent = scene.node.parties().1[0].clone();
    let indexer = scene.indexer();
    let mut walks = 0;
    loop {
        scene.node.take_calls();
        let walked = indexer.walk(agent.token_account, WalkOwner::Account(agent.id)).await.expect("walked");
        walks += 1;
        let calls = scene.node.take_calls();
        assert!(calls <= 50, "{calls} calls for six steps of five transactions");
        if walked == Walked::ToItsEnd {
            break;
        }
    }
    assert!(walks > 1, "{walks}");
    for _ in 0..10 {
        indexer.cycle().await;
    }
    assert_eq!(scene.recorded().await, expected);
}
