//! A chain that does as it is told: for the faults that a real network cannot be made to have.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use purser_policy::{RecentTags, SpendWindow};
use tokio::sync::Notify;

use crate::chain::{
    AgentAddresses, AgentCreation, AgentOnChain, AllowedRecipients, Chain, ChainError, Confirmed,
    Destination, LandedTransfer, OnChainPolicy, OperatorOnChain, Outcome, SignedTransfer, TransferOrder,
    TransferView,
};
use crate::domain::{Address, Limit, Network, UsdcAmount};

pub(super) const NOW: i64 = 1_790_000_000;

/// What the script says.
pub(super) struct Script {
    pub unreachable: bool,
    pub now: i64,
    pub operator_paused: bool,
    pub agents: HashMap<Address, AgentOnChain>,
    pub destinations: HashMap<Address, Destination>,
    /// In order; afterwards everything settles.
    pub outcomes: VecDeque<Outcome>,
    /// Outcomes come only while this is false.
    pub held: bool,
    pub landed: Vec<LandedTransfer>,
    /// How often the agent's history was walked.
    pub walks: usize,
    /// How long writing a policy takes.
    pub policy_delay: Duration,
    pub orders: Vec<TransferOrder>,
    pub sent: Vec<SignedTransfer>,
}

pub(super) struct ScriptedChain {
    script: Mutex<Script>,
    released: Notify,
}

fn filled(first: &[u8], rest: u8) -> Address {
    let mut bytes = [rest; 32];
    bytes[..first.len()].copy_from_slice(first);
    Address::from_bytes(bytes)
}

impl ScriptedChain {
    pub(super) fn new() -> Self {
        let script = Script {
            unreachable: false,
            now: NOW,
            operator_paused: false,
            agents: HashMap::new(),
            destinations: HashMap::new(),
            outcomes: VecDeque::new(),
            held: false,
            landed: Vec::new(),
            walks: 0,
            policy_delay: Duration::ZERO,
            orders: Vec::new(),
            sent: Vec::new(),
        };
        Self { script: Mutex::new(script), released: Notify::new() }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no test panics while it holds the script")
    }

    pub(super) fn release(&self) {
        self.script().held = false;
        self.released.notify_waiters();
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

    fn operator(&self, address: Address, paused: bool) -> OperatorOnChain {
        OperatorOnChain {
            address,
            admin: filled(&[1], 1),
            policy_authority: filled(&[2], 1),
            transfer_authority: filled(&[3], 1),
            guardian: None,
            usdc_mint: filled(&[4], 1),
            paused,
        }
    }
}

fn confirmed(number: u64) -> Confirmed {
    Confirmed { signature: format!("policy-{number}"), slot: number }
}

#[async_trait]
impl Chain for ScriptedChain {
    fn network(&self) -> Network {
        Network::Test
    }

    fn addresses_of(&self, _: &Address, agent_id: [u8; 16]) -> AgentAddresses {
        AgentAddresses { agent: filled(&agent_id, 1), token_account: filled(&agent_id, 2) }
    }

    async fn now(&self) -> Result<i64, ChainError> {
        Ok(self.reach()?.now)
    }

    async fn read_operator(&self, operator: &Address) -> Result<Option<OperatorOnChain>, ChainError> {
        let paused = self.reach()?.operator_paused;
        Ok(Some(self.operator(*operator, paused)))
    }

    async fn read_agents(&self, agents: &[AgentAddresses]) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let script = self.reach()?;
        Ok(agents.iter().map(|addresses| script.agents.get(&addresses.agent).cloned()).collect())
    }

    async fn read_for_transfer(
        &self,
        operator: &Address,
        agent: &AgentAddresses,
        destination: &Address,
    ) -> Result<TransferView, ChainError> {
        let script = self.reach()?;
        let Some(agent) = script.agents.get(&agent.agent).cloned() else {
            return Err(ChainError::NotFound { what: "agent", address: agent.agent });
        };
        let payee = script.agents.values().find(|agent| agent.token_account == *destination);
        let destination = match payee {
            Some(payee) => Destination::TokenAccount { owner: payee.address },
            None => script.destinations.get(destination).copied().unwrap_or(Destination::Missing),
        };
        let (paused, now, tags) = (script.operator_paused, script.now, agent.tags);
        Ok(TransferView { operator: self.operator(*operator, paused), agent, destination, now, tags })
    }

