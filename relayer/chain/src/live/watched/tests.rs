use super::*;
use purser_rpc::websocket::Wish;
use tokio::sync::mpsc::UnboundedReceiver;

const PROGRAM: Pubkey = purser::ID;

fn watched() -> (Watched, UnboundedReceiver<Wish>) {
    let (subscriber, wishes) = Subscriber::new();
    (Watched { accounts_max: 2, ..Watched::new(subscriber) }, wishes)
}

fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

fn account(lamports: u64) -> RawAccount {
    RawAccount { owner: key(77), executable: false, lamports, data: vec![] }
}

fn agent(policy_version: u32) -> RawAccount {
    use anchor_lang::Discriminator;
    let mut data = vec![0; Agent::BYTES];
    data[..8].copy_from_slice(Agent::DISCRIMINATOR);
    data[8] = purser::constants::LAYOUT_VERSION;
    let version = core::mem::offset_of!(Agent, policy_version) + 8;
    data[version..version + 4].copy_from_slice(&policy_version.to_le_bytes());
    RawAccount { owner: PROGRAM, executable: false, lamports: 1, data }
}

fn agent_after(payments: u64) -> RawAccount {
    let mut account = agent(4);
    let recorded = core::mem::offset_of!(Agent, payments) + 8;
    account.data[recorded..recorded + 8].copy_from_slice(&payments.to_le_bytes());
    account
}

fn known(watched: &Watched, byte: u8) -> Option<u64> {
    watched.get(&[key(byte)]).map(|[account]| account.lamports)
}

#[tokio::test(start_paused = true)]
async fn an_account_is_known_from_a_read_made_while_its_subscription_stands() {
    let (watched, mut wishes) = watched();
    assert_eq!(known(&watched, 1), None);
    assert!(
        matches!(wishes.try_recv(), Ok(Wish::Subscribe(Topic::Account(subscribed))) if subscribed == key(1))
    );
    watched.read(&key(1), account(5), 9);
    assert_eq!(known(&watched, 1), None, "read before the subscription stood");
    assert!(watched.live(&[key(1)]).is_empty());
    watched.subscribed(&key(1));
    watched.changed(&PROGRAM, &key(1), account(6), 9);
    assert_eq!(known(&watched, 1), None, "a notice alone may be an old one");
    assert_eq!(watched.live(&[key(1), key(2)]), [key(1)]);
    watched.read(&key(1), account(7), 9);
    assert_eq!(known(&watched, 1), Some(7));
    watched.changed(&PROGRAM, &key(1), account(8), 9);
    assert_eq!(known(&watched, 1), Some(8));
    assert!(watched.get(&[key(1), key(2)]).is_none(), "all or nothing");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_known_after_a_loss_a_write_of_ours_or_a_long_time() {
    let (watched, _wishes) = watched();
    let learn = || {
        let _ = known(&watched, 1);
        watched.subscribed(&key(1));
        watched.read(&key(1), account(7), 9);
        assert_eq!(known(&watched, 1), Some(7));
    };
    learn();
    watched.lost();
    assert_eq!(known(&watched, 1), None);
    watched.read(&key(1), account(7), 9);
    assert_eq!(known(&watched, 1), None, "no subscription stands");
    learn();
    watched.forget(&[key(1)]);
    assert_eq!(known(&watched, 1), None);
    learn();
    tokio::time::advance(UNCONFIRMED_MAX).await;
    assert_eq!(known(&watched, 1), None);
}

#[tokio::test(start_paused = true)]
async fn an_older_policy_does_not_come_back_and_a_changed_operator_is_read_again() {
    let (watched, _wishes) = watched();
    for byte in [1, 2] {
        let _ = known(&watched, byte);
        watched.subscribed(&key(byte));
    }
    let version =
        || watched.get(&[key(1)]).map(|[account]| Agent::read(&account.data).unwrap().agent.policy_version);
    watched.read(&key(1), agent(4), 9);
    watched.changed(&PROGRAM, &key(1), agent(3), 9);
    assert_eq!(version(), Some(4));
    watched.changed(&PROGRAM, &key(1), agent(5), 9);
    assert_eq!(version(), Some(5));
    watched.changed(&PROGRAM, &key(1), account(0), 9);
    assert_eq!(version(), None, "closed");
    let operator = |lamports| RawAccount { owner: PROGRAM, ..account(lamports) };
    watched.read(&key(2), operator(1), 9);
    watched.changed(&PROGRAM, &key(2), operator(2), 9);
    assert_eq!(known(&watched, 2), None);
}

#[tokio::test(start_paused = true)]
async fn an_agent_from_before_a_payment_does_not_come_back() {
    let (watched, _wishes) = watched();
    let _ = known(&watched, 1);
    watched.subscribed(&key(1));
    let payments =
        || watched.get(&[key(1)]).map(|[account]| Agent::read(&account.data).unwrap().agent.payments);
    watched.read(&key(1), agent_after(7), 9);
    assert_eq!(payments(), Some(7));
    watched.changed(&PROGRAM, &key(1), agent_after(8), 12);
    watched.changed(&PROGRAM, &key(1), agent_after(6), 11);
    assert_eq!(payments(), Some(8), "an older notice comes late");
    watched.changed(&PROGRAM, &key(1), agent_after(9), 0);
    assert_eq!(payments(), Some(9), "a notice without a slot of its own");
    watched.changed(&PROGRAM, &key(1), agent_after(6), 22);
    assert_eq!(payments(), None, "fewer payments in a later slot: a fork, so it is read again");
    watched.read(&key(1), agent_after(7), 23);
    assert_eq!(payments(), Some(7));
}

#[tokio::test(start_paused = true)]
async fn the_account_that_was_not_used_for_longest_is_let_go() {
    let (watched, mut wishes) = watched();
    for byte in [1, 2, 1, 3] {
        tokio::time::advance(Duration::from_secs(1)).await;
        let _ = known(&watched, byte);
    }
    let all: Vec<_> = std::iter::from_fn(|| wishes.try_recv().ok()).collect();
    let let_go: Vec<_> = all
        .iter()
        .filter_map(|wish| match wish {
            Wish::Unsubscribe(Topic::Account(key)) => Some(*key),
            Wish::Unsubscribe(Topic::Naming { .. } | Topic::WholeAccount { .. }) | Wish::Subscribe(_) => None,
        })
        .collect();
    assert_eq!(let_go, [key(2)]);
}
