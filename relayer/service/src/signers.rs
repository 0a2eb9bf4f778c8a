//! Regular checks of our keys: do operators still name them, do they have SOL, does the key service sign? A problem is
//! logged when it begins and then every few minutes; `GET /healthz` shows it as long as it lasts.

use parking_lot::MutexGuard;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::part::Part;
use crate::Inside;
use purser_chain::{Authority, ChainFigures, KeyLook, KeyProblem};
use purser_model::{Address, HaltedBy, Network, OpenDefence, Operator, Timestamp};

/// How long a page waits for an operator's account.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How often a lasting problem is logged again.
const SAY_EVERY: Duration = Duration::from_secs(300);

/// What is wrong with the keys of each network.
#[derive(Default)]
pub(crate) struct KnownSigners {
    problems: Vec<(Network, KeyProblem)>,
    /// How many operators were checked.
    operators: HashMap<Network, usize>,
    /// The operators that are halted, and when that was read. A network that is not in it was not read yet.
    halted: HashMap<Network, (Timestamp, HashMap<Address, HaltedBy>)>,
    looked_at: Option<Instant>,
    said_at: Option<Instant>,
}

/// The state of a network's authorities at the last check, in words that name no operator. One tenant whose admin
/// names other keys makes them degraded; only all tenants together make them failed.
pub(super) fn authorities(inside: &Arc<Inside>, network: Network) -> Part {
    let known = known(inside);
    let mut rotated: BTreeMap<String, usize> = BTreeMap::new();
    let mut cannot_pay: BTreeSet<Address> = BTreeSet::new();
    for problem in known.of(network) {
        if let KeyProblem::AuthorityRotated { role, operator } = problem {
            let what = format!("network {network}: authority_rotated: operators name another {role}");
            *rotated.entry(what).or_default() += 1;
            cannot_pay.extend((*role == Authority::Transfer).then_some(*operator));
        }
    }
    let operators = known.operators.get(&network).copied().unwrap_or(0);
    let all = !cannot_pay.is_empty() && cannot_pay.len() >= operators;
    let problems = rotated.into_iter().map(|(what, count)| format!("{what} ({count})"));
    Part::new("authorities", Some(network), all, problems.collect())
}

/// Likewise for the SOL in its wallets: failed when no transfer authority can pay a fee. Low SOL is not a problem yet.
pub(super) fn sol(inside: &Arc<Inside>, network: Network) -> Part {
    let known = known(inside);
    let empty = known.of(network).filter_map(|problem| match problem {
        KeyProblem::FeePayerEmpty { address, .. } => Some(*address),
        KeyProblem::AuthorityRotated { .. }
        | KeyProblem::FeePayerLow { .. }
        | KeyProblem::SignerUnavailable { .. } => None,
    });
    let empty: Vec<Address> = empty.collect();
    let all = are_all_that_pay(inside, network, &empty);
    let words = |address| format!("network {network}: fee_payer_empty: {address} has no SOL for fees");
    Part::new("sol", Some(network), all, empty.into_iter().map(words).collect())
}

/// The network's wallets that are low on SOL, with the lamports that they can spend.
pub fn low_on_sol(inside: &Arc<Inside>, network: Network) -> Vec<(Address, u64)> {
    let low = |problem: &KeyProblem| match problem {
        KeyProblem::FeePayerLow { address, lamports } => Some((*address, *lamports)),
        KeyProblem::AuthorityRotated { .. }
        | KeyProblem::FeePayerEmpty { .. }
        | KeyProblem::SignerUnavailable { .. } => None,
    };
    known(inside).of(network).filter_map(low).collect()
}

/// The wallets, nodes and websocket of a network, from what this process holds; `None`: it does not serve that.
pub fn figures(inside: &Arc<Inside>, network: Network) -> Option<ChainFigures> {
    Some(inside.chains.get(network).ok()?.chain.figures())
}

/// The defences that an operator does without; none while the chain does not answer promptly.
pub async fn open_defences(inside: &Arc<Inside>, operator: &Operator) -> Vec<OpenDefence> {
    let Ok(parts) = inside.chains.get(operator.network) else { return Vec::new() };
    match timeout(PATIENCE, parts.chain.read_operator(&operator.address)).await {
        Ok(Ok(Some(found))) => parts.chain.open_defences(&found),
        Ok(Ok(None) | Err(_)) | Err(_) => Vec::new(),
    }
}

