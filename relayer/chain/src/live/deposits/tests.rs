use super::*;
use purser_rpc::RawAccount;

fn key(account: u8) -> Pubkey {
    Pubkey::new_from_array([account; 32])
}

fn explains(deposits: &Deposits, account: u8, micros: u64) {
    deposits.explained([(key(account), UsdcAmount::from_micros(micros))]);
}

fn token_account_with(balance: UsdcAmount) -> RawAccount {
    let mut data = vec![0; 165];
    data[64..72].copy_from_slice(&balance.micros().to_le_bytes());
    RawAccount { owner: decode::TOKEN_PROGRAM, executable: false, lamports: 1, data }
}

fn reports(deposits: &Deposits, account: u8, micros: u64) {
    let token_account = key(account);
    let balance = UsdcAmount::from_micros(micros);
    BalanceListener(deposits.balances.clone()).notice(
        0,
        1,
        Notice::Account { key: token_account, account: token_account_with(balance) },
    );
}

fn watching(accounts_max: usize, accounts: &[u8]) -> Deposits {
    let urls = vec![(0, "ws://127.0.0.1:9".to_owned())];
    let deposits = Deposits::new(urls, Commitment::Confirmed, accounts_max, Tasks::default());
    deposits.watch(accounts.iter().map(|account| key(*account)));
    deposits
}

/// The accounts that come due within one pause.
async fn risen(deposits: &Deposits) -> Vec<Pubkey> {
    tokio::time::timeout(LOOKED_AT_AGAIN, deposits.risen()).await.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn only_a_balance_that_rises_is_a_deposit() {
    let deposits = watching(10, &[1, 2]);
    reports(&deposits, 1, 100);
    assert_eq!(deposits.risen().await, [key(1)]);
    explains(&deposits, 1, 100);
    reports(&deposits, 1, 40);
    reports(&deposits, 1, 40);
    reports(&deposits, 2, 0);
    assert!(risen(&deposits).await.is_empty());
    reports(&deposits, 1, 41);
    assert_eq!(risen(&deposits).await, [key(1)]);
}

#[tokio::test(start_paused = true)]
async fn account_is_looked_at_until_its_reported_balance_is_explained() {
    let deposits = watching(10, &[1]);
    reports(&deposits, 1, 5);
    // Explained by a node that is behind.
    explains(&deposits, 1, 4);
    assert_eq!(risen(&deposits).await, [key(1)]);
    explains(&deposits, 1, 5);
    assert!(risen(&deposits).await.is_empty());
    reports(&deposits, 1, 9);
    reports(&deposits, 1, 2);
    explains(&deposits, 1, 2);
    assert!(risen(&deposits).await.is_empty());
    reports(&deposits, 1, 9);
    tokio::time::sleep(LOOKED_AT_FOR).await;
    assert!(risen(&deposits).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn account_that_stays_unexplained_is_looked_at_less_and_less_often() {
    let deposits = watching(10, &[1, 2]);
    reports(&deposits, 1, 5);
    let begun = Instant::now();
    let mut looks = Vec::new();
    for _ in 0..5 {
        assert_eq!(deposits.risen().await, [key(1)]);
        looks.push(begun.elapsed().as_millis());
    }
    assert_eq!(looks, [0, 500, 1_500, 3_500, 7_500]);
    // Another account does not wait, and a further rise is due at once.
    reports(&deposits, 2, 1);
    assert_eq!(deposits.risen().await, [key(2)]);
    reports(&deposits, 1, 6);
    assert_eq!(deposits.risen().await, [key(1)]);
    assert_eq!(begun.elapsed().as_millis(), 7_500);
}

#[tokio::test(start_paused = true)]
async fn account_is_looked_at_once_when_its_subscription_stands() {
    let deposits = watching(10, &[1]);
    let stands = || {
        let topic = Topic::WholeAccount { key: key(1), commitment: Commitment::Confirmed };
        BalanceListener(deposits.balances.clone()).subscribed(&topic);
    };
    stands();
    assert_eq!(risen(&deposits).await, [key(1)]);
    explains(&deposits, 1, 0);
    assert!(risen(&deposits).await.is_empty());
    reports(&deposits, 1, 100);
    explains(&deposits, 1, 100);
    // A new subscription. What was paid meanwhile hides no later deposit.
    stands();
    explains(&deposits, 1, 30);
    reports(&deposits, 1, 31);
    assert_eq!(risen(&deposits).await, [key(1)]);
}

#[tokio::test(start_paused = true)]
async fn accounts_beyond_the_bound_are_left_to_the_sweep() {
    let deposits = watching(1, &[1, 2]);
    reports(&deposits, 2, 5);
    assert!(risen(&deposits).await.is_empty());
}

#[tokio::test]
async fn each_thousand_has_a_connection_of_its_own() {
    let deposits = watching(10_000, &[]);
    let accounts = |range: std::ops::Range<u16>| {
        range.map(|number| {
            let mut key = [0; 32];
            key[..2].copy_from_slice(&number.to_le_bytes());
            Pubkey::new_from_array(key)
        })
    };
    deposits.watch(accounts(0..1_000));
    assert_eq!(deposits.sockets.lock().len(), 1);
    deposits.watch(accounts(0..2_001));
    assert_eq!(deposits.sockets.lock().len(), 3);
    deposits.tasks.stop.cancel();
}
