//! Policy versions: read from the chain, and joined with who asked for them.

use super::*;
use purser_model::wire::schema::{PolicyVersionNumber, Signature};
use purser_model::wire::{PolicyFields, PolicyVersion};

fn version(fixture: &Fixture, number: u64, signature: &str) -> PolicySet {
    PolicySet {
        operator_id: fixture.operator.id,
        account_id: fixture.account.id,
        version: number,
        policy: Some(SpendingPolicy { require_memo: true, ..SpendingPolicy::default() }),
        by: Some(SetBy {
            signer: Some(Address::from_bytes([7; 32])),
            signature: signature.into(),
            at: at(i64::try_from(number).expect("small")),
        }),
    }
}

async fn inserts(fixture: &Fixture, set: &PolicySet) {
    fixture.store.policies.insert_policy(set, at(60)).await.expect("kept");
}

async fn listed(fixture: &Fixture, before: Option<u64>) -> Vec<PolicyVersion> {
    let (operator, account) = (fixture.operator.id, fixture.account.id);
    fixture.store.policies.list_policy_versions(operator, account, before, 10).await.expect("listed")
}

#[tokio::test]
async fn versions_are_listed_newest_first_with_who_asked() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator, account) = (&fixture.store, fixture.operator.id, fixture.account.id);
    for (number, signature) in [(1, "one"), (2, "two"), (3, "three")] {
        inserts(&fixture, &version(&fixture, number, signature)).await;
    }
    let asking = |reason: Option<&str>| Asking {
        key_id: fixture.key.id,
        reason: reason.map(|text| PolicyReason::parse(text.to_owned()).expect("valid")),
    };
    store
        .policies
        .insert_policy_asking(operator, account, "two", &asking(Some("why")), None)
        .await
        .expect("kept");
    let hash = [9; 32];
    // One is found by its transaction, the other by its asking.
    let action = |seconds: i64| ActionId::new(at(seconds), 7);
    for (seconds, signature) in [(2, Some("two")), (4, None), (9, Some("none of ours"))] {
        let mut done = super::actions::action(&fixture, "update_policy", "acct_1", seconds);
        done.tx_signature = signature.map(str::to_owned);
        store.actions.insert_action(&done).await.expect("inserted");
    }
    store
        .policies
        .insert_policy_asking(operator, account, &hex::encode(hash), &asking(None), Some(action(4)))
        .await
        .expect("kept");
    assert!(listed(&fixture, None).await[0].key_id.is_none(), "it waits");
    for _ in 0..2 {
        store.policies.mark_policy_asking(operator, account, hash, 3).await.expect("marked");
    }
    let all = listed(&fixture, None).await;
    assert_eq!(all.iter().map(|one| one.version.0).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(
        all.iter().map(|one| (one.key_id, one.reason.clone())).collect::<Vec<_>>(),
        [(Some(fixture.key.id), None), (Some(fixture.key.id), asking(Some("why")).reason), (None, None)]
    );
    let named: Vec<_> = all.iter().map(|one| one.action_id).collect();
    assert_eq!(named, [Some(action(4)), Some(action(2)), None]);
    assert_eq!(listed(&fixture, Some(3)).await.len(), 2);
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(
        store.policies.list_policy_versions(stranger, account, None, 10).await.expect("listed").is_empty()
    );
}

#[tokio::test]
async fn version_read_again_keeps_its_policy_and_one_of_another_fork_takes_its_place() {
    let Some(fixture) = fixture().await else { return };
    let first = version(&fixture, 1, "one");
    inserts(&fixture, &first).await;
    inserts(&fixture, &PolicySet { policy: None, ..first.clone() }).await;
    let policy = first.policy.clone().map(PolicyFields);
    assert_eq!(listed(&fixture, None).await[0].policy, policy);
    inserts(&fixture, &PolicySet { policy: None, ..version(&fixture, 1, "other") }).await;
    let all = listed(&fixture, None).await;
    assert_eq!((all.len(), all[0].tx_signature.0.as_str(), &all[0].policy), (1, "other", &None));
    // Its policy can be read after all.
    inserts(&fixture, &version(&fixture, 1, "other")).await;
    assert_eq!(listed(&fixture, None).await[0].policy, policy);
}

#[tokio::test]
async fn version_found_in_force_is_listed_once_it_is_known_what_set_it() {
    let Some(fixture) = fixture().await else { return };
    let set = version(&fixture, 4, "four");
    inserts(&fixture, &PolicySet { by: None, ..set.clone() }).await;
    assert_eq!(listed(&fixture, None).await, []);
    // Its transaction is read, without what it says; and then it is found in force again.
    inserts(&fixture, &PolicySet { policy: None, ..set.clone() }).await;
    inserts(&fixture, &PolicySet { by: None, ..set.clone() }).await;
    let all = listed(&fixture, None).await;
    let by = set.by.clone().expect("set");
    let version = PolicyVersion {
        version: PolicyVersionNumber(4),
        set_at: by.at,
        signer: by.signer,
        tx_signature: Signature(by.signature),
        key_id: None,
        reason: None,
        action_id: None,
        policy: set.policy.map(PolicyFields),
    };
    assert_eq!(all, [version]);
}
