//! What a client does until it has its answer, and every answer that it got.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::Phase;
use super::ledger::Ledger;
use super::patience::Deadline;
use super::plan::{Habit, RoundPlan, RunPlan};
use super::relayer::Relayer;
use super::verdict::Day;
use crate::money;
use crate::proxy::Proxy;

const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(40);
/// While a person is asked.
const LONG_PAUSE: Duration = Duration::from_millis(300);
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
    /// Settlements that a fork dropped, and of which no relayer said so.
    pub unsaid: Vec<String>,
}

impl Said {
    /// True when a retry cannot get another answer, as a client sees it.
    pub fn is_final(&self) -> bool {
        match self.status {
            200 | 409 => true,
            402 => ["policy_violation", "approval_rejected"].iter().any(|error| self.body["error"] == *error),
            _ => false,
        }
    }

    /// The payment that is said to have settled it.
    pub fn signature(&self) -> Option<&str> {
        self.body["tx_signature"].as_str().filter(|_| self.status == 200)
    }
}

/// What makes an answer pass, and what a client in the calm therefore asks beyond.
pub(super) struct Passing {
    /// Payments of the day before.
    pub yesterday: HashSet<String>,
    /// Keys of the day before must be free.
    pub frees_keys: bool,
    /// A relayer lost what it knew: it cannot say what became of it.
    pub forgets: bool,
    /// A node, which knows what a fork showed.
    pub node: Proxy,
    pub ledger: Ledger,
}

impl Passing {
    pub fn of(plan: &RoundPlan, yesterday: Option<&Day>, node: &Proxy, ledger: &Ledger) -> Passing {
        Passing {
            yesterday: yesterday.iter().flat_map(|day| day.signatures()).collect(),
            frees_keys: yesterday.is_some_and(|day| plan.frees_keys(day.plan)),
            forgets: plan.forgets(),
            node: node.clone(),
            ledger: ledger.clone(),
        }
    }

    /// Whether a fork dropped what this answer calls settled.
    async fn was_dropped(&self, said: &Said) -> bool {
        match said.signature() {
            Some(signature) if self.node.outcomes().was_on_fork(signature) => {
                !self.ledger.has(signature).await
            }
            _ => false,
        }
    }
}

/// The client of one run.
pub(super) struct Client {
    run: RunPlan,
    passing: Arc<Passing>,
    body: Value,
    key: String,
    relayers: Vec<Arc<Relayer>>,
    http: reqwest::Client,
    deadline: Deadline,
}

impl Client {
    pub fn new(
        run: &RunPlan,
        body: Value,
        key: &str,
        relayers: &[Arc<Relayer>],
        passing: &Arc<Passing>,
        deadline: Deadline,
    ) -> Client {
        // The relayer's address changes whenever it restarts.
        let http =
            reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client can be made");
        let (run, passing, key) = (run.clone(), Arc::clone(passing), key.to_owned());
        Client { run, passing, body, key, relayers: relayers.to_vec(), http, deadline }
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
        let mut record = Record { said, ..Record::default() };
        for relayer in 0..self.relayers.len() {
            let answers = self.concludes(relayer).await;
            record.last.push(answers.last().filter(|said| said.is_final()).cloned());
            record.said.extend(answers);
        }
        record.unsaid = self.unsaid(&record.said).await;
        record
    }

    /// Finds the payment that the key stands for, of the two. A relayer may hold the key for the one that failed: it answers
    /// "conflict" until a client retries that one and the relayer finds that it is not on the chain.
    async fn concludes(&self, relayer: usize) -> Vec<Said> {
        let mut said = Vec::new();
        loop {
            for asked in [Asked::AsPlanned, Asked::OneMore, Asked::AsPlanned] {
                said.extend(self.insists(relayer, asked).await);
                let conflicts = said.last().is_some_and(|last| last.status == 409);
                if !conflicts || self.run.habit != Habit::ChangesTheAmount {
                    break;
                }
            }
            if !self.passes(said.last()).await || self.deadline.has_passed() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        said
    }

    /// Whether an answer that is final for a client is not the last word: a fork dropped the payment, or the key is about to be free.
    async fn passes(&self, last: Option<&Said>) -> bool {
        let Some(last) = last else { return false };
        let must_be_free = self.run.again.is_some() && self.passing.frees_keys;
        let is_of_yesterday = match last.signature() {
            Some(signature) => self.passing.yesterday.contains(signature),
            None => last.status == 409,
        };
        (must_be_free && is_of_yesterday) || self.passing.was_dropped(last).await
    }

    /// The settlements of which a relayer should say that a fork dropped them, and does not.
    async fn unsaid(&self, said: &[Said]) -> Vec<String> {
        let mut unsaid = Vec::new();
        let mut asked = HashSet::new();
        for said in said {
            let transfer = said.body["transfer_id"].as_str().unwrap_or_default();
            if self.passing.forgets
                || !asked.insert((said.relayer, transfer))
                || !self.passing.was_dropped(said).await
            {
                continue;
            }
            while !self.says_reopened(said, transfer).await {
                if self.deadline.has_passed() {
                    unsaid.push(format!("a fork dropped what was answered as settled: {}", said.body));
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        unsaid
    }

    /// Whether the relayer announced that the transfer is open again, and no longer calls the dropped payment its settlement.
    async fn says_reopened(&self, said: &Said, transfer: &str) -> bool {
        let read = self.reads(said.relayer, &format!("/v1/transfers/{transfer}")).await;
        let path = "/v1/events?type=transfer.reopened&limit=100";
        let events = self.reads(said.relayer, path).await.unwrap_or_default();
        let mut events = events["data"].as_array().into_iter().flatten();
        read.is_some_and(|read| {
            read["status"] != "settled" || read["tx_signature"].as_str() != said.signature()
        }) && events.any(|event| event["data"]["transfer_id"] == transfer)
    }

    async fn reads(&self, relayer: usize, path: &str) -> Option<Value> {
        let url = self.relayers[relayer].url()?;
        let request = self.http.get(format!("{url}{path}")).bearer_auth(&self.key).timeout(PATIENCE);
        request.send().await.ok()?.json().await.ok()
    }

    /// Retries until the answer is final or time runs out.
    async fn insists(&self, relayer: usize, asked: Asked) -> Vec<Said> {
        let mut said: Vec<Said> = Vec::new();
        while !said.last().is_some_and(Said::is_final) && !self.deadline.has_passed() {
            match self.asks(relayer, asked, PATIENCE).await {
                Some(answer) if answer.is_final() => said.push(answer),
                answer => {
                    let waits = answer.as_ref().is_some_and(|said| said.body["status"] == "pending_approval");
                    said.extend(answer);
                    tokio::time::sleep(if waits { LONG_PAUSE } else { PAUSE }).await;
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
