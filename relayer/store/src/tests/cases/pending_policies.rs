use super::*;

fn pending(fixture: &Fixture, number: u8) -> PendingPolicy {
    PendingPolicy {
        operator_id: fixture.operator.id,
        account_id: fixture.account.id,
        hash: [number; 32],
        expected_version: u64::from(u32::MAX),
        allowlist_entries: 1,
        due_at: i64::from(number),
        is_announced: false,
        sealed_by: None,
        created_at: at(1),
    }
}

async fn find(fixture: &Fixture, number: u8) -> Option<PendingPolicy> {
    let (operator, account) = (fixture.operator.id, fixture.account.id);
    fixture.reopen().await.policies.find_pending_policy(operator, account, [number; 32]).await.expect("read")
}

async fn due(fixture: &Fixture, network: Network, at: i64, rows_max: u32) -> Vec<u8> {
    let rows = fixture.store.policies.list_due_policies(network, at, rows_max).await.expect("listed");
    rows.iter().map(|pending| pending.hash[0]).collect()
}

fn announced(pending: &PendingPolicy) -> Event {
    Event::policy_pending(pending, &SpendingPolicy::default(), at(9), &Address::from_bytes([6; 32]), at(2))
}

fn applied(pending: &PendingPolicy) -> Event {
    Event::policy_applied(pending, &SpendingPolicy::default(), 8, Some("signature"), at(3))
}

async fn types_announced(fixture: &Fixture) -> Vec<EventType> {
    let events =
        fixture.store.events.list_events(fixture.operator.id, None, Some(fixture.account.id), None, 10).await;
    events.expect("listed").iter().rev().map(|event| event.event_type).collect()
}

#[tokio::test]
async fn a_proposal_comes_back_as_it_was_written_and_can_be_written_anew() {
    let Some(fixture) = fixture().await else { return };
    let first = pending(&fixture, 7);
    fixture.store.policies.insert_pending_policy(&first, Quotas::default()).await.expect("inserted");
    assert_eq!(find(&fixture, 7).await.as_ref(), Some(&first));
    let anew = PendingPolicy {
        allowlist_entries: 0,
        due_at: i64::MAX,
        is_announced: true,
        created_at: at(5),
        ..first.clone()
    };
    fixture.store.policies.insert_pending_policy(&anew, Quotas::default()).await.expect("inserted");
    assert_eq!(find(&fixture, 7).await, Some(anew));
    fixture.store.policies.delete_pending_policy(&first).await.expect("deleted");
    assert_eq!(find(&fixture, 7).await, None);
}

#[tokio::test]
async fn another_operators_proposal_is_not_found() {
    let Some(fixture) = fixture().await else { return };
    let own = pending(&fixture, 7);
    fixture.store.policies.insert_pending_policy(&own, Quotas::default()).await.expect("inserted");
    let stranger = PendingPolicy { operator_id: OperatorId::from_bytes([99; 16]), ..own.clone() };
    let found =
        fixture.store.policies.find_pending_policy(stranger.operator_id, own.account_id, own.hash).await;
    assert_eq!(found.expect("read"), None);
    fixture.store.policies.put_off_pending_policy(&stranger, 99).await.expect("no row");
    fixture
        .store
        .policies
        .look_at_pending_policies(stranger.operator_id, own.account_id)
        .await
        .expect("no row");
    fixture.store.policies.delete_pending_policy(&stranger).await.expect("no row");
    assert_eq!(find(&fixture, 7).await, Some(own));
    assert!(
        fixture.store.policies.insert_pending_policy(&stranger, Quotas::default()).await.is_err(),
        "it has no such account"
    );
}

#[tokio::test]
async fn pending_policy_due_longest_comes_first_on_its_network() {
    let Some(fixture) = fixture().await else { return };
    for number in [5, 3, 9] {
        fixture
            .store
            .policies
            .insert_pending_policy(&pending(&fixture, number), Quotas::default())
            .await
            .expect("inserted");
    }
    let list = async |at, rows_max| due(&fixture, Network::Test, at, rows_max).await;
    assert_eq!(list(5, 10).await, [3, 5]);
    assert_eq!(list(i64::MAX, 1).await, [3]);
    assert!(due(&fixture, Network::Live, i64::MAX, 10).await.is_empty());
    fixture.store.policies.put_off_pending_policy(&pending(&fixture, 3), 6).await.expect("put off");
    assert_eq!(list(6, 10).await, [5, 3]);
    fixture
        .store
        .policies
        .look_at_pending_policies(fixture.operator.id, fixture.account.id)
        .await
        .expect("marked");
    assert_eq!(list(0, 10).await.len(), 3);
}

#[tokio::test]
async fn a_proposal_is_announced_once_and_has_what_was_there_before_looked_at() {
    let Some(fixture) = fixture().await else { return };
    let (before, policy) = (pending(&fixture, 5), pending(&fixture, 7));
    for pending in [&before, &policy] {
        fixture.store.policies.insert_pending_policy(pending, Quotas::default()).await.expect("inserted");
    }
    for _ in 0..2 {
        fixture.store.policies.mark_policy_pending(&policy, 70, announced(&policy)).await.expect("marked");
    }
    assert_eq!(types_announced(&fixture).await, [EventType::PolicyPending]);
    assert_eq!(
        find(&fixture, 7).await,
        Some(PendingPolicy { due_at: 70, is_announced: true, ..policy.clone() })
    );
    assert_eq!(find(&fixture, 5).await.map(|before| before.due_at), Some(0));
    // Cleared meanwhile: nothing is pending, so nothing is announced.
    fixture.store.policies.delete_pending_policy(&before).await.expect("deleted");
    fixture.store.policies.mark_policy_pending(&before, 70, announced(&before)).await.expect("no row");
    assert_eq!(types_announced(&fixture).await.len(), 1);
}

#[tokio::test]
async fn an_application_is_announced_once_with_the_accounts_allowlist() {
    let Some(fixture) = fixture().await else { return };
    let policy = pending(&fixture, 7);
    fixture.store.policies.insert_pending_policy(&policy, Quotas::default()).await.expect("inserted");
    let beside = fixture.reopen().await;
    let mark = async |store: &Store| {
        store
            .policies
            .mark_policy_applied(&policy, AccountStatus::Paused, applied(&policy))
            .await
            .expect("marked");
    };
    tokio::join!(mark(&fixture.store), mark(&beside));
    assert_eq!(types_announced(&fixture).await, [EventType::PolicyApplied]);
    assert_eq!(find(&fixture, 7).await, None);
    let account =
        fixture.store.accounts.find_account(fixture.operator.id, fixture.account.id).await.expect("read");
    let account = account.expect("there");
    assert_eq!(
        (account.status, account.allowlist_entries),
        (AccountStatus::Paused, policy.allowlist_entries)
    );
    // A late mark changes nothing.
    let (operator, id) = (fixture.operator.id, fixture.account.id);
    fixture.store.accounts.mark_account_policy(operator, id, AccountStatus::Active, 0).await.expect("marked");
    mark(&beside).await;
    let account = fixture.store.accounts.find_account(operator, id).await.expect("read").expect("there");
    assert_eq!((account.status, account.allowlist_entries), (AccountStatus::Active, 0));
}
