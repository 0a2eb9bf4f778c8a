//! Text that one of the databases would refuse must not reach it.

use serde_json::value::RawValue;

use super::*;

#[tokio::test]
async fn text_with_nul_is_refused_before_it_reaches_the_database() {
    assert!(Label::parse("a\0b").is_err());
    assert!(Label::parse("a\0b").is_err());
    assert!(Memo::parse("a\0b").is_err());
    assert!(IdempotencyKey::parse("a\0b").is_err());
    assert!(Recipient::parse("a\0b").is_err());
}

#[tokio::test]
async fn a_nul_in_metadata_stays_the_escape_it_was() {
    let Some(fixture) = fixture().await else { return };
    let json = RawValue::from_string(r#"{"\u0000": "\u0000\ud83d\ude00"}"#.into()).expect("JSON");
    let written =
        Account { metadata: Some(Metadata::parse(&json).expect("valid")), ..account(&fixture.operator, 50) };
    fixture.store.accounts.insert_account(&written).await.expect("inserted");
    let read = fixture.store.accounts.find_account(fixture.operator.id, written.id).await.expect("read");
    assert_eq!(read.expect("there").metadata.expect("there").json().get(), json.get());
}

#[tokio::test]
async fn the_longest_texts_of_four_byte_characters_fit() {
    let Some(fixture) = fixture().await else { return };
    let mut transfer = fixture.transfer(1, &"\u{1F600}".repeat(128));
    transfer.transfer.request.memo = Some(Memo::parse("\u{1F600}".repeat(200)).expect("valid"));
    transfer.transfer.request.to = Recipient::parse("\u{1F600}".repeat(200)).expect("valid");
    let claimed = fixture.claim_new(&transfer, 0).await;
    let read = fixture.store.transfers.find_transfer(fixture.operator.id, claimed.id).await.expect("read");
    assert_eq!(read.expect("there").request, transfer.transfer.request);
}
