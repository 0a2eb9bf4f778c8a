use super::*;

#[tokio::test]
async fn tags_of_payments_made_from_here_are_found_and_no_others() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let mut tags = Vec::new();
    for (number, name) in [
        "claimed",
        "signed",
        "sent",
        "settled",
        "found",
        "found after a try",
        "failed",
        "expired",
        "rejected",
    ]
    .into_iter()
    .enumerate()
    {
        let number = u8::try_from(number).expect("few");
        let new = fixture.transfer(number, name);
        tags.push(new.id.tag());
        let claimed = fixture.claim_new(&new, 0).await;
        let sign = async || store.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
        let found = Settlement { signature: "signature-of-another".into(), ..settlement(2) };
        match name {
            "signed" => drop(sign().await),
            "sent" => drop(store.mark_sent(&sign().await, at(2)).await.expect("sent")),
            "settled" => {
                drop(store.mark_settled(&sign().await, settlement(2), at(2)).await.expect("settled"))
            }
            "found" => drop(store.mark_settled(&claimed, found, at(2)).await.expect("settled")),
            "found after a try" => {
                drop(store.mark_settled(&sign().await, found, at(2)).await.expect("settled"))
            }
            "failed" => {
                drop(
                    store
                        .mark_failed(&claimed, failure(FailureCode::Interrupted), at(2))
                        .await
                        .expect("failed"),
                );
            }
            "expired" => {
                let failure = failure(FailureCode::TransferExpired);
                drop(store.mark_failed(&sign().await, failure, at(2)).await.expect("failed"));
            }
            "rejected" => {
                let rejection = rejection(RejectionReason::Paused);
                drop(store.mark_rejected(&claimed, rejection, at(2)).await.expect("rejected"));
            }
            _ => {}
        }
    }
    tags.push(77);
    let mut made = fixture.reopen().await.find_made_tags(&fixture.account, &tags).await.expect("found");
    made.sort_unstable();
    let mut expected = [(tags[1], false), (tags[2], false), (tags[3], true)];
    expected.sort_unstable();
    assert_eq!(made, expected);
    assert!(store.find_made_tags(&fixture.account, &[]).await.expect("found").is_empty());
    let other = account(&fixture.operator, 50);
    assert!(store.find_made_tags(&other, &tags).await.expect("found").is_empty());
}

#[tokio::test]
async fn what_landed_is_kept_by_account_until_it_is_old() {
    let Some(fixture) = fixture().await else { return };
    let (store, account) = (&fixture.store, &fixture.account);
    let listed = async |since| {
        let mut listed = fixture.reopen().await.list_landed_tags(account, at(since)).await.expect("listed");
        listed.sort_unstable();
        listed
    };
    let landed = |tag, seconds, is_read| LandedTag { tag, landed_at: at(seconds), is_read };
    let keep = async |landed: &[LandedTag], since| {
        store.keep_landed_tags(account, landed, at(since)).await.expect("kept");
    };
    keep(&[landed(u64::MAX, 10, false), landed(0, 20, true)], 0).await;
    assert_eq!(listed(10).await, [landed(0, 20, true), landed(u64::MAX, 10, false)]);
    assert_eq!(listed(11).await, [landed(0, 20, true)]);
    // Seen again, and once more a day later.
    keep(&[landed(0, 19, false), landed(u64::MAX, 30, true)], 0).await;
    assert_eq!(listed(0).await, [landed(0, 20, true), landed(u64::MAX, 30, true)]);
    keep(&[], 21).await;
    assert_eq!(listed(0).await, [landed(u64::MAX, 30, true)]);
    let other = super::super::account(&fixture.operator, 50);
    assert!(store.list_landed_tags(&other, at(0)).await.expect("listed").is_empty());
}
