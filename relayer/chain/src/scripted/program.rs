//! Applies calls of the program to the accounts of a [`Script`].

use super::Script;
use crate::read::decode::to_address;
use crate::{AgentAddresses, AgentOnChain, DraftOnChain, UnsignedTransfer};
use purser::constants::MEMO_PROGRAM;
use purser::error::PurserError;
use purser::instruction;
use purser::state::waits_seconds;
use purser::{Bounds, DraftArgs};
use purser_client::{Proposal, arguments, policy_of, transfer_arguments};
use purser_core::{Beyond, MonthCap};
use purser_model::{Address, HaltedBy, SpendingPolicy};
use purser_policy::{MonthWindow, SpendWindow, TagBucket, UsdcAmount, grow};
use solana_message::Message;
use solana_sdk::pubkey::Pubkey;

/// A draft that is being written.
pub(super) struct OpenedDraft {
    args: DraftArgs,
    entries: Vec<Pubkey>,
    rent_refund: Address,
}

/// The calls of a program in a message, each with its accounts and data.
fn calls(message: &Message, program: Pubkey) -> impl Iterator<Item = (Vec<Pubkey>, &[u8])> {
    let key = |index: &u8| message.account_keys[usize::from(*index)];
    let of_program = message.instructions.iter().filter(move |call| key(&call.program_id_index) == program);
    of_program.map(move |call| (call.accounts.iter().map(key).collect(), call.data.as_slice()))
}

fn has(message: &Message, is_it: impl Fn(&[u8]) -> bool) -> bool {
    calls(message, purser::ID).any(|(_, data)| is_it(data))
}

pub(super) fn sets_policy(message: &Message) -> bool {
    has(message, |data| arguments::<instruction::SetPolicy>(data).is_some())
}

pub(super) fn creates_agent(message: &Message) -> bool {
    has(message, |data| arguments::<instruction::CreateAgent>(data).is_some())
}

/// The transfer that a message asks for.
pub(super) fn transfer_in(message: &Message) -> Option<UnsignedTransfer> {
    calls(message, purser::ID).find_map(|(accounts, data)| {
        let asked = transfer_arguments(data)?;
        let [_, operator, agent, token_account, destination, rest @ ..] = &accounts[..] else { return None };
        let given = |key: &Pubkey| (*key != purser::ID).then(|| to_address(key));
        let beyond = match rest {
            // The mint stands before them.
            [_, grant, budget, _] => {
                Some(Beyond { needs_grant: false, grant: given(grant), budget: given(budget) })
            }
            _ => None,
        };
        Some(UnsignedTransfer {
            operator: to_address(operator),
            transfer_authorities: Vec::new(),
            agent: AgentAddresses { agent: to_address(agent), token_account: to_address(token_account) },
            destination: to_address(destination),
            transfer_id: asked.transfer_id,
            asked_at: i64::from(asked.asked_at),
            tag_buckets: 0,
            amount: UsdcAmount::from_micros(asked.amount),
            memo: String::from_utf8(asked.memo).expect("UTF-8"),
            beyond,
            has_expired: false,
        })
    })
}

/// Makes the changes of a message, or says the code of the refusal.
pub(super) fn execute(script: &mut Script, message: &Message) -> Result<(), u32> {
    for (_, memo) in calls(message, MEMO_PROGRAM) {
        script.memos.push(String::from_utf8(memo.to_vec()).expect("UTF-8"));
    }
    for (accounts, data) in calls(message, purser::ID) {
        let accounts: Vec<Address> = accounts.iter().map(to_address).collect();
        script.call(&accounts, data).map_err(u32::from)?;
    }
    Ok(())
}

impl Script {
    fn call(&mut self, accounts: &[Address], data: &[u8]) -> Result<(), PurserError> {
        let at = |place: usize| accounts[place];
        if let Some(create) = arguments::<instruction::CreateAgent>(data) {
            let policy = policy_of(create.policy);
            return self.creates([at(2), at(3), at(4), at(6)], policy);
        }
        if let Some(set) = arguments::<instruction::SetPolicy>(data) {
            return self.overwrites(at(3), set.expected_version, &policy_of(set.policy), None);
        }
        if let Some(set) = arguments::<instruction::SetTagBuckets>(data) {
            self.rooms += 1;
            let agent = self.agent(at(3));
            let mut buckets = agent.tags.to_vec();
            let had = buckets.len();
            buckets.resize(set.buckets.into(), TagBucket::EMPTY);
            grow(&mut buckets, had);
            agent.tags = buckets.into();
            return Ok(());
        }
        if let Some(set) = arguments::<instruction::SetPaused>(data) {
            let now = self.now;
            let agent = self.agent(at(2));
            agent.policy.paused = set.paused;
            agent.policy_version += 1;
            agent.policy_updated_at = now;
            return Ok(());
        }
        if let Some(set) = arguments::<instruction::SetBounds>(data) {
            self.binds(at(3), set.bounds);
            return Ok(());
        }
        if arguments::<instruction::Halt>(data).is_some() {
            self.halts += 1;
            let by = HaltedBy::PolicyAuthority;
            match at(2) {
                none if none == to_address(&purser::ID) => self.operator_halted.get_or_insert(by),
                agent => self.agent(agent).halted_by.get_or_insert(by),
            };
            return Ok(());
        }
        if let Some(open) = arguments::<instruction::OpenDraft>(data) {
            let opened = OpenedDraft { args: open.args, entries: Vec::new(), rent_refund: at(5) };
            self.drafts_opened.insert(at(3), opened);
            return self.seals(at(3));
        }
        if let Some(write) = arguments::<instruction::WriteDraft>(data) {
            let opened = self.drafts_opened.get_mut(&at(2)).ok_or(PurserError::DraftMismatch)?;
            opened.entries.extend(write.entries);
            return self.seals(at(2));
        }
        if let Some(apply) = arguments::<instruction::ApplyDraft>(data) {
            let draft = self.drafts.get(&at(3)).filter(|draft| draft.hash == apply.hash).cloned();
            let draft = draft.ok_or(PurserError::DraftMismatch)?;
            let version = u32::try_from(draft.expected_version).expect("a version");
            self.overwrites(at(3), version, &draft.policy, Some(&draft))?;
            self.drafts.remove(&at(3));
            return Ok(());
        }
        if let Some(close) = arguments::<instruction::CloseDraft>(data) {
            self.drafts_opened.remove(&at(2));
            let removed = self.drafts.remove(&at(2)).filter(|draft| draft.hash == close.hash);
            return removed.map(drop).ok_or(PurserError::DraftMismatch);
        }
        panic!("nobody scripted this call: {:?}", data.first_chunk::<8>());
    }

