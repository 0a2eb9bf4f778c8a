//! When a deposit counts, and when the relayer shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use purser_tests::Client;
use reqwest::Method;
use serde_json::Value;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::signature::Signature;
use tokio::task::JoinSet;

/// How often the benchmark asks the network which deposits count.
const ASKED_EVERY: Duration = Duration::from_millis(25);
/// Signatures in one call.
const ASKED_AT_ONCE: usize = 256;

/// The deposits of one phase, as the chain and the relayer see them.
#[derive(Clone)]
pub struct Deposits {
    all: Arc<Mutex<HashMap<Signature, Deposit>>>,
    commitment: &'static str,
}

struct Deposit {
    account_id: String,
    /// When it was last seen not to count: polling finds the moment late, and the measured time must not come out too short.
    counts_after: Instant,
    counts: bool,
    shown_at: Option<Instant>,
}

impl Deposits {
    /// No deposits yet; each counts once it reaches `commitment`.
    pub fn new(commitment: &'static str) -> Deposits {
        Deposits { all: Arc::default(), commitment }
    }

    /// Records a deposit that is sent now.
    pub fn sends(&self, signature: Signature, account_id: &str) {
        let deposit = Deposit {
            account_id: account_id.to_owned(),
            counts_after: Instant::now(),
            counts: false,
            shown_at: None,
        };
        self.all().insert(signature, deposit);
    }

    /// How many are not shown yet.
    pub fn open(&self) -> usize {
        self.all().values().filter(|deposit| deposit.shown_at.is_none()).count()
    }

    /// How long each took, from when it counts until it was shown; and when the first was shown.
    pub fn times(&self) -> Result<(Vec<Duration>, Option<Instant>)> {
        let all = self.all();
        let shown = all.values().filter(|deposit| deposit.counts && deposit.shown_at.is_some()).count();
        ensure!(shown == all.len(), "{shown} of {} deposits were shown", all.len());
        let took =
            |deposit: &Deposit| Some(deposit.shown_at?.saturating_duration_since(deposit.counts_after));
        let first = all.values().filter_map(|deposit| deposit.shown_at).min();
        Ok((all.values().filter_map(took).collect(), first))
    }

    /// Polls the network for deposits that count. Never ends.
    pub async fn watches_chain(self, rpc: Arc<RpcClient>) -> Result<()> {
        loop {
            let asked_at = Instant::now();
            let open: Vec<Signature> = self
                .all()
                .iter()
                .filter(|(_, deposit)| !deposit.counts)
                .map(|(signature, _)| *signature)
                .collect();
            for signatures in open.chunks(ASKED_AT_ONCE) {
                let statuses = rpc.get_signature_statuses(signatures).await?.value;
                let mut all = self.all();
                for (signature, status) in signatures.iter().zip(statuses) {
                    let Some(deposit) = all.get_mut(signature) else { continue };
                    let Some(status) = status else {
                        deposit.counts_after = asked_at;
                        continue;
                    };
                    ensure!(status.err.is_none(), "a deposit failed: {:?}", status.err);
                    let level = status.confirmation_status.map(|level| format!("{level:?}").to_lowercase());
                    let counts = level.is_some_and(|level| level == "finalized" || level == self.commitment);
                    if counts { deposit.counts = true } else { deposit.counts_after = asked_at }
                }
            }
            tokio::time::sleep(ASKED_EVERY).await;
        }
    }

    /// Reads the relayer's event stream to its end, and reads the transactions of each account that an event names.
    pub async fn watches_relayer(self, client: Client) -> Result<()> {
        let request = client.request(Method::GET, "/v1/events?type=deposit.settled");
        let mut response = request.header("accept", "text/event-stream").send().await?.error_for_status()?;
        let (mut text, mut looks) = (String::new(), JoinSet::new());
        while let Some(bytes) = response.chunk().await? {
            text.push_str(std::str::from_utf8(&bytes)?);
            while let Some(end) = text.find("\n\n") {
                let block: String = text.drain(..end + 2).collect();
                for data in block.lines().filter_map(|line| line.strip_prefix("data:")) {
                    let event: Value = serde_json::from_str(data)?;
                    looks.spawn(self.clone().looks(client.clone(), event["data"]["tx_signature"].clone()));
                }
            }
            while let Some(looked) = looks.try_join_next() {
                looked??;
            }
        }
        Ok(())
    }

    /// Checks whether the account shows the deposit. The relayer writes an event together with its entry.
    async fn looks(self, client: Client, tx_signature: Value) -> Result<()> {
        let Some(signature) = tx_signature.as_str().and_then(|text| text.parse().ok()) else { return Ok(()) };
        let Some(account_id) = self.all().get(&signature).map(|deposit| deposit.account_id.clone()) else {
            return Ok(());
        };
        let answer = client.get(&format!("/v1/accounts/{account_id}/transactions?limit=100")).await;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.text);
        let shown = answer["data"]
            .as_array()
            .is_some_and(|all| all.iter().any(|entry| entry["tx_signature"] == tx_signature));
        ensure!(shown, "announced and not shown: {tx_signature} in {}", answer.text);
        if let Some(deposit) = self.all().get_mut(&signature) {
            deposit.shown_at = Some(Instant::now());
        }
        Ok(())
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Signature, Deposit>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
