//! Whether everything that the service stands on is there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::{Parts, Signers};
use crate::domain::Network;

/// How long a part may take to show that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long what was found is told again: however often it is asked, so often is it looked.
const TOLD_FOR: Duration = Duration::from_secs(1);

/// Something vital that is not well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    DatabaseTakesNoWrites,
    DatabaseCannotBeRead,
    /// No node of the network answers.
    NoNode(Network),
    /// In words: see [`Signers::problems`].
    Keys(String),
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub problems: Vec<Problem>,
    /// Whether requests are better sent to another relayer: what is wrong concerns them all.
    pub unwell: bool,
}

/// Looks after the parts when somebody asks.
#[derive(Clone)]
pub struct Health {
    parts: Parts,
    signers: Signers,
    found: Arc<Mutex<Option<(Instant, Report)>>>,
}

impl Health {
    pub(super) fn new(parts: Parts, signers: Signers) -> Self {
        Self { parts, signers, found: Arc::default() }
    }

    /// What is wrong now, or was a second ago. Takes 2 s at most.
    pub async fn report(&self) -> Report {
        let mut found = self.found.lock().await;
        if let Some((at, report)) = &*found
            && at.elapsed() < TOLD_FOR
        {
            return report.clone();
        }
        let report = self.look().await;
        if report.problems.is_empty() && found.as_ref().is_some_and(|(_, before)| !before.problems.is_empty())
        {
            tracing::info!("everything is well again");
        } else if found.as_ref().is_none_or(|(_, before)| *before != report) && !report.problems.is_empty() {
            tracing::error!(problems = ?report.problems, "not everything is well");
        }
        *found = Some((Instant::now(), report.clone()));
        report
    }

    async fn look(&self) -> Report {
        let store = &self.parts.store;
        let networks = self.parts.chains.networks();
        let nodes = futures::future::join_all(networks.iter().map(|network| self.has_node(*network)));
        let (written, read, nodes) = tokio::join!(
            timeout(PATIENCE, store.probe_writing(self.parts.ambient.now())),
            timeout(PATIENCE, store.probe_reading()),
            nodes,
        );
        let gone = networks.iter().zip(nodes).filter(|(_, is_there)| !is_there).map(|(network, _)| *network);
        let gone: Vec<Network> = gone.collect();
        let mut problems = Vec::new();
        if !matches!(written, Ok(Ok(()))) {
            problems.push(Problem::DatabaseTakesNoWrites);
        }
        if !matches!(read, Ok(Ok(()))) {
            problems.push(Problem::DatabaseCannotBeRead);
        }
        // One network of several: the others are served all the same.
        let unwell = !problems.is_empty() || gone.len() == networks.len();
        problems.extend(gone.into_iter().map(Problem::NoNode));
        // Neither a restart nor another relayer mends these.
        problems.extend(self.signers.problems().into_iter().map(Problem::Keys));
        Report { problems, unwell }
    }

    async fn has_node(&self, network: Network) -> bool {
        let Ok(parts) = self.parts.chains.get(network) else { return false };
        matches!(timeout(PATIENCE, parts.chain.now()).await, Ok(Ok(_)))
    }
}
