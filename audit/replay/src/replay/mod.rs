//! Replays every signed instruction in the order of the chain, from the operator's creation on. `purser_policy` makes each
//! decision again, under the policy in force at that time. The result must match the program's log, the balances of token
//! accounts, and in the end the accounts as they stand. Pure.

mod beside;
mod budgets;
mod dates;
mod drafts;
mod foreign;
mod found;
mod grants;
mod held;
mod money;
mod operators;
mod outcome;
mod payments;
mod policies;
mod purses;
mod standing;
mod step;
mod timeline;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anchor_lang::prelude::Pubkey;
use purser::BudgetCaps;
use purser::state::{Agent, Approver, Budget, ClosedAgent, Grant, Operator, PolicyDraft};
use purser_client::{Deployment, EventLog, LandedWell, TokenBalance};
use purser_policy::TagBucket;

use crate::archive::Snapshot;
use crate::check::Check;
use crate::signed::Signed;
use crate::tables::Looked;
use found::Found;
use money::{Day, Purse};
use step::Step;

pub use outcome::{
    BudgetTerms, Halt, KeyRole, Life, Loosening, Mismatch, MomentKind, Movement, Outcome, Payment, Place,
    Span, Term, TimelineEntry, date, usdc,
};
pub(crate) use timeline::bound;

/// A transaction to replay.
pub struct Transaction {
    /// Base58.
    pub signature: String,
    pub landed: LandedWell,
    pub signed: Signed,
}

/// A replayed account: the program's own layout, and its allowlist.
#[derive(Debug, Clone)]
struct AgentBook {
    agent: Agent,
    /// Bounds and allowlist.
    tail: Vec<u8>,
    buckets: Vec<TagBucket>,
    /// A payment of unknown amount is missing: until this time the window cannot be recomputed.
    unsure_until: Option<i64>,
}

/// What a closed agent left at its address, and how it stood last.
#[derive(Debug, Clone)]
struct ClosedBook {
    left: ClosedAgent,
    last: AgentBook,
}

#[derive(Debug, Clone)]
struct DraftBook {
    draft: PolicyDraft,
    tail: Vec<u8>,
}

#[derive(Debug, Clone)]
struct GrantBook {
    grant: Grant,
    /// The key that signed.
    opener: Pubkey,
}

/// The program's state.
#[derive(Debug, Clone, Default)]
struct World {
    operator: Option<Operator>,
    agents: BTreeMap<Pubkey, AgentBook>,
    /// By agent.
    drafts: BTreeMap<Pubkey, DraftBook>,
    closed: BTreeMap<Pubkey, ClosedBook>,
    /// By their own addresses.
    grants: BTreeMap<Pubkey, GrantBook>,
    approvers: BTreeMap<Pubkey, Approver>,
    budgets: BTreeMap<Pubkey, Budget>,
    /// The last caps of those that were closed.
    ended_budgets: BTreeMap<Pubkey, BudgetCaps>,
}

/// Replays one operator.
pub struct Replay {
    at: Deployment,
    operator: Pubkey,
    audited: BTreeSet<Pubkey>,
    /// Grants, approvers and budgets that are compared.
    beside: BTreeSet<Pubkey>,
    world: World,
    purses: BTreeMap<Pubkey, Purse>,
    days: HashMap<Pubkey, Day>,
    snapshots: Vec<(Pubkey, Snapshot)>,
    /// Whether each snapshot may be of any moment within its slot.
    is_within_slot: bool,
    /// The newest block and its date.
    dated: Option<(u64, i64)>,
    keeps_policies: bool,
    outcome: Outcome,
}

