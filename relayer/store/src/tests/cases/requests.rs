//! Named requests: one seed and one answer per name, and one worker at a time.

use super::*;
use crate::{Due, NewRequest, RequestClaim, RequestState};

const DAY: i64 = 86_400;

/// `body` under `name`, at `seconds`, with a lease of 30 s.
fn asked(fixture: &Fixture, name: &str, body: &str, seconds: i64) -> NewRequest {
    NewRequest {
        operator_id: fixture.operator.id,
        idempotency_key: IdempotencyKey::parse(name).expect("valid"),
        fingerprint: request_fingerprint("POST", "/v1/accounts", body.as_bytes()),
        key_id: fixture.key.id,
        seed: Seed::new(rand::random()),
        lease: format!("{:032x}", rand::random::<u128>()),
        now: at(seconds),
        lease_expires_at: at(seconds + 30),
        forgotten_before: Some(at(seconds - DAY)),
    }
}

fn answer(text: &str) -> StoredAnswer {
    StoredAnswer { status: 201, body: StoredBody::Plain(text.into()) }
}

async fn claims(fixture: &Fixture, new: &NewRequest) -> RequestClaim {
    fixture.store.requests.claim_request(new).await.expect("claimed")
}

fn mine(first: &NewRequest, is_first: bool) -> RequestClaim {
    RequestClaim::Mine { seed: first.seed, drawn_at: first.now, is_first }
}

#[tokio::test]
async fn a_name_is_claimed_once_and_its_answer_given_again() {
    let Some(fixture) = fixture().await else { return };
    let first = asked(&fixture, "a", "{}", 0);
    assert_eq!(claims(&fixture, &first).await, mine(&first, true));
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 29)).await, RequestClaim::Running);
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{ }", 29)).await, RequestClaim::Conflict);
    fixture.store.requests.mark_request_answered(&first, &answer("one")).await.expect("kept");
    fixture.store.requests.mark_request_answered(&first, &answer("two")).await.expect("nothing to do");
    let again = RequestClaim::Answered { seed: first.seed, answer: answer("one") };
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 99)).await, again);
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{ }", 99)).await, RequestClaim::Conflict);
    for ended in [&first, &asked(&fixture, "a", "{}", 99)] {
        fixture.store.requests.lease_request(ended, at(99)).await.expect("nothing to do");
        fixture.store.requests.delete_request(ended).await.expect("nothing to do");
    }
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 99)).await, again);
    let other = asked(&fixture, "b", "{}", 99);
    assert_eq!(claims(&fixture, &other).await, mine(&other, true));
}

#[tokio::test]
async fn names_are_their_operators_own() {
    let Some(fixture) = fixture().await else { return };
    let others = operator(40);
    fixture.store.operators.insert_operator(&others).await.expect("inserted");
    let first = asked(&fixture, "a", "{}", 0);
    let theirs = NewRequest { operator_id: others.id, ..asked(&fixture, "a", "{ }", 0) };
    assert_eq!(claims(&fixture, &first).await, mine(&first, true));
    assert_eq!(claims(&fixture, &theirs).await, mine(&theirs, true));
}

#[tokio::test]
async fn abandoned_request_is_taken_up_once_with_the_same_seed_and_api_key() {
    let Some(fixture) = fixture().await else { return };
    let (other_key, plain) = key(&fixture.operator, KeyHolder::Operator, 60);
    fixture.store.keys.insert_key(&other_key, &plain.hash()).await.expect("inserted");
    let left = asked(&fixture, "a", "{}", 0);
    claims(&fixture, &left).await;
    let other = NewRequest { key_id: other_key.id, ..asked(&fixture, "a", "{}", 30) };
    assert_eq!(claims(&fixture, &other).await, RequestClaim::OfOtherApiKey);
    let contenders: Vec<NewRequest> = (0..8).map(|_| asked(&fixture, "a", "{}", 30)).collect();
    let found = futures::future::join_all(contenders.iter().map(|new| claims(&fixture, new))).await;
    let winners: Vec<usize> = (0..8).filter(|at| found[*at] == mine(&left, false)).collect();
    assert_eq!(winners.len(), 1, "{found:?}");
    assert_eq!(found.iter().filter(|claim| **claim == RequestClaim::Running).count(), 7);
    // A holder that returns late writes nothing.
    fixture.store.requests.mark_request_answered(&left, &answer("late")).await.expect("nothing to do");
    fixture.store.requests.delete_request(&left).await.expect("nothing to do");
    fixture.store.requests.lease_request(&left, at(31)).await.expect("nothing to do");
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 31)).await, RequestClaim::Running);
    fixture.store.requests.lease_request(&contenders[winners[0]], at(31)).await.expect("released");
    let next = asked(&fixture, "a", "{}", 31);
    assert_eq!(claims(&fixture, &next).await, mine(&left, false));
    let sealed = StoredAnswer { status: 200, body: StoredBody::Sealed("x".into()) };
    fixture.store.requests.mark_request_answered(&next, &sealed).await.expect("kept");
    let again = RequestClaim::Answered { seed: left.seed, answer: sealed };
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 32)).await, again);
}

