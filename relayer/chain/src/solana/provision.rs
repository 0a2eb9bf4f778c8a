//! Creates operators and agents on chain. Doing it twice has the effect of doing it once.

use crate::read::decode::{to_address, to_pubkey};
use crate::sign::signer::{FileSigner, Signer, address};
use crate::sign::signing::CallSigners;
use crate::solana::authorities::LAMPORTS_LOW;
use crate::solana::{Recorded, SolanaChain};
use crate::{AgentCreation, ChainError, Commitment, Confirmed, OperatorOnChain};
use purser::constants::TRANSFER_AUTHORITIES_MAX;
use purser_client::purser::OperatorKeys;
use purser_model::{Address, SpendingPolicy, UsdcAmount};
use std::sync::Arc;

impl SolanaChain {
    /// Creates the operator of `admin_secret` (64-byte keypair) and `id`. An operator that is already there is success.
    pub async fn create_operator(
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
            policy_authority: self
                .signers
                .policy
                .first()
                .map(|signer| address(&**signer))
                .unwrap_or_default(),
            transfer_authorities: self
                .signers
                .transfer
                .iter()
                .map(|signer| address(&**signer))
                .take(TRANSFER_AUTHORITIES_MAX)
                .collect(),
            guardian: guardian.as_ref().map(to_pubkey),
            loosening_delay_seconds,
        };
        let call = self.instructions.create_operator(admin_address, id, keys);
        match self.unrecorded().execute(CallSigners::one(&admin), call, self.settings.commitment).await {
            Ok(_) => Ok(operator),
            Err(error @ ChainError::Rejected { .. }) => match self.read_operator(&operator).await? {
                Some(found) => self.same_authorities(&found).map(|()| operator),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Makes a key an approver of the operator, or changes its limits: for one grant, and for those of any 24 hours.
    pub async fn set_approver(
        &self,
        admin_secret: &[u8],
        operator: &Address,
        key: &Address,
        [max_grant, max_daily]: [UsdcAmount; 2],
    ) -> Result<Confirmed, ChainError> {
        let admin = FileSigner::from_bytes(admin_secret)?;
        let limits = [max_grant.micros(), max_daily.micros()];
        let call =
            self.instructions.set_approver(address(&admin), to_pubkey(operator), to_pubkey(key), limits);
        self.unrecorded().execute(CallSigners::one(&admin), call, self.settings.commitment).await
    }

    /// Creates the associated USDC token account of this wallet, for whose rent a transfer authority pays, and waits until that is
    /// confirmed. One that is already there is success.
    pub async fn create_token_account(&self, wallet: &Address) -> Result<Confirmed, ChainError> {
        let wallet = to_pubkey(wallet);
        let creates = |signer: &dyn Signer| self.instructions.create_token_account(address(signer), wallet);
        // The rest has to pay the fees of transfers.
        let can_pay = |signer: &&Arc<dyn Signer>| {
            let call = creates(&***signer);
            let costs =
                call.fee(1, self.price_of(&call)).saturating_add(call.rent).saturating_add(LAMPORTS_LOW);
            !signer.is_away() && self.payers.can_pay(&address(&***signer), costs)
        };
        let signers = &self.signers.transfer;
        let signer = match (signers.iter().find(can_pay), signers.first()) {
            (Some(signer), _) => &**signer,
            (None, Some(first)) => return Err(self.empty(&**first)),
            (None, None) => {
                return Err(ChainError::Misconfigured("there is no transfer authority".to_owned()));
            }
        };
        self.unrecorded().execute(CallSigners::one(signer), creates(signer), Commitment::Confirmed).await
    }
}

impl Recorded<'_> {
    /// Waits for the commitment. An agent that is already there under the same operator is success. The initial policy must
    /// fit into the transaction.
    ///
    /// Like every call that needs a policy authority, fails with `AuthorityRotated` or `FeePayerEmpty` by `operator` as read.
    pub async fn create_agent(
        &self,
        on_chain: &OperatorOnChain,
        agent_id: [u8; 16],
        policy: &SpendingPolicy,
    ) -> Result<AgentCreation, ChainError> {
        let operator = &on_chain.address;
        let authority = address(self.policy_signer(on_chain)?);
        let refund = self.rent_refund(authority);
        let call = self.instructions.create_agent(authority, refund, to_pubkey(operator), agent_id, policy);
        match self.execute_for_policy(on_chain, call, self.settings.commitment).await {
            Ok(confirmed) => {
                let token_account = to_pubkey(&self.addresses_of(operator, agent_id).token_account);
                self.deposits.watch([token_account]);
                Ok(AgentCreation::Created(confirmed))
            }
            Err(error @ ChainError::Rejected { .. }) => {
                let addresses = self.addresses_of(operator, agent_id);
                let found = self.read_agents(&[addresses]).await?.into_iter().flatten().next();
                if found.is_some_and(|agent| agent.operator == *operator) {
                    Ok(AgentCreation::AlreadyThere)
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }
}