impl Replay {
    /// `agents`: the audited ones. `snapshots`: accounts as they stood, each at its own slot.
    pub fn new(
        at: Deployment,
        operator: Pubkey,
        agents: &[Pubkey],
        mut snapshots: Vec<(Pubkey, Snapshot)>,
    ) -> Self {
        snapshots.sort_by_key(|(_, snapshot)| std::cmp::Reverse(snapshot.slot));
        let purse = |agent: &Pubkey| (at.token_account(agent), Purse::of(*agent));
        Self {
            at,
            operator,
            audited: agents.iter().copied().collect(),
            beside: BTreeSet::new(),
            world: World::default(),
            purses: agents.iter().map(purse).collect(),
            days: HashMap::new(),
            snapshots,
            is_within_slot: false,
            dated: None,
            keeps_policies: false,
            outcome: Outcome::default(),
        }
    }

    /// Compares these grants, approvers and budgets with what stands on the chain.
    pub fn comparing(mut self, beside: impl IntoIterator<Item = Pubkey>) -> Self {
        self.beside.extend(beside);
        self
    }

    /// Takes each snapshot as of any moment within its slot.
    pub fn within_slots(mut self, is_within_slot: bool) -> Self {
        self.is_within_slot = is_within_slot;
        self
    }

    /// Keeps every policy as a whole, so that what was refused can be decided again.
    pub fn keeping_policies(mut self) -> Self {
        self.keeps_policies = true;
        self
    }

    /// Replays the next transaction, in the order of the chain.
    pub fn apply(&mut self, transaction: &Transaction) {
        let Transaction { signature, landed, signed } = transaction;
        self.compare_before(landed.slot);
        // Only what changes nothing comes without a date.
        let time = landed.block_time.or(self.outcome.last_time).unwrap_or_default();
        let place = Place { signature: signature.clone(), slot: landed.slot, time };
        self.outcome.transactions += 1;
        self.check_date(&place);
        self.check_signatures(&place, signed, landed);
        self.tell_forged(&place, landed);

        let calls_ours = !landed.calls.is_empty();
        let found = if calls_ours { self.replay(&place, landed) } else { Found::default() };
        self.write_down(&place, &found);
        self.count_money(&place, landed, &found.movements);
        self.follow_money(&place, landed, &found.recipients);
    }

    /// Call this after the last transaction.
    pub fn finish(mut self) -> Outcome {
        self.compare_before(u64::MAX);
        self.end_loosenings();
        self.outcome.keys = self.world.operator;
        let grants = self.world.grants.iter().filter(|(_, it)| self.audited.contains(&it.grant.agent));
        let open = grants.map(|(address, _)| address);
        let open = open.chain(self.world.approvers.keys()).chain(self.world.budgets.keys());
        self.outcome.beside = open.copied().collect();
        for (agent, book) in &self.world.agents {
            if let Some(life) = self.outcome.lives.get_mut(agent) {
                let version = book.agent.policy_version;
                let mut words = vec![format!("version {version}: {}", timeline::terms(&book.policy()))];
                words.extend(timeline::bound(&book.agent.bounds(&book.tail)));
                words.extend((book.agent.halted_by != 0).then(|| "halted".to_owned()));
                life.terms = Some(words.join(", "));
            }
        }
        for purse in self.purses.values() {
            if let Some(life) = self.outcome.lives.get_mut(&purse.agent) {
                (life.first_balance, life.last_balance) = (purse.first, purse.balance);
            }
        }
        self.outcome
    }

    /// Replays the calls on the accounts that they name. A block's date is a whole second, and some nodes date a block by its
    /// end. So what does not hold at that second is tried one second earlier, and reported.
    fn replay(&mut self, place: &Place, landed: &LandedWell) -> Found {
        let now = place.time;
        let mut step = self.step(landed, now);
        step.run();
        if !step.found.mismatches.is_empty() {
            let mut earlier = self.step(landed, now.saturating_sub(1));
            earlier.run();
            if earlier.found.mismatches.is_empty() {
                self.outcome.second_earlier.push(place.clone());
                step = earlier;
            }
        }
        let Step { world, found, .. } = step;
        self.world.operator = world.operator;
        for called in &landed.calls {
            for key in &called.accounts {
                replace(&mut self.world.agents, &world.agents, key);
                replace(&mut self.world.drafts, &world.drafts, key);
                replace(&mut self.world.closed, &world.closed, key);
                replace(&mut self.world.grants, &world.grants, key);
                replace(&mut self.world.approvers, &world.approvers, key);
                replace(&mut self.world.budgets, &world.budgets, key);
                replace(&mut self.world.ended_budgets, &world.ended_budgets, key);
            }
        }
        found
    }

