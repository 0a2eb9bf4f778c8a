//! One audit from start to end.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::poll_fn;
use std::task::Poll;

use anchor_lang::prelude::Pubkey;
use sha2::{Digest, Sha256};

use crate::AuditError;
use crate::archive::{Archive, Line};
use crate::check::Check;
use crate::gather::{Subject, gather};
use crate::history::kept::Kept;
use crate::history::{Api, Compared, compare, compare_balances, kept};
use crate::node::Node;
use crate::order::{by_balances, ordered};
use crate::program::program;
use crate::replay::{Outcome, Replay, date};
use crate::report::{Facts, Relayer, Report, build};
use crate::scope::Scope;
use crate::shown::Shown;
use crate::whole;

/// How often progress is reported, in transactions.
const TOLD_EVERY: u64 = 5_000;

/// How far a node may be behind this machine's clock.
const BEHIND_SECONDS_MAX: i64 = 600;

/// What is read before an audit.
pub struct Reading {
    /// One node, or several that are held against each other.
    pub nodes: Vec<Node>,
    /// The address of the program that the subject belongs to.
    pub program: Pubkey,
    pub subject: Subject,
}

/// What an audit is given.
pub struct Inputs<'a> {
    /// What was read already, and where more is kept.
    pub archive: &'a Archive,
    /// `None`: what an earlier audit saved is all.
    pub reading: Option<Reading>,
    /// Where that was read, in words, if nothing is read now.
    pub read_from: String,
    pub api: Option<Api>,
    /// The URL of a transaction's page, with `{signature}` in it. `None`: Solana's own explorer, if the cluster is public.
    pub explorer: Option<String>,
    /// The time, in Unix seconds.
    pub clock: &'a (dyn Fn() -> i64 + Sync),
}

/// Reads, replays and reports. `tell` receives progress messages.
pub async fn audit(inputs: Inputs<'_>, tell: &(dyn Fn(String) + Sync)) -> Result<Report, AuditError> {
    let Inputs { archive, reading, read_from, api, explorer, clock } = inputs;
    if explorer.as_ref().is_some_and(|template| !is_page(template)) {
        let why = "a transaction's page begins with https:// or http://, and has {signature} where the signature goes";
        return Err(AuditError::Refused(why.into()));
    }
    // What came after the beginning may take hours to read, and is no part of it.
    let began = clock();
    let (node, read_from) = match reading {
        None => (None, read_from),
        Some(Reading { nodes, program, subject }) => {
            gather(&nodes, archive, program, subject, tell).await?;
            let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
            let word = if hosts.len() == 1 { "node" } else { "nodes" };
            (nodes.into_iter().next(), format!("the {word} {}", hosts.join(", ")))
        }
    };
    let (scope, mut outcome) = replayed(archive, Keep::Words, tell).await?;
    let is_saved = node.is_none();
    if !is_saved {
        is_of_today(&scope, began, &mut outcome);
    }
    // What it answers is kept beside what was read; where nothing was, what was kept is compared again.
    let (api, node, kept) = match (api, node) {
        (Some(api), Some(node)) => {
            let (api, node, kept) = kept::keeping(api, node);
            (Some(api), Some(node), Some(kept))
        }
        (None, None) => match archive.relayer::<Kept>()?.map(kept::repeating) {
            Some((api, node)) => (Some(api), Some(node), None),
            None => (None, None, None),
        },
        (api, node) => (api, node, None),
    };
    let relayer = match api {
        None => None,
        Some(api) => {
            let with = Compared {
                node: node.as_ref(),
                program: scope.at.program,
                operator: scope.operator,
                account_ids: scope.account_ids,
                until_slot: scope.manifest.until_slot,
                until_time: scope.manifest.until_time,
                is_whole: scope.account.is_none(),
            };
            let newer = compare(&api, &scope.agents, &mut outcome, with).await?;
            let held = compare_balances(&api, &scope.agents, &scope.at, with, newer, &mut outcome).await?;
            Some(Relayer { newer, held })
        }
    };
    if let Some(kept) = kept {
        archive.save_relayer(&*kept::locked(&kept))?;
    }
    let program = program(archive, &scope.at.program, &mut outcome)?;
    crate::network::check(&scope.manifest.genesis_hash, &scope.at.usdc_mint, &mut outcome);
    let archive_sha256 = archive.root()?;
    // Somebody may read into it meanwhile.
    if archive.manifest()?.as_ref() != Some(&scope.manifest) {
        return Err(AuditError::Refused(
            "the directory was changed while it was read: audit it again".into(),
        ));
    }
    Ok(build(Facts {
        scope: &scope,
        read_from,
        is_saved,
        outcome: &outcome,
        program: &program,
        explorer,
        relayer,
        archive_sha256,
        made_at: clock(),
    }))
}

