//! One Solana network with our program on it, by what can be done there. What a payment needs is in [`purser_core::Chain`].

use async_trait::async_trait;

use super::{
    AccountBounds, AddressKind, AgentAddresses, AgentCreation, AgentOnChain, BudgetOnChain, Caps, ChainError,
    ChainFault, ChainFigures, Confirmed, DraftOnChain, GrantOnChain, KeyLook, OperatorOnChain, SentEnd,
    SignatureStanding, SignedTransfer, UnsignedTransfer,
};
use purser_model::{
    AccountId, Address, CoSigned, Network, OpenDefence, SentTransaction, SpendingPolicy, Terms, UsdcAmount,
};
use std::sync::Arc;
use std::time::Duration;

/// Records the transactions of changes before they are sent, so that nobody has to guess later how a change ended.
#[async_trait]
pub trait SendRecorder: Send + Sync {
    /// Records one, by its base58 signature. `is_step`: it only prepares a change. `Unrecorded`: it must not be sent.
    async fn record(
        &self,
        signature: &str,
        last_valid_block_height: u64,
        is_step: bool,
    ) -> Result<(), ChainError>;
}

/// Looks: at addresses, which asks no node, and at accounts.
#[async_trait]
pub trait ReadChain: purser_core::Chain {
    fn network(&self) -> Network;

    /// Derives the PDA and its token account, without asking a node.
    fn addresses_of(&self, operator: &Address, agent_id: [u8; 16]) -> AgentAddresses;

    /// The id of an agent account. It follows from cluster and address, so that nobody can make an account with another's id.
    /// `Unavailable`: the cluster is not known yet.
    fn account_id_of(&self, agent: &Address) -> Result<AccountId, ChainError>;

    /// `None` when nothing is there; `NotFound` when something else is. Reads our wallets' balances along with it.
    async fn read_operator(&self, operator: &Address) -> Result<Option<OperatorOnChain>, ChainError>;

    /// In the order asked; `None` where no agent of ours lives. Batches of 100 keys.
    async fn read_agents(&self, agents: &[AgentAddresses]) -> Result<Vec<Option<AgentOnChain>>, ChainError>;

    /// What stands at these addresses, in the order asked.
    async fn read_kinds(&self, addresses: &[Address]) -> Result<Vec<AddressKind>, ChainError>;

    /// The agent's draft, complete or not.
    async fn read_draft(&self, agent: &Address) -> Result<Option<DraftOnChain>, ChainError>;

    /// The budget at this address. `None`: none of this operator is.
    async fn read_budget(
        &self,
        operator: &Address,
        budget: &Address,
    ) -> Result<Option<BudgetOnChain>, ChainError>;

    /// How final a transaction of ours is that has landed. `Unknown`: a fork dropped it, or this node is behind.
    async fn standing(&self, signature: &str) -> Result<SignatureStanding, ChainError>;

    /// Has this recorder record every transaction but transfers, before it is sent. The first call counts.
    fn record_sends(&self, recorder: Arc<dyn SendRecorder>);

    /// How transactions ended, in the order asked. The newest of them was signed this long ago. `Unavailable`: not every node that moves
    /// answers, or none searches its history.
    async fn ends_of(
        &self,
        sent: &[SentTransaction],
        signed_for: Duration,
    ) -> Result<Vec<SentEnd>, ChainError>;

    /// The mint of USDC, and an owner's token account for it. Asks no node.
    fn usdc_mint(&self) -> Address;
    fn usdc_account_of(&self, owner: &Address) -> Address;
}

/// Makes operators and accounts.
#[async_trait]
pub trait ProvisionChain: ReadChain {
    /// Creates the operator of `admin_secret` (64-byte keypair) and `id`. An operator that is already there is success.
    async fn create_operator(
        &self,
        admin_secret: &[u8],
        id: u64,
        guardian: Option<Address>,
        loosening_delay_seconds: u32,
    ) -> Result<Address, ChainError>;

    /// Makes a key an approver of the operator, or changes its limits: for one grant, and for those of any 24 hours.
    async fn set_approver(
        &self,
        admin_secret: &[u8],
        operator: &Address,
        key: &Address,
        limits: [UsdcAmount; 2],
    ) -> Result<Confirmed, ChainError>;

    /// Waits for the commitment. An agent that is already there under the same operator is success. The initial policy must
    /// fit into the transaction.
    ///
    /// Like every call that needs a policy authority, fails with `AuthorityRotated` or `FeePayerEmpty` by `operator` as read.
    async fn create_agent(
        &self,
        operator: &OperatorOnChain,
        agent_id: [u8; 16],
        policy: &SpendingPolicy,
    ) -> Result<AgentCreation, ChainError>;

