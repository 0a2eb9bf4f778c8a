use super::actions::action;
use super::*;
use purser_model::{
    ActionFilter, ActionId, PASSKEYS_PER_KEY_MAX, Passkey, PasskeyId, PasskeyUse, SessionId, SessionToken,
};

fn passkey(key: &ApiKey, byte: u8, seconds: i64) -> Passkey {
    Passkey {
        id: PasskeyId::from_bytes([byte; 16]),
        key_id: key.id,
        name: format!("phone {byte}"),
        credential_id: format!("credential-{byte}"),
        credential: "{\"counter\":1}".to_owned(),
        created_at: at(seconds),
        used_at: None,
    }
}

async fn adds(fixture: &Fixture, passkey: &Passkey, begun: i64) -> Result<(), StoreError> {
    fixture.store.sessions.insert_passkey(fixture.operator.id, passkey, at(begun)).await
}

async fn reads(fixture: &Fixture, passkey: &Passkey) -> Option<Passkey> {
    let found = fixture.store.sessions.find_passkey(&passkey.credential_id).await.expect("read");
    found.map(|(passkey, ..)| passkey)
}

/// Signs in with what was read of a passkey, for a challenge of that second.
async fn signs_in(fixture: &Fixture, passkey: &Passkey, begun: i64, now: i64) -> Option<HashedKey> {
    let token = SessionToken::new([u8::try_from(now).expect("early"); 32]).hash();
    let used = PasskeyUse {
        passkey: passkey.clone(),
        credential: format!("{{\"counter\":{now}}}"),
        begun_at: at(begun),
    };
    let mut signing_in = action(fixture, "sign_in", "psk_1", now);
    signing_in.id = purser_model::ActionId::new(at(now), u128::from(token.beginning()));
    let done = fixture.store.sessions.insert_session(&token, &signing_in, Some(&used)).await;
    done.expect("done").then_some(token)
}

#[tokio::test]
async fn a_passkey_opens_one_session_for_each_challenge() {
    let Some(fixture) = fixture().await else { return };
    let passkey = passkey(&fixture.key, 1, 5);
    adds(&fixture, &passkey, 4).await.expect("inserted");
    let sessions = &fixture.store.sessions;
    let (read, key, operator) =
        sessions.find_passkey(&passkey.credential_id).await.expect("read").expect("there");
    assert_eq!((&read, key.id, operator), (&passkey, fixture.key.id, fixture.operator.clone()));
    assert!(sessions.find_passkey("credential").await.expect("read").is_none());
    signs_in(&fixture, &read, 10, 12).await.expect("its first");
    assert_eq!(signs_in(&fixture, &read, 13, 14).await, None, "what was read is old by now");
    let read = reads(&fixture, &passkey).await.expect("there");
    assert_eq!((read.used_at, read.credential.as_str()), (Some(at(12)), "{\"counter\":12}"));
    assert_eq!(signs_in(&fixture, &read, 10, 15).await, None, "the same challenge");
    assert_eq!(signs_in(&fixture, &read, 12, 15).await, None, "one of the same moment");
    signs_in(&fixture, &read, 13, 15).await.expect("a later one");
    let listed = fixture.store.actions.list_actions(fixture.operator.id, &Default::default(), None, 9).await;
    assert_eq!(listed.expect("read").len(), 2, "what was refused is not on record");
}

#[tokio::test]
async fn what_a_session_does_names_its_passkey_also_where_that_or_its_record_is_gone() {
    let Some(fixture) = fixture().await else { return };
    let actions = &fixture.store.actions;
    let session = |byte: u8| SessionId::of(&SessionToken::new([byte; 32]).hash());
    // One whose record is there, one whose record is too old for that, and a session by key.
    let [known, old] = [1, 2].map(|byte| passkey(&fixture.key, byte, 5 + i64::from(byte)));
    for (passkey, begun) in [(&known, 4), (&old, 7)] {
        adds(&fixture, passkey, begun).await.expect("inserted");
    }
    let mut record = action(&fixture, "add_passkey", "key_1", 10);
    record.made_id = known.id.to_string().parse().ok();
    record.after = serde_json::value::RawValue::from_string("{\"name\":\"a phone\"}".to_owned()).ok();
    actions.insert_action(&record).await.expect("inserted");
    for (byte, object) in [(1, known.id.to_string()), (2, old.id.to_string()), (3, "key_1".to_owned())] {
        let mut signing_in = action(&fixture, "sign_in", &object, 10 + i64::from(byte));
        signing_in.session_id = Some(session(byte));
        signing_in.made_id = session(byte).to_string().parse().ok();
        actions.insert_action(&signing_in).await.expect("inserted");
        let mut done = action(&fixture, "create_key", "acct_1", 20 + i64::from(byte));
        done.session_id = Some(session(byte));
        done.id = ActionId::new(at(20 + i64::from(byte)), 8);
        actions.insert_action(&done).await.expect("inserted");
    }
    let names = async |filter: ActionFilter| {
        let listed = actions.list_actions(fixture.operator.id, &filter, None, 9).await.expect("read");
        listed.into_iter().map(|listed| listed.passkey_name).collect::<Vec<_>>()
    };
    let of = |name: &str| ActionFilter { name: name.parse().ok(), ..ActionFilter::default() };
    let named = |first: &str| vec![None, Some("phone 2".to_owned()), Some(first.to_owned())];
    assert_eq!(names(of("create_key")).await, named("phone 1"));
    assert_eq!(names(of("sign_in")).await, named("phone 1"));
    assert_eq!(names(of("add_passkey")).await, [None]);
    let of_object = ActionFilter { object_id: "acct_1".parse().ok(), ..ActionFilter::default() };
    assert_eq!(names(of_object).await, named("phone 1"));
    fixture.store.sessions.delete_passkey(fixture.key.id, known.id).await.expect("done");
    assert_eq!(names(of("create_key")).await, named("a phone"));
}

