use serde_json::value::RawValue;

use super::*;

#[tokio::test]
async fn an_account_comes_back_as_it_was_written() {
    let Some(fixture) = fixture().await else { return };
    let json = RawValue::from_string(r#"{"n": 1.10, "s":"\u0000"}"#.into()).expect("JSON");
    let written = Account {
        metadata: Some(Metadata::parse(&json).expect("valid")),
        allowlist_entries: 2,
        status: AccountStatus::Paused,
        approvals: ApprovalRule::Off,
        create_token_accounts: true,
        // New accounts may not have this name, but older databases may contain it.
        name: Label::from_stored("a\u{202e}b".into()),
        ..account(&fixture.operator, 50)
    };
    fixture.store.accounts.insert_account(&written).await.expect("inserted");
    let read = fixture.reopen().await.accounts.find_account(fixture.operator.id, written.id).await;
    assert_eq!(format!("{:?}", read.expect("read").expect("there")), format!("{written:?}"));
}

#[tokio::test]
async fn an_account_is_hidden_until_it_is_ready() {
    let Some(fixture) = fixture().await else { return };
    let (operator, store) = (fixture.operator.id, &fixture.store);
    let requested = account(&fixture.operator, 50);
    store.accounts.insert_account_within(&requested, Quotas::default()).await.expect("inserted");
    assert!(store.accounts.find_account(operator, requested.id).await.expect("read").is_none());
    assert!(store.accounts.find_accounts(operator, &[requested.id]).await.expect("read").is_empty());
    assert_eq!(store.accounts.list_accounts(operator, None, None, 10).await.expect("read").len(), 1);
    assert!(
        store.accounts.list_requested_accounts(at(50), 10).await.expect("read").is_empty(),
        "not old enough"
    );
    assert_eq!(store.accounts.list_requested_accounts(at(51), 10).await.expect("read")[0].id, requested.id);
    store.accounts.mark_account_ready(operator, requested.id).await.expect("marked");
    assert!(store.accounts.find_account(operator, requested.id).await.expect("read").is_some());
    assert!(store.accounts.list_requested_accounts(at(51), 10).await.expect("read").is_empty());
    store.accounts.delete_requested_account(operator, requested.id, at(99)).await.expect("nothing to do");
    assert!(
        store.accounts.mark_account_asked_again(operator, requested.id, at(99)).await.expect("nothing to do")
    );
    let ready = store
        .accounts
        .find_account(operator, requested.id)
        .await
        .expect("read")
        .expect("a ready account stays");
    assert_eq!(ready.created_at, requested.created_at);
}

#[tokio::test]
async fn an_account_that_never_came_to_be_is_forgotten() {
    let Some(fixture) = fixture().await else { return };
    let requested = account(&fixture.operator, 50);
    fixture.store.accounts.insert_account_within(&requested, Quotas::default()).await.expect("inserted");
    let (store, operator) = (&fixture.store, fixture.operator.id);
    assert!(store.accounts.mark_account_asked_again(operator, requested.id, at(60)).await.expect("marked"));
    store.accounts.delete_requested_account(operator, requested.id, at(59)).await.expect("nothing to do");
    assert_eq!(
        store.accounts.list_requested_accounts(at(99), 10).await.expect("read").len(),
        1,
        "it was asked for again"
    );
    store.accounts.delete_requested_account(operator, requested.id, at(60)).await.expect("deleted");
    assert!(!store.accounts.mark_account_asked_again(operator, requested.id, at(61)).await.expect("read"));
    assert!(fixture.store.accounts.list_requested_accounts(at(99), 10).await.expect("read").is_empty());
}

#[tokio::test]
async fn accounts_that_are_not_closed_are_counted() {
    let Some(fixture) = fixture().await else { return };
    let (operator, store) = (fixture.operator.id, &fixture.store);
    let second = account(&fixture.operator, 50);
    store.accounts.insert_account(&second).await.expect("inserted");
    assert_eq!(store.accounts.count_accounts(operator).await.expect("counted"), 2);
    store.accounts.mark_accounts_closed(operator, &[second.id]).await.expect("marked");
    assert_eq!(store.accounts.count_accounts(operator).await.expect("counted"), 1);
    assert_eq!(store.accounts.count_accounts(OperatorId::from_bytes([99; 16])).await.expect("counted"), 0);
}

#[tokio::test]
async fn another_operators_account_is_not_found() {
    let Some(fixture) = fixture().await else { return };
    let stranger = OperatorId::from_bytes([99; 16]);
    let id = fixture.account.id;
    fixture.store.accounts.mark_account_policy(stranger, id, AccountStatus::Paused, 1).await.expect("no row");
    assert!(fixture.store.accounts.find_account(stranger, id).await.expect("read").is_none());
    assert!(fixture.store.accounts.find_accounts(stranger, &[id]).await.expect("read").is_empty());
    assert!(fixture.store.accounts.list_accounts(stranger, None, None, 10).await.expect("read").is_empty());
    let own =
        fixture.store.accounts.find_account(fixture.operator.id, id).await.expect("read").expect("there");
    assert_eq!((own.status, own.allowlist_entries), (AccountStatus::Active, 0));
}

#[tokio::test]
async fn ready_account_is_a_payee_for_every_operator_on_its_network() {
    let Some(fixture) = fixture().await else { return };
    let (store, id) = (&fixture.store, fixture.account.id);
    let of = async |network, id| store.accounts.find_payee(network, id).await.expect("read");
    assert_eq!(of(Network::Test, id).await, Some(fixture.account.token_account));
    assert_eq!(of(Network::Live, id).await, None);
    assert_eq!(of(Network::Test, AccountId::from_bytes([99; 16])).await, None);
    let requested = account(&fixture.operator, 50);
    store.accounts.insert_account_within(&requested, Quotas::default()).await.expect("inserted");
    assert_eq!(of(Network::Test, requested.id).await, None);
}

#[tokio::test]
async fn accounts_are_listed_newest_first_and_by_status() {
    let Some(fixture) = fixture().await else { return };
    let (operator, store) = (fixture.operator.id, &fixture.store);
    for byte in 10..15 {
        store.accounts.insert_account(&account(&fixture.operator, byte)).await.expect("inserted");
    }
    let id = |byte: u8| AccountId::from_bytes([byte; 16]);
    let place = |byte: u8| account(&fixture.operator, byte).place();
    let list = async |status, after, rows_max| {
        let rows = store.accounts.list_accounts(operator, status, after, rows_max).await.expect("listed");
        rows.into_iter().map(|account| account.id.bytes()[0]).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None, 3).await, [14, 13, 12]);
    store.accounts.insert_account(&account(&fixture.operator, 20)).await.expect("inserted");
    assert_eq!(
        list(None, Some(place(12)), 3).await,
        [11, 10, 2],
        "a new account does not shift the next page"
    );
    store.accounts.mark_account_policy(operator, id(11), AccountStatus::Paused, 0).await.expect("marked");
    assert_eq!(list(Some(AccountStatus::Paused), None, 10).await, [11]);
    assert_eq!(list(Some(AccountStatus::Active), None, 10).await, [20, 14, 13, 12, 10, 2]);
    store.accounts.mark_account_status(operator, id(11), AccountStatus::Active).await.expect("marked");
    assert!(list(Some(AccountStatus::Paused), None, 10).await.is_empty());
}

