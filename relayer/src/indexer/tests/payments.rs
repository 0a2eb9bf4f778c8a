use super::world::World;
use super::{AMBIENT, Scene};
use crate::chain::Commitment;
use crate::domain::{
    Account, AccountId, AccountName, AccountStatus, Address, ApprovalRule, DuplicateRule, OperatorId,
    Provisioning, Tags,
};

/// An account that the chain does not know, so its payments can never be found.
async fn cannot_be_completed(scene: &Scene, operator_id: OperatorId, number: u8) {
    let account = Account {
        id: AccountId::from_bytes([0, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        operator_id,
        name: AccountName::parse("agent").expect("valid"),
        metadata: None,
        tags: Tags::default(),
        address: Address::from_bytes([200, number].repeat(16).try_into().expect("32 bytes")),
        token_account: Address::from_bytes([201, number].repeat(16).try_into().expect("32 bytes")),
        status: AccountStatus::Active,
        allowlist_entries: 0,
        duplicates: DuplicateRule::AsAsked,
        approvals: ApprovalRule::On,
        provisioning: Provisioning::Ready,
        created_at: AMBIENT.now(),
    };
    scene.store.accounts.insert_account(&account).await.expect("inserted");
    scene.store.transfers.want_payments((account.operator_id, account.id), 1).await.expect("noted");
}

#[tokio::test]
async fn accounts_that_can_never_be_completed_do_not_keep_another_tenant_waiting() {
    let scene = Scene::new(World::new(3, 6), Commitment::Finalized).await;
    let (operators, agents) = scene.node.parties();
    for number in 0..60 {
        cannot_be_completed(&scene, operators[0].id, number).await;
    }
    let agent = &agents[4];
    let other = operators[agent.operator].id;
    assert!(other > operators[0].id, "its turn comes after all of them");
    let account = scene.store.accounts.find_account(other, agent.id).await.expect("read").expect("known");
    scene.store.transfers.want_payments((account.operator_id, account.id), 1).await.expect("noted");
    let indexer = scene.indexer();
    for _ in 0..2 {
        indexer.look_for_payments().await.expect("a quiet network");
    }
    let recorded = scene.recorded().await;
    assert!(recorded.iter().any(|line| line.account == agent.id), "its past was read: {recorded:?}");
}
