//! What a client does until it has its answer, and every answer that it got.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::Phase;
use super::plan::{Habit, RunPlan};
use super::relayer::Relayer;
use crate::money;

const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(40);
/// How long a client waits for an answer of any kind at dusk.
const PATIENCE_AT_DUSK: Duration = Duration::from_secs(3);

/// What was asked: the planned payment, or one micro-USDC more under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    AsPlanned,
    OneMore,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub asked: Asked,
    pub relayer: usize,
    pub status: u16,
    pub body: Value,
}

/// Every answer that one run's client got.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub said: Vec<Said>,
    /// Each relayer's last answer in the calm about the payment that the key stands for.
    pub last: Vec<Option<Said>>,
}

impl Said {
    /// True when a retry cannot get another answer.
    pub fn is_final(&self) -> bool {
        match self.status {
            200 | 409 => true,
            402 => self.body["error"] == "policy_violation",
            _ => false,
        }
    }
}

/// The client of one run.
pub(super) struct Client {
    run: RunPlan,
    body: Value,
    key: String,
    relayers: Vec<Arc<Relayer>>,
    http: reqwest::Client,
    deadline: Instant,
}

impl Client {
    pub fn new(
        run: &RunPlan,
        body: Value,
        key: &str,
        relayers: &[Arc<Relayer>],
        deadline: Instant,
    ) -> Client {
        // The relayer's address changes whenever it restarts.
        let http =
            reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client can be made");
        Client { run: run.clone(), body, key: key.to_owned(), relayers: relayers.to_vec(), http, deadline }
    }

    /// Asks as its habit says, once more at dusk (if there is one), and every relayer in the calm. `busy` counts the clients
    /// that are not done with the phase.
    pub async fn goes(self, mut phase: watch::Receiver<Phase>, busy: &AtomicUsize) -> Record {
        tokio::time::sleep(self.run.begins_after).await;
        let mut said = Vec::new();
        let here = self.run.relayer;
        let other = self.relayers.len() - 1 - here;
        match self.run.habit {
            Habit::Retries => said.extend(self.insists(here, Asked::AsPlanned).await),
            Habit::HangsUp(after) => {
                for _ in 0..2 {
                    said.extend(self.asks(here, Asked::AsPlanned, after).await);
                }
                said.extend(self.insists(here, Asked::AsPlanned).await);
            }
            Habit::AsksTwice => {
                let (one, two) =
                    tokio::join!(self.insists(here, Asked::AsPlanned), self.insists(other, Asked::AsPlanned));
                said.extend(one.into_iter().chain(two));
            }
            Habit::ChangesTheAmount => {
                let (one, two) = tokio::join!(
                    self.asks(here, Asked::AsPlanned, PATIENCE),
                    self.asks(other, Asked::OneMore, PATIENCE)
                );
                said.extend(one.into_iter().chain(two));
                said.extend(self.insists(here, Asked::AsPlanned).await);
            }
            Habit::GoesAway(after) => said.extend(self.asks(here, Asked::AsPlanned, after).await),
        }
        busy.fetch_sub(1, Ordering::SeqCst);
        let _ = phase.wait_for(|phase| *phase > Phase::Storm).await;
        if *phase.borrow() == Phase::Dusk {
            let everyone = (0..self.relayers.len())
                .map(|relayer| self.asks(relayer, Asked::AsPlanned, PATIENCE_AT_DUSK));
            said.extend(futures::future::join_all(everyone).await.into_iter().flatten());
            busy.fetch_sub(1, Ordering::SeqCst);
        }
        let _ = phase.wait_for(|phase| *phase == Phase::Calm).await;
        let mut last = Vec::new();
        for relayer in 0..self.relayers.len() {
            let answers = self.concludes(relayer).await;
            last.push(answers.last().filter(|said| said.is_final()).cloned());
            said.extend(answers);
        }
        Record { said, last }
    }

    /// Finds the payment that the key stands for, of the two. A relayer may hold the key for the one that failed: it answers
    /// "conflict" until a client retries that one and the relayer finds that it is not on the chain.
    async fn concludes(&self, relayer: usize) -> Vec<Said> {
        let mut said = self.insists(relayer, Asked::AsPlanned).await;
        for asked in [Asked::OneMore, Asked::AsPlanned] {
            if self.run.habit == Habit::ChangesTheAmount && said.last().is_some_and(|last| last.status == 409)
            {
                said.extend(self.insists(relayer, asked).await);
            }
        }
        said
    }

    /// Retries until the answer is final or time runs out.
    async fn insists(&self, relayer: usize, asked: Asked) -> Vec<Said> {
        let mut said: Vec<Said> = Vec::new();
        while !said.last().is_some_and(Said::is_final) && Instant::now() < self.deadline {
            match self.asks(relayer, asked, PATIENCE).await {
                Some(answer) if answer.is_final() => said.push(answer),
                answer => {
                    said.extend(answer);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        said
    }

    /// Asks once. `None`: the client hung up, got no answer, or found no server.
    async fn asks(&self, relayer: usize, asked: Asked, patience: Duration) -> Option<Said> {
        let url = self.relayers[relayer].url()?;
        let mut body = self.body.clone();
        if asked == Asked::OneMore {
            body["amount"] = json!(money::text_of(self.run.amount_micros + 1));
        }
        let request = self.http.post(format!("{url}/v1/transfers")).bearer_auth(&self.key).json(&body);
        let asking = async {
            let answer = request.send().await.ok()?;
            let status = answer.status().as_u16();
            let body = answer.json().await.ok()?;
            Some(Said { asked, relayer, status, body })
        };
        tokio::time::timeout(patience, asking).await.ok()?
    }
}
