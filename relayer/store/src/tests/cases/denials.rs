//! Every refusal gets one denial, in one chain per operator, whoever extends it; nothing is deleted before that.

use super::*;
use crate::Due;

const DAY: i64 = 86_400;
const KEY: Address = Address::from_bytes([7; 32]);

async fn refuses(fixture: &Fixture, number: u8) -> Transfer {
    let claimed = fixture.claim_new(&fixture.transfer(number, &format!("key {number}")), 0).await;
    let rejected =
        fixture.store.transfers.mark_rejected(&claimed, rejection(RejectionReason::Paused), at(1)).await;
    rejected.expect("rejected")
}

/// The next denials in the operator's chain, for these refusals.
async fn next(fixture: &Fixture, refused: &[Refused]) -> Vec<Denial> {
    let mut head = fixture.store.denials.find_denial_head(fixture.operator.id).await.expect("read");
    let mut denials = Vec::new();
    for one in refused {
        let document = Denial::document_of(one, &head, KEY).expect("refused");
        let denial = Denial::signed(&head, one.transfer.id, document, [1; 64]);
        head = denial.head();
        denials.push(denial);
    }
    denials
}

async fn undenied(store: &Store) -> Vec<Refused> {
    store.denials.list_undenied(100).await.expect("listed")
}

async fn signs(fixture: &Fixture) -> Vec<Denial> {
    let denials = next(fixture, &undenied(&fixture.store).await).await;
    fixture.store.denials.append_denials(fixture.operator.id, &denials).await.expect("appended");
    denials
}

#[tokio::test]
async fn each_refusal_is_signed_once_in_the_order_in_which_they_were_found() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    fixture.claim_new(&fixture.transfer(100, "open"), 0).await;
    let failed = fixture.claim_new(&fixture.transfer(101, "failed"), 0).await;
    store
        .transfers
        .mark_failed(&failed, failure(FailureCode::SolanaUnavailable), at(1))
        .await
        .expect("failed");
    assert!(undenied(store).await.is_empty(), "what was not refused");
    let first = refuses(&fixture, 1).await;
    let signed_first = signs(&fixture).await;
    // Its id is lower, and the clock gives it the same refusal time.
    let second = refuses(&fixture, 0).await;
    let found = undenied(store).await;
    assert_eq!(found[0].account, fixture.account.address);
    assert_eq!(found[0].operator, fixture.operator.address);
    let signed_second = signs(&fixture).await;
    assert!(undenied(&fixture.reopen().await).await.is_empty());
    let listed = store.denials.list_denials_up(fixture.operator.id, 0, 10).await.expect("listed");
    assert_eq!(listed, [signed_first, signed_second].concat());
    assert_eq!(
        listed.iter().map(|one| (one.number, one.transfer_id)).collect::<Vec<_>>(),
        [(1, first.id), (2, second.id)]
    );
    let backwards = store.denials.list_denials(fixture.operator.id, 0, None, 10).await.expect("listed");
    assert_eq!(backwards.iter().map(|one| one.number).collect::<Vec<_>>(), [2, 1]);
    let page = |above, below| store.denials.list_denials(fixture.operator.id, above, below, 10);
    assert_eq!(page(0, Some(2)).await.expect("listed").len(), 1);
    assert_eq!(page(1, None).await.expect("listed").len(), 1);
    assert!(page(u64::MAX, Some(u64::MAX)).await.expect("listed").is_empty());
    assert!(store.denials.list_denials_up(operator(9).id, 0, 10).await.expect("listed").is_empty());
}

#[tokio::test]
async fn one_of_two_relayers_extends_a_chain_and_it_has_no_fork() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    for number in 0..3 {
        refuses(&fixture, number).await;
    }
    let found = undenied(&other).await;
    // Both read the same end of the chain, but one has seen more.
    let (ours, theirs) = (next(&fixture, &found[..2]).await, next(&fixture, &found).await);
    fixture.store.denials.append_denials(fixture.operator.id, &ours).await.expect("appended");
    let late = other.denials.append_denials(fixture.operator.id, &theirs).await;
    assert!(matches!(late, Err(StoreError::AlreadyThere)), "{late:?}");
    // The numbers are free, but the transfers already have denials.
    let twice = next(&fixture, &found[..1]).await;
    let twice = other.denials.append_denials(fixture.operator.id, &twice).await;
    assert!(matches!(twice, Err(StoreError::AlreadyThere)), "{twice:?}");
    assert_eq!(undenied(&other).await.len(), 1, "nothing of it was written");
    signs(&fixture).await;
    let listed = fixture.store.denials.list_denials_up(fixture.operator.id, 0, 10).await.expect("listed");
    assert_eq!(listed.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2, 3]);
    // A transfer that was not refused gets no denial.
    let open = fixture.claim_new(&fixture.transfer(9, "open"), 0).await;
    let made_up = Denial { number: 4, transfer_id: open.id, ..listed[0].clone() };
    let made_up = other.denials.append_denials(fixture.operator.id, &[made_up]).await;
    assert!(matches!(made_up, Err(StoreError::Superseded)), "{made_up:?}");
    assert_eq!(fixture.store.denials.find_denial_head(fixture.operator.id).await.expect("read").number, 3);
}