    fn agent(&mut self, address: Address) -> &mut AgentOnChain {
        self.agents.get_mut(&address).expect("the test made it")
    }

    fn creates(
        &mut self,
        [operator, address, token_account, rent_refund]: [Address; 4],
        policy: SpendingPolicy,
    ) -> Result<(), PurserError> {
        if self.addresses_taken > self.taken.len() {
            self.taken.insert(address);
        }
        if self.agents.contains_key(&address) || self.taken.contains(&address) {
            return Err(PurserError::AccountNotEmpty);
        }
        let agent = AgentOnChain {
            address,
            operator,
            token_account,
            halted_by: None,
            rent_refund,
            policy,
            policy_version: 1,
            policy_updated_at: self.now,
            window: SpendWindow::EMPTY,
            payments: 0,
            tags: [TagBucket::EMPTY].into(),
            balance: UsdcAmount::ZERO,
            is_frozen: false,
            beyond: None,
            month: None,
        };
        self.agents.insert(address, agent);
        Ok(())
    }

    /// Puts a policy in force, if it may be now.
    fn overwrites(
        &mut self,
        address: Address,
        expected_version: u32,
        policy: &SpendingPolicy,
        draft: Option<&DraftOnChain>,
    ) -> Result<(), PurserError> {
        let (now, delay) = (self.now, self.loosening_delay);
        let is_halted = self.operator_halted.is_some() || self.agent(address).halted_by.is_some();
        let agent = self.agent(address);
        let may_loosen = draft.map_or(delay == 0, |draft| {
            let waits = waits_seconds(draft.sealed_delay_seconds, delay);
            let due = draft.sealed_at.zip(waits).map(|(sealed_at, waits)| sealed_at + i64::from(waits));
            !is_halted && due.is_some_and(|due| due <= now)
        });
        if agent.policy_version != u64::from(expected_version) {
            return Err(PurserError::PolicyChanged);
        }
        if policy.as_policy().loosens(&agent.policy.as_policy()) && !may_loosen {
            return Err(PurserError::LooseningMustWait);
        }
        agent.policy = policy.clone();
        agent.policy_version += 1;
        agent.policy_updated_at = now;
        Ok(())
    }

    fn binds(&mut self, address: Address, bounds: Bounds) {
        let agent = self.agent(address);
        let window = agent.month.map_or(MonthWindow::EMPTY, |month| month.window);
        let cap = bounds.max_30_day_spend.map(UsdcAmount::from_micros);
        agent.month = cap.map(|cap| MonthCap { cap, window });
        let is_bound = bounds != Bounds::default();
        let budget = bounds.budget.as_ref().map(to_address);
        agent.beyond = is_bound.then_some(Beyond { needs_grant: bounds.by_grant_only, grant: None, budget });
    }

    /// Completes the draft of this agent, once all its entries are there.
    fn seals(&mut self, address: Address) -> Result<(), PurserError> {
        let opened = self.drafts_opened.get(&address).ok_or(PurserError::DraftMismatch)?;
        let wanted = opened.args.entries.map_or(0, |counts| counts.wallets + counts.token_accounts);
        if opened.entries.len() < usize::from(wanted) {
            return Ok(());
        }
        let agent = Pubkey::new_from_array(address.bytes());
        let proposal =
            Proposal::of(agent, &opened.args, &opened.entries).ok_or(PurserError::DraftMismatch)?;
        if self.drafts.contains_key(&address) {
            return Err(PurserError::AccountNotEmpty);
        }
        let draft = DraftOnChain {
            hash: opened.args.hash,
            expected_version: opened.args.expected_version.into(),
            policy: proposal.policy,
            sealed_at: Some(self.now),
            sealed_delay_seconds: self.loosening_delay,
            rent_refund: opened.rent_refund,
        };
        self.drafts_opened.remove(&address);
        self.drafts.insert(address, draft);
        Ok(())
    }
}
