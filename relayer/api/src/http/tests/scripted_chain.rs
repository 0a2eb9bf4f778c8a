//! A chain that follows a script, for faults that a real network cannot be made to show.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use purser::error::PurserError;
use purser_core::{Beyond, BudgetState, Granted, MonthCap, Payer, Payment, Room};
use purser_policy::{MonthWindow, SpendWindow, TagBucket};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use purser_chain::{
    AccountBounds, AddressKind, AgentAddresses, AgentCreation, AgentOnChain, ApproveChain, BindChain,
    BudgetOnChain, Caps, ChainError, ChainFault, ChainView, Confirmed, Destination, DraftOnChain,
    GrantOnChain, HandOverChain, KeyChain, MemoChain, OperatorOnChain, Outcome, PolicyChain, ProvisionChain,
    ReadChain, SendRecorder, SentEnd, SignatureStanding, SignedTransfer, StopChain, UnsignedTransfer,
    view_of,
};
use purser_model::{
    AccountId, Address, BudgetId, HaltedBy, Network, SentTransaction, SpendingPolicy, Terms, UsdcAmount,
};

pub(super) const NOW: i64 = 1_790_000_000;

/// The script.
pub(super) struct Script {
    pub unreachable: bool,
    pub now: i64,
    pub operator_halted: Option<HaltedBy>,
    pub loosening_delay: u32,
    pub drafts: HashMap<Address, DraftOnChain>,
    /// An address that is not listed is a wallet.
    pub kinds: HashMap<Address, AddressKind>,
    /// Each of these is the answer to one policy write or account creation, which takes effect all the same.
    pub lost_answers: VecDeque<ChainError>,
    pub agents: HashMap<Address, AgentOnChain>,
    pub destinations: HashMap<Address, Destination>,
    /// By tag.
    pub grants: HashMap<u64, Granted>,
    /// By address; one that is not listed is closed.
    pub budgets: HashMap<Address, BudgetState>,
    /// In order; once they run out, everything settles.
    pub outcomes: VecDeque<Outcome>,
    /// Answers to the next block time questions; afterwards it is `now`.
    pub block_times: VecDeque<Option<i64>>,
    /// Outcomes come only while this is false.
    pub held: bool,
    /// Reads of what a transfer needs are answered only while this is false.
    pub reads_held: bool,
    /// How often somebody read, or tried to read, what a transfer needs.
    pub reads: usize,
    /// How often somebody read accounts.
    pub agent_reads: usize,
    /// How often somebody asked for a backfill.
    pub wanted: usize,
    /// How often somebody asked for room in an account, and how often there was some.
    pub rooms: usize,
    pub rooms_max: usize,
    /// Policies are written only while this is false.
    pub policies_held: bool,
    /// How many policies are being written.
    pub policies_under_way: usize,
    /// Accounts are created only while this is false.
    pub creations_held: bool,
    /// So many of the next new addresses have USDC lying there already, for good.
    pub addresses_taken: usize,
    pub taken: HashSet<Address>,
    /// How many accounts are being created.
    pub creations_under_way: usize,
    pub orders: Vec<UnsignedTransfer>,
    pub sent: Vec<SignedTransfer>,
    pub memos: Vec<String>,
    /// How often something was halted.
    pub halts: usize,
    /// A transaction that is not listed is final.
    pub standings: HashMap<String, SignatureStanding>,
    /// A transaction that is not listed is open.
    pub ends: HashMap<String, SentEnd>,
}

pub(super) struct ScriptedChain {
    script: Mutex<Script>,
    recorder: OnceLock<Arc<dyn SendRecorder>>,
    released: Notify,
}

pub(super) fn filled(first: &[u8], rest: u8) -> Address {
    let mut bytes = [rest; 32];
    bytes[..first.len()].copy_from_slice(first);
    Address::from_bytes(bytes)
}

impl ScriptedChain {
    pub(super) fn new() -> Self {
        let script = Script {
            unreachable: false,
            now: NOW,
            operator_halted: None,
            loosening_delay: 0,
            drafts: HashMap::new(),
            kinds: HashMap::new(),
            lost_answers: VecDeque::new(),
            agents: HashMap::new(),
            grants: HashMap::new(),
            budgets: HashMap::new(),
            destinations: HashMap::new(),
            outcomes: VecDeque::new(),
            block_times: VecDeque::new(),
            held: false,
            reads_held: false,
            reads: 0,
            agent_reads: 0,
            wanted: 0,
            rooms: 0,
            rooms_max: usize::MAX,
            policies_held: false,
            policies_under_way: 0,
            creations_held: false,
            addresses_taken: 0,
            taken: HashSet::new(),
            creations_under_way: 0,
            orders: Vec::new(),
            sent: Vec::new(),
            memos: Vec::new(),
            halts: 0,
            standings: HashMap::new(),
            ends: HashMap::new(),
        };
        Self { script: Mutex::new(script), recorder: OnceLock::new(), released: Notify::new() }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock()
    }

