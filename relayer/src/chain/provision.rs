//! Bringing operators and agents onto the chain. Doing it twice is doing it once.

use super::decode::{to_address, to_pubkey};
use super::signer::{FileSigner, address};
use super::solana::SolanaChain;
use super::{AgentCreation, Chain, ChainError, OnChainPolicy, OperatorOnChain};
use crate::domain::Address;
use purser_client::purser::OperatorKeys;

impl SolanaChain {
    /// Creates an operator that names this relayer's keys; one that does and is there already is success.
    pub(super) async fn provision_operator(
        &self,
        admin_secret: &[u8],
        id: u64,
        guardian: Option<Address>,
        loosening_delay_seconds: u32,
    ) -> Result<Address, ChainError> {
        let admin = FileSigner::from_bytes(admin_secret)?;
        let admin_address = address(&admin);
        let operator = to_address(&self.instructions.0.operator_address(&admin_address, id));
        if let Some(found) = self.read_operator(&operator).await? {
            return self.same_authorities(&found).map(|()| operator);
        }
        let keys = OperatorKeys {
            policy_authority: address(&*self.signers.policy),
            transfer_authorities: self.signers.transfer.iter().map(|signer| address(&**signer)).collect(),
            guardian: guardian.as_ref().map(to_pubkey),
            loosening_delay_seconds,
        };
        let call = self.instructions.create_operator(admin_address, id, keys);
        match self.execute(&admin, call, self.settings.commitment).await {
            Ok(_) => Ok(operator),
            Err(error @ ChainError::Rejected { .. }) => match self.read_operator(&operator).await? {
                Some(found) => self.same_authorities(&found).map(|()| operator),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Creates an agent; one that is there already under the operator is success.
    pub(super) async fn provision_agent(
        &self,
        operator: &Address,
        agent_id: [u8; 16],
        policy: &OnChainPolicy,
    ) -> Result<AgentCreation, ChainError> {
        let signer = &*self.signers.policy;
        let call = self.instructions.create_agent(address(signer), to_pubkey(operator), agent_id, policy);
        match self.execute(signer, call, self.settings.commitment).await {
            Ok(confirmed) => Ok(AgentCreation::Created(confirmed)),
            Err(error @ ChainError::Rejected { .. }) => {
                let addresses = self.addresses_of(operator, agent_id);
                let found = self.read_agents(&[addresses]).await?.into_iter().flatten().next();
                let ours =
                    found.is_some_and(|agent| agent.operator == *operator && agent.agent_id == agent_id);
                if ours { Ok(AgentCreation::AlreadyThere) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    /// Whether an operator names this relayer's keys; otherwise the program would refuse all that we sign for it. One of
    /// several transfer authorities is enough.
    pub fn same_authorities(&self, operator: &OperatorOnChain) -> Result<(), ChainError> {
        let own = Address::from_bytes(self.signers.policy.public_key());
        if own != operator.policy_authority {
            let (address, named) = (operator.address, operator.policy_authority);
            return Err(ChainError::Misconfigured(format!(
                "operator {address} names {named} as its policy authority, this relayer signs as {own}"
            )));
        }
        self.transfer_signer(&operator.transfer_authorities).map(drop)
    }
}
