//! Health of everything the service depends on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::part::Part;
use super::signers;
use crate::Inside;
use purser_model::Network;
use purser_store::StoreError;

/// How long a part may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How far this machine's clock may be from the chain's, in seconds. The chain's is the validators' own estimate.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 60;
/// How long a report is cached, so frequent requests do not cause frequent checks.
const CACHED_FOR: Duration = Duration::from_secs(1);

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub parts: Vec<Part>,
    /// What is wrong affects every request, so another relayer should take them.
    pub unwell: bool,
    /// Whether this relayer can pay a transfer on at least one network.
    pub ready: bool,
}

impl Report {
    /// The problems of all parts.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.problems).map(String::as_str)
    }

    fn of(parts: Vec<Part>, networks: &[Network]) -> Self {
        let of = |network| parts.iter().filter(move |part: &&Part| part.network == network);
        let has_nodes =
            |network: &Network| !of(Some(*network)).any(|part| part.name == NODES && part.has_failed());
        let is_served = |network: &Network| !of(Some(*network)).any(Part::has_failed);
        // One failed network does not count while the others are served.
        let unwell = of(None).any(Part::has_failed) || !networks.iter().any(has_nodes);
        let ready = !unwell && networks.iter().any(is_served);
        Self { unwell, ready, parts }
    }
}

/// A report, and when it was made.
pub(crate) type CachedReport = (Instant, Report);

const NODES: &str = "nodes";

/// Reports problems; the report is at most one second old. Takes 2 s at most.
pub async fn report(inside: &Arc<Inside>) -> Report {
    let mut found = inside.health.lock().await;
    if let Some((at, report)) = &*found
        && at.elapsed() < CACHED_FOR
    {
        return report.clone();
    }
    let report = look(inside).await;
    let is_well = report.problems().next().is_none();
    let was_well = found.as_ref().is_none_or(|(_, before)| before.problems().next().is_none());
    if is_well && !was_well {
        tracing::info!("health check passes again");
    } else if !is_well && found.as_ref().is_none_or(|(_, before)| *before != report) {
        let problems: Vec<&str> = report.problems().collect();
        tracing::error!(?problems, "health check failed");
    }
    *found = Some((Instant::now(), report.clone()));
    report
}

async fn look(inside: &Arc<Inside>) -> Report {
    let networks = inside.chains.networks();
    let nodes = futures::future::join_all(networks.iter().map(|network| nodes_and_clock(inside, *network)));
    let (database, nodes) = tokio::join!(database(inside), nodes);
    let mut parts = vec![database, tasks(inside)];
    for (network, [nodes, clock]) in networks.iter().zip(nodes) {
        // A restart or another relayer does not help with keys, SOL or signers.
        parts.extend([
            nodes,
            clock,
            websocket(inside, *network),
            signers::authorities(inside, *network),
            signers::sol(inside, *network),
            signers::signers(inside, *network),
        ]);
    }
    Report::of(parts, &networks)
}

async fn database(inside: &Arc<Inside>) -> Part {
    let (written, read) = tokio::join!(
        timeout(PATIENCE, inside.store.upkeep.probe_writing(inside.clock.now())),
        timeout(PATIENCE, inside.store.upkeep.probe_reading()),
    );
    let mut problems = Vec::new();
    match written {
        Ok(Ok(())) => {}
        Ok(Err(StoreError::DiskFull(_))) => {
            problems.push("database: takes no writes, its disk is full".to_owned());
        }
        Ok(Err(_)) | Err(_) => problems.push("database: takes no writes".to_owned()),
    }
    if !matches!(read, Ok(Ok(()))) {
        problems.push("database: cannot be read".to_owned());
    }
    Part::new("database", None, true, problems)
}

fn tasks(inside: &Arc<Inside>) -> Part {
    let tasks = &inside.tasks;
    let ended = tasks.kept().into_iter().filter(|(_, kept)| kept.has_ended);
    let ended = ended.map(|(name, _)| format!("task {name}: has ended"));
    let stops = tasks.leaving.is_cancelled().then(|| "tasks: the process is stopping".to_owned());
    Part::new("tasks", None, true, ended.chain(stops).collect())
}

/// Asks a node for the time: a websocket may keep the clock known while every call is refused.
async fn nodes_and_clock(inside: &Arc<Inside>, network: Network) -> [Part; 2] {
    let read = match inside.chains.get(network) {
        Ok(parts) => timeout(PATIENCE, parts.chain.read_time()).await.ok().and_then(Result::ok),
        Err(_) => None,
    };
    let problem = read.is_none().then(|| format!("network {network}: no node answers"));
    let nodes = Part::new(NODES, Some(network), true, problem.into_iter().collect());
    // Without the seconds, which change: each change of a report is logged.
    let here = inside.clock.now().unix_seconds();
    let skewed = read.filter(|chain| chain.abs_diff(here) > CLOCK_SKEW_SECONDS_MAX).map(|chain| {
        let side = if here > chain { "ahead of" } else { "behind" };
        format!(
            "network {network}: this machine's clock is more than {CLOCK_SKEW_SECONDS_MAX} s {side} the chain's, so entries \
             of histories get a wrong `visible_at`"
        )
    });
    [nodes, Part::new("clock", Some(network), false, skewed.into_iter().collect())]
}

/// Without it everything is served, and later.
fn websocket(inside: &Arc<Inside>, network: Network) -> Part {
    let figures = inside.chains.get(network).map(|parts| parts.chain.figures()).unwrap_or_default();
    let problem = if figures.is_websocket_down() {
        Some("no websocket connects, so landings and deposits are noticed later")
    } else if figures.topics_missing > 0 {
        Some("nodes refuse websocket subscriptions, so landings and changes are noticed later")
    } else {
        None
    };
    let problem = problem.map(|problem| format!("network {network}: {problem}"));
    Part::new("websocket", Some(network), false, problem.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::super::PartStatus;
    use super::*;

    fn part(name: &'static str, network: Option<Network>, all: bool, problem: &str) -> Part {
        let problems = [problem].into_iter().filter(|problem| !problem.is_empty());
        Part::new(name, network, all, problems.map(str::to_owned).collect())
    }

    #[test]
    fn one_network_of_two_that_can_pay_is_enough_and_a_tenants_keys_are_no_reason() {
        let networks = Network::ALL;
        let [test, live] = networks.map(Some);
        for (broken, unwell, ready) in [
            (vec![], false, true),
            (vec![part("nodes", test, true, "x")], false, true),
            (vec![part("nodes", test, true, "x"), part("nodes", live, true, "x")], true, false),
            (vec![part("nodes", test, true, "x"), part("sol", live, true, "x")], false, false),
            (vec![part("authorities", test, false, "x"), part("sol", live, false, "x")], false, true),
            (vec![part("authorities", test, true, "x"), part("sol", live, true, "x")], false, false),
            (vec![part("database", None, true, "x")], true, false),
            (vec![part("tasks", None, true, "x")], true, false),
        ] {
            let found = Report::of(broken, &networks);
            assert_eq!((found.unwell, found.ready), (unwell, ready), "{found:?}");
        }
        assert_eq!(part("sol", test, true, "").status, PartStatus::Ok);
    }
}
