use std::time::Duration;

use tokio::task::JoinSet;

use super::*;

fn quotas(accounts: u32, allowlist_entries: u32) -> Quotas {
    Quotas { accounts, allowlist_entries, ..Quotas::default() }
}

fn with_list(operator: &Operator, byte: u8, allowlist_entries: u64) -> Account {
    Account { allowlist_entries, ..account(operator, byte) }
}

async fn held(fixture: &Fixture) -> (u64, u64) {
    let held = fixture.store.accounts.count_held(fixture.operator.id).await.expect("counted");
    (held.accounts, held.allowlist_entries)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn accounts_inserted_at_once_by_two_processes_stop_at_the_quota() {
    let Some(fixture) = fixture().await else { return };
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut inserts = JoinSet::new();
    for number in 0..24u8 {
        let store = stores[usize::from(number % 2)].clone();
        let account = with_list(&fixture.operator, 100 + number, 2);
        inserts.spawn(async move { store.accounts.insert_account_within(&account, quotas(8, 1_000)).await });
    }
    let mut made = 0;
    while let Some(inserted) = inserts.join_next().await {
        match inserted.expect("no panic") {
            Ok(()) => made += 1,
            Err(error) => {
                assert!(matches!(error, StoreError::QuotaExceeded(QuotaExceeded::Accounts(8))), "{error}");
            }
        }
    }
    assert_eq!((made, held(&fixture).await), (7, (8, 14)), "one was there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn entries_reserved_at_once_by_two_processes_stop_at_the_quota() {
    let Some(fixture) = fixture().await else { return };
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut ids = Vec::new();
    for byte in 50..60 {
        let account = account(&fixture.operator, byte);
        fixture.store.accounts.insert_account(&account).await.expect("inserted");
        ids.push(account.id);
    }
    let mut reservations = JoinSet::new();
    for (number, id) in ids.into_iter().enumerate() {
        let (store, operator) = (stores[number % 2].clone(), fixture.operator.id);
        reservations
            .spawn(async move { store.accounts.reserve_entries(operator, id, 30, quotas(100, 100)).await });
    }
    let done = reservations.join_all().await;
    assert_eq!(done.iter().filter(|reserved| reserved.is_ok()).count(), 3);
    assert_eq!(held(&fixture).await, (11, 90));
}

#[tokio::test]
async fn shortened_closed_or_dropped_allowlists_make_room_again() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator, id) = (&fixture.store, fixture.operator.id, fixture.account.id);
    let most = quotas(2, 10);
    store.accounts.reserve_entries(operator, id, 9, most).await.expect("room");
    let refused = store.accounts.insert_account_within(&with_list(&fixture.operator, 60, 2), most).await;
    assert!(matches!(refused, Err(StoreError::QuotaExceeded(QuotaExceeded::AllowlistEntries(10)))));
    // A shorter allowlist is always possible, even beyond a lowered quota.
    store.accounts.reserve_entries(operator, id, 8, quotas(2, 1)).await.expect("no more than before");
    store.accounts.mark_account_policy(operator, id, AccountStatus::Active, 8).await.expect("written");
    store.accounts.insert_account_within(&with_list(&fixture.operator, 60, 2), most).await.expect("room");
    assert_eq!(held(&fixture).await, (2, 10));
    let waiting = PendingPolicy {
        operator_id: operator,
        account_id: id,
        hash: [1; 32],
        expected_version: 1,
        allowlist_entries: 3,
        due_at: 0,
        is_announced: false,
        sealed_by: None,
        created_at: at(1),
    };
    let refused = store.policies.insert_pending_policy(&waiting, most).await;
    assert!(matches!(refused, Err(StoreError::QuotaExceeded(QuotaExceeded::AllowlistEntries(10)))));
    store.accounts.mark_accounts_closed(operator, &[AccountId::from_bytes([60; 16])]).await.expect("written");
    assert_eq!(held(&fixture).await, (1, 8));
    let raised = quotas(2, 11);
    store.policies.insert_pending_policy(&waiting, raised).await.expect("room");
    store.policies.insert_pending_policy(&waiting, raised).await.expect("it waits already");
    assert_eq!(held(&fixture).await, (1, 11));
    store.policies.delete_pending_policy(&waiting).await.expect("dropped");
    assert_eq!(held(&fixture).await, (1, 8));
}

#[tokio::test]
async fn operators_do_not_share_a_quota_and_only_counted_accounts_are_listed() {
    let Some(fixture) = fixture().await else { return };
    let other = operator(7);
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    fixture
        .store
        .accounts
        .insert_account_within(&account(&other, 70), quotas(1, 1))
        .await
        .expect("its own room");
    let counted = async |before| {
        let listed =
            fixture.store.accounts.list_counted_accounts(fixture.operator.id, before, None, 10).await;
        listed.expect("listed").len()
    };
    assert_eq!((counted(at(2)).await, counted(at(3)).await), (0, 1));
    fixture.store.accounts.mark_accounts_closed(other.id, &[fixture.account.id]).await.expect("nothing");
    assert_eq!(counted(at(3)).await, 1, "only its owner's");
    fixture
        .store
        .accounts
        .mark_accounts_closed(fixture.operator.id, &[fixture.account.id])
        .await
        .expect("written");
    assert_eq!(counted(at(3)).await, 0);
}