/// Likewise for whoever keeps its keys: failed when no transfer key can sign.
pub(super) fn signers(inside: &Arc<Inside>, network: Network) -> Part {
    let known = known(inside);
    let away = known.of(network).filter_map(|problem| match problem {
        KeyProblem::SignerUnavailable { address, role } => Some((*address, *role)),
        KeyProblem::AuthorityRotated { .. }
        | KeyProblem::FeePayerEmpty { .. }
        | KeyProblem::FeePayerLow { .. } => None,
    });
    let (addresses, words): (Vec<Address>, Vec<String>) = away
        .map(|(address, role)| {
            let words = format!(
                "network {network}: signer_unavailable: the signer of {role} {address} does not sign"
            );
            (address, words)
        })
        .unzip();
    Part::new("signers", Some(network), are_all_that_pay(inside, network, &addresses), words)
}

/// Whether these include every wallet of the network that signs transfers.
fn are_all_that_pay(inside: &Arc<Inside>, network: Network, these: &[Address]) -> bool {
    let wallets = inside.chains.get(network).map(|parts| parts.chain.figures().wallets);
    let mut paying = wallets.unwrap_or_default();
    paying.retain(|wallet| wallet.role == Authority::Transfer);
    !paying.is_empty() && paying.iter().all(|wallet| these.contains(&wallet.address))
}

/// How many operators of a network no longer name one of our keys for a role.
pub(super) fn rotated(inside: &Arc<Inside>, network: Network) -> usize {
    let known = known(inside);
    let operators = known.of(network).filter_map(|problem| match problem {
        KeyProblem::AuthorityRotated { operator, .. } => Some(*operator),
        KeyProblem::FeePayerEmpty { .. }
        | KeyProblem::FeePayerLow { .. }
        | KeyProblem::SignerUnavailable { .. } => None,
    });
    operators.collect::<BTreeSet<Address>>().len()
}

/// How many operators of a network were halted at the last check. `None`: they were not read yet.
pub(super) fn halted(inside: &Arc<Inside>, network: Network) -> Option<usize> {
    Some(known(inside).halted.get(&network)?.1.len())
}

/// Whose key halted this operator, by the last check, and when that was. `None`: it was not read yet.
pub(super) fn halt_of(inside: &Arc<Inside>, operator: &Operator) -> Option<(Option<HaltedBy>, Timestamp)> {
    let known = known(inside);
    let (at, halted) = known.halted.get(&operator.network)?;
    Some((halted.get(&operator.address).copied(), *at))
}

/// Checks the keys, if it is time.
pub(super) async fn look(inside: &Arc<Inside>) {
    let now = Instant::now();
    if known(inside).looked_at.is_some_and(|at| now.duration_since(at) < LOOK_EVERY) {
        return;
    }
    known(inside).looked_at = Some(now);
    let operators = match inside.store.operators.list_operators().await {
        Ok(operators) => operators,
        Err(error) => {
            tracing::warn!(%error, "cannot check keys; retrying later");
            return;
        }
    };
    let mut problems = Vec::new();
    for network in inside.chains.networks() {
        let Ok(parts) = inside.chains.get(network) else { continue };
        let of_network = operators.iter().filter(|operator| operator.network == network);
        let addresses: Vec<Address> = of_network.map(|operator| operator.address).collect();
        known(inside).operators.insert(network, addresses.len());
        let at = inside.clock.now();
        match parts.chain.look_at_keys(&addresses).await {
            Ok(KeyLook { problems: found, halted }) => {
                known(inside).halted.insert(network, (at, halted.into_iter().collect()));
                problems.extend(found.into_iter().map(|problem| (network, problem)));
            }
            // Keep the known problems: they may persist.
            Err(error) => {
                tracing::debug!(%network, %error, "cannot check keys; retrying later");
                let before = known(inside).problems.clone();
                problems.extend(before.into_iter().filter(|(of, _)| *of == network));
            }
        }
    }
    known(inside).say(problems, &operators, now);
}