#[tokio::test]
async fn one_of_many_concurrent_claims_gets_the_name() {
    let Some(fixture) = fixture().await else { return };
    let all: Vec<NewRequest> = (0..8).map(|_| asked(&fixture, "a", "{}", 0)).collect();
    let found = futures::future::join_all(all.iter().map(|new| claims(&fixture, new))).await;
    let firsts = found.iter().filter(|claim| matches!(claim, RequestClaim::Mine { is_first: true, .. }));
    assert_eq!(firsts.count(), 1, "{found:?}");
    assert_eq!(found.iter().filter(|claim| **claim == RequestClaim::Running).count(), 7);
}

#[tokio::test]
async fn a_name_is_free_after_a_refusal_and_after_a_day() {
    let Some(fixture) = fixture().await else { return };
    let refused = asked(&fixture, "a", "{", 0);
    claims(&fixture, &refused).await;
    fixture.store.requests.delete_request(&refused).await.expect("deleted");
    let first = asked(&fixture, "a", "{}", 1);
    assert_eq!(claims(&fixture, &first).await, mine(&first, true));
    fixture.store.requests.mark_request_answered(&first, &answer("one")).await.expect("kept");
    assert!(matches!(
        claims(&fixture, &asked(&fixture, "a", "{}", DAY)).await,
        RequestClaim::Answered { .. }
    ));
    let alone = NewRequest { forgotten_before: None, ..asked(&fixture, "a", "{ }", DAY + 1) };
    assert_eq!(claims(&fixture, &alone).await, RequestClaim::MayBeForgotten, "one clock does not decide");
    let kept = NewRequest { forgotten_before: Some(at(0)), ..asked(&fixture, "a", "{ }", DAY + 1) };
    assert_eq!(claims(&fixture, &kept).await, RequestClaim::Conflict);
    let next = asked(&fixture, "a", "{ }", DAY + 1);
    assert_eq!(claims(&fixture, &next).await, mine(&next, true));
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{ }", DAY + 2)).await, RequestClaim::Running);
}

#[tokio::test]
async fn old_requests_are_deleted_a_few_at_a_time() {
    let Some(fixture) = fixture().await else { return };
    for (name, seconds) in [("a", 0), ("b", 1), ("c", 2), ("d", 10)] {
        claims(&fixture, &asked(&fixture, name, "{}", seconds)).await;
    }
    let old = Retention::default().too_old(at(DAY + 5));
    for deleted in [2, 1, 0] {
        assert_eq!(fixture.store.upkeep.clean_up(&old, 2).await.expect("cleaned"), deleted);
    }
    assert_eq!(claims(&fixture, &asked(&fixture, "d", "{}", 11)).await, RequestClaim::Running);
    let a = asked(&fixture, "a", "{}", 11);
    assert_eq!(claims(&fixture, &a).await, mine(&a, true));
}

#[tokio::test]
async fn a_request_stands_as_running_while_its_process_shows_itself_and_as_left_afterwards() {
    let Some(fixture) = fixture().await else { return };
    let due = |seconds| Due::within(at(seconds), Duration::from_secs(30));
    let stands = async |key: &IdempotencyKey, seconds| {
        let found = fixture.store.requests.find_request_state(fixture.operator.id, key, due(seconds)).await;
        found.expect("read")
    };
    let long = asked(&fixture, "a", "{}", 0);
    assert_eq!(stands(&long.idempotency_key, 0).await, RequestState::Left, "there is none");
    claims(&fixture, &long).await;
    assert_eq!(stands(&long.idempotency_key, 29).await, RequestState::Running);
    assert_eq!(stands(&long.idempotency_key, 30).await, RequestState::Left);
    fixture.store.requests.lease_request(&long, at(60)).await.expect("held");
    assert_eq!(stands(&long.idempotency_key, 59).await, RequestState::Running);
    assert_eq!(claims(&fixture, &asked(&fixture, "a", "{}", 59)).await, RequestClaim::Running);
    // Its lease was written by a clock that was ahead.
    assert_eq!(stands(&long.idempotency_key, -31).await, RequestState::Left);
    fixture.store.requests.mark_request_answered(&long, &answer("one")).await.expect("kept");
    assert_eq!(stands(&long.idempotency_key, 99).await, RequestState::Answered(answer("one")));
    let stranger = OperatorId::from_bytes([99; 16]);
    let theirs = fixture.store.requests.find_request_state(stranger, &long.idempotency_key, due(1)).await;
    assert_eq!(theirs.expect("read"), RequestState::Left);
}
