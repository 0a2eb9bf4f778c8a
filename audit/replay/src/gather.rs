//! Fills an archive from a node. Lists are requested again, down to what is known; saved transactions are not, so an
//! interrupted gathering resumes where it stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use futures::{StreamExt, TryStreamExt, stream};
use purser::instruction;
use purser::state::{Agent, Operator};
use purser_client::{Called, Deployment, Landed, WireLanded};
use serde::Deserialize;
use serde_json::Value;

use crate::AuditError;
use crate::archive::{Archive, CLOCK, Line, Manifest, SavedAccount, Snapshot, program_data_at};
use crate::node::{Node, clock_slot};
use crate::order::ordered;
use crate::signed::{self, Signed};
use crate::tables;

/// How many transactions are requested at the same time.
const AT_ONCE: usize = 8;
/// How often progress is reported, in transactions.
const TOLD_EVERY: usize = 500;
/// How often accounts are read until none was made meanwhile.
const ROUNDS_MAX: usize = 4;
/// How many slots the clock of another node may be behind.
const SLOTS_BEHIND_MAX: u64 = 150;

/// The subject of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// An operator with all its accounts.
    Operator(Pubkey),
    /// One agent account.
    Account(Pubkey),
}

/// Reads everything about `subject` of `program` that is final now.
pub async fn gather(
    nodes: &[Node],
    archive: &Archive,
    program: Pubkey,
    subject: Subject,
    tell: &(dyn Fn(String) + Sync),
) -> Result<(), AuditError> {
    let Some((node, others)) = nodes.split_first() else {
        return Err(AuditError::Refused("name a node with --url".into()));
    };
    let gathering = Gathering {
        node,
        others,
        archive,
        program,
        tell,
        contradictions: Mutex::default(),
        doubted: Mutex::default(),
        ask_again: Mutex::new(contradicted(archive)?),
        reached: AtomicU64::new(0),
    };
    let (operator, account) = match subject {
        Subject::Operator(operator) => (operator, None),
        Subject::Account(account) => (gathering.operator_of(&account).await?, Some(account)),
    };
    let genesis_hash = node.genesis_hash().await?;
    for other in others {
        let theirs = other.genesis_hash().await?;
        if theirs != genesis_hash {
            return Err(AuditError::Refused(format!(
                "{} and {} are nodes of different networks: {genesis_hash} and {theirs}",
                node.host(),
                other.host()
            )));
        }
    }
    gathering.check_same(&genesis_hash, &operator, account.as_ref())?;
    archive.begin()?;
    archive.forget_relayer()?;
    let usdc_mint = gathering.mint_of(&operator).await?;
    let mut began = Vec::with_capacity(others.len());
    for other in others {
        began.push((other, other.finalized().await?));
    }
    node.settle().await?;
    let at = Deployment { program, usdc_mint };
    let mut rounds = 1;
    // What was made while accounts were read was not among them.
    let round = loop {
        let round = gathering.round(&at, &operator, account).await?;
        if round.is_whole || rounds == ROUNDS_MAX {
            break round;
        }
        rounds += 1;
    };
    let Round { agents, standing, beside, until_slot, clock, is_within_slot, .. } = round;
    gathering.are_of_one_time(&began, until_slot).await?;
    let contradictions = gathering.contradictions.into_inner().unwrap_or_default();
    archive.finish(Manifest {
        version: 0,
        genesis_hash,
        program: program.to_string(),
        operator: operator.to_string(),
        account: account.map(|account| account.to_string()),
        until_slot,
        // A node has no date for a slot without a block.
        until_time: node.block_time(until_slot).await?.or(clock),
        agents: agents.iter().map(Pubkey::to_string).collect(),
        standing: standing.map(|standing| standing.iter().map(Pubkey::to_string).collect()),
        beside: beside.iter().map(Pubkey::to_string).collect(),
        is_within_slot,
        contradictions: (!others.is_empty()).then(|| contradictions.into_iter().collect()),
        is_whole: true,
    })?;
    // Last: after a stop before this they are asked for again, and contradict each other again.
    for (signature, transaction) in gathering.doubted.into_inner().unwrap_or_default() {
        archive.save_transaction(&signature, &transaction)?;
    }
    Ok(())
}