#[tokio::test]
async fn accounts_of_one_moment_are_each_listed_once_and_an_id_says_nothing_of_their_age() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    for (byte, second) in [(90, 10), (91, 10), (92, 10), (10, 20), (99, 3)] {
        let account = Account { created_at: at(second), ..account(&fixture.operator, byte) };
        store.accounts.insert_account(&account).await.expect("inserted");
    }
    let (mut listed, mut known) = (Vec::new(), Vec::new());
    let mut after = None;
    for _ in 0..3 {
        let page = store.accounts.list_accounts(fixture.operator.id, None, after, 2).await.expect("listed");
        let seen =
            store.accounts.list_known_accounts(&fixture.operator, None, after, 2).await.expect("listed");
        after = page.last().map(Account::place);
        listed.extend(page.iter().map(|account| account.id.bytes()[0]));
        known.extend(seen.iter().map(|seen| seen.account.id.bytes()[0]));
    }
    assert_eq!(listed, [10, 92, 91, 90, 99, 2]);
    assert_eq!(known, listed);
}

#[tokio::test]
async fn an_operator_address_is_there_once_per_network() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let twin = Operator { id: OperatorId::from_bytes([77; 16]), ..fixture.operator.clone() };
    assert!(matches!(store.operators.insert_operator(&twin).await, Err(StoreError::AlreadyThere)));
    let live = Operator { network: Network::Live, ..twin };
    store.operators.insert_operator(&live).await.expect("inserted");
    let found = store.operators.find_operator_by_address(Network::Live, &live.address).await.expect("read");
    assert_eq!(found.as_ref(), Some(&live));
    assert_eq!(
        store.operators.find_operator(fixture.operator.id).await.expect("read"),
        Some(fixture.operator.clone())
    );
    assert_eq!(store.operators.list_operators().await.expect("read"), [fixture.operator.clone(), live]);
}

