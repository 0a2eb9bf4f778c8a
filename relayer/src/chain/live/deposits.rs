//! Token accounts whose balance rises, as websockets tell. A plain deposit names nothing of ours but its token account, so
//! each has a subscription. Only a hint: what no node tells, or refuses to tell of, is found by comparing all balances.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use solana_sdk::pubkey::Pubkey;
use tokio::sync::Notify;

use crate::chain::Commitment;
use crate::chain::live::socket::{self, Listener, Subscriber};
use crate::chain::live::topics::{Notice, Topic};
use crate::domain::UsdcAmount;
use crate::tasks::Tasks;

/// Subscriptions on one connection: providers limit them.
const SUBSCRIPTIONS_PER_SOCKET: usize = 1_000;

/// The deposits of one network.
pub struct Deposits {
    /// Each with the place of its node. Without any, nothing is ever told.
    ws_urls: Vec<(usize, String)>,
    commitment: Commitment,
    accounts_max: usize,
    tasks: Tasks,
    sockets: Mutex<Vec<Subscriber>>,
    balances: Arc<Balances>,
}

#[derive(Default)]
struct Balances {
    state: Mutex<State>,
    has_risen: Notify,
}

#[derive(Default)]
struct State {
    known: HashMap<Pubkey, UsdcAmount>,
    risen: HashSet<Pubkey>,
}

impl Deposits {
    /// For up to `accounts_max` token accounts, whose changes are told once they stand at `commitment`.
    pub fn new(
        ws_urls: Vec<(usize, String)>,
        commitment: Commitment,
        accounts_max: usize,
        tasks: Tasks,
    ) -> Self {
        Self { ws_urls, commitment, accounts_max, tasks, sockets: Mutex::default(), balances: Arc::default() }
    }

    /// Subscribes to those token accounts that are new, with what each was seen to hold.
    pub fn watch(&self, seen: impl IntoIterator<Item = (Pubkey, UsdcAmount)>) {
        if self.ws_urls.is_empty() {
            return;
        }
        let mut state = self.balances.state();
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        for (token_account, balance) in seen {
            let watched = state.known.len();
            if watched >= self.accounts_max || state.known.contains_key(&token_account) {
                continue;
            }
            state.known.insert(token_account, balance);
            let place = watched / SUBSCRIPTIONS_PER_SOCKET;
            if place == sockets.len() {
                sockets.push(self.open_socket());
            }
            if let Some(socket) = sockets.get(place) {
                socket.subscribe(Topic::Balance { token_account, commitment: self.commitment });
            }
        }
    }

    /// Returns when a balance has risen. One waiter at a time.
    pub async fn wait(&self) {
        self.balances.has_risen.notified().await;
    }

    /// The token accounts whose balance has risen since the last call.
    pub fn take_risen(&self) -> Vec<Pubkey> {
        self.balances.state().risen.drain().collect()
    }

    fn open_socket(&self) -> Subscriber {
        let (subscriber, wishes) = Subscriber::new();
        let listener = Told(self.balances.clone());
        let work = socket::run(self.ws_urls.clone(), wishes, listener, self.tasks.stop.clone());
        self.tasks.keep("deposit websocket", work);
        subscriber
    }
}

impl Balances {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Told(Arc<Balances>);

impl Listener for Told {
    fn subscribed(&self, _topic: &Topic) {}

    fn notice(&self, _node: usize, _slot: u64, notice: Notice) {
        let Notice::Balance { token_account, balance } = notice else { return };
        let mut state = self.0.state();
        let Some(known) = state.known.get_mut(&token_account) else { return };
        let has_risen = *known < balance;
        *known = balance;
        // What fell was paid from here, or is found with what the program logs.
        if has_risen {
            state.risen.insert(token_account);
            drop(state);
            self.0.has_risen.notify_one();
        }
    }

    fn lost(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(deposits: &Deposits, account: u8, micros: u64) {
        let token_account = Pubkey::new_from_array([account; 32]);
        let balance = UsdcAmount::from_micros(micros);
        Told(deposits.balances.clone()).notice(0, 1, Notice::Balance { token_account, balance });
    }

    fn watching(accounts_max: usize, accounts: &[(u8, u64)]) -> Deposits {
        let urls = vec![(0, "ws://127.0.0.1:9".to_owned())];
        let deposits = Deposits::new(urls, Commitment::Confirmed, accounts_max, Tasks::default());
        let seen = accounts.iter().map(|(account, micros)| {
            (Pubkey::new_from_array([*account; 32]), UsdcAmount::from_micros(*micros))
        });
        deposits.watch(seen);
        deposits
    }

    #[tokio::test]
    async fn only_a_balance_that_rises_is_a_deposit() {
        let deposits = watching(10, &[(1, 100), (2, 100)]);
        told(&deposits, 1, 40);
        told(&deposits, 2, 100);
        told(&deposits, 3, 100);
        assert!(deposits.take_risen().is_empty());
        told(&deposits, 1, 41);
        deposits.wait().await;
        assert_eq!(deposits.take_risen(), [Pubkey::new_from_array([1; 32])]);
        assert!(deposits.take_risen().is_empty());
    }

    #[tokio::test]
    async fn accounts_beyond_the_bound_are_left_to_the_sweep() {
        let deposits = watching(1, &[(1, 0), (2, 0)]);
        told(&deposits, 2, 5);
        assert!(deposits.take_risen().is_empty());
    }

    #[tokio::test]
    async fn each_thousand_has_a_connection_of_its_own() {
        let deposits = watching(10_000, &[]);
        let accounts = |range: std::ops::Range<u16>| {
            range.map(|number| {
                let mut key = [0; 32];
                key[..2].copy_from_slice(&number.to_le_bytes());
                (Pubkey::new_from_array(key), UsdcAmount::ZERO)
            })
        };
        deposits.watch(accounts(0..1_000));
        assert_eq!(deposits.sockets.lock().unwrap().len(), 1);
        deposits.watch(accounts(0..2_001));
        assert_eq!(deposits.sockets.lock().unwrap().len(), 3);
        deposits.tasks.stop.cancel();
    }
}
