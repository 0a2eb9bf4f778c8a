//! Turns what a transaction did into history entries. Pure.

use std::collections::HashMap;

use purser_chain::{Flow, LandedRecord, ProgramEvent};
use purser_model::{
    AccountId, Address, Counterparty, EntryKind, EntryOutcome, HistoryEntry, Memo, Network, Party,
    PaymentNumber, Timestamp, TransferId, UsdcAmount, entry_id, happened_at,
};

/// Our accounts among those that some transactions touched.
#[derive(Debug, Default)]
pub(super) struct Parties {
    by_agent: HashMap<Address, Party>,
    by_token_account: HashMap<Address, Party>,
}

impl Parties {
    /// This agent's account, if it is ours.
    pub fn of_agent(&self, agent: &Address) -> Option<Party> {
        self.by_agent.get(agent).copied()
    }
}

impl FromIterator<(Address, Party)> for Parties {
    fn from_iter<I: IntoIterator<Item = (Address, Party)>>(parties: I) -> Self {
        let mut all = Self::default();
        for (agent, party) in parties {
            all.by_agent.insert(agent, party);
            all.by_token_account.insert(party.token_account, party);
        }
        all
    }
}

/// Every address of a transaction that may belong to one of our accounts.
pub(super) fn addresses_of(record: &LandedRecord) -> Vec<Address> {
    let agents = record.events.iter().filter_map(|event| match event {
        ProgramEvent::TransferExecuted { agent, .. }
        | ProgramEvent::Withdrawn { agent, .. }
        | ProgramEvent::AgentCreated { agent, .. }
        | ProgramEvent::AgentClosed { agent, .. } => Some(*agent),
        ProgramEvent::PolicyChanged { agent, .. } => Some(*agent),
        ProgramEvent::HaltChanged { agent, .. } => *agent,
    });
    // A recipient counts even if its balance ends where it began.
    let recipients = record.events.iter().filter_map(|event| match event {
        ProgramEvent::TransferExecuted { recipient, .. }
        | ProgramEvent::Withdrawn { recipient, .. }
        | ProgramEvent::AgentClosed { recipient, .. } => Some(*recipient),
        ProgramEvent::AgentCreated { .. }
        | ProgramEvent::PolicyChanged { .. }
        | ProgramEvent::HaltChanged { .. } => None,
    });
    let flows = record.flows.iter().map(|flow| flow.token_account);
    let drafted = record.policy_steps.iter().map(|step| step.agent);
    let granted = record.grants.iter().map(|grant| grant.agent);
    agents.chain(recipients).chain(flows).chain(drafted).chain(granted).collect()
}

/// The entries of one transaction, for every account of ours that it touched. Any balance change beyond what our program took
/// out is a deposit, however it came about.
pub(super) fn entries_of(
    network: Network,
    record: &LandedRecord,
    block_time: i64,
    parties: &Parties,
) -> Vec<HistoryEntry> {
    let created_at = Timestamp::from_unix_seconds(block_time);
    let mut booking =
        Booking { network, record, created_at, parties, accounts: HashMap::new(), entries: Vec::new() };
    for event in &record.events {
        booking.pay_out(event);
    }
    booking.pay_in();
    booking.entries
}

struct Booking<'a> {
    network: Network,
    record: &'a LandedRecord,
    created_at: Timestamp,
    parties: &'a Parties,
    /// For each account: how many entries so far, and how much they paid out.
    accounts: HashMap<AccountId, (Party, u32, u128)>,
    entries: Vec<HistoryEntry>,
}