    /// Lets what is held happen.
    pub(super) fn release(&self) {
        {
            let mut script = self.script();
            script.held = false;
            script.reads_held = false;
            script.policies_held = false;
            script.creations_held = false;
        }
        self.released.notify_waiters();
    }

    async fn until_not(&self, is_held: impl Fn(&Script) -> bool) {
        loop {
            let released = self.released.notified();
            if !is_held(&self.script()) {
                return;
            }
            released.await;
        }
    }

    /// Waits until the script matches `what`; panics after 20 s.
    pub(super) async fn comes_to(&self, what: impl Fn(&Script) -> bool) {
        super::comes_about(|| what(&self.script())).await;
    }

    /// An account that can be paid.
    pub(super) fn payee(&self, number: u8) -> Address {
        let address = filled(&[number], 77);
        let owner = filled(&[number], 78);
        self.script().destinations.insert(address, Destination::TokenAccount { owner });
        address
    }

    fn reach(&self) -> Result<MutexGuard<'_, Script>, ChainError> {
        let script = self.script();
        if script.unreachable {
            return Err(ChainError::Unavailable { during: "the test", reason: "as scripted".into() });
        }
        Ok(script)
    }

    /// As the chain records a transaction before it sends it.
    async fn records(&self, signature: &str) -> Result<(), ChainError> {
        match self.recorder.get() {
            Some(recorder) => recorder.record(signature, 1, false).await,
            None => Ok(()),
        }
    }

    /// The policy was written; the script decides whether the relayer learns of it.
    fn done(script: &mut Script, number: u64) -> Result<Confirmed, ChainError> {
        match script.lost_answers.pop_front() {
            Some(error) => Err(error),
            None => Ok(Confirmed { signature: format!("policy-{number}"), slot: number }),
        }
    }
}

impl Script {
    fn operator(&self, address: Address) -> OperatorOnChain {
        OperatorOnChain {
            address,
            admin: filled(&[1], 1),
            policy_authority: filled(&[2], 1),
            transfer_authorities: vec![filled(&[3], 1)],
            guardian: None,
            usdc_mint: filled(&[4], 1),
            loosening_delay_seconds: self.loosening_delay,
            halted_by: self.operator_halted,
        }
    }

    /// The agent with `policy`, if its current policy is the one in `seen` and may be replaced.
    fn overwrite(
        &mut self,
        seen: &AgentOnChain,
        policy: &SpendingPolicy,
        draft: Option<&DraftOnChain>,
    ) -> Result<u64, ChainError> {
        let operator = self.operator(seen.operator);
        let agent = self.agents.get_mut(&seen.address).expect("the test made it");
        let is_halted = self.operator_halted.is_some() || agent.halted_by.is_some();
        let may_loosen = draft.map_or(self.loosening_delay == 0, |draft| {
            !is_halted && draft.loosens_at(&operator).is_some_and(|due| due <= self.now)
        });
        let loosens = policy.as_policy().loosens(&agent.policy.as_policy());
        if agent.policy_version != seen.policy_version || (loosens && !may_loosen) {
            return Err(ChainError::PolicyChanged);
        }
        agent.policy = policy.clone();
        agent.policy_version += 1;
        agent.policy_updated_at = self.now;
        Ok(agent.policy_version)
    }
}

#[async_trait]
impl ReadChain for ScriptedChain {
    fn network(&self) -> Network {
        Network::Test
    }

    fn addresses_of(&self, _: &Address, agent_id: [u8; 16]) -> AgentAddresses {
        AgentAddresses { agent: filled(&agent_id, 1), token_account: filled(&agent_id, 2) }
    }

    fn account_id_of(&self, agent: &Address) -> Result<AccountId, ChainError> {
        Ok(AccountId::from_bytes(agent.bytes().first_chunk().copied().unwrap_or_default()))
    }