/// A link of another kind would run in the report.
fn is_page(template: &str) -> bool {
    ["https://", "http://"].iter().any(|begin| template.starts_with(begin))
        && template.contains("{signature}")
}

/// Whether policies are kept as a whole, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Words,
    Policies,
}

/// Replays what was gathered.
pub(crate) async fn replayed(
    archive: &Archive,
    keep: Keep,
    tell: &(dyn Fn(String) + Sync),
) -> Result<(Scope, Outcome), AuditError> {
    let scope = Scope::of(archive, archive.whole()?)?;
    let outcome = replay(archive, &scope, keep, tell).await?;
    Ok((scope, outcome))
}

async fn replay(
    archive: &Archive,
    scope: &Scope,
    keep: Keep,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Outcome, AuditError> {
    let mut lists = Vec::new();
    let mut begins = BTreeMap::new();
    for address in scope.walked() {
        let list = archive.signatures(&address)?;
        begins.insert(address, list.last().map(|line| line.slot));
        lists.push(list);
    }
    let snapshots = scope.snapshots(archive)?;
    let mut replay = Replay::new(scope.at, scope.operator, &scope.agents, snapshots);
    replay = replay.comparing(scope.beside.iter().copied()).within_slots(scope.manifest.is_within_slot);
    if keep == Keep::Policies {
        replay = replay.keeping_policies();
    }
    let lines = ordered(&lists);
    drop(lists);
    let purses: HashSet<Pubkey> = scope.agents.iter().map(|agent| scope.at.token_account(agent)).collect();
    let (mut done, mut inputs, mut held) = (0, Sha256::new(), HashMap::new());
    let within = |slot: u64| slot <= scope.manifest.until_slot;
    let well: Vec<&Line> = lines.iter().filter(|line| line.err.is_none() && within(line.slot)).collect();
    for slot in well.chunk_by(|one, other| one.slot == other.slot) {
        let shown = slot.iter().map(|line| Shown::of(line, archive, scope)).collect::<Result<Vec<_>, _>>()?;
        let moved: Vec<_> = shown.iter().map(|it| it.moved(&purses)).collect();
        let order = by_balances(&held, &moved);
        held.extend(
            order
                .iter()
                .filter_map(|place| moved.get(*place))
                .flatten()
                .map(|it| (it.token_account, it.after)),
        );
        let mut shown: Vec<_> = slot.iter().zip(shown.into_iter().map(Some)).collect();
        for place in order {
            let Some((line, Some(shown))) = shown.get_mut(place).map(|(line, it)| (line, it.take())) else {
                continue;
            };
            shown.replayed(line, &mut replay)?;
            inputs.update(&line.signature);
            done += 1;
            if done % TOLD_EVERY == 0 {
                tell(format!("replayed {done} of {} transactions", lines.len()));
                // Whoever shows that may have to do so between two turns.
                breathe().await;
            }
        }
    }
    let mut outcome = replay.finish();
    outcome.inputs_sha256 = hex::encode(inputs.finalize());
    reaches_back(scope, &begins, &outcome)?;
    whole::check(scope, archive, &mut outcome)?;
    Ok(outcome)
}

/// Ends a turn, and goes on in the next one.
async fn breathe() {
    let mut is_over = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A node that stands still tells nothing of what came since.
fn is_of_today(scope: &Scope, began: i64, outcome: &mut Outcome) {
    let until = scope.manifest.until_time;
    if until.unwrap_or_default().saturating_add(BEHIND_SECONDS_MAX) < began {
        let until = until.map_or("an unknown time".to_owned(), date);
        outcome.leaves_open(
            Check::Dates,
            format!("the node's newest block is of {until}, by this machine's clock long ago: what came since was not seen"),
        );
    }
}

/// A past whose beginning is missing says nothing: what is missing explains whatever does not fit.
fn reaches_back(
    scope: &Scope,
    begins: &BTreeMap<Pubkey, Option<u64>>,
    outcome: &Outcome,
) -> Result<(), AuditError> {
    let refused = |what: &str, address: &Pubkey, slot: Option<u64>| {
        let slot = slot.map_or("with nothing".to_owned(), |slot| format!("in slot {slot}"));
        Err(AuditError::Refused(format!(
            "the transactions of {what} {address} begin {slot}, after its creation: the node has pruned that past or leaves it \
             out, so nothing can be told. Ask a node that keeps all of it"
        )))
    };
    let begin = |address: &Pubkey| begins.get(address).copied().flatten();
    if outcome.operator_created.is_none() {
        return refused("the operator", &scope.operator, begin(&scope.operator));
    }
    for (agent, life) in &outcome.lives {
        let Some(created) = &life.created else { continue };
        for address in [*agent, scope.at.token_account(agent)] {
            let slot = begin(&address);
            if slot.is_none_or(|slot| slot > created.slot) {
                return refused("the account", &address, slot);
            }
        }
    }
    Ok(())
}