fn known(inside: &Arc<Inside>) -> MutexGuard<'_, KnownSigners> {
    inside.signers.lock()
}

impl KnownSigners {
    fn of(&self, network: Network) -> impl Iterator<Item = &KeyProblem> {
        self.problems.iter().filter(move |(of, _)| *of == network).map(|(_, problem)| problem)
    }

    /// Logs what begins, what still lasts, and what has ended.
    fn say(&mut self, problems: Vec<(Network, KeyProblem)>, operators: &[Operator], now: Instant) {
        let is_due = self.said_at.is_none_or(|at| now.duration_since(at) >= SAY_EVERY);
        let is_same = |one: &(Network, KeyProblem), other: &(Network, KeyProblem)| {
            one.0 == other.0 && is_about_the_same(&one.1, &other.1)
        };
        for found in &problems {
            if is_due || !self.problems.iter().any(|before| is_same(before, found)) {
                warn(found, operators);
            }
        }
        for (network, problem) in &self.problems {
            if !problems.iter().any(|found| is_same(found, &(*network, *problem))) {
                tracing::info!(%network, ?problem, "a problem with keys or SOL has ended");
            }
        }
        if is_due {
            self.said_at = Some(now);
        }
        self.problems = problems;
    }
}

/// Ignores lamports, which change all the time.
fn is_about_the_same(one: &KeyProblem, other: &KeyProblem) -> bool {
    match (one, other) {
        (
            KeyProblem::FeePayerEmpty { address: one, .. },
            KeyProblem::FeePayerEmpty { address: other, .. },
        )
        | (KeyProblem::FeePayerLow { address: one, .. }, KeyProblem::FeePayerLow { address: other, .. }) => {
            one == other
        }
        (
            KeyProblem::AuthorityRotated { .. }
            | KeyProblem::FeePayerEmpty { .. }
            | KeyProblem::FeePayerLow { .. }
            | KeyProblem::SignerUnavailable { .. },
            _,
        ) => one == other,
    }
}

fn warn((network, problem): &(Network, KeyProblem), operators: &[Operator]) {
    match problem {
        KeyProblem::AuthorityRotated { operator, role } => {
            let named = operators.iter().find(|known| known.address == *operator).map(|known| known.id);
            let operator_id = named.map_or_else(String::new, |id| id.to_string());
            tracing::warn!(
                %network, operator_id, %operator,
                "the operator's account names no {role} that this relayer has: configure the key, or have the admin name ours"
            );
        }
        KeyProblem::FeePayerEmpty { address, lamports } => {
            tracing::warn!(%network, %address, spendable = lamports, "a wallet has no SOL for fees: send it some");
        }
        KeyProblem::FeePayerLow { address, lamports } => {
            tracing::warn!(%network, %address, spendable = lamports, "a wallet is low on SOL");
        }
        KeyProblem::SignerUnavailable { address, role } => {
            tracing::warn!(%network, %address, "the signer of this {role} is unavailable: nothing is signed with its key");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_base::captured_log::CapturedLog;

    #[test]
    fn lasting_problem_is_logged_when_it_begins_and_every_five_minutes() {
        let log = CapturedLog::start();
        let mut known = KnownSigners::default();
        let start = Instant::now();
        let address = Address::from_bytes([7; 32]);
        let mut looks_at = |seconds: u64, lamports: Option<u64>| {
            let low = |lamports| (Network::Test, KeyProblem::FeePayerLow { address, lamports });
            known.say(lamports.map(low).into_iter().collect(), &[], start + Duration::from_secs(seconds));
            log.lines_with("a wallet is low on SOL").len()
        };
        assert_eq!(looks_at(0, Some(9_000_000)), 1, "it begins");
        assert_eq!(looks_at(10, Some(8_000_000)), 1, "still so, with less");
        assert_eq!(looks_at(299, Some(8_000_000)), 1);
        assert_eq!(looks_at(300, Some(8_000_000)), 2, "five minutes later");
        assert_eq!(looks_at(310, None), 2);
        assert_eq!(log.lines_with("a problem with keys or SOL has ended").len(), 1);
        assert_eq!(looks_at(320, Some(8_000_000)), 3, "it begins again");
    }
}