/// A token account for a payment of 1 USDC of this account, to this wallet.
fn token_account(account: &Account, wallet: u8, now: Timestamp) -> NewTokenAccount {
    NewTokenAccount {
        operator_id: account.operator_id,
        account_id: account.id,
        wallet: Address::from_bytes([wallet; 32]),
        idempotency_key: IdempotencyKey::parse(format!("to-{wallet}")).expect("valid"),
        amount: UsdcAmount::from_micros(1_000_000),
        created_at: now,
        lease_expires_at: now.after(Duration::from_secs(30)),
    }
}

fn token_accounts(daily: u32, per_account_daily: u32) -> Quotas {
    Quotas {
        token_accounts_daily: daily,
        token_accounts_per_account_daily: per_account_daily,
        ..Quotas::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn token_accounts_reserved_at_once_by_two_processes_stop_at_the_quota() {
    let Some(fixture) = fixture().await else { return };
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut reservations = JoinSet::new();
    for number in 0..24u8 {
        let (store, account) = (stores[usize::from(number % 2)].clone(), fixture.account.clone());
        let new = token_account(&account, 100 + number / 4, at(1));
        let new = NewTokenAccount {
            idempotency_key: IdempotencyKey::parse(format!("{number}")).expect("valid"),
            ..new
        };
        reservations.spawn(async move {
            store
                .accounts
                .reserve_token_account(&new, token_accounts(3, 10))
                .await
                .expect("the database answers")
        });
    }
    let done = reservations.join_all().await;
    let count = |wanted| done.iter().filter(|reserved| **reserved == wanted).count();
    assert_eq!(count(TokenAccountReservation::Made), 3, "one for a wallet");
    let refused = count(TokenAccountReservation::Refused(NoTokenAccount::OfOperator(3)));
    assert_eq!(refused + count(TokenAccountReservation::Running), 21, "{done:?}");
}

#[tokio::test]
async fn token_account_counts_for_a_day_unless_it_is_given_back_and_its_lease_keeps_others_out() {
    let Some(fixture) = fixture().await else { return };
    let (accounts, ada) = (&fixture.store.accounts, &fixture.account);
    let ben = account(&fixture.operator, 60);
    accounts.insert_account(&ben).await.expect("inserted");
    let quotas = token_accounts(3, 2);
    let reserve =
        async |new: &NewTokenAccount| accounts.reserve_token_account(new, quotas).await.expect("answered");
    let (made, running) = (TokenAccountReservation::Made, TokenAccountReservation::Running);
    let first = token_account(ada, 1, at(0));
    assert_eq!(reserve(&first).await, made);
    assert_eq!(reserve(&token_account(ada, 1, at(29))).await, running);
    assert_eq!(reserve(&token_account(&ben, 1, at(29))).await, running, "of one operator");
    accounts.end_token_account(&first, at(29)).await.expect("ended");
    // It may have been closed since, and counts anew.
    let second = token_account(ada, 1, at(30));
    assert_eq!(reserve(&second).await, made);
    let of_account = TokenAccountReservation::Refused(NoTokenAccount::OfAccount(2));
    assert_eq!(reserve(&token_account(ada, 2, at(31))).await, of_account);
    accounts.delete_token_account(&second).await.expect("given back");
    assert_eq!(reserve(&token_account(ada, 2, at(31))).await, made);
    assert_eq!(reserve(&token_account(&ben, 3, at(31))).await, made);
    let of_operator = TokenAccountReservation::Refused(NoTokenAccount::OfOperator(3));
    assert_eq!(reserve(&token_account(&ben, 4, at(32))).await, of_operator);
    let whose = (fixture.operator.id, ben.id);
    let amount = UsdcAmount::from_micros(1);
    let refuses =
        async |now| accounts.refuses_token_account(whose, amount, now, quotas).await.expect("answered");
    assert_eq!(refuses(at(32)).await, Some(NoTokenAccount::OfOperator(3)));
    // A day after the first.
    assert_eq!(refuses(at(86_399)).await, Some(NoTokenAccount::OfOperator(3)));
    assert_eq!(refuses(at(86_400)).await, None);
    assert_eq!(reserve(&token_account(&ben, 4, at(86_400))).await, made);
    let other = operator(7);
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    assert_eq!(reserve(&token_account(&account(&other, 70), 4, at(86_400))).await, made, "its own quota");
}
