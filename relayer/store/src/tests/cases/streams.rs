//! Event streams: one order, in which nothing appears below what was already seen.

use tokio::task::JoinSet;

use super::*;

/// Announces an event, by a transfer that policy refuses.
async fn announces(store: &Store, fixture: &Fixture, number: u8) {
    let claimed = fixture.claim_new(&fixture.transfer(number, &number.to_string()), 0).await;
    store
        .transfers
        .mark_rejected(&claimed, rejection(RejectionReason::Paused), at(1))
        .await
        .expect("rejected");
}

async fn streamed(fixture: &Fixture, after: u64) -> Vec<(u64, Event)> {
    let store = &fixture.store;
    while store.events.place_events(fixture.operator.id, at(9), 3).await.expect("placed") {}
    store.events.list_stream(fixture.operator.id, after, 1_000).await.expect("listed")
}

#[tokio::test]
async fn stream_begins_after_what_is_written_and_goes_on_from_each_of_its_places() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    announces(store, &fixture, 1).await;
    assert_eq!(store.events.open_stream(fixture.operator.id, at(2)).await.expect("opened"), 1);
    assert!(streamed(&fixture, 1).await.is_empty());
    announces(store, &fixture, 2).await;
    announces(store, &fixture, 3).await;
    let events = streamed(&fixture, 1).await;
    assert_eq!(events.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.events.open_stream(fixture.operator.id, at(3)).await.expect("opened"), 3);
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(store.events.list_stream(stranger, 0, 10).await.expect("listed").is_empty());
    // The ids a reader can resume from.
    let [(_, one), (_, two)] = &events[..] else { panic!("two") };
    let can = async |place, event: Option<EventId>| {
        store.events.can_go_on(fixture.operator.id, place, event).await.expect("asked")
    };
    assert!(can(2, Some(one.id)).await && can(3, Some(two.id)).await && can(0, None).await);
    assert!(!can(2, Some(two.id)).await, "a database that was put back");
    assert!(!can(4, Some(two.id)).await && !can(4, None).await, "never given");
    // The first events are deleted: a reader who had them resumes, and one who did not has missed one.
    sql! {
        "DELETE FROM events WHERE operator_id = {operator_id} AND place <= 2",
        operator_id = one.operator_id
    }
    .execute(store.writer())
    .await
    .expect("deleted");
    assert!(can(2, Some(one.id)).await && !can(1, None).await && !can(0, None).await);
}

#[tokio::test]
async fn reader_that_goes_on_from_the_last_place_misses_nothing_that_many_write_at_once() {
    let Some(fixture) = fixture().await else { return };
    let fixture = std::sync::Arc::new(fixture);
    let other = fixture.reopen().await;
    let mut writers = JoinSet::new();
    for number in 0..60u8 {
        let fixture = fixture.clone();
        let store = if number % 2 == 0 { fixture.store.clone() } else { other.clone() };
        writers.spawn(async move { announces(&store, &fixture, number).await });
    }
    // Two readers, one per process, place and read while others write.
    let mut readers = JoinSet::new();
    for store in [fixture.store.clone(), other] {
        let operator = fixture.operator.id;
        readers.spawn(async move {
            let (mut after, mut seen) = (0, Vec::new());
            for _ in 0..4_000 {
                store.events.place_events(operator, at(9), 4).await.expect("placed");
                for (place, event) in store.events.list_stream(operator, after, 5).await.expect("listed") {
                    assert!(place > after);
                    after = place;
                    seen.push(event.id);
                }
                if seen.len() == 60 {
                    break;
                }
            }
            seen
        });
    }
    while let Some(written) = writers.join_next().await {
        written.expect("written");
    }
    let first = readers.join_next().await.expect("one").expect("read");
    let second = readers.join_next().await.expect("two").expect("read");
    assert_eq!(first.len(), 60);
    assert_eq!(first, second, "both in one order");
    let mut each = first.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!(each.len(), 60, "each once");
}
