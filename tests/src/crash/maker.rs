//! A client that makes an account, again and again under one idempotency key: the operator gets one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::Phase;
use super::patience::Deadline;
use super::plan::NewAccount;
use super::relayer::Relayer;

const PAUSE: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Maker {
    pub plan: NewAccount,
    /// The operator's API key.
    pub key: String,
    pub relayers: Vec<Arc<Relayer>>,
    pub deadline: Deadline,
}

/// What one maker was answered.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// The accounts that it was told of.
    pub ids: BTreeSet<String>,
    /// Answers that cannot be, and relayers that gave none in the calm.
    pub wrong: Vec<String>,
}

impl Maker {
    /// Asks until it has an answer, and in the calm asks every relayer.
    pub async fn makes(self, mut phase: watch::Receiver<Phase>) -> Made {
        tokio::time::sleep(self.plan.begins_after).await;
        let mut made = Made::default();
        let mut patience = self.plan.hangs_up_after;
        while *phase.borrow() < Phase::Calm && made.ids.is_empty() {
            self.asks(self.plan.relayer, patience, &mut made).await;
            patience = PATIENCE;
            tokio::time::sleep(PAUSE).await;
        }
        let _ = phase.wait_for(|phase| *phase == Phase::Calm).await;
        for relayer in 0..self.relayers.len() {
            while !self.asks(relayer, PATIENCE, &mut made).await {
                if self.deadline.has_passed() {
                    made.wrong.push(format!("relayer {relayer} makes no account under {}", self.plan.key));
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        made
    }

    /// Whether it was told of an account.
    async fn asks(&self, relayer: usize, patience: Duration, made: &mut Made) -> bool {
        match tokio::time::timeout(patience, self.answer(relayer)).await.ok().flatten() {
            Some((201, body)) => {
                made.ids.insert(body["account_id"].as_str().unwrap_or_default().to_owned());
                true
            }
            // It is carried out, it came too soon, or it has to be asked for again.
            None | Some((429 | 500.., _)) => false,
            Some((409, body)) if body["error"] == "idempotency_in_progress" => false,
            Some((status, body)) => {
                made.wrong.push(format!("{}: {status} {body}", self.plan.key));
                false
            }
        }
    }

    /// `None`: no answer.
    async fn answer(&self, relayer: usize) -> Option<(u16, Value)> {
        // A connection of its own: the relayer's address changes whenever it restarts.
        let http = reqwest::Client::new();
        let request = http.post(format!("{}/v1/accounts", self.relayers[relayer].url()?));
        let request = request.bearer_auth(&self.key).header("Idempotency-Key", &self.plan.key);
        let answer = request.json(&json!({ "name": self.plan.key })).send().await.ok()?;
        Some((answer.status().as_u16(), answer.json().await.ok()?))
    }
}