    /// Creates the associated USDC token account of this wallet, for whose rent a transfer authority pays, and waits until that is
    /// confirmed. One that is already there is success.
    async fn create_token_account(&self, wallet: &Address) -> Result<Confirmed, ChainError>;
}

/// Changes policies.
#[async_trait]
pub trait PolicyChain: ReadChain {
    /// Replaces the whole policy atomically and waits for the commitment; stages a long allowlist first.
    /// `PolicyChanged`: it is no longer at `expected_version`, or must wait now. `RentOfAnother`: the account would have to grow.
    async fn set_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// The hash by which [`PolicyChain::propose_policy`] identifies this proposal on chain. Asks no node.
    fn proposal_hash(&self, agent: &AgentOnChain, policy: &SpendingPolicy) -> [u8; 32];

    /// Seals the whole policy in a draft, where it waits, and waits for the commitment. Drops an earlier draft.
    /// `PolicyChanged`, `RentOfAnother`: as for [`PolicyChain::set_policy`].
    async fn propose_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// Puts the sealed draft with this hash in force, and waits for the commitment. `PolicyChanged`: the policy or the draft has
    /// changed. `RentOfAnother`: as for [`PolicyChain::set_policy`].
    async fn apply_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError>;

    /// Drops the draft with this hash, and waits for the commitment. `PolicyChanged`: the draft has changed.
    async fn drop_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError>;
}

/// Stops payments.
#[async_trait]
pub trait StopChain: ReadChain {
    /// Pauses the agent at any policy version, and waits for the commitment. For this and for a halt, a policy authority without
    /// SOL is no obstacle: another of our keys pays. Both are signed anew when they expire before they land.
    async fn pause(&self, operator: &OperatorOnChain, agent: &Address) -> Result<Confirmed, ChainError>;

    /// Halts one agent, or every agent of the operator when `agent` is `None`, and waits for the commitment. Only the admin's own
    /// wallet can resume.
    async fn halt(
        &self,
        operator: &OperatorOnChain,
        agent: Option<&Address>,
    ) -> Result<Confirmed, ChainError>;
}

/// What an approver is asked to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalOrder {
    /// Its wallet.
    pub approver: Address,
    pub operator: Address,
    pub agent: Address,
    /// The token account to pay.
    pub payee: Address,
    pub amount: UsdcAmount,
    /// The transfer's; empty when there is none.
    pub memo: String,
    pub tag: u64,
    pub policy_version: u64,
    /// Unix seconds.
    pub expires_at: i64,
}

/// Who pays the fee and the rent of a grant, and gets the rent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantPayer {
    Approver,
    /// Our policy authority, where it can and the program would open the grant; else the approver.
    Service,
}

/// What a wallet gets that asks to approve a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForApprover {
    /// An unsigned transaction that opens the grant for the one payment, for which the wallet pays.
    Unsigned(Vec<u8>),
    /// The same, for which we pay. Record it before anybody else sees it.
    CoSigned(CoSigned),
    /// Nothing: we do not pay, and its wallet holds too little SOL.
    Poor {
        /// We may pay in a minute: another wallet has what we pay for.
        later: bool,
    },
    /// Nothing: it is no approver of the operator.
    Stranger,
    /// Nothing: where the grant would be, one is that has not ended.
    Taken,
}

/// What there is at the address of a grant for which we may have paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidGrant {
    /// Nothing whose rent comes back to us.
    Absent,
    /// A grant that may still pay.
    Open,
    /// One that was over, and is closed by now.
    Closed,
}

/// Prepares what others sign.
#[async_trait]
pub trait ApproveChain: ReadChain {
    async fn approval(&self, order: &ApprovalOrder, payer: GrantPayer) -> Result<ForApprover, ChainError> {
        let _ = (order, payer);
        Ok(ForApprover::Stranger)
    }

    /// Whether a key of ours signed this as the payer, for this order's approver and grant: whoever writes the database cannot have a
    /// wallet sign anything else. Asks no node.
    fn has_co_signed(&self, order: &ApprovalOrder, given: &CoSigned) -> bool {
        let _ = (order, given);
        false
    }

    /// Closes the grant at this address if it is spent or has ended and its rent comes back to us, and waits until that is confirmed.
    async fn reclaim_grant(&self, operator: &Address, grant: &Address) -> Result<PaidGrant, ChainError> {
        let _ = (operator, grant);
        Ok(PaidGrant::Absent)
    }
}