    /// A step on copies of the accounts that the calls name.
    fn step<'a>(&self, landed: &'a LandedWell, now: i64) -> Step<'a> {
        let named = || landed.calls.iter().flat_map(|called| &called.accounts);
        let world = World {
            operator: self.world.operator,
            agents: named().filter_map(|key| Some((*key, self.world.agents.get(key)?.clone()))).collect(),
            drafts: named().filter_map(|key| Some((*key, self.world.drafts.get(key)?.clone()))).collect(),
            closed: named().filter_map(|key| Some((*key, self.world.closed.get(key)?.clone()))).collect(),
            grants: named().filter_map(|key| Some((*key, self.world.grants.get(key)?.clone()))).collect(),
            budgets: named().filter_map(|key| Some((*key, *self.world.budgets.get(key)?))).collect(),
            ended_budgets: named()
                .filter_map(|key| Some((*key, *self.world.ended_budgets.get(key)?)))
                .collect(),
            approvers: named().filter_map(|key| Some((*key, *self.world.approvers.get(key)?))).collect(),
        };
        let log = landed.log.as_ref().map(|lines| EventLog::read(&self.at.program, lines));
        let is_ours = |payload: &Vec<u8>| self.concerns_us(payload, landed);
        let is_whole = log.as_ref().is_some_and(|log| !log.incomplete);
        let payloads = log.map(|log| log.payloads).unwrap_or_default();
        let logged = payloads.into_iter().filter(is_ours).collect();
        Step {
            at: self.at,
            address: self.operator,
            now,
            landed,
            memo: None,
            logged,
            is_whole,
            world,
            to_move: None,
            found: Found::default(),
        }
    }

    /// Whether a transaction calls the program for this operator, or changes an audited balance.
    pub fn concerns(&self, landed: &LandedWell) -> bool {
        let changes =
            |it: &TokenBalance| it.before != it.after && self.purses.contains_key(&it.token_account);
        self.is_called(landed) || landed.balances.iter().any(changes)
    }

    /// Whether a transaction calls the program for this operator.
    pub fn is_called(&self, landed: &LandedWell) -> bool {
        landed.calls.iter().any(|called| step::is_about(called, &self.operator))
    }

    /// Notes that what a transaction took from lookup tables could not be checked, or is not so.
    pub(crate) fn looked_up(&mut self, place: &Place, looked: &Looked) {
        match looked {
            Looked::Well => {}
            Looked::Wrong(tables) => {
                let of = if tables.is_empty() { String::new() } else { format!(" It names {tables}.") };
                let text =
                    format!("The node gives the transaction addresses that no lookup table holds.{of}");
                self.mismatch(Check::Signatures, None, Some(place), text);
            }
            Looked::Unknown(table) => {
                let signature = &place.signature;
                let why =
                    format!("{signature} takes addresses from the lookup table {table}, which is no more");
                self.unchecked(Check::Signatures, why);
            }
        }
    }

    fn check_signatures(&mut self, place: &Place, signed: &Signed, landed: &LandedWell) {
        match signed {
            Signed::Well => self.examined(Check::Signatures, 1),
            Signed::Wrong(why) => {
                self.examined(Check::Signatures, 1);
                let text = format!("The transaction is not what was signed: {why}.");
                self.mismatch(Check::Signatures, None, Some(place), text);
            }
            // Anybody can send one that names the operator.
            Signed::UnknownVersion if !self.concerns(landed) => {
                self.outcome.unknown_version.push(place.clone())
            }
            Signed::UnknownVersion => {
                let why = "a transaction has a version that this audit cannot put together".to_owned();
                self.unchecked(Check::Signatures, why);
            }
            // A node could invent a deposit with one.
            Signed::Airdrop if self.concerns(landed) => {
                self.examined(Check::Signatures, 1);
                let text = "The transaction is not signed, and changes the balance of an account.".to_owned();
                self.mismatch(Check::Signatures, None, Some(place), text);
            }
            Signed::Airdrop => self.outcome.airdrops.push(place.clone()),
        }
    }

    fn write_down(&mut self, place: &Place, found: &Found) {
        for (check, account) in &found.examined {
            if self.is_audited(*account) {
                self.examined(*check, 1);
            }
        }
        for (check, account, text) in &found.mismatches {
            self.mismatch(*check, *account, Some(place), text.clone());
        }
        if found.created_operator {
            self.outcome.operator_created.get_or_insert(place.clone());
        }
        if found.recomputed > 0 {
            self.outcome.recomputed.push((place.clone(), found.recomputed));
        }
        // One that is closed and created anew in one transaction ends before it begins.
        for agent in found.closed.iter().filter(|agent| found.anew.iter().any(|(anew, _)| anew == *agent)) {
            self.ends(place, *agent, found);
        }
        for agent in &found.created {
            self.outcome.owners.insert(self.at.token_account(agent), *agent);
            if self.is_audited(Some(*agent)) {
                let life = self.outcome.lives.entry(*agent).or_default();
                life.created.get_or_insert(place.clone());
                life.closed = None;
            }
        }
        for operator in &found.operators {
            self.follow_operator(place, operator);
        }
        for change in &found.policies {
            self.follow_policy(place, change);
        }
        for change in &found.bounds {
            self.follow_bounds(place, change);
            self.follow_limits(place, change.agent, change.after);
        }
        for (agent, counted) in &found.anew {
            if self.is_audited(Some(*agent)) {
                self.outcome.anew += 1;
                self.outcome.forgotten += u128::from(counted.micros());
            }
        }
        self.outcome.budgets_raised += found.budgets_raised;
        for (budget, terms) in &found.budgets {
            held::turns(&mut self.outcome.budgets, place, *budget, *terms);
        }
        for (key, most) in &found.approvers {
            held::turns(&mut self.outcome.approvers, place, *key, *most);
        }
        for halt in &found.halts {
            self.follow_halt(place, *halt);
        }
        for (kind, account, text) in &found.told {
            if self.is_audited(*account) {
                let (kind, account, text) = (*kind, *account, text.clone());
                let entry = TimelineEntry { kind, place: place.clone(), account, text };
                self.outcome.timeline.push(entry);
            }
        }
        let is_gone = |agent: &&Pubkey| !self.world.agents.contains_key(*agent);
        let gone: Vec<Pubkey> = found.closed.iter().filter(is_gone).copied().collect();
        for agent in gone {
            self.ends(place, agent, found);
        }
    }

    fn ends(&mut self, place: &Place, agent: Pubkey, found: &Found) {
        self.end_policy(place, &agent, found.paid_by(&agent));
        self.end_held(place, agent);
        if let Some(life) = self.outcome.lives.get_mut(&agent) {
            life.closed = Some(place.clone());
        }
    }

    /// Whether it goes into the report: the operator itself, and the audited accounts.
    fn is_audited(&self, account: Option<Pubkey>) -> bool {
        account.is_none_or(|account| self.audited.contains(&account))
    }

    fn mismatch(&mut self, check: Check, account: Option<Pubkey>, place: Option<&Place>, text: String) {
        if self.is_audited(account) {
            self.outcome.mismatches.push(Mismatch { check, account, place: place.cloned(), text });
        }
    }

    fn examined(&mut self, check: Check, count: u64) {
        *self.outcome.examined.entry(check).or_default() += count;
    }

    fn unchecked(&mut self, check: Check, why: String) {
        self.outcome.unchecked.entry(check).or_default().insert(why);
    }
}

fn replace<T: Clone>(all: &mut BTreeMap<Pubkey, T>, changed: &BTreeMap<Pubkey, T>, key: &Pubkey) {
    all.remove(key);
    all.extend(changed.get(key).map(|value| (*key, value.clone())));
}