    async fn read_operator(&self, operator: &Address) -> Result<Option<OperatorOnChain>, ChainError> {
        Ok(Some(self.reach()?.operator(*operator)))
    }

    async fn read_agents(&self, agents: &[AgentAddresses]) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let mut script = self.reach()?;
        script.agent_reads += 1;
        Ok(agents.iter().map(|addresses| script.agents.get(&addresses.agent).cloned()).collect())
    }

    async fn read_kinds(&self, addresses: &[Address]) -> Result<Vec<AddressKind>, ChainError> {
        let script = self.reach()?;
        let kind = |address| script.kinds.get(address).copied().unwrap_or(AddressKind::Wallet);
        Ok(addresses.iter().map(kind).collect())
    }

    async fn read_draft(&self, agent: &Address) -> Result<Option<DraftOnChain>, ChainError> {
        Ok(self.reach()?.drafts.get(agent).cloned())
    }

    async fn read_budget(&self, _: &Address, budget: &Address) -> Result<Option<BudgetOnChain>, ChainError> {
        let found = self.reach()?.budgets.get(budget).copied();
        Ok(found.map(|state| BudgetOnChain { number: 1, state, month: MonthWindow::EMPTY, raise: None }))
    }

    async fn standing(&self, signature: &str) -> Result<SignatureStanding, ChainError> {
        let final_now = SignatureStanding::Finalized { slot: 1 };
        Ok(self.reach()?.standings.get(signature).copied().unwrap_or(final_now))
    }

    fn record_sends(&self, recorder: Arc<dyn SendRecorder>) {
        let _ = self.recorder.set(recorder);
    }

    async fn ends_of(&self, sent: &[SentTransaction], _: Duration) -> Result<Vec<SentEnd>, ChainError> {
        let script = self.reach()?;
        let end = |sent: &SentTransaction| script.ends.get(&sent.signature).copied().unwrap_or(SentEnd::Open);
        Ok(sent.iter().map(end).collect())
    }

    fn usdc_mint(&self) -> Address {
        filled(&[4], 1)
    }

    fn usdc_account_of(&self, owner: &Address) -> Address {
        // Of an account as in `addresses_of`.
        filled(&owner.as_bytes()[..16], 2)
    }
}

#[async_trait]
impl ProvisionChain for ScriptedChain {
    async fn set_approver(
        &self,
        _: &[u8],
        _: &Address,
        _: &Address,
        _: [UsdcAmount; 2],
    ) -> Result<Confirmed, ChainError> {
        unreachable!("no service does this")
    }

    async fn create_operator(
        &self,
        _: &[u8],
        _: u64,
        _: Option<Address>,
        _: u32,
    ) -> Result<Address, ChainError> {
        Ok(filled(&[9], 9))
    }

    async fn create_token_account(&self, _: &Address) -> Result<Confirmed, ChainError> {
        unreachable!("tests of it have a network")
    }

    async fn create_agent(
        &self,
        operator: &OperatorOnChain,
        agent_id: [u8; 16],
        policy: &SpendingPolicy,
    ) -> Result<AgentCreation, ChainError> {
        let AgentAddresses { agent, token_account } = self.addresses_of(&operator.address, agent_id);
        self.reach()?.creations_under_way += 1;
        self.until_not(|script| script.creations_held).await;
        let mut script = self.reach()?;
        script.creations_under_way -= 1;
        if script.agents.contains_key(&agent) {
            return Ok(AgentCreation::AlreadyThere);
        }
        if script.addresses_taken > script.taken.len() {
            script.taken.insert(agent);
        }
        if script.taken.contains(&agent) {
            let error = PurserError::AccountNotEmpty;
            return Err(ChainError::Rejected { code: Some(error.into()), message: error.to_string() });
        }
        let policy_updated_at = script.now;
        script.agents.insert(
            agent,
            AgentOnChain {
                address: agent,
                operator: operator.address,
                token_account,
                halted_by: None,
                rent_refund: filled(&[2], 1),
                policy: policy.clone(),
                policy_version: 1,
                policy_updated_at,
                window: SpendWindow::EMPTY,
                payments: 0,
                tags: [TagBucket::EMPTY].into(),
                balance: UsdcAmount::ZERO,
                is_frozen: false,
                beyond: None,
                month: None,
            },
        );
        Self::done(&mut script, 1).map(AgentCreation::Created)
    }
}

