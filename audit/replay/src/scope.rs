//! The subject of an archive.

use std::collections::BTreeSet;

use anchor_lang::prelude::Pubkey;
use purser::state::Operator;
use purser_client::{AccountIds, Deployment};

use crate::AuditError;
use crate::archive::{Archive, CLOCK, Manifest, SavedAccount, Snapshot, program_data_at};

/// An operator, and its audited accounts.
pub struct Scope {
    pub manifest: Manifest,
    pub operator: Pubkey,
    /// The one account that was audited; `None`: all of the operator's.
    pub account: Option<Pubkey>,
    pub agents: Vec<Pubkey>,
    /// The operator's accounts that a node lists as they stand.
    pub listed: Option<BTreeSet<Pubkey>>,
    /// Grants, approvers and budgets that were read as they stand.
    pub beside: Vec<Pubkey>,
    pub at: Deployment,
    pub account_ids: AccountIds,
}

impl Scope {
    pub fn of(archive: &Archive, manifest: Manifest) -> Result<Self, AuditError> {
        let key = |text: &String| {
            text.parse::<Pubkey>()
                .map_err(|_| AuditError::Refused(format!("audit.json: {text:?} is not an address")))
        };
        let operator = key(&manifest.operator)?;
        let program = key(&manifest.program)?;
        let account_ids = AccountIds::on(&manifest.genesis_hash).ok_or_else(|| {
            AuditError::Refused(format!("audit.json: {:?} is not a genesis hash", manifest.genesis_hash))
        })?;
        // Each once, whatever a directory says.
        let agents: BTreeSet<Pubkey> = manifest.agents.iter().map(key).collect::<Result<_, _>>()?;
        let agents: Vec<Pubkey> = agents.into_iter().collect();
        let account = manifest.account.as_ref().map(key).transpose()?;
        if let Some(account) = account.filter(|account| agents != [*account]) {
            return Err(AuditError::Refused(format!(
                "audit.json: it is about the account {account} alone, and lists others or none"
            )));
        }
        let listed = manifest.standing.as_ref();
        let listed = listed.map(|listed| listed.iter().map(key).collect()).transpose()?;
        let beside = manifest.beside.iter().map(key).collect::<Result<_, _>>()?;
        let stands = archive.account(&operator)?.and_then(|snapshot| snapshot.account);
        let state = stands.as_ref().and_then(SavedAccount::bytes).and_then(|data| Operator::read(&data));
        let Some(state) = state else {
            return Err(AuditError::Refused(format!(
                "the operator's account {operator} is not saved, or is unreadable"
            )));
        };
        let at = Deployment { program, usdc_mint: state.usdc_mint };
        Ok(Self { manifest, operator, account, agents, listed, beside, at, account_ids })
    }

    /// Whose transactions are read: the operator, the accounts, their token accounts.
    pub fn walked(&self) -> impl Iterator<Item = Pubkey> + '_ {
        let purses = self.agents.iter().map(|agent| self.at.token_account(agent));
        std::iter::once(self.operator).chain(self.agents.iter().copied()).chain(purses)
    }

    /// The accounts that a replay is compared with.
    pub fn standing(&self) -> impl Iterator<Item = Pubkey> + '_ {
        let of = |agent: &Pubkey| [*agent, self.at.token_account(agent), self.at.draft_address(agent)];
        let beside = self.beside.iter().copied();
        std::iter::once(self.operator).chain(self.agents.iter().flat_map(of)).chain(beside)
    }

    /// Every account that an audit saves.
    pub fn accounts(&self) -> BTreeSet<Pubkey> {
        self.standing().chain([self.at.program, program_data_at(&self.at.program), CLOCK]).collect()
    }

    /// Every address of which an audit saves the list of transactions.
    pub fn lists(&self) -> BTreeSet<Pubkey> {
        self.walked().chain([program_data_at(&self.at.program)]).collect()
    }

    /// Those that were saved.
    pub fn snapshots(&self, archive: &Archive) -> Result<Vec<(Pubkey, Snapshot)>, AuditError> {
        let mut snapshots = Vec::new();
        for address in self.standing() {
            if let Some(snapshot) = archive.account(&address)? {
                snapshots.push((address, snapshot));
            }
        }
        Ok(snapshots)
    }
}
