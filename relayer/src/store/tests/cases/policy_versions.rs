//! Policy versions: read from the chain, and joined with who asked for them.

use super::*;

fn version(fixture: &Fixture, number: u64, signature: &str) -> PolicyVersion {
    PolicyVersion {
        operator_id: fixture.operator.id,
        account_id: fixture.account.id,
        version: number,
        set_at: at(i64::try_from(number).expect("small")),
        signer: Some(Address::from_bytes([7; 32])),
        tx_signature: signature.into(),
        policy: serde_json::value::RawValue::from_string(r#"{"paused":false}"#.into()).ok(),
        asking: None,
    }
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
        store.policies.insert_policy_version(&version(&fixture, number, signature)).await.expect("kept");
    }
    let asking = |reason: Option<&str>| Asking {
        key_id: fixture.key.id,
        reason: reason.map(|text| PolicyReason::parse(text.to_owned()).expect("valid")),
    };
    store.policies.insert_policy_asking(operator, account, "two", &asking(Some("why"))).await.expect("kept");
    let hash = [9; 32];
    store
        .policies
        .insert_policy_asking(operator, account, &hex::encode(hash), &asking(None))
        .await
        .expect("kept");
    assert!(listed(&fixture, None).await[0].asking.is_none(), "it waits");
    for _ in 0..2 {
        store.policies.mark_policy_asking(operator, account, hash, 3).await.expect("marked");
    }
    let all = listed(&fixture, None).await;
    assert_eq!(all.iter().map(|one| one.version).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(
        all.iter().map(|one| one.asking.clone()).collect::<Vec<_>>(),
        [Some(asking(None)), Some(asking(Some("why"))), None]
    );
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
    fixture.store.policies.insert_policy_version(&first).await.expect("kept");
    let again = PolicyVersion { policy: None, ..first.clone() };
    fixture.store.policies.insert_policy_version(&again).await.expect("nothing to do");
    assert!(listed(&fixture, None).await[0].policy.is_some());
    let other = PolicyVersion { policy: None, ..version(&fixture, 1, "other") };
    fixture.store.policies.insert_policy_version(&other).await.expect("kept");
    let all = listed(&fixture, None).await;
    assert_eq!((all.len(), all[0].tx_signature.as_str(), all[0].policy.is_none()), (1, "other", true));
}
