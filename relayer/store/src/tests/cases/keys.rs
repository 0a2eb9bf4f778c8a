use super::*;

#[tokio::test]
async fn a_key_is_found_by_its_hash_alone() {
    let Some(fixture) = fixture().await else { return };
    let (agent_key, plain) = key(&fixture.operator, KeyHolder::Agent(fixture.account.id), 60);
    let agent_key = ApiKey { expires_at: Some(at(9)), name: None, ..agent_key };
    fixture.store.keys.insert_key(&agent_key, &plain.hash()).await.expect("inserted");
    let found = fixture.reopen().await.keys.find_key_by_hash(&plain.hash()).await.expect("read");
    let found = found.map(|(key, operator)| {
        assert_eq!(operator, fixture.operator);
        key
    });
    assert_eq!(found, Some(agent_key));
    let unknown = PlainKey::new(KeyRole::Agent, Network::Test, None, [61; 32]);
    assert!(fixture.store.keys.find_key_by_hash(&unknown.hash()).await.expect("read").is_none());
}

#[tokio::test]
async fn the_database_does_not_hold_the_key() {
    let Some(fixture) = fixture().await else { return };
    let (agent_key, plain) = key(&fixture.operator, KeyHolder::Agent(fixture.account.id), 60);
    fixture.store.keys.insert_key(&agent_key, &plain.hash()).await.expect("inserted");
    let secret = &plain.expose()[12..30];
    match &fixture.place {
        Place::Folder(folder) => {
            fixture.store.close().await;
            for entry in std::fs::read_dir(folder.path()).expect("listed") {
                let bytes = std::fs::read(entry.expect("an entry").path()).expect("read");
                assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
            }
        }
        Place::Schema(_) => {
            let found = async |text: &str| {
                let holding =
                    sql! {"SELECT key_id FROM api_keys k WHERE position({text} IN k::text) > 0", text};
                holding.fetch_all::<String>(fixture.store.reader()).await.expect("read").len()
            };
            assert_eq!((found(secret).await, found(&plain.hash().to_hex()).await), (0, 1));
        }
    }
}

#[tokio::test]
async fn a_key_is_revoked_by_its_own_operator_and_stays_revoked() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator, id) = (&fixture.store, fixture.operator.id, fixture.key.id);
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(store.keys.mark_key_revoked(stranger, id, at(5)).await.expect("done").is_none());
    let revoked = store.keys.mark_key_revoked(operator, id, at(6)).await.expect("done").expect("its own");
    assert_eq!(revoked.revoked_at, Some(at(6)));
    let again = store.keys.mark_key_revoked(operator, id, at(7)).await.expect("done").expect("its own");
    assert_eq!(again.revoked_at, Some(at(6)));
    let plain = PlainKey::new(KeyRole::Operator, Network::Test, None, [3; 32]);
    let (found, _) = store.keys.find_key_by_hash(&plain.hash()).await.expect("read").expect("there");
    assert_eq!(found.revoked_at, Some(at(6)));
}

#[tokio::test]
async fn keys_are_listed_by_operator_and_by_account() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator) = (&fixture.store, fixture.operator.id);
    for byte in 60..64 {
        let (agent_key, plain) = key(&fixture.operator, KeyHolder::Agent(fixture.account.id), byte);
        store.keys.insert_key(&agent_key, &plain.hash()).await.expect("inserted");
    }
    let agent = KeyHolder::Agent(fixture.account.id);
    let all = store.keys.list_keys(operator).await.expect("listed");
    assert_eq!(all.iter().map(|key| key.id.bytes()[0]).collect::<Vec<_>>(), [63, 62, 61, 60, 3]);
    let of_account = store.keys.list_keys_of(operator, agent, None, 3).await.expect("listed");
    assert_eq!(of_account.iter().map(|key| key.id.bytes()[0]).collect::<Vec<_>>(), [63, 62, 61]);
    let after = Some(of_account[2].id);
    let of_operator = store.keys.list_keys_of(operator, KeyHolder::Operator, None, 3).await.expect("listed");
    assert_eq!(of_operator.iter().map(|key| key.id).collect::<Vec<_>>(), [fixture.key.id]);
    let rest = store.keys.list_keys_of(operator, agent, after, 3).await.expect("listed");
    assert_eq!(rest.iter().map(|key| key.id.bytes()[0]).collect::<Vec<_>>(), [60]);
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(store.keys.list_keys(stranger).await.expect("listed").is_empty());
    assert!(store.keys.list_keys_of(stranger, agent, None, 3).await.expect("listed").is_empty());
}

