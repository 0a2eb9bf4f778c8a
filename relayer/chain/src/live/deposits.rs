//! Token accounts whose balance rises, as websockets report it. A plain deposit names nothing of ours but its token account, so
//! each account has a subscription. This is only a hint: the sweep of all balances finds whatever no node reports.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use solana_sdk::pubkey::Pubkey;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Commitment;
use crate::live::resolver;
use crate::read::decode;
use purser_base::tasks::Tasks;
use purser_model::UsdcAmount;
use purser_rpc::topics::{Notice, Topic};
use purser_rpc::websocket::{self, Listener, Subscriber};

/// Subscriptions per connection, which providers limit.
const SUBSCRIPTIONS_PER_SOCKET: usize = 1_000;
/// How long to keep looking at a reported account: one node reports a deposit before another shows it, and some list
/// transactions later than balances. After that the sweep finds it.
const LOOKED_AT_FOR: Duration = Duration::from_secs(15);
/// The pause before the second look at an account; it doubles with each further look.
const LOOKED_AT_AGAIN: Duration = Duration::from_millis(500);

/// The deposits of one network.
pub struct Deposits {
    /// Each with its node's place. Without any, no deposit is ever reported.
    ws_urls: Vec<(usize, String)>,
    commitment: Commitment,
    accounts_max: usize,
    tasks: Tasks,
    sockets: Mutex<Vec<Subscriber>>,
    balances: Arc<WatchedBalances>,
}

#[derive(Default)]
struct WatchedBalances {
    state: Mutex<BalanceState>,
    has_risen: Notify,
}

#[derive(Default)]
struct BalanceState {
    /// The last balance reported for each watched account since its subscription began; zero before the first report.
    reported: HashMap<Pubkey, UsdcAmount>,
    risen: HashMap<Pubkey, Rise>,
}

/// A token account to look at, until something explains this balance.
struct Rise {
    balance: UsdcAmount,
    reported_at: Instant,
    /// When the next look is due, and the pause after it.
    due_at: Instant,
    pause: Duration,
}

impl Deposits {
    /// Watches up to `accounts_max` token accounts, whose changes are reported once they reach `commitment`.
    pub fn new(
        ws_urls: Vec<(usize, String)>,
        commitment: Commitment,
        accounts_max: usize,
        tasks: Tasks,
    ) -> Self {
        Self { ws_urls, commitment, accounts_max, tasks, sockets: Mutex::default(), balances: Arc::default() }
    }

    /// Subscribes to the token accounts that are not watched yet.
    pub fn watch(&self, token_accounts: impl IntoIterator<Item = Pubkey>) {
        if self.ws_urls.is_empty() {
            return;
        }
        let mut state = self.balances.state();
        let mut sockets = self.sockets.lock();
        for token_account in token_accounts {
            let watched = state.reported.len();
            if watched >= self.accounts_max || state.reported.contains_key(&token_account) {
                continue;
            }
            state.reported.insert(token_account, UsdcAmount::ZERO);
            let place = watched / SUBSCRIPTIONS_PER_SOCKET;
            if place == sockets.len() {
                sockets.push(self.open_socket());
            }
            if let Some(socket) = sockets.get(place) {
                socket.subscribe(Topic::WholeAccount { key: token_account, commitment: self.commitment });
            }
        }
    }

    /// Token accounts whose balance has risen, once there are any. An account comes again, less and less often, until its rise
    /// is [explained]. One waiter at a time.
    ///
    /// [explained]: Deposits::explained
    pub async fn risen(&self) -> Vec<Pubkey> {
        loop {
            let (risen, next) = self.balances.state().take_due();
            if !risen.is_empty() {
                return risen;
            }
            let next_is_due = async {
                match next {
                    Some(due_at) => tokio::time::sleep_until(due_at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.balances.has_risen.notified() => {}
                () = next_is_due => {}
            }
        }
    }

    /// The history explains these balances. Reports of more than that still need a look.
    pub fn explained(&self, held: impl IntoIterator<Item = (Pubkey, UsdcAmount)>) {
        let mut state = self.balances.state();
        for (token_account, balance) in held {
            if state.risen.get(&token_account).is_some_and(|rise| rise.balance <= balance) {
                state.risen.remove(&token_account);
            }
        }
    }

    fn open_socket(&self) -> Subscriber {
        let (subscriber, wishes) = Subscriber::new();
        let listener = BalanceListener(self.balances.clone());
        let work =
            websocket::run(self.ws_urls.clone(), resolver(), wishes, listener, self.tasks.stop.clone());
        self.tasks.keep("deposit websocket", work);
        subscriber
    }
}

impl WatchedBalances {
    fn state(&self) -> MutexGuard<'_, BalanceState> {
        self.state.lock()
    }
}

impl BalanceState {
    /// The accounts that are due, and when the next one will be.
    fn take_due(&mut self) -> (Vec<Pubkey>, Option<Instant>) {
        let now = Instant::now();
        self.risen.retain(|_, rise| now.duration_since(rise.reported_at) < LOOKED_AT_FOR);
        let mut due = Vec::new();
        for (token_account, rise) in &mut self.risen {
            if rise.due_at <= now {
                due.push(*token_account);
                rise.due_at = now + rise.pause;
                rise.pause *= 2;
            }
        }
        (due, self.risen.values().map(|rise| rise.due_at).min())
    }
}

struct BalanceListener(Arc<WatchedBalances>);

impl BalanceListener {
    fn note(&self, mut state: MutexGuard<'_, BalanceState>, token_account: Pubkey, balance: UsdcAmount) {
        let now = Instant::now();
        let rise = Rise { balance, reported_at: now, due_at: now, pause: LOOKED_AT_AGAIN };
        state.risen.insert(token_account, rise);
        drop(state);
        self.0.has_risen.notify_one();
    }
}

impl Listener for BalanceListener {
    fn subscribed(&self, topic: &Topic) {
        let Topic::WholeAccount { key: token_account, .. } = topic else { return };
        let mut state = self.0.state();
        state.reported.insert(*token_account, UsdcAmount::ZERO);
        // No node reports what came before the subscription.
        self.note(state, *token_account, UsdcAmount::ZERO);
    }

    fn notice(&self, _node: usize, _slot: u64, notice: Notice) {
        let Notice::Account { key: token_account, account } = notice else { return };
        // Closed, or owned by another program by now: it holds nothing of ours.
        let balance = decode::balance(&account).unwrap_or(UsdcAmount::ZERO);
        let mut state = self.0.state();
        let Some(reported) = state.reported.get_mut(&token_account) else { return };
        if std::mem::replace(reported, balance) < balance {
            self.note(state, token_account, balance);
        } else if let Some(rise) = state.risen.get_mut(&token_account) {
            // The account paid meanwhile, or the program's logs led to the deposit. It will not show more than this balance.
            // Without a rise there is no reason to look.
            rise.balance = balance;
        }
    }

    fn lost(&self) {}
}

#[cfg(test)]
mod tests;
