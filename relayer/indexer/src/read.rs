//! Turns transactions into readings: fetches them concurrently, adopts their new accounts, makes their entries.

use futures::StreamExt;

use super::book::{Parties, addresses_of, entries_of};
use super::{IndexError, Indexer};
use purser_chain::{AgentAddresses, BALANCES_MAX, ChainError, LandedRecord, Looked, ProgramEvent};
use purser_model::{
    Account, AccountStatus, Address, ApprovalRule, DuplicateRule, EntryOutcome, HistoryEntry, Label,
    OperatorId, PaymentMade, Tags, Timestamp, TransferId,
};
use purser_store::{ADOPTED_STATUS, Due, Mark, PendingFetch, Readings};
use std::collections::BTreeMap;
use std::time::Duration;

/// What landed within this time is believed only if other nodes know it too. Of what is older, some nodes keep no record, and by
/// its tag it can settle nothing.
const RECENT: Duration = Duration::from_secs(26 * 60 * 60);
/// Transactions fetched concurrently.
const ASKED_AT_ONCE: usize = 8;
/// Addresses looked up in one query.
const LOOKED_UP_AT_ONCE: usize = 400;
/// Pending transactions fetched per cycle.
const FETCHED_AT_ONCE: u32 = 50;
/// After this many tries, ask whether the transaction exists at all.
const TRIES_BEFORE_DOUBT: u32 = 5;
/// The pause before a pending transaction is fetched again: 1, 2, 4 ... seconds, up to this.
const FETCH_PAUSE_MAX: Duration = Duration::from_secs(600);
/// Tries up to which the pause is at most half a minute, also after a clock that was minutes ahead is put right.
const FEW_TRIES: u32 = 6;

impl Indexer {
    /// Reads these transactions. One that no node shows becomes pending; if nothing was answered, the reading fails.
    pub(super) async fn read(&self, wanted: &[Mark]) -> Result<Readings, IndexError> {
        let history = &self.parts.history;
        let asked: Vec<_> = wanted
            .iter()
            .map(|mark| async move { (mark, history.transaction(&mark.signature).await) })
            .collect();
        let answers: Vec<_> = futures::stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
        let (mut records, mut pending) = (Vec::new(), Vec::new());
        let mut unanswered = None;
        let none_answered = answers.iter().all(|(_, answer)| is_unavailable(answer));
        for (mark, answer) in answers {
            match answer {
                Ok(Looked::Found(record)) => match record.block_time {
                    Some(block_time) => records.push((*record, block_time)),
                    None => pending.push(self.pending(mark, 1)),
                },
                Ok(Looked::Failed) => {}
                Ok(Looked::Unknown) => pending.push(self.pending(mark, 1)),
                Err(error) if none_answered => unanswered = Some(error),
                // A node may be too old for this transaction, or choke on it; another one will not.
                Err(error) => {
                    tracing::warn!(network = %self.network, signature = mark.signature, %error, "cannot be read");
                    pending.push(self.pending(mark, 1));
                }
            }
        }
        if let Some(error) = unanswered {
            return Err(error.into());
        }
        let since = self.parts.clock.now().before(RECENT).unix_seconds();
        let recent = records.iter().filter(|(_, block_time)| *block_time >= since).map(|(record, _)| record);
        let denied = self.denied(&recent.collect::<Vec<_>>()).await;
        records.retain(|(record, _)| !denied.iter().any(|mark| mark.signature == record.signature));
        pending.extend(denied.iter().map(|mark| self.pending(mark, 1)));
        let mut entries = self.entries(&records).await?;
        let settling = self.settling(&records, &entries, since).await?;
        let denied = self.denied(&settling).await;
        entries.retain(|entry| !denied.iter().any(|mark| is_of(entry, &mark.signature)));
        pending.extend(denied.iter().map(|mark| self.pending(mark, 1)));
        let (are_final, read_at) = (self.parts.history.is_final(), Some(self.parts.clock.now()));
        Ok(Readings { entries, are_final, read_at, pending, resolved: Vec::new() })
    }

    /// Those that other nodes deny: as if no node had shown them yet.
    async fn denied(&self, records: &[&LandedRecord]) -> Vec<Mark> {
        let denied = self.parts.history.denied(records).await;
        let of_these = records.iter().filter(|record| denied.contains(&record.signature));
        of_these.map(|record| Mark { signature: record.signature.clone(), slot: record.slot }).collect()
    }