#[tokio::test]
async fn accounts_are_known_by_the_last_whole_sweep() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator) = (&fixture.store, &fixture.operator);
    let list = async |status, after, rows_max| {
        let rows =
            store.accounts.list_known_accounts(operator, status, after, rows_max).await.expect("listed");
        rows.into_iter()
            .map(|row| (row.account.id.bytes()[0], row.balance.micros(), row.as_of))
            .collect::<Vec<_>>()
    };
    store.accounts.insert_account(&account(operator, 50)).await.expect("inserted");
    assert_eq!(list(None, None, 9).await, [(50, 0, at(50)), (2, 0, at(2))], "nobody has looked yet");
    store
        .index
        .mark_seen(9, &[((fixture.operator.id, fixture.account.id), UsdcAmount::from_micros(7))])
        .await
        .expect("marked");
    store.index.mark_swept(Network::Test, at(4_000)).await.expect("marked by a clock that is ahead");
    store.index.mark_swept(Network::Test, at(20)).await.expect("and by one that is right");
    store.index.mark_swept(Network::Live, at(90)).await.expect("marked");
    store.index.mark_swept(Network::Test, at(10)).await.expect("an older one changes nothing");
    assert_eq!(list(None, None, 9).await, [(50, 0, at(50)), (2, 7, at(20))]);
    assert_eq!(list(None, Some(account(operator, 50).place()), 1).await, [(2, 7, at(20))]);
    assert!(list(Some(AccountStatus::Paused), None, 9).await.is_empty());
    store
        .accounts
        .mark_account_status(operator.id, fixture.account.id, AccountStatus::Paused)
        .await
        .expect("marked");
    assert_eq!(list(Some(AccountStatus::Paused), None, 9).await, [(2, 7, at(20))]);
    store.accounts.mark_accounts_closed(operator.id, &[fixture.account.id]).await.expect("marked");
    assert_eq!(list(None, None, 9).await, [(50, 0, at(50))]);
}

#[tokio::test]
async fn change_of_an_account_keeps_unnamed_fields() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let json = |text: &str| RawValue::from_string(text.into()).expect("JSON");
    let merge = |text: &str| AccountChange {
        metadata: Some(MetadataChange::parse(&json(text)).expect("valid")),
        ..AccountChange::default()
    };
    let texts = |account: &Account| {
        (
            account.name.as_str().to_owned(),
            account.metadata.as_ref().map(|metadata| metadata.json().get().to_owned()),
        )
    };
    let before = texts(&fixture.account);
    // The stored row counts, not what the caller read.
    for (change, metadata) in [
        (AccountChange::default(), None),
        (merge(r#"{"b":1.10}"#), Some(r#"{"b":1.10}"#)),
        (merge(r#"{"a":"x"}"#), Some(r#"{"a":"x","b":1.10}"#)),
        (merge(r#"{"b":null}"#), Some(r#"{"a":"x"}"#)),
    ] {
        let changed =
            store.accounts.update_account(&fixture.account, &change).await.expect("written").expect("valid");
        assert_eq!(texts(&changed), (before.0.clone(), metadata.map(str::to_owned)));
        let read = store.accounts.find_account(fixture.operator.id, fixture.account.id).await.expect("read");
        assert_eq!(texts(&read.expect("there")), texts(&changed));
    }
    let name = Some(Label::parse("Seller").expect("valid"));
    let renamed = AccountChange { name, ..AccountChange::default() };
    let changed =
        store.accounts.update_account(&fixture.account, &renamed).await.expect("written").expect("valid");
    assert_eq!(texts(&changed), ("Seller".to_owned(), Some(r#"{"a":"x"}"#.to_owned())));
    let full: Vec<String> = (0..50).map(|key| format!("\"{key}\":0")).collect();
    let refused =
        store.accounts.update_account(&fixture.account, &merge(&format!("{{{}}}", full.join(",")))).await;
    assert!(refused.expect("read").is_err(), "51 keys");
}
