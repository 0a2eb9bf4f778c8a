//! Bringing operators and agents onto the chain. Doing it twice is doing it once.

use super::decode::{to_address, to_pubkey};
use super::signer::{FileSigner, Signer, address};
use super::solana::SolanaChain;
use super::{AgentCreation, Chain, ChainError, OperatorOnChain};
use crate::domain::Address;

impl SolanaChain {
    /// Creates an operator that names this relayer's keys; one that does and is there already is success.
    pub(super) async fn provision_operator(
        &self,
        admin_secret: &[u8],
        id: u64,
        guardian: Option<Address>,
    ) -> Result<Address, ChainError> {
        let admin = FileSigner::from_bytes(admin_secret)?;
        let admin_address = address(&admin);
        let operator = to_address(&self.instructions.operator_address(&admin_address, id));
        if let Some(found) = self.read_operator(&operator).await? {
            return self.same_authorities(&found).map(|()| operator);
        }
        let [policy, transfer] =
            [&self.signers.policy, &self.signers.transfer].map(|signer| address(&**signer));
        let guardian = guardian.as_ref().map(to_pubkey);
        let call = self.instructions.create_operator(admin_address, id, policy, transfer, guardian);
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
    ) -> Result<AgentCreation, ChainError> {
        let signer = &*self.signers.policy;
        let call = self.instructions.create_agent(address(signer), to_pubkey(operator), agent_id);
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

    /// Whether an operator names this relayer's keys; otherwise the program would refuse all that we sign for it.
    pub fn same_authorities(&self, operator: &OperatorOnChain) -> Result<(), ChainError> {
        let check = |role: &str, signer: &dyn Signer, named: &Address| {
            let own = Address::from_bytes(signer.public_key());
            if own == *named {
                return Ok(());
            }
            Err(ChainError::Misconfigured(format!(
                "operator {} names {named} as its {role}, this relayer signs as {own}",
                operator.address
            )))
        };
        check("policy authority", &*self.signers.policy, &operator.policy_authority)?;
        check("transfer authority", &*self.signers.transfer, &operator.transfer_authority)
    }
}