    async fn create_operator(&self, _: &[u8], _: u64, _: Option<Address>) -> Result<Address, ChainError> {
        Ok(filled(&[9], 9))
    }

    async fn create_agent(
        &self,
        operator: &Address,
        agent_id: [u8; 16],
    ) -> Result<AgentCreation, ChainError> {
        let AgentAddresses { agent, token_account } = self.addresses_of(operator, agent_id);
        let policy = OnChainPolicy {
            max_single_transfer: Limit::Unlimited,
            max_daily_spend: Limit::Unlimited,
            require_memo: false,
            paused: false,
            allowlist: AllowedRecipients::Anyone,
        };
        let mut script = self.reach()?;
        let policy_updated_at = script.now;
        script.agents.insert(
            agent,
            AgentOnChain {
                address: agent,
                operator: *operator,
                agent_id,
                token_account,
                policy,
                policy_version: 0,
                policy_updated_at,
                window: SpendWindow::EMPTY,
                tags: RecentTags::EMPTY,
                balance: UsdcAmount::ZERO,
            },
        );
        Ok(AgentCreation::Created(confirmed(0)))
    }

    async fn set_policy(
        &self,
        _: &Address,
        agent: &Address,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError> {
        let delay = self.reach()?.policy_delay;
        tokio::time::sleep(delay).await;
        let mut script = self.reach()?;
        let agent = script.agents.get_mut(agent).expect("the test made it");
        agent.policy = policy.clone();
        if let AllowedRecipients::Only(entries) = &mut agent.policy.allowlist {
            entries.sort_unstable();
        }
        agent.policy_version += 1;
        Ok(confirmed(agent.policy_version))
    }

    async fn set_paused(&self, _: &Address, agent: &Address, paused: bool) -> Result<Confirmed, ChainError> {
        let mut script = self.reach()?;
        let agent = script.agents.get_mut(agent).expect("the test made it");
        agent.policy.paused = paused;
        agent.policy_version += 1;
        Ok(confirmed(agent.policy_version))
    }

    async fn sign_transfer(&self, order: &TransferOrder) -> Result<SignedTransfer, ChainError> {
        let mut script = self.reach()?;
        script.orders.push(order.clone());
        let number = script.orders.len();
        Ok(SignedTransfer {
            bytes: vec![number as u8],
            signature: format!("signature-{number}"),
            last_valid_block_height: 150,
        })
    }

    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainError> {
        self.reach()?.sent.push(signed.clone());
        Ok(())
    }

    async fn outcome(&self, _: &SignedTransfer) -> Outcome {
        loop {
            let released = self.released.notified();
            if !self.script().held {
                break;
            }
            released.await;
        }
        let mut script = self.script();
        let (slot, block_time) = (7, Some(script.now));
        script.outcomes.pop_front().unwrap_or(Outcome::Settled { slot, block_time })
    }

    async fn find_landed(&self, _: &Address, tag: u64) -> Result<Option<LandedTransfer>, ChainError> {
        Ok(self.reach()?.landed.iter().find(|landed| landed.tag == tag).cloned())
    }

    async fn find_landed_since(
        &self,
        agent: &Address,
        tag: u64,
        remembered: &[u64],
        _: i64,
    ) -> Result<Option<LandedTransfer>, ChainError> {
        let landed = self.reach()?.landed.clone();
        if remembered.iter().all(|tag| landed.iter().any(|shown| shown.tag == *tag)) {
            return self.find_landed(agent, tag).await;
        }
        Err(ChainError::Unavailable { during: "the test", reason: "does not show all".into() })
    }

    async fn list_landed(&self, _: &Address, after: Option<&str>) -> Result<Vec<LandedTransfer>, ChainError> {
        let mut script = self.reach()?;
        script.walks += 1;
        let landed = script.landed.iter().take_while(|landed| Some(landed.signature.as_str()) != after);
        Ok(landed.cloned().collect())
    }
}
