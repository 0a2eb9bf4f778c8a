use serde_json::value::RawValue;

use super::*;

#[tokio::test]
async fn an_account_comes_back_as_it_was_written() {
    let Some(fixture) = fixture().await else { return };
    let json = RawValue::from_string(r#"{"n": 1.10, "s":"\u0000"}"#.into()).expect("JSON");
    let texts = ["acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", "11111111111111111111111111111111"];
    let written = Account {
        metadata: Some(Metadata::parse(&json).expect("valid")),
        counterparties: Counterparties::from_texts(&texts).expect("valid"),
        status: AccountStatus::Paused,
        ..account(&fixture.operator, 50)
    };
    fixture.store.insert_account(&written).await.expect("inserted");
    let read = fixture.reopen().await.find_account(fixture.operator.id, written.id).await;
    assert_eq!(format!("{:?}", read.expect("read").expect("there")), format!("{written:?}"));
}

#[tokio::test]
async fn an_account_is_hidden_until_it_is_ready() {
    let Some(fixture) = fixture().await else { return };
    let (operator, store) = (fixture.operator.id, &fixture.store);
    let requested = Account { provisioning: Provisioning::Requested, ..account(&fixture.operator, 50) };
    store.insert_account(&requested).await.expect("inserted");
    assert!(store.find_account(operator, requested.id).await.expect("read").is_none());
    assert!(store.find_accounts(operator, &[requested.id]).await.expect("read").is_empty());
    assert_eq!(store.list_accounts(operator, None, None, 10).await.expect("read").len(), 1);
    assert!(store.list_requested_accounts(at(50), 10).await.expect("read").is_empty(), "not old enough");
    assert_eq!(store.list_requested_accounts(at(51), 10).await.expect("read")[0].id, requested.id);
    store.mark_account_ready(operator, requested.id).await.expect("marked");
    assert!(store.find_account(operator, requested.id).await.expect("read").is_some());
    assert!(store.list_requested_accounts(at(51), 10).await.expect("read").is_empty());
    store.delete_requested_account(operator, requested.id).await.expect("nothing to do");
    assert!(
        store.find_account(operator, requested.id).await.expect("read").is_some(),
        "a ready account stays"
    );
}

#[tokio::test]
async fn an_account_that_never_came_to_be_is_forgotten() {
    let Some(fixture) = fixture().await else { return };
    let requested = Account { provisioning: Provisioning::Requested, ..account(&fixture.operator, 50) };
    fixture.store.insert_account(&requested).await.expect("inserted");
    fixture.store.delete_requested_account(fixture.operator.id, requested.id).await.expect("deleted");
    assert!(fixture.store.list_requested_accounts(at(99), 10).await.expect("read").is_empty());
}

#[tokio::test]
async fn another_operators_account_is_not_found() {
    let Some(fixture) = fixture().await else { return };
    let stranger = OperatorId::from_bytes([99; 16]);
    let id = fixture.account.id;
    let policy = Counterparties::Only(vec![]);
    fixture.store.mark_account_policy(stranger, id, AccountStatus::Paused, &policy).await.expect("no row");
    assert!(fixture.store.find_account(stranger, id).await.expect("read").is_none());
    assert!(fixture.store.find_accounts(stranger, &[id]).await.expect("read").is_empty());
    assert!(fixture.store.list_accounts(stranger, None, None, 10).await.expect("read").is_empty());
    let own = fixture.store.find_account(fixture.operator.id, id).await.expect("read").expect("there");
    assert_eq!((own.status, own.counterparties), (AccountStatus::Active, Counterparties::Anyone));
}

#[tokio::test]
async fn accounts_are_listed_newest_first_and_by_status() {
    let Some(fixture) = fixture().await else { return };
    let (operator, store) = (fixture.operator.id, &fixture.store);
    for byte in 10..15 {
        store.insert_account(&account(&fixture.operator, byte)).await.expect("inserted");
    }
    let id = |byte: u8| AccountId::from_bytes([byte; 16]);
    let list = async |status, after, rows_max| {
        let rows = store.list_accounts(operator, status, after, rows_max).await.expect("listed");
        rows.into_iter().map(|account| account.id.bytes()[0]).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None, 3).await, [14, 13, 12]);
    store.insert_account(&account(&fixture.operator, 20)).await.expect("inserted");
    assert_eq!(list(None, Some(id(12)), 3).await, [11, 10, 2], "a new account does not shift the next page");
    store
        .mark_account_policy(operator, id(11), AccountStatus::Paused, &Counterparties::Anyone)
        .await
        .expect("marked");
    assert_eq!(list(Some(AccountStatus::Paused), None, 10).await, [11]);
    assert_eq!(list(Some(AccountStatus::Active), None, 10).await, [20, 14, 13, 12, 10, 2]);
    store.mark_account_status(operator, id(11), AccountStatus::Active).await.expect("marked");
    assert!(list(Some(AccountStatus::Paused), None, 10).await.is_empty());
}

#[tokio::test]
async fn an_operator_address_is_there_once_per_network() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let twin = Operator { id: OperatorId::from_bytes([77; 16]), ..fixture.operator.clone() };
    assert!(matches!(store.insert_operator(&twin).await, Err(StoreError::AlreadyThere)));
    let live = Operator { network: Network::Live, ..twin };
    store.insert_operator(&live).await.expect("inserted");
    let found = store.find_operator_by_address(Network::Live, &live.address).await.expect("read");
    assert_eq!(found.as_ref(), Some(&live));
    assert_eq!(store.find_operator(fixture.operator.id).await.expect("read"), Some(fixture.operator.clone()));
    assert_eq!(store.list_operators().await.expect("read"), [fixture.operator.clone(), live]);
}
