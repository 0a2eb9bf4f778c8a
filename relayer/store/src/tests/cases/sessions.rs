use super::actions::action;
use super::*;
use purser_model::{
    ActionFilter, SESSION_IDLE_MAX, SESSION_LIFE_MAX, SESSIONS_PER_KEY_MAX, Session, SessionId, SessionToken,
};

/// Signs in at that second.
async fn signs_in(fixture: &Fixture, token: &HashedKey, seconds: i64) {
    let mut signing_in = action(fixture, "sign_in", "key_1", seconds);
    signing_in.id = purser_model::ActionId::new(at(seconds), u128::from(token.beginning()));
    assert!(fixture.store.sessions.insert_session(token, &signing_in, None).await.expect("inserted"));
}

#[tokio::test]
async fn a_session_is_found_by_its_token_until_it_is_ended() {
    let Some(fixture) = fixture().await else { return };
    let (store, token) = (&fixture.store, SessionToken::new([7; 32]).hash());
    assert!(store.sessions.find_session(&token).await.expect("read").is_none());
    signs_in(&fixture, &token, 5).await;
    let signed_in = store.actions.list_actions(fixture.operator.id, &ActionFilter::default(), None, 9).await;
    assert_eq!(signed_in.expect("read").len(), 1, "with its record");
    let (id, address) = (SessionId::of(&token), Some("2001:db8::1".parse().expect("an address")));
    let (session, key, operator) = store.sessions.find_session(&token).await.expect("read").expect("there");
    assert_eq!(session, Session { id, started_at: at(5), used_at: at(5), address });
    assert_eq!((key.id, operator), (fixture.key.id, fixture.operator.clone()));
    store.sessions.mark_session_used(&token, at(7)).await.expect("done");
    store.sessions.mark_session_used(&token, at(6)).await.expect("done");
    let (session, ..) = store.sessions.find_session(&token).await.expect("read").expect("there");
    assert_eq!(session, Session { id, started_at: at(5), used_at: at(7), address }, "what is later stays");
    store.keys.mark_key_revoked(fixture.operator.id, fixture.key.id, at(8)).await.expect("done");
    let (_, key, _) = store.sessions.find_session(&token).await.expect("read").expect("there");
    assert_eq!(key.revoked_at, Some(at(8)), "the key as it is now");
    store.sessions.delete_session(&token).await.expect("done");
    store.sessions.delete_session(&token).await.expect("done");
    assert!(store.sessions.find_session(&token).await.expect("read").is_none());
}

#[tokio::test]
async fn sessions_whose_life_is_over_are_deleted() {
    let Some(fixture) = fixture().await else { return };
    let [old, young] = [1, 2].map(|byte| SessionToken::new([byte; 32]).hash());
    signs_in(&fixture, &old, 0).await;
    signs_in(&fixture, &young, 9).await;
    let now = at(0).after(SESSION_LIFE_MAX);
    assert_eq!(fixture.store.sessions.delete_old_sessions(now, 10).await.expect("deleted"), 1);
    assert!(fixture.store.sessions.find_session(&old).await.expect("read").is_none());
    assert!(fixture.store.sessions.find_session(&young).await.expect("read").is_some());
}

#[tokio::test]
async fn a_key_has_so_many_sessions_and_one_more_ends_its_oldest() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let most = u8::try_from(SESSIONS_PER_KEY_MAX).expect("few");
    let tokens: Vec<_> = (0..=most).map(|byte| SessionToken::new([byte; 32]).hash()).collect();
    for (second, token) in (0_i64..).zip(&tokens) {
        assert!(store.sessions.find_session(&tokens[0]).await.expect("read").is_some() || second == 0);
        signs_in(&fixture, token, second).await;
    }
    assert!(store.sessions.find_session(&tokens[0]).await.expect("read").is_none(), "the oldest");
    for token in &tokens[1..] {
        assert!(store.sessions.find_session(token).await.expect("read").is_some());
    }
}

#[tokio::test]
async fn sessions_are_listed_while_they_last_and_end_by_name_or_all_but_one() {
    let Some(fixture) = fixture().await else { return };
    let sessions = &fixture.store.sessions;
    let tokens = [1, 2, 3].map(|byte| SessionToken::new([byte; 32]).hash());
    for (second, token) in (0..).zip(&tokens) {
        signs_in(&fixture, token, second).await;
    }
    let listed = async |seconds| {
        let listed = sessions.list_sessions(fixture.operator.id, at(seconds), 9).await.expect("read");
        listed.into_iter().map(|(session, key)| (session.id, key.id)).collect::<Vec<_>>()
    };
    let [first, second, third] = tokens.map(|token| SessionId::of(&token));
    let of = |id| (id, fixture.key.id);
    assert_eq!(listed(3).await, [of(third), of(second), of(first)]);
    sessions.mark_session_used(&tokens[1], at(900)).await.expect("done");
    let idle = i64::try_from(SESSION_IDLE_MAX.as_secs()).expect("short");
    assert_eq!(listed(idle + 10).await, [of(second)], "the others are idle");
    assert!(sessions.list_sessions(operator(9).id, at(3), 9).await.expect("read").is_empty());
    assert!(!sessions.delete_session_of(KeyId::from_bytes([9; 16]), first).await.expect("done"));
    assert!(sessions.delete_session_of(fixture.key.id, first).await.expect("done"));
    assert!(!sessions.delete_session_of(fixture.key.id, first).await.expect("done"));
    sessions.delete_other_sessions(fixture.key.id, third).await.expect("done");
    assert_eq!(listed(3).await, [of(third)]);
    fixture.store.keys.mark_key_revoked(fixture.operator.id, fixture.key.id, at(4)).await.expect("done");
    assert_eq!(listed(3).await, [], "the session of a revoked key opens nothing");
}