#[tokio::test]
async fn a_refusal_is_kept_until_its_denial_is_signed_and_the_denial_for_ever() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let begun = async |number: u8| {
        let new = fixture.transfer(number, &number.to_string());
        let id = TransferId::with_tag(at(0), u128::from(number), new.transfer.id.tag());
        let claimed = fixture.claim_new(&new_transfer(Transfer { id, ..new.transfer }), 0).await;
        store
            .transfers
            .mark_rejected(&claimed, rejection(RejectionReason::Paused), at(1))
            .await
            .expect("rejected")
    };
    let is_there = async |transfer: &Transfer| {
        store.transfers.find_transfer(fixture.operator.id, transfer.id).await.expect("read").is_some()
    };
    let cleans_up = async |old: &TooOld| {
        store.events.place_waiting(at(2)).await.expect("placed");
        while store.upkeep.clean_up(old, 10).await.expect("cleaned") > 0 {}
    };
    let unsigned = Retention::of_days(2, 2, 2).too_old(at(10 * DAY));
    let signed = TooOld { refusals_are_signed: true, ..unsigned };
    let early = begun(1).await;
    signs(&fixture).await;
    let late = begun(2).await;
    cleans_up(&signed).await;
    assert!(!is_there(&early).await && is_there(&late).await);
    signs(&fixture).await;
    cleans_up(&signed).await;
    assert!(!is_there(&late).await);
    assert_eq!(store.denials.list_denials_up(fixture.operator.id, 0, 10).await.expect("listed").len(), 2);
    // Without signing, cleaning does not wait for denials.
    let never = begun(3).await;
    cleans_up(&unsigned).await;
    assert!(!is_there(&never).await);
}

fn clock_at(seconds: i64) -> Due {
    Due { now: at(seconds), latest: at(seconds + 3_600) }
}

#[tokio::test]
async fn a_head_is_due_when_its_chain_went_on_and_one_relayer_writes_it() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator) = (&fixture.store, fixture.operator.id);
    let due = async |seconds: i64| {
        let due =
            store.denials.list_due_heads(fixture.operator.network, clock_at(seconds)).await.expect("listed");
        due.iter().map(|one| one.id).collect::<Vec<_>>()
    };
    let claims = async |store: &Store, seconds: i64| {
        store.denials.claim_head(operator, clock_at(seconds), at(seconds + 60)).await.expect("claimed")
    };
    assert!(due(0).await.is_empty(), "there is no chain");
    refuses(&fixture, 1).await;
    signs(&fixture).await;
    assert_eq!(due(0).await, [operator]);
    assert!(store.denials.list_due_heads(Network::Live, clock_at(0)).await.expect("listed").is_empty());
    let other = fixture.reopen().await;
    let (ours, theirs) = tokio::join!(claims(store, 0), claims(&other, 0));
    assert!(ours != theirs, "one of the two");
    assert!(due(59).await.is_empty() && !claims(store, 59).await);
    // The relayer that claimed it died.
    assert_eq!(due(60).await, [operator]);
    assert!(claims(&other, 60).await);
    other.denials.mark_head(operator, 1, "signature", at(3_700)).await.expect("marked");
    refuses(&fixture, 2).await;
    signs(&fixture).await;
    assert!(due(3_699).await.is_empty(), "not before its time");
    assert_eq!(due(3_700).await, [operator]);
    // A clock that was moved back does not delay it.
    assert_eq!(due(-100_000).await, [operator]);
    assert!(claims(store, -100_000).await);
    store.denials.mark_head(operator, 2, "signature", at(-96_400)).await.expect("marked");
    // A late answer undoes nothing.
    store.denials.mark_head(operator, 1, "late", at(-90_000)).await.expect("marked");
    assert!(due(1_000_000).await.is_empty(), "the chain did not go on");
}