#[async_trait]
impl BindChain for ScriptedChain {
    async fn read_budgets(&self, _: &Address) -> Result<Vec<BudgetOnChain>, ChainError> {
        Ok(Vec::new())
    }

    async fn set_budget(
        &self,
        _: &OperatorOnChain,
        _: &BudgetOnChain,
        _: &Caps,
    ) -> Result<Confirmed, ChainError> {
        unreachable!("no test does this")
    }

    async fn set_bounds(
        &self,
        _: &OperatorOnChain,
        agent: &AgentOnChain,
        bounds: &AccountBounds,
    ) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        let known = script.agents.get_mut(&agent.address).expect("the test made it");
        let window = known.month.map_or(MonthWindow::EMPTY, |month| month.window);
        known.month = bounds.max_30_day_spend.map(|cap| MonthCap { cap, window });
        known.beyond = (bounds.max_30_day_spend.is_some() || bounds.budget.is_some())
            .then(|| Beyond { budget: bounds.budget.map(|BudgetId(address)| address), ..Beyond::default() });
        Self::done(&mut script, 1)
    }

    async fn read_grants(&self, _: &Address, _: &Address) -> Result<Vec<GrantOnChain>, ChainError> {
        Ok(Vec::new())
    }

    async fn read_grant(
        &self,
        _: &Address,
        _: &Address,
        _: &Address,
    ) -> Result<Option<GrantOnChain>, ChainError> {
        Ok(None)
    }

    async fn close_grant(&self, _: &OperatorOnChain, _: &GrantOnChain) -> Result<Confirmed, ChainError> {
        unreachable!("no test does this")
    }

    async fn void_grants(&self, _: &OperatorOnChain, _: &Address) -> Result<Confirmed, ChainError> {
        unreachable!("no test does this")
    }
}

#[async_trait]
impl PolicyChain for ScriptedChain {
    async fn set_policy(
        &self,
        _: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError> {
        self.reach()?.policies_under_way += 1;
        self.until_not(|script| script.policies_held).await;
        self.records(&format!("policy-{}", agent.policy_version + 1)).await?;
        let mut script = self.reach()?;
        script.policies_under_way -= 1;
        let version = script.overwrite(agent, policy, None)?;
        Self::done(&mut script, version)
    }

    fn proposal_hash(&self, agent: &AgentOnChain, policy: &SpendingPolicy) -> [u8; 32] {
        Sha256::digest(format!("{} {} {policy:?}", agent.address, agent.policy_version)).into()
    }

    async fn propose_policy(
        &self,
        _: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError> {
        let hash = self.proposal_hash(agent, policy);
        let mut script = self.reach()?;
        if script.agents.get(&agent.address).map(|agent| agent.policy_version) != Some(agent.policy_version) {
            return Err(ChainError::PolicyChanged);
        }
        let draft = DraftOnChain {
            hash,
            expected_version: agent.policy_version,
            policy: policy.clone(),
            sealed_at: Some(script.now),
            sealed_delay_seconds: script.loosening_delay,
            rent_refund: filled(&[2], 1),
        };
        script.drafts.insert(agent.address, draft);
        Self::done(&mut script, 0)
    }

    async fn apply_draft(
        &self,
        _: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        let draft = script.drafts.get(&agent.address).filter(|draft| draft.hash == hash).cloned();
        let draft = draft.ok_or(ChainError::PolicyChanged)?;
        let seen = AgentOnChain { policy_version: draft.expected_version, ..agent.clone() };
        let version = script.overwrite(&seen, &draft.policy, Some(&draft))?;
        script.drafts.remove(&agent.address);
        Self::done(&mut script, version)
    }

    async fn drop_draft(
        &self,
        _: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        if script.drafts.get(&agent.address).is_none_or(|draft| draft.hash != hash) {
            return Err(ChainError::PolicyChanged);
        }
        script.drafts.remove(&agent.address);
        Self::done(&mut script, 0)
    }
}

#[async_trait]
impl StopChain for ScriptedChain {
    async fn pause(&self, _: &OperatorOnChain, agent: &Address) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        let seen = script.agents.get(agent).expect("the test made it").clone();
        let version =
            script.overwrite(&seen, &SpendingPolicy { paused: true, ..seen.policy.clone() }, None)?;
        Self::done(&mut script, version)
    }

    async fn halt(&self, _: &OperatorOnChain, agent: Option<&Address>) -> Result<Confirmed, ChainError> {
        let number = self.reach()?.halts + 1;
        self.records(&format!("halt-{number}")).await?;
        let mut script = self.reach()?;
        let halted_by = match agent {
            Some(agent) => &mut script.agents.get_mut(agent).expect("the test made it").halted_by,
            None => &mut script.operator_halted,
        };
        halted_by.get_or_insert(HaltedBy::PolicyAuthority);
        script.halts += 1;
        Ok(Confirmed { signature: format!("halt-{}", script.halts), slot: 1 })
    }
}

impl ApproveChain for ScriptedChain {}

#[async_trait]
impl KeyChain for ScriptedChain {
    fn signs_with(&self, address: &Address) -> bool {
        *address == filled(&[3], 1)
    }
}

#[async_trait]
impl MemoChain for ScriptedChain {
    async fn write_memo(&self, _: &OperatorOnChain, memo: &str) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        script.memos.push(memo.to_owned());
        // It landed, and the answer was lost.
        match script.lost_answers.pop_front() {
            Some(error) => Err(error),
            None => Ok(Confirmed { signature: format!("memo-{}", script.memos.len()), slot: 1 }),
        }
    }
}