#[tokio::test]
async fn an_agent_key_for_another_operators_account_is_refused_by_the_database() {
    let Some(fixture) = fixture().await else { return };
    let other = operator(40);
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    let (stolen, plain) = key(&other, KeyHolder::Agent(fixture.account.id), 60);
    assert!(matches!(
        fixture.store.keys.insert_key(&stolen, &plain.hash()).await,
        Err(StoreError::Postgres(_) | StoreError::Sqlite(_))
    ));
}

#[tokio::test]
async fn a_key_keeps_its_ranges_and_its_latest_use() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let (bound, plain) = key(&fixture.operator, KeyHolder::Agent(fixture.account.id), 60);
    let ranges = AllowedCidrs::parse(&["10.0.0.0/8".to_owned(), "::1".to_owned()]).expect("valid");
    let bound = ApiKey { allowed_cidrs: Some(ranges), ..bound };
    store.keys.insert_key(&bound, &plain.hash()).await.expect("inserted");
    let found = async || store.keys.find_key_by_hash(&plain.hash()).await.expect("read").expect("there").0;
    assert_eq!(found().await, bound);
    let unknown = KeyId::from_bytes([77; 16]);
    store
        .keys
        .mark_keys_used(&[(fixture.key.id, at(5)), (bound.id, at(9)), (unknown, at(9))])
        .await
        .expect("written");
    store.keys.mark_keys_used(&[(bound.id, at(7))]).await.expect("nothing to do");
    assert_eq!(found().await, ApiKey { last_used_at: Some(at(9)), ..bound.clone() });
    store.keys.mark_keys_used(&[(bound.id, at(11))]).await.expect("written");
    assert_eq!(found().await.last_used_at, Some(at(11)));
    let own = store.keys.find_key_of(fixture.operator.id, bound.id).await.expect("read");
    assert_eq!(own.map(|key| key.id), Some(bound.id));
    let strangers = store.keys.find_key_of(OperatorId::from_bytes([99; 16]), bound.id).await.expect("read");
    assert_eq!(strangers, None);
}

#[tokio::test]
async fn a_key_keeps_its_scopes_and_one_without_has_all_that_its_holder_can_have() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    for (byte, holder) in [(60, KeyHolder::Operator), (61, KeyHolder::Agent(fixture.account.id))] {
        let (bound, plain) = key(&fixture.operator, holder, byte);
        let read = ApiKey { scopes: Scopes::of(&[Scope::Read]), ..bound.clone() };
        store.keys.insert_key(&read, &plain.hash()).await.expect("inserted");
        let found = async || store.keys.find_key(bound.id).await.expect("read").expect("there");
        assert_eq!(found().await, read);
        // As 0.1.0 wrote it.
        let forgotten = sql! {"UPDATE api_keys SET scopes = NULL WHERE key_id = {id}", id = bound.id};
        forgotten.run(store.writer()).await.expect("written");
        assert_eq!(found().await, bound);
        let unknown = sql! {"UPDATE api_keys SET scopes = 'read all' WHERE key_id = {id}", id = bound.id};
        unknown.run(store.writer()).await.expect("written");
        assert!(store.keys.find_key(bound.id).await.is_err(), "a scope that nobody knows opens nothing");
    }
}

#[tokio::test]
async fn makers_of_a_key_are_found_through_all_that_lie_between() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator) = (&fixture.store, fixture.operator.id);
    let mut line = vec![fixture.key.id];
    for byte in 60..64 {
        let (child, plain) = key(&fixture.operator, KeyHolder::Operator, byte);
        let child = ApiKey { made_by: line.last().copied(), ..child };
        store.keys.insert_key(&child, &plain.hash()).await.expect("inserted");
        assert_eq!(store.keys.find_key(child.id).await.expect("read"), Some(child.clone()));
        line.push(child.id);
    }
    let (beside, plain) = key(&fixture.operator, KeyHolder::Operator, 70);
    let beside = ApiKey { made_by: Some(line[1]), ..beside };
    store.keys.insert_key(&beside, &plain.hash()).await.expect("inserted");
    let is_made_by = async |key, maker| store.keys.is_made_by(operator, key, maker).await.expect("read");
    for (at, key) in line.iter().enumerate() {
        for (before, maker) in line.iter().enumerate() {
            assert_eq!(is_made_by(*key, *maker).await, before < at, "{at} by {before}");
        }
    }
    assert!(is_made_by(beside.id, line[0]).await && is_made_by(beside.id, line[1]).await);
    assert!(!is_made_by(beside.id, line[2]).await && !is_made_by(line[2], beside.id).await);
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(!store.keys.is_made_by(stranger, line[1], line[0]).await.expect("read"));
}