/// The transactions of which nodes said different things in an earlier gathering: a contradiction ends with the signature.
fn contradicted(archive: &Archive) -> Result<BTreeSet<String>, AuditError> {
    let told = archive.manifest()?.and_then(|manifest| manifest.contradictions).unwrap_or_default();
    Ok(told.iter().filter_map(|text| text.rsplit(' ').next()).map(str::to_owned).collect())
}

/// When the chain's clock was read: slot, the epoch's begin and two epochs come before it.
pub(crate) fn clock_time(clock: &SavedAccount) -> Option<i64> {
    Some(i64::from_le_bytes(*clock.bytes()?.get(32..)?.first_chunk()?))
}

/// Accounts as they were read, and every transaction up to then.
struct Round {
    agents: Vec<Pubkey>,
    standing: Option<Vec<Pubkey>>,
    beside: Vec<Pubkey>,
    until_slot: u64,
    /// By the chain's own clock.
    clock: Option<i64>,
    is_within_slot: bool,
    /// Whether all was read that had been made by then.
    is_whole: bool,
}

struct Gathering<'a> {
    node: &'a Node,
    /// Asked for the same.
    others: &'a [Node],
    archive: &'a Archive,
    program: Pubkey,
    tell: &'a (dyn Fn(String) + Sync),
    /// In an order that is not that of the answers.
    contradictions: Mutex<BTreeSet<String>>,
    /// What was read of transactions of which nodes say different things.
    doubted: Mutex<BTreeMap<String, Value>>,
    /// Transactions that are asked for although they are saved.
    ask_again: Mutex<BTreeSet<String>>,
    /// The slot that every node says it has reached; 0: none was asked yet.
    reached: AtomicU64,
}