#[tokio::test]
async fn a_passkey_that_is_removed_ends_its_sessions_and_no_others() {
    let Some(fixture) = fixture().await else { return };
    let sessions = &fixture.store.sessions;
    let [lost, kept] = [1, 2].map(|byte| passkey(&fixture.key, byte, 5 + i64::from(byte)));
    adds(&fixture, &lost, 4).await.expect("inserted");
    adds(&fixture, &kept, 7).await.expect("inserted");
    let of_lost = signs_in(&fixture, &lost, 10, 11).await.expect("signed in");
    let of_kept = signs_in(&fixture, &kept, 10, 12).await.expect("signed in");
    assert!(!sessions.delete_passkey(KeyId::from_bytes([9; 16]), lost.id).await.expect("done"));
    assert!(sessions.find_session(&of_lost).await.expect("read").is_some());
    assert!(sessions.delete_passkey(fixture.key.id, lost.id).await.expect("done"));
    assert!(!sessions.delete_passkey(fixture.key.id, lost.id).await.expect("done"));
    assert!(sessions.find_session(&of_lost).await.expect("read").is_none());
    assert!(sessions.find_session(&of_kept).await.expect("read").is_some());
    assert_eq!(signs_in(&fixture, &lost, 13, 14).await, None);
}

#[tokio::test]
async fn passkeys_are_listed_with_their_operator_while_their_key_lasts() {
    let Some(fixture) = fixture().await else { return };
    let sessions = &fixture.store.sessions;
    for byte in [1, 2] {
        let passkey = passkey(&fixture.key, byte, i64::from(byte));
        adds(&fixture, &passkey, i64::from(byte)).await.expect("inserted");
    }
    let listed = async |operator: OperatorId| {
        let listed = sessions.list_passkeys(operator, at(9), 9).await.expect("read");
        listed.into_iter().map(|(passkey, key)| (passkey.name, key.id)).collect::<Vec<_>>()
    };
    let names = ["phone 2", "phone 1"].map(|name| (name.to_owned(), fixture.key.id));
    assert_eq!(listed(fixture.operator.id).await, names);
    assert_eq!(listed(operator(9).id).await, []);
    fixture.store.keys.mark_key_revoked(fixture.operator.id, fixture.key.id, at(8)).await.expect("done");
    assert_eq!(listed(fixture.operator.id).await, []);
}

#[tokio::test]
async fn a_key_has_so_many_passkeys_and_each_challenge_makes_one() {
    let Some(fixture) = fixture().await else { return };
    let most = u8::try_from(PASSKEYS_PER_KEY_MAX).expect("few");
    for byte in 1..=most {
        let passkey = passkey(&fixture.key, byte, 2 * i64::from(byte));
        adds(&fixture, &passkey, 2 * i64::from(byte) - 1).await.expect("inserted");
    }
    let full = adds(&fixture, &passkey(&fixture.key, most + 1, 99), 98).await;
    assert!(matches!(full, Err(StoreError::Full)), "{full:?}");
    fixture
        .store
        .sessions
        .delete_passkey(fixture.key.id, PasskeyId::from_bytes([1; 16]))
        .await
        .expect("done");
    let again = adds(&fixture, &passkey(&fixture.key, 2, 99), 98).await;
    assert!(matches!(again, Err(StoreError::AlreadyThere)), "{again:?}");
    let late = adds(&fixture, &passkey(&fixture.key, most + 1, 99), 2 * i64::from(most)).await;
    assert!(matches!(late, Err(StoreError::AlreadyThere)), "another was made since: {late:?}");
    adds(&fixture, &passkey(&fixture.key, most + 1, 99), 98).await.expect("inserted");
}
