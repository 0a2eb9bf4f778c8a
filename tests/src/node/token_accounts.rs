//! Token account subscriptions that the door serves itself. The embedded network polls every subscription 20 times a second,
//! and a program subscription polls all its accounts: ten thousand use up the cores that a benchmark measures. A validator
//! notifies as it writes; here whoever sends a deposit says which account to read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

/// Above every subscription number that the network assigns.
const FIRST_NUMBER: u64 = 1 << 40;

pub type Held = UnboundedSender<(Instant, Message)>;

/// The subscribers of each token account.
#[derive(Default)]
pub struct TokenAccounts {
    is_on: AtomicBool,
    given: AtomicU64,
    subscribers: Mutex<HashMap<String, Vec<(Held, u64)>>>,
}

impl TokenAccounts {
    pub fn turn_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Takes a subscription to a whole token account and returns its answer. All other subscriptions go to the network.
    pub fn takes(&self, message: &Message, held: &Held) -> Option<Message> {
        if !self.is_on.load(Ordering::Relaxed) {
            return None;
        }
        let call: Value = serde_json::from_str(message.to_text().ok()?).ok()?;
        let is_whole = call["params"][1]["dataSlice"].is_null();
        let account =
            call["params"][0].as_str().filter(|_| is_whole && call["method"] == "accountSubscribe")?;
        let number = FIRST_NUMBER + self.given.fetch_add(1, Ordering::Relaxed);
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.entry(account.to_owned()).or_default().push((held.clone(), number));
        Some(Message::text(json!({ "jsonrpc": "2.0", "id": call["id"], "result": number }).to_string()))
    }

    /// Sends every subscriber the account's state, as the network returned it. Forgets subscribers that have gone.
    pub fn notify(&self, account: &str, read: &Value, at: impl Fn() -> Option<Instant>) {
        let mut all = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(subscribers) = all.get_mut(account) else { return };
        subscribers.retain(|(held, number)| {
            let params = json!({ "result": read, "subscription": number });
            let notification = json!({ "jsonrpc": "2.0", "method": "accountNotification", "params": params });
            at().map_or(!held.is_closed(), |at| {
                held.send((at, Message::text(notification.to_string()))).is_ok()
            })
        });
    }
}
