//! Fills an archive from a node. Lists are requested again, down to what is known; saved transactions are not, so an
//! interrupted gathering resumes where it stopped.

use std::collections::BTreeSet;

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use futures::{StreamExt, TryStreamExt, stream};
use purser::instruction;
use purser::state::{Agent, Operator};
use purser_client::{Called, Deployment, Landed, UPGRADEABLE_LOADER, WireLanded};

use crate::AuditError;
use crate::archive::{Archive, Line, Manifest, Snapshot};
use crate::node::Node;

/// How many transactions are requested at the same time.
const AT_ONCE: usize = 8;
/// How often progress is reported, in transactions.
const TOLD_EVERY: usize = 500;

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
    node: &Node,
    archive: &Archive,
    program: Pubkey,
    subject: Subject,
    tell: &(dyn Fn(String) + Sync),
) -> Result<(), AuditError> {
    let gathering = Gathering { node, archive, program, tell };
    let (operator, account) = match subject {
        Subject::Operator(operator) => (operator, None),
        Subject::Account(account) => (gathering.operator_of(&account).await?, Some(account)),
    };
    let genesis_hash = node.genesis_hash().await?;
    gathering.check_same(&genesis_hash, &operator, account.as_ref())?;
    let usdc_mint = gathering.mint_of(&operator).await?;
    node.settle().await?;

    gathering.transactions_of(&[operator]).await?;
    let agents = match account {
        Some(account) => vec![account],
        None => gathering.agents_of(&operator)?,
    };
    let at = Deployment { program, usdc_mint };
    let program_data = Pubkey::find_program_address(&[program.as_ref()], &UPGRADEABLE_LOADER).0;
    let purses = agents.iter().map(|agent| at.token_account(agent));
    let walked: Vec<Pubkey> =
        [operator, program_data].into_iter().chain(agents.iter().copied()).chain(purses).collect();
    let drafts = agents.iter().map(|agent| at.draft_address(agent));
    let read: Vec<Pubkey> = walked.iter().copied().chain(drafts).chain([program]).collect();

    // Accounts first: the lists that are read afterwards then include everything that led to their state.
    let accounts = node.accounts(&read).await?;
    let until_slot = accounts.iter().map(|(slot, _)| *slot).max().unwrap_or_default();
    for (address, (slot, account)) in read.iter().zip(accounts) {
        archive.save_account(address, &Snapshot { slot, account })?;
    }
    gathering.transactions_of(&walked).await?;
    archive.finish(Manifest {
        version: 0,
        genesis_hash,
        program: program.to_string(),
        operator: operator.to_string(),
        account: account.map(|account| account.to_string()),
        until_slot,
        until_time: node.block_time(until_slot).await?,
        agents: agents.iter().map(Pubkey::to_string).collect(),
    })
}

struct Gathering<'a> {
    node: &'a Node,
    archive: &'a Archive,
    program: Pubkey,
    tell: &'a (dyn Fn(String) + Sync),
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

    /// Every account that the operator's transactions created.
    fn agents_of(&self, operator: &Pubkey) -> Result<Vec<Pubkey>, AuditError> {
        let calls = self.calls(operator)?;
        let own = calls.iter().filter(|called| called.accounts.get(2) == Some(operator));
        Ok(own.filter_map(created_agent).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The calls of our program in an address's transactions.
    fn calls(&self, address: &Pubkey) -> Result<Vec<Called>, AuditError> {
        let mut calls = Vec::new();
        for line in self.archive.signatures(address)?.iter().filter(|line| line.err.is_none()) {
            let Some(saved) = self.archive.transaction(&line.signature)? else { continue };
            let wire = serde_json::from_value::<WireLanded>(saved).ok();
            // No money is read here, so any mint will do.
            match wire.and_then(|wire| wire.read(&self.program, &Pubkey::default(), &line.signature)) {
                Some(Landed::Well(landed)) => calls.extend(landed.calls),
                Some(Landed::Failed) | None => {}
            }
        }
        Ok(calls)
    }

    /// Brings the lists of these addresses up to date, and fetches what they name.
    async fn transactions_of(&self, addresses: &[Pubkey]) -> Result<(), AuditError> {
        let mut missing: Vec<Line> = Vec::new();
        for address in addresses {
            let known = self.archive.signatures(address)?;
            let newest = known.first().map(|line| line.signature.as_str());
            let newer = self.node.signatures(address, newest).await?;
            let lines = [newer, known].concat();
            self.archive.save_signatures(address, &lines)?;
            for line in lines {
                if line.err.is_none() && !self.archive.has_transaction(&line.signature)? {
                    missing.push(line);
                }
            }
        }
        missing.sort_by(|one, other| (one.slot, &one.signature).cmp(&(other.slot, &other.signature)));
        missing.dedup_by(|one, other| one.signature == other.signature);
        let count = missing.len();
        let fetches = stream::iter(missing.iter().map(|line| self.fetch(&line.signature)));
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

    async fn fetch(&self, signature: &str) -> Result<(), AuditError> {
        let Some(transaction) = self.node.transaction(signature).await? else {
            return Err(AuditError::Refused(format!(
                "the node lists the transaction {signature} and no longer has it: ask a node that keeps all of the past"
            )));
        };
        self.archive.save_transaction(signature, &transaction)
    }
}

/// An operator as it stands now.
pub(crate) async fn operator_state(
    node: &Node,
    program: &Pubkey,
    operator: &Pubkey,
) -> Result<Operator, AuditError> {
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