impl Gathering<'_> {
    /// A directory holds one audit.
    fn check_same(
        &self,
        genesis: &str,
        operator: &Pubkey,
        account: Option<&Pubkey>,
    ) -> Result<(), AuditError> {
        let Some(saved) = self.archive.manifest()? else { return Ok(()) };
        let known = (saved.genesis_hash.as_str(), &saved.program, &saved.operator, &saved.account);
        let (program, operator) = (self.program.to_string(), operator.to_string());
        if known == (genesis, &program, &operator, &account.map(Pubkey::to_string)) {
            return Ok(());
        }
        let of = saved.account.map_or(format!("operator {}", saved.operator), |it| format!("account {it}"));
        Err(AuditError::Refused(format!(
            "the directory holds an audit of {of} of the program {} on the cluster {}: give another one",
            saved.program, saved.genesis_hash
        )))
    }

    /// The operator of an agent account, even a closed one.
    async fn operator_of(&self, account: &Pubkey) -> Result<Pubkey, AuditError> {
        let data = own(self.node, &self.program, account).await?;
        if let Some(view) = data.and_then(|data| Agent::read(&data)) {
            return Ok(view.agent.operator);
        }
        self.transactions_of(&[*account]).await?;
        let created = self.calls(account)?.into_iter().find(|called| created_agent(called) == Some(*account));
        let operator = created.and_then(|called| called.accounts.get(2).copied());
        operator.ok_or_else(|| {
            AuditError::Refused(format!("{account} is not an agent account of the program {}", self.program))
        })
    }

    async fn mint_of(&self, operator: &Pubkey) -> Result<Pubkey, AuditError> {
        Ok(operator_state(self.node, &self.program, operator).await?.usdc_mint)
    }

    /// Reads the accounts as they stand, and then the lists, so that these include everything that led to that state.
    async fn round(
        &self,
        at: &Deployment,
        operator: &Pubkey,
        account: Option<Pubkey>,
    ) -> Result<Round, AuditError> {
        self.transactions_of(&[*operator]).await?;
        let listed = self.archive.signatures(operator)?.first().map_or(0, |line| line.slot);
        let calls = self.calls(operator)?;
        let (agents, standing) = match account {
            Some(account) => (vec![account], None),
            None => {
                let standing = self.standing(operator).await?;
                let made = agents_of(&calls, operator);
                let agents: BTreeSet<Pubkey> =
                    made.into_iter().chain(standing.iter().flatten().copied()).collect();
                (agents.into_iter().collect(), standing)
            }
        };
        let beside = beside(&calls, operator, &agents);
        let program_data = program_data_at(&at.program);
        let purses = agents.iter().map(|agent| at.token_account(agent));
        let walked: Vec<Pubkey> =
            [*operator, program_data].into_iter().chain(agents.iter().copied()).chain(purses).collect();
        let drafts = agents.iter().map(|agent| at.draft_address(agent));
        let read = walked.iter().copied().chain(drafts).chain(beside.iter().copied());
        let read: Vec<Pubkey> = read.chain([at.program, CLOCK]).collect();
        let accounts = self.node.accounts_by_clock(&read).await?;
        let until_slot = accounts.iter().map(|(slot, _)| *slot).max().unwrap_or_default();
        // The last one that was read.
        let clock = accounts.last().and_then(|(_, clock)| clock_time(clock.as_ref()?));
        for (address, (slot, account)) in read.iter().zip(accounts) {
            self.archive.save_account(address, &Snapshot { slot, account })?;
        }
        // A node that ignores the commitment answers accounts of a slot that its lists leave out as yet.
        let is_within_slot = !self.node.reaches(until_slot).await?;
        for other in self.others {
            other.reaches(until_slot).await?;
        }
        self.reached.store(until_slot, Ordering::Relaxed);
        self.transactions_of(&walked).await?;
        let newer = self.archive.signatures(operator)?;
        let newer =
            newer.iter().take_while(|line| line.slot >= listed).filter(|line| line.slot <= until_slot);
        let newer = self.calls_of_lines(newer)?;
        let is_read = |made: Vec<Pubkey>, read: &[Pubkey]| made.iter().all(|address| read.contains(address));
        let is_whole = is_read(self::beside(&newer, operator, &agents), &beside)
            && (account.is_some() || is_read(agents_of(&newer, operator), &agents));
        Ok(Round { agents, standing, beside, until_slot, clock, is_within_slot, is_whole })
    }

    /// The calls of our program in an address's transactions, the newest first, also of two in one transaction.
    fn calls(&self, address: &Pubkey) -> Result<Vec<Called>, AuditError> {
        self.calls_of_lines(self.archive.signatures(address)?.iter())
    }

    fn calls_of_lines<'a>(&self, lines: impl Iterator<Item = &'a Line>) -> Result<Vec<Called>, AuditError> {
        let mut calls = Vec::new();
        for line in lines.filter(|line| line.err.is_none()) {
            calls.extend(self.calls_of(line)?.into_iter().rev());
        }
        Ok(calls)
    }

    fn calls_of(&self, line: &Line) -> Result<Vec<Called>, AuditError> {
        let doubted = locked(&self.doubted).get(&line.signature).cloned();
        let saved = doubted.map_or_else(|| self.archive.transaction(&line.signature), |it| Ok(Some(it)))?;
        let Some(saved) = saved else { return Ok(Vec::new()) };
        let wire = serde_json::from_value::<WireLanded>(saved).ok();
        // No money is read here, so any mint will do.
        match wire.and_then(|wire| wire.read(&self.program, &Pubkey::default(), &line.signature)) {
            Some(Landed::Well(landed)) => Ok(landed.calls),
            Some(Landed::Failed) | None => Ok(Vec::new()),
        }
    }

    /// The operator's accounts as nodes list them; `None` if none answers, as many nodes do not.
    async fn standing(&self, operator: &Pubkey) -> Result<Option<Vec<Pubkey>>, AuditError> {
        let mut listed: Option<BTreeSet<Pubkey>> = None;
        for node in std::iter::once(self.node).chain(self.others) {
            if let Ok(agents) = node.agents(&self.program, operator).await {
                listed.get_or_insert_default().extend(agents);
            }
        }
        let Some(listed) = listed else { return Ok(None) };
        // A node that does not filter lists accounts of others, too: each says itself whose it is.
        let listed: Vec<Pubkey> = listed.into_iter().collect();
        let stand = self.node.accounts(&listed).await?;
        let own = listed.into_iter().zip(stand).filter(|(_, (_, account))| {
            let own = account.as_ref().filter(|it| it.owner() == Some(self.program));
            let view = own.and_then(SavedAccount::bytes).and_then(|data| Agent::read(&data));
            view.is_some_and(|view| view.agent.operator == *operator)
        });
        Ok(Some(own.map(|(agent, _)| agent).collect()))
    }

    /// Brings the lists of these addresses up to date, and fetches what they name.
    async fn transactions_of(&self, addresses: &[Pubkey]) -> Result<(), AuditError> {
        let lists = stream::iter(addresses).map(|address| self.list_of(address)).buffer_unordered(AT_ONCE);
        let mut missing: Vec<Line> = lists.try_collect::<Vec<_>>().await?.concat();
        missing.sort_by(|one, other| (one.slot, &one.signature).cmp(&(other.slot, &other.signature)));
        missing.dedup_by(|one, other| one.signature == other.signature);
        let count = missing.len();
        let fetches = stream::iter(missing.iter().map(|line| self.fetch(line)));
        let mut fetched = fetches.buffer_unordered(AT_ONCE);
        let mut done = 0;
        while fetched.try_next().await?.is_some() {
            done += 1;
            if done % TOLD_EVERY == 0 {
                (self.tell)(format!("read {done} of {count} transactions"));
            }
        }
        Ok(())
    }

    /// Brings the list of an address up to date, and returns what it names and the archive lacks.
    async fn list_of(&self, address: &Pubkey) -> Result<Vec<Line>, AuditError> {
        let known = self.archive.signatures(address)?;
        // Several nodes are asked for all of it: the newest known line may be another node's.
        let is_alone = self.others.is_empty();
        let newest = known.first().filter(|_| is_alone).map(|line| line.signature.as_str());
        let newer = self.node.signatures(address, newest, None).await?;
        // A list that was cut short is completed.
        let older = match known.last() {
            Some(oldest) if is_alone && !self.is_beginning(oldest)? => {
                self.node.signatures(address, None, Some(&oldest.signature)).await?
            }
            Some(_) | None => Vec::new(),
        };
        let mut lines = if is_alone {
            [newer, known, older].concat()
        } else {
            let mut lines = ordered(&[newer.clone(), known]);
            lines.reverse();
            lines
        };
        for other in self.others {
            let theirs = other.signatures(address, None, None).await?;
            self.compare_lists(address, &lines, other, &theirs);
            // As nodes list them: newest first.
            lines = ordered(&[lines, theirs]);
            lines.reverse();
        }
        self.archive.save_signatures(address, &lines)?;
        let mut missing = Vec::new();
        for line in lines {
            if line.err.is_none() && !self.is_read(&line.signature)? {
                missing.push(line);
            }
        }
        Ok(missing)
    }

    /// Whether a transaction need not be asked for.
    fn is_read(&self, signature: &str) -> Result<bool, AuditError> {
        let is_saved = || self.archive.has_transaction(signature);
        Ok(locked(&self.doubted).contains_key(signature)
            || !locked(&self.ask_again).contains(signature) && is_saved()?)
    }

    /// Whether a transaction creates an operator or an account, so that nothing older concerns it.
    fn is_beginning(&self, line: &Line) -> Result<bool, AuditError> {
        let is_creation = |called: &Called| {
            let begins =
                [instruction::CreateAgent::DISCRIMINATOR, instruction::CreateOperator::DISCRIMINATOR];
            begins.iter().any(|begin| called.data.starts_with(begin))
        };
        Ok(self.calls_of(line)?.iter().any(is_creation))
    }

    fn compare_lists(&self, address: &Pubkey, ours: &[Line], other: &Node, theirs: &[Line]) {
        let of = |lines: &[Line]| lines.iter().map(|line| line.signature.clone()).collect::<BTreeSet<_>>();
        let (own, other_own) = (of(ours), of(theirs));
        // A transaction newer than both lists is no contradiction, unless the nodes had passed its slot before they were asked.
        let reached = self.reached.load(Ordering::Relaxed);
        let newest = |lines: &[Line]| lines.first().map_or(0, |line| line.slot);
        let until = newest(ours).min(newest(theirs)).max(if ours.is_empty() || theirs.is_empty() {
            u64::MAX
        } else {
            0
        });
        let until = until.max(reached.saturating_add(u64::from(reached > 0)));
        for (lines, has, lists, leaves_out) in [
            (ours, &other_own, self.node.host(), other.host()),
            (theirs, &own, other.host(), self.node.host()),
        ] {
            for line in lines.iter().filter(|line| line.slot < until && !has.contains(&line.signature)) {
                self.contradicts(format!(
                    "{leaves_out} leaves out the transaction {} of slot {} from the list of {address}, which {lists} has",
                    line.signature, line.slot
                ));
            }
        }
    }

    /// A node that stands still shows a past that was true once. What any other node had before this audit began must be in it,
    /// and each node's own clock must have come as far. `began`: the slots of the others then.
    async fn are_of_one_time(&self, began: &[(&Node, u64)], until_slot: u64) -> Result<(), AuditError> {
        for (other, slot) in began.iter().filter(|(_, slot)| *slot > until_slot) {
            self.contradicts(format!(
                "{} had come to slot {slot} when this audit began, and {} showed nothing after slot {until_slot}",
                other.host(),
                self.node.host()
            ));
        }
        for other in self.others {
            let clock = other.accounts(&[CLOCK]).await?.pop().and_then(|(_, clock)| clock);
            let slot = clock.as_ref().and_then(clock_slot).unwrap_or_default();
            if slot.saturating_add(SLOTS_BEHIND_MAX) < until_slot {
                self.contradicts(format!(
                    "the chain's clock at {} is of slot {slot}, and {} showed slot {until_slot}",
                    other.host(),
                    self.node.host()
                ));
            }
        }
        Ok(())
    }

    fn contradicts(&self, text: String) {
        locked(&self.contradictions).insert(text);
    }

    async fn fetch(&self, line: &Line) -> Result<(), AuditError> {
        let signature = line.signature.as_str();
        let (mut kept, mut is_doubted): (Option<(&Node, Value)>, bool) = (None, false);
        for node in std::iter::once(self.node).chain(self.others) {
            let Some(transaction) = node.transaction(signature).await? else {
                if !self.others.is_empty() {
                    is_doubted = true;
                    self.contradicts(format!("{} does not have the transaction {signature}", node.host()));
                }
                continue;
            };
            match &kept {
                None => kept = Some((node, transaction)),
                Some((first, ours)) => {
                    if let Some(text) = differs(first, ours, node, &transaction) {
                        is_doubted = true;
                        self.contradicts(format!("{text}: the transaction {signature}"));
                    }
                }
            }
        }
        let Some((_, transaction)) = kept else {
            let hosts: Vec<String> = std::iter::once(self.node).chain(self.others).map(Node::host).collect();
            return Err(AuditError::Refused(format!(
                "{} lists the transaction {signature} and no longer has it: ask a node that keeps all of the past",
                hosts.join(" or ")
            )));
        };
        self.save_tables(&transaction).await?;
        locked(&self.ask_again).remove(signature);
        if is_doubted {
            locked(&self.doubted).insert(signature.to_owned(), transaction);
            return Ok(());
        }
        self.archive.save_transaction(signature, &transaction)
    }

    /// The lookup tables that a transaction takes addresses from.
    async fn save_tables(&self, transaction: &Value) -> Result<(), AuditError> {
        let named = tables::lookups(&transaction["transaction"]["message"]["addressTableLookups"]);
        let named = named.unwrap_or_default().into_iter().filter_map(|it| it.account_key.parse().ok());
        let named: Vec<Pubkey> = named.collect();
        if named.is_empty() {
            return Ok(());
        }
        for (table, (slot, account)) in named.iter().zip(self.node.accounts(&named).await?) {
            // A table that was closed since is known from before.
            if account.is_some() || self.archive.account(table)?.is_none() {
                self.archive.save_account(table, &Snapshot { slot, account })?;
            }
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What two nodes say differently of one transaction, and which of them what was signed contradicts.
fn differs(one: &Node, ours: &Value, other: &Node, theirs: &Value) -> Option<String> {
    let (one, other) = (one.host(), other.host());
    let is_signed = |transaction: &Value| {
        WireLanded::deserialize(transaction).is_ok_and(|wire| signed::check(&wire) == Signed::Well)
    };
    if ours["transaction"] != theirs["transaction"] {
        return Some(match (is_signed(ours), is_signed(theirs)) {
            (true, false) => format!("{other} shows what was not signed"),
            (false, true) => format!("{one} shows what was not signed"),
            (true, true) | (false, false) => format!("{one} and {other} show two different ones"),
        });
    }
    let said = [
        "/slot",
        "/blockTime",
        "/meta/err",
        "/meta/innerInstructions",
        "/meta/loadedAddresses",
        "/meta/logMessages",
        "/meta/preTokenBalances",
        "/meta/postTokenBalances",
    ];
    let odd = said.iter().find(|field| ours.pointer(field) != theirs.pointer(field))?;
    Some(format!("{one} and {other} contradict each other about {odd}"))
}

/// Every account that the operator's transactions created.
fn agents_of(calls: &[Called], operator: &Pubkey) -> Vec<Pubkey> {
    let own = calls.iter().filter(|called| called.accounts.get(2) == Some(operator));
    own.filter_map(created_agent).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The grants of these accounts, the approvers and the budgets that the operator's transactions made and did not close. `calls`:
/// the newest first.
fn beside(calls: &[Called], operator: &Pubkey, agents: &[Pubkey]) -> Vec<Pubkey> {
    let agents: BTreeSet<&Pubkey> = agents.iter().collect();
    let mut is_open: BTreeMap<Pubkey, bool> = BTreeMap::new();
    for called in calls {
        let account = |place: usize| called.accounts.get(place);
        let begins = |all: &[&[u8]]| all.iter().any(|begin| called.data.starts_with(begin));
        // The account of an approver that was removed stays.
        let closes =
            begins(&[instruction::CloseGrant::DISCRIMINATOR, instruction::CloseBudget::DISCRIMINATOR]);
        let makes = begins(&[instruction::SetApprover::DISCRIMINATOR, instruction::SetBudget::DISCRIMINATOR]);
        let address = if begins(&[instruction::OpenGrant::DISCRIMINATOR]) {
            let is_own = account(2) == Some(operator) && account(3).is_some_and(|it| agents.contains(it));
            account(4).filter(|_| is_own)
        } else {
            account(2).filter(|_| account(1) == Some(operator) && (makes || closes))
        };
        if let Some(address) = address {
            // The last word counts.
            is_open.entry(*address).or_insert(!closes);
        }
    }
    is_open.into_iter().filter(|(_, is_open)| *is_open).map(|(address, _)| address).collect()
}

/// An operator as it stands now.
async fn operator_state(node: &Node, program: &Pubkey, operator: &Pubkey) -> Result<Operator, AuditError> {
    let state = own(node, program, operator).await?.and_then(|data| Operator::read(&data));
    let none = || format!("{operator} is not an operator of the program {program} on this cluster");
    state.ok_or_else(|| AuditError::Refused(none()))
}

/// The data of an account, if it is the program's own.
async fn own(node: &Node, program: &Pubkey, address: &Pubkey) -> Result<Option<Vec<u8>>, AuditError> {
    let found = node.accounts(&[*address]).await?.pop().and_then(|(_, account)| account);
    Ok(found.filter(|found| found.owner() == Some(*program)).and_then(|found| found.bytes()))
}

/// The account that a call creates.
fn created_agent(called: &Called) -> Option<Pubkey> {
    let creates = called.data.starts_with(instruction::CreateAgent::DISCRIMINATOR);
    creates.then(|| called.accounts.get(3).copied()).flatten()
}