impl Booking<'_> {
    fn pay_out(&mut self, event: &ProgramEvent) {
        let (agent, kind, recipient) = match event {
            ProgramEvent::TransferExecuted { agent, recipient, .. } => {
                (agent, EntryKind::Transfer, recipient)
            }
            ProgramEvent::Withdrawn { agent, recipient, .. }
            | ProgramEvent::AgentClosed { agent, recipient, .. } => (agent, EntryKind::Withdrawal, recipient),
            ProgramEvent::AgentCreated { .. }
            | ProgramEvent::PolicyChanged { .. }
            | ProgramEvent::HaltChanged { .. } => return,
        };
        let Some(party) = self.parties.by_agent.get(agent).copied() else { return };
        let amount = match event {
            ProgramEvent::TransferExecuted { amount, .. } => *amount,
            // Money in another token account of the agent was never in its history.
            ProgramEvent::Withdrawn { amount, source, .. } if *source == party.token_account => *amount,
            ProgramEvent::AgentClosed { .. } => self.left_in(&party),
            ProgramEvent::Withdrawn { .. }
            | ProgramEvent::AgentCreated { .. }
            | ProgramEvent::PolicyChanged { .. }
            | ProgramEvent::HaltChanged { .. } => UsdcAmount::ZERO,
        };
        if amount.is_zero() {
            return;
        }
        let mut entry = self.entry(&party, kind, amount, Some(*recipient));
        if let ProgramEvent::TransferExecuted { transfer_id, asked_at, number, spent, memo, .. } = event {
            tell_transfer(&mut entry, *transfer_id, memo);
            entry.asked_at = *asked_at;
            entry.spent = *spent;
            entry.number = Some(number.map_or(PaymentNumber::CutOff, PaymentNumber::Is));
        }
        self.entries.push(entry);
        if let Some((_, _, paid)) = self.accounts.get_mut(&party.account_id) {
            *paid += u128::from(amount.micros());
        }
    }

    /// What an account still held when it was closed.
    fn left_in(&self, party: &Party) -> UsdcAmount {
        let flow = self.record.flows.iter().find(|flow| flow.token_account == party.token_account);
        let paid = self.accounts.get(&party.account_id).map_or(0, |(_, _, paid)| *paid);
        let left = flow.map_or(0, |flow| u128::from(flow.before.micros()).saturating_sub(paid));
        UsdcAmount::from_micros(u64::try_from(left).unwrap_or(u64::MAX))
    }

    fn pay_in(&mut self) {
        let flows = &self.record.flows;
        for flow in flows {
            if let Some(party) = self.parties.by_token_account.get(&flow.token_account) {
                self.accounts.entry(party.account_id).or_insert((*party, 0, 0));
            }
        }
        let mut touched: Vec<(Party, u128)> =
            self.accounts.values().map(|(party, _, paid)| (*party, *paid)).collect();
        touched.sort_by_key(|(party, _)| party.account_id);
        for (party, paid) in touched {
            let flow = flows.iter().find(|flow| flow.token_account == party.token_account);
            let (before, after) = flow.map_or((0, 0), |flow| (flow.before.micros(), flow.after.micros()));
            let came = i128::from(after) - i128::from(before) + i128::try_from(paid).unwrap_or(i128::MAX);
            let amount = u64::try_from(came.unsigned_abs()).map_or(UsdcAmount::MAX, UsdcAmount::from_micros);
            let entry = match came.signum() {
                0 => continue,
                1 => {
                    let source = sole_source(flows, &party.token_account);
                    let mut entry = self.entry(&party, EntryKind::Deposit, amount, source);
                    if let Some((transfer_id, memo)) = self.sole_transfer(&party.token_account, amount) {
                        tell_transfer(&mut entry, transfer_id, memo);
                    }
                    entry
                }
                _ => {
                    // Only our program signs for an agent, so this cannot happen; if it does, history must show it.
                    tracing::error!(signature = self.record.signature, account_id = %party.account_id,
                        "money left an account without the program");
                    self.entry(&party, EntryKind::Withdrawal, amount, None)
                }
            };
            self.entries.push(entry);
        }
    }

    /// The one transfer that made up a deposit of this amount, with its memo; `None` if some of the money came another way.
    fn sole_transfer(&self, token_account: &Address, came: UsdcAmount) -> Option<([u8; 16], &str)> {
        let mut transfers = self.record.events.iter().filter_map(|event| match event {
            ProgramEvent::TransferExecuted { transfer_id, amount, recipient, memo, .. }
                if recipient == token_account =>
            {
                Some((*amount, (*transfer_id, memo.as_str())))
            }
            ProgramEvent::TransferExecuted { .. }
            | ProgramEvent::Withdrawn { .. }
            | ProgramEvent::AgentClosed { .. }
            | ProgramEvent::AgentCreated { .. }
            | ProgramEvent::PolicyChanged { .. }
            | ProgramEvent::HaltChanged { .. } => None,
        });
        match (transfers.next(), transfers.next()) {
            (Some((amount, transfer)), None) if amount == came => Some(transfer),
            _ => None,
        }
    }

    fn entry(
        &mut self,
        party: &Party,
        kind: EntryKind,
        amount: UsdcAmount,
        counterparty: Option<Address>,
    ) -> HistoryEntry {
        let (_, ordinal, _) = self.accounts.entry(party.account_id).or_insert((*party, 0, 0));
        let id = entry_id(&self.record.signature, party.account_id, *ordinal);
        *ordinal += 1;
        HistoryEntry {
            id,
            operator_id: party.operator_id,
            account_id: party.account_id,
            network: self.network,
            kind,
            amount,
            counterparty: counterparty.map(Counterparty::TokenAccount),
            memo: None,
            transfer_id: None,
            asked_at: None,
            number: None,
            spent: None,
            outcome: EntryOutcome::Settled {
                signature: self.record.signature.clone(),
                slot: self.record.slot,
            },
            created_at: self.created_at,
        }
    }
}

/// Fills in what a transfer says about itself on the chain.
fn tell_transfer(entry: &mut HistoryEntry, transfer_id: [u8; 16], memo: &str) {
    let transfer_id = TransferId::from_bytes(transfer_id);
    entry.created_at = happened_at(entry.created_at, Some(transfer_id));
    entry.transfer_id = Some(transfer_id);
    entry.memo = memo_of(memo);
}

/// The only other token account that money left; `None` if the money was minted, or came from several.
fn sole_source(flows: &[Flow], own: &Address) -> Option<Address> {
    let mut sources = flows.iter().filter(|flow| flow.after < flow.before && flow.token_account != *own);
    match (sources.next(), sources.next()) {
        (Some(source), None) => Some(source.token_account),
        _ => None,
    }
}

fn memo_of(text: &str) -> Option<Memo> {
    (!text.is_empty()).then(|| Memo::written(text))
}