/// Binds accounts beside their policies, and lets them pay past these, as the policy authority may.
#[async_trait]
pub trait BindChain: ReadChain {
    /// The operator's budgets, by their numbers. Not every node lists them.
    async fn read_budgets(&self, operator: &Address) -> Result<Vec<BudgetOnChain>, ChainError>;

    /// The operator's budgets at these addresses; what is no budget of it is left out.
    async fn read_budgets_at(
        &self,
        operator: &Address,
        budgets: &[Address],
    ) -> Result<Vec<BudgetOnChain>, ChainError> {
        let mut found = Vec::with_capacity(budgets.len());
        for budget in budgets {
            found.extend(self.read_budget(operator, budget).await?);
        }
        Ok(found)
    }

    /// Gives a budget other caps than it was read with, and waits for the commitment. What they raise waits there for the operator's
    /// loosening delay, and whatever waited is dropped. `PolicyChanged`: it has other caps meanwhile.
    async fn set_budget(
        &self,
        operator: &OperatorOnChain,
        budget: &BudgetOnChain,
        caps: &Caps,
    ) -> Result<Confirmed, ChainError>;

    /// Replaces what binds the agent beside its policy, and waits for the commitment. `PolicyChanged`: something else binds it
    /// meanwhile, or this loosens something, and that has to wait now. `RentOfAnother`: the account would have to grow.
    async fn set_bounds(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        bounds: &AccountBounds,
    ) -> Result<Confirmed, ChainError>;

    /// The agent's grants, newest first. Not every node lists them.
    async fn read_grants(&self, operator: &Address, agent: &Address)
    -> Result<Vec<GrantOnChain>, ChainError>;

    /// The grant at this address. `None`: none of this agent is.
    async fn read_grant(
        &self,
        operator: &Address,
        agent: &Address,
        grant: &Address,
    ) -> Result<Option<GrantOnChain>, ChainError>;

    /// Takes a grant back, and waits for the commitment.
    async fn close_grant(
        &self,
        operator: &OperatorOnChain,
        grant: &GrantOnChain,
    ) -> Result<Confirmed, ChainError>;

    /// Takes back all grants of the agent that were opened until then, and waits for the commitment.
    async fn void_grants(&self, operator: &OperatorOnChain, agent: &Address)
    -> Result<Confirmed, ChainError>;
}

/// Looks at our own keys, and what they hold.
#[async_trait]
pub trait KeyChain: ReadChain {
    /// Which of our keys cannot act, for these operators or at all, and which of the operators are halted, by the chain's present
    /// state.
    async fn look_at_keys(&self, operators: &[Address]) -> Result<KeyLook, ChainError> {
        let _ = operators;
        Ok(KeyLook::default())
    }

    /// Unix seconds by the chain's clock, from a node that answers now.
    async fn read_time(&self) -> Result<i64, ChainFault> {
        self.now().await
    }

    /// Counters and balances that are known without asking a node.
    fn figures(&self) -> ChainFigures {
        ChainFigures::default()
    }

    /// Whether the address is a key of ours.
    fn signs_with(&self, address: &Address) -> bool;

    /// The defences that an operator does without.
    fn open_defences(&self, operator: &OperatorOnChain) -> Vec<OpenDefence> {
        operator.open_defences(&[])
    }
}

/// Writes what is to be on record.
#[async_trait]
pub trait MemoChain: ReadChain {
    /// Writes `memo` on the chain through the memo program, signed by a policy authority of the operator, and waits for the
    /// commitment. Writing it twice does no harm.
    async fn write_memo(&self, operator: &OperatorOnChain, memo: &str) -> Result<Confirmed, ChainError>;
}

/// Signs what somebody else sends.
#[async_trait]
pub trait HandOverChain: KeyChain {
    /// Signs a transfer whose fee another pays, on that payer's terms; the signature is the transfer authority's only.
    /// `AuthorityRotated`: the chain was read, and nothing was signed.
    async fn sign_for(&self, order: &UnsignedTransfer, terms: &Terms) -> Result<SignedTransfer, ChainFault>;
}

/// All of it.
pub trait Chain:
    ProvisionChain + PolicyChain + StopChain + ApproveChain + BindChain + MemoChain + HandOverChain
{
}

impl<T> Chain for T where
    T: ProvisionChain + PolicyChain + StopChain + ApproveChain + BindChain + MemoChain + HandOverChain
{
}
