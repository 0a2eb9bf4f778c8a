//! A person who is asked about payments above the limit: a wallet of its own opens the grants, as a phone does, or the person says no.
//! It goes by what a relayer shows, signs with a key that no relayer has, and sends to the network itself.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::plan::{Person, RunPlan};
use super::relayer::Relayer;
use crate::chain::DirectOutcome;
use crate::operator::Operator;
use crate::wallet::signed_by;

const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(5);
/// After a grant was sent, before it is tried again.
const SENDS_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// More than all rounds of a world need.
const LIMIT_MICROS: u64 = 1_000_000_000_000;

pub(super) struct Approver {
    wallet: Keypair,
    rpc_url: String,
    key: String,
    http: reqwest::Client,
    granted: AtomicU64,
    refused: AtomicU64,
}

impl Approver {
    /// The admin registers it.
    pub async fn of(operator: &Operator, rpc_url: &str) -> Approver {
        let (wallet, chain, admin) = (Keypair::new(), &operator.chain, operator.app().admin());
        chain.funds(&wallet.pubkey(), 100).await;
        let (by, key) = (admin.pubkey(), wallet.pubkey());
        let set = chain.program().set_approver(by, operator.address, key, LIMIT_MICROS, LIMIT_MICROS);
        let landing = chain.lands(set, admin).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        Approver {
            wallet,
            rpc_url: rpc_url.to_owned(),
            key: operator.client.key().to_owned(),
            http: reqwest::Client::builder()
                .pool_max_idle_per_host(0)
                .timeout(PATIENCE)
                .build()
                .expect("a client can be made"),
            granted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// What it did since it was asked last.
    pub fn did(&self) -> Vec<(&'static str, u64)> {
        let counts = [("a person approved", &self.granted), ("a person said no", &self.refused)];
        let counts = counts.map(|(what, count)| (what, count.swap(0, Ordering::SeqCst)));
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Answers whatever waits, until it is dropped.
    pub fn attends(
        self: Arc<Self>,
        runs: &[RunPlan],
        relayers: &[Arc<Relayer>],
    ) -> impl Future<Output = ()> + Send + use<> {
        let runs = runs.iter().filter_map(|run| Some((run.key.clone(), run.person?)));
        let (runs, relayers): (HashMap<String, Person>, _) = (runs.collect(), relayers.to_vec());
        async move {
            let mut answers_at: HashMap<String, Instant> = HashMap::new();
            while !runs.is_empty() {
                for relayer in &relayers {
                    self.looks(relayer, &runs, &mut answers_at).await;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn looks(
        &self,
        relayer: &Relayer,
        runs: &HashMap<String, Person>,
        answers_at: &mut HashMap<String, Instant>,
    ) {
        let pending = self.asks(relayer, Method::GET, "/v1/approvals?state=pending&limit=100", None).await;
        let Some((200, pending)) = pending else { return };
        for approval in pending["data"].as_array().into_iter().flatten() {
            let key = approval["idempotency_key"].as_str().unwrap_or_default();
            let Some(person) = runs.get(key) else { continue };
            let now = Instant::now();
            let at = answers_at.entry(key.to_owned()).or_insert(now + person.answers_after);
            if now < *at {
                continue;
            }
            if person.approves {
                *at = now + SENDS_AGAIN_AFTER;
                let is_granted = self.approves(relayer, approval).await.is_some();
                self.granted.fetch_add(u64::from(is_granted), Ordering::SeqCst);
            } else {
                let path =
                    format!("/v1/approvals/{}/reject", approval["transfer_id"].as_str().unwrap_or_default());
                let answer = self.asks(relayer, Method::POST, &path, None).await;
                let is_refused = answer.is_some_and(|(status, _)| status == 200);
                self.refused.fetch_add(u64::from(is_refused), Ordering::SeqCst);
            }
        }
    }

    /// Signs what the link gives, and sends it. `None`: it was given nothing, or the network did not take it.
    async fn approves(&self, relayer: &Relayer, approval: &Value) -> Option<()> {
        let token = approval["approval_url"].as_str()?.rsplit('/').next()?.to_owned();
        let wallet = json!({ "account": self.wallet.pubkey().to_string() });
        let path = format!("/approve/{token}/pay");
        let (status, given) = self.asks(relayer, Method::POST, &path, Some(&wallet)).await?;
        let bytes = STANDARD.decode(given["transaction"].as_str().filter(|_| status == 200)?).ok()?;
        let signed = STANDARD.encode(signed_by(&self.wallet, &bytes)?);
        let options = json!([signed, { "encoding": "base64", "preflightCommitment": "processed" }]);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": options });
        let sent = self.http.post(&self.rpc_url).json(&call).send().await.ok()?;
        let sent: Value = sent.json().await.ok()?;
        sent["result"].is_string().then_some(())
    }

    /// `None`: no answer.
    async fn asks(
        &self,
        relayer: &Relayer,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let request = self.http.request(method, format!("{}{path}", relayer.url()?)).bearer_auth(&self.key);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.ok()?;
        Some((answer.status().as_u16(), answer.json().await.ok()?))
    }
}