    /// Those from before `since` that would settle a transfer of ours.
    async fn settling<'a>(
        &self,
        records: &'a [(LandedRecord, i64)],
        entries: &[HistoryEntry],
        since: i64,
    ) -> Result<Vec<&'a LandedRecord>, IndexError> {
        let mut payments = BTreeMap::<OperatorId, Vec<PaymentMade>>::new();
        for (operator, payment) in
            entries.iter().filter_map(|entry| Some((entry.operator_id, entry.payment()?)))
        {
            payments.entry(operator).or_default().push(payment);
        }
        let mut settling = Vec::new();
        for (operator, payments) in payments {
            let ids: Vec<TransferId> = payments.iter().map(|payment| payment.transfer_id).collect();
            let unsettled = self.parts.index.find_unsettled(operator, &ids).await?;
            let of_these = payments.iter().filter(|payment| unsettled.contains(&payment.transfer_id));
            let old =
                || records.iter().filter(|(_, block_time)| *block_time < since).map(|(record, _)| record);
            let shown = |payment: &PaymentMade| old().find(|record| record.signature == payment.signature);
            settling.extend(of_these.filter_map(shown));
        }
        Ok(settling)
    }

    async fn entries(&self, records: &[(LandedRecord, i64)]) -> Result<Vec<HistoryEntry>, IndexError> {
        for (record, block_time) in records {
            for event in &record.events {
                self.take_note(event, *block_time).await?;
            }
        }
        let mut addresses: Vec<Address> =
            records.iter().flat_map(|(record, _)| addresses_of(record)).collect();
        addresses.sort_unstable_by_key(Address::bytes);
        addresses.dedup();
        let mut found = Vec::new();
        for addresses in addresses.chunks(LOOKED_UP_AT_ONCE) {
            found.extend(self.parts.index.find_parties(self.network, addresses).await?);
        }
        let parties: Parties = found.into_iter().collect();
        self.note_policies(records.iter().rev(), &parties).await?;
        self.note_drafts(records.iter().rev(), &parties).await?;
        self.note_grants(records, &parties).await?;
        // Nodes list them newest first; they become visible oldest first.
        let entries =
            records.iter().rev().flat_map(|(record, time)| entries_of(self.network, record, *time, &parties));
        Ok(entries.collect())
    }

    /// Handles what concerns accounts themselves: new ones, and those whose policy changed.
    async fn take_note(&self, event: &ProgramEvent, block_time: i64) -> Result<(), IndexError> {
        match event {
            ProgramEvent::AgentCreated { operator, agent_id, agent, token_account } => {
                let shown = AgentAddresses { agent: *agent, token_account: *token_account };
                // Else a node could name an account of its own, to which others would then send money.
                if shown == self.parts.history.addresses_of(operator, agent_id) {
                    self.adopt(operator, shown, block_time).await?;
                    self.memory.mark_changed([*agent]);
                } else {
                    tracing::warn!(%agent, %token_account, "a node shows an account where none of this operator can be");
                }
            }
            ProgramEvent::PolicyChanged { agent, .. }
            | ProgramEvent::HaltChanged { agent: Some(agent), .. } => {
                self.memory.mark_changed([*agent]);
            }
            // An operator's halt shows when its agents are read.
            ProgramEvent::HaltChanged { agent: None, .. }
            | ProgramEvent::TransferExecuted { .. }
            | ProgramEvent::Withdrawn { .. }
            | ProgramEvent::AgentClosed { .. } => {}
        }
        Ok(())
    }

    /// Adopts an account that a wallet created, or that an earlier database knew. Names are not on chain, so its id is its name.
    async fn adopt(
        &self,
        operator: &Address,
        addresses: AgentAddresses,
        block_time: i64,
    ) -> Result<(), IndexError> {
        let Some(operator) = self.parts.operators.find_operator_by_address(self.network, operator).await?
        else {
            return Ok(());
        };
        let id = self.parts.history.account_id_of(&addresses.agent);
        let Ok(name) = Label::parse(id.to_string()) else { return Ok(()) };
        let account = Account {
            id,
            operator_id: operator.id,
            name,
            metadata: None,
            tags: Tags::default(),
            address: addresses.agent,
            token_account: addresses.token_account,
            status: ADOPTED_STATUS,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            created_at: Timestamp::from_unix_seconds(block_time),
        };
        if self.parts.index.adopt_account(self.network, &account).await? {
            tracing::info!(account_id = %id, operator_id = %operator.id, "found an account on the chain");
        }
        Ok(())
    }

    /// Refreshes the status of accounts whose policy changed, whoever changed it.
    pub(super) async fn refresh_agents(&self) -> Result<(), IndexError> {
        let changed = self.memory.take_changed();
        for agents in changed.chunks(BALANCES_MAX) {
            let refreshed = self.refresh(agents).await;
            if refreshed.is_err() {
                self.memory.mark_changed(changed.iter().copied());
                return refreshed;
            }
        }
        Ok(())
    }

    async fn refresh(&self, agents: &[Address]) -> Result<(), IndexError> {
        let parties = self.parts.index.find_parties(self.network, agents).await?;
        let agents: Vec<Address> = parties.iter().map(|(agent, _)| *agent).collect();
        let read = self.parts.history.paused(&agents).await?;
        for ((_, party), paused) in parties.iter().zip(read) {
            let Some(paused) = paused else { continue };
            let status = AccountStatus::from_paused(paused);
            self.parts.accounts.mark_account_status(party.operator_id, party.account_id, status).await?;
        }
        Ok(())
    }

    /// Fetches again what no node has shown yet.
    pub(super) async fn fetch_pending(&self) -> Result<(), IndexError> {
        let due = |longest| Due::within(self.parts.clock.now(), longest);
        let few = (FEW_TRIES, due(pause_after(FEW_TRIES)));
        let index = &self.parts.index;
        let due =
            index.list_pending_fetches(self.network, due(FETCH_PAUSE_MAX), few, FETCHED_AT_ONCE).await?;
        for pending in due {
            self.fetch(pending).await?;
        }
        Ok(())
    }

    async fn fetch(&self, pending: PendingFetch) -> Result<(), IndexError> {
        let mark = Mark { signature: pending.signature.clone(), slot: pending.slot };
        let mut readings = match self.read(std::slice::from_ref(&mark)).await {
            Ok(readings) => readings,
            Err(error) => {
                // Puts it behind the others, so that it does not block them.
                let tries = pending.tries.saturating_add(1);
                let later = Readings { pending: vec![self.pending(&mark, tries)], ..Readings::default() };
                self.write(&later, None).await?;
                return Err(error);
            }
        };
        if readings.pending.is_empty() || self.is_gone(&pending).await? {
            readings.pending.clear();
            readings.resolved.push(pending.signature);
        } else {
            readings.pending = vec![self.pending(&mark, pending.tries.saturating_add(1))];
        }
        self.write(&readings, None).await
    }

    /// Whether a pending transaction was forked away: it is unknown, and its slot is final.
    async fn is_gone(&self, pending: &PendingFetch) -> Result<bool, IndexError> {
        if pending.tries < TRIES_BEFORE_DOUBT {
            return Ok(false);
        }
        let standings = self.parts.history.standings(std::slice::from_ref(&pending.signature)).await?;
        Ok(super::finality::is_gone(&standings, 0, pending.slot))
    }

    /// Leaves the transaction pending, as if no node had shown it.
    pub(super) fn pending_alone(&self, mark: &Mark) -> Readings {
        Readings { pending: vec![self.pending(mark, 1)], ..Readings::default() }
    }

    fn pending(&self, mark: &Mark, tries: u32) -> PendingFetch {
        let next_try_at = self.parts.clock.now().after(pause_after(tries));
        PendingFetch { signature: mark.signature.clone(), slot: mark.slot, tries, next_try_at }
    }
}

fn pause_after(tries: u32) -> Duration {
    Duration::from_secs(1 << tries.saturating_sub(1).min(10)).min(FETCH_PAUSE_MAX)
}

fn is_of(entry: &HistoryEntry, signature: &str) -> bool {
    matches!(&entry.outcome, EntryOutcome::Settled { signature: of, .. } if of == signature)
}

const fn is_unavailable(answer: &Result<Looked, ChainError>) -> bool {
    matches!(answer, Err(ChainError::Unavailable { .. }))
}
