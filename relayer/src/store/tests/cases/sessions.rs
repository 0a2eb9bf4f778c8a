use super::*;
use crate::domain::{SESSION_LIFE_MAX, SESSIONS_PER_KEY_MAX, Session, SessionToken};

#[tokio::test]
async fn a_session_is_found_by_its_token_until_it_is_ended() {
    let Some(fixture) = fixture().await else { return };
    let (store, token) = (&fixture.store, SessionToken::new([7; 32]).hash());
    assert!(store.sessions.find_session(&token).await.expect("read").is_none());
    store.sessions.insert_session(&token, fixture.key.id, at(5)).await.expect("inserted");
    let (session, key, operator) = store.sessions.find_session(&token).await.expect("read").expect("there");
    assert_eq!(session, Session { started_at: at(5), used_at: at(5) });
    assert_eq!((key.id, operator), (fixture.key.id, fixture.operator.clone()));
    store.sessions.mark_session_used(&token, at(7)).await.expect("done");
    store.sessions.mark_session_used(&token, at(6)).await.expect("done");
    let (session, ..) = store.sessions.find_session(&token).await.expect("read").expect("there");
    assert_eq!(session, Session { started_at: at(5), used_at: at(7) }, "what is later stays");
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
    fixture.store.sessions.insert_session(&old, fixture.key.id, at(0)).await.expect("inserted");
    fixture.store.sessions.insert_session(&young, fixture.key.id, at(9)).await.expect("inserted");
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
        store.sessions.insert_session(token, fixture.key.id, at(second)).await.expect("inserted");
    }
    assert!(store.sessions.find_session(&tokens[0]).await.expect("read").is_none(), "the oldest");
    for token in &tokens[1..] {
        assert!(store.sessions.find_session(token).await.expect("read").is_some());
    }
}