#[async_trait]
impl HandOverChain for ScriptedChain {
    async fn sign_for(&self, order: &UnsignedTransfer, _: &Terms) -> Result<SignedTransfer, ChainFault> {
        purser_core::Signer::sign_transfer(self, order).await
    }
}

#[async_trait]
impl purser_core::Signer for ScriptedChain {
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault> {
        let mut script = self.reach()?;
        script.orders.push(order.clone());
        let number = script.orders.len();
        Ok(SignedTransfer {
            bytes: vec![number as u8],
            signature: format!("signature-{number}"),
            last_valid_block_height: 150,
        })
    }
}

#[async_trait]
impl purser_core::Chain for ScriptedChain {
    async fn now(&self) -> Result<i64, ChainFault> {
        Ok(self.reach()?.now)
    }

    async fn read_for_transfer(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainFault> {
        self.script().reads += 1;
        self.until_not(|script| script.reads_held).await;
        let script = self.reach()?;
        let address = payer.addresses.agent;
        let Some(agent) = script.agents.get(&address).cloned() else {
            return Err(ChainError::NotFound { what: "agent", address }.into());
        };
        let payee = script.agents.values().find(|agent| agent.token_account == payment.destination);
        let missing = match payment.request.to.wallet() {
            Some(_) => Destination::NoTokenAccount,
            None => Destination::Missing,
        };
        let destination = match payee {
            Some(payee) => Destination::TokenAccount { owner: payee.address },
            None => script.destinations.get(&payment.destination).copied().unwrap_or(missing),
        };
        let granted = with_grant.then(|| script.grants.get(&payment.tag)).flatten().copied();
        let budget = agent
            .beyond
            .and_then(|beyond| beyond.budget)
            .map(|named| script.budgets.get(&named).copied().unwrap_or_else(|| BudgetState::closed(named)));
        let beside = (granted, budget);
        Ok(view_of(script.operator(payer.operator), agent, destination, beside, script.now))
    }

    async fn has_passed(&self, _: u64, _: tokio::time::Instant) -> Result<bool, ChainFault> {
        Ok(!self.script().held)
    }

    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainFault> {
        self.reach()?.sent.push(signed.clone());
        Ok(())
    }

    async fn outcome(&self, _: &SignedTransfer) -> Outcome {
        self.until_not(|script| script.held).await;
        self.script().outcomes.pop_front().unwrap_or(Outcome::Settled { slot: 7 })
    }

    async fn block_time(&self, _: u64) -> Result<Option<i64>, ChainFault> {
        let mut script = self.script();
        let now = script.now;
        Ok(script.block_times.pop_front().unwrap_or(Some(now)))
    }

    fn look_again(&self) {
        self.script().wanted += 1;
    }

    async fn make_room(&self, payer: &Payer, _: usize) -> Result<Room, ChainFault> {
        let mut script = self.reach()?;
        script.rooms += 1;
        if script.rooms > script.rooms_max {
            return Ok(Room::None);
        }
        let agent = script.agents.get_mut(&payer.addresses.agent).expect("the test made it");
        let mut buckets = agent.tags.to_vec();
        let had = buckets.len();
        buckets.push(TagBucket::EMPTY);
        purser_policy::grow(&mut buckets, had);
        agent.tags = buckets.into();
        Ok(Room::Made)
    }
}
