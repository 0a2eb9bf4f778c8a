//! The chain as the services see it: one trait, no Solana types.
//!
//! `solana` implements the trait on a node, in several files: it `reads` accounts, `provision`s operators and agents, replaces
//! policies (`staging`), chooses `authorities`, and verifies nodes and program before it sends anything. `purser_rpc` asks the
//! nodes. The rooms below use only those before them: `read` decodes accounts, `live` holds subscriptions, `sign` makes bytes, `send` follows
//! them, `history` reads the past for indexing. Nothing here knows the database, HTTP or the services.

mod history;
mod live;
mod read;
mod send;
mod sign;
mod solana;
mod types;

pub use history::landed::{Flow, LandedRecord};
pub use history::policy_steps::{PolicyCall, PolicyStep};
pub use history::program_event::{LoggedPolicy, PolicySetTo, ProgramEvent};
pub use history::{
    BALANCES_MAX, Balances, Looked, STANDINGS_MAX, SignatureLine, SignaturePage, SignatureStanding,
    SignatureStandings, SolanaHistory,
};
pub use live::prices::PriceBounds;
pub use sign::beside::keypairs_in;
pub use sign::instructions::rent_of;
pub use sign::signer::{FileSigner, Signer, new_keypair};
pub use sign::source::{Credential, KeySource, RemoteKey, SigningService};
pub use solana::{ChainSettings, ChainSigners, SolanaChain};
pub use types::{
    AddressKind, AgentCreation, AgentOnChain, AllowedRecipients, Authority, ChainFigures, Confirmed,
    DraftOnChain, KeyProblem, OnChainPolicy, OperatorOnChain, ProgramCheck, WEBSOCKET_DOWN_MAX, Wallet,
    view_of,
};

pub use purser_rpc::{Commitment, MethodCount, NodeFigures};

pub use purser_core::{
    AgentAddresses, ChainFault, ChainView, Destination, Outcome, Refusal, SignedTransfer, UnsignedTransfer,
    clocks_agree,
};

use crate::domain::{AccountId, Address, Network, OpenDefence, Terms};
use async_trait::async_trait;
use purser::error::PurserError;
use purser_rpc::{CallError, RpcError};

/// Why the chain could not be asked, or did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// No answer, or an overloaded or lagging node. Nothing is known: ask again later.
    #[error("chain RPC unavailable in {during}: {reason}")]
    Unavailable { during: &'static str, reason: String },
    /// The node or the program said no, and will say it again to the same call. `code`: the program's custom code.
    #[error("rejected by the chain: {message}")]
    Rejected { code: Option<u32>, message: String },
    /// The operator's admin has named keys other than ours. Nothing was signed, or the program refused it.
    #[error("operator {operator} names no {role} of this relayer")]
    AuthorityRotated { operator: Address, role: Authority },
    /// The wallet that must pay cannot; `lamports` is what it can spend. Nothing was signed.
    #[error("wallet {address} can spend {lamports} lamports, which is too little")]
    FeePayerEmpty { address: Address, lamports: u64 },
    /// The holder of this key of ours did not sign. This transaction does not exist; earlier ones may.
    #[error("the signer of {address} did not sign")]
    SignerUnavailable { address: Address },
    /// We would pay more rent for an account whose rent goes back to somebody else. Nothing was signed.
    #[error("the rent of agent {agent} goes back to {rent_refund}")]
    RentOfAnother { agent: Address, rent_refund: Address },
    /// The policy on chain is no longer the one that the write was meant to replace.
    #[error("the policy was changed concurrently")]
    PolicyChanged,
    /// A transaction of ours was never included and no longer can be. It is safe to do it again.
    #[error("the transaction expired before it was included")]
    Expired,
    /// The account is not on chain, or is not what its address says.
    #[error("{what} {address} is not on chain")]
    NotFound { what: &'static str, address: Address },
    /// A key, an address or the cluster is not what the configuration claims.
    #[error("{0}")]
    Misconfigured(String),
}

impl From<RpcError> for ChainError {
    fn from(RpcError { method, cause }: RpcError) -> Self {
        match cause {
            CallError::Node(fault) => Self::Unavailable { during: method, reason: fault.reason().to_owned() },
            CallError::Refused { code, message, .. } => {
                Self::Rejected { code: None, message: format!("node error {code}: {message}") }
            }
        }
    }
}

impl From<ChainError> for ChainFault {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Unavailable { .. } | ChainError::Expired => Self::Unavailable(error.to_string()),
            ChainError::AuthorityRotated { .. } => Self::AuthorityRotated,
            ChainError::FeePayerEmpty { .. } => Self::FeePayerEmpty,
            ChainError::SignerUnavailable { .. } => Self::SignerUnavailable,
            ChainError::Rejected { .. }
            | ChainError::PolicyChanged
            | ChainError::RentOfAnother { .. }
            | ChainError::NotFound { .. }
            | ChainError::Misconfigured(_) => Self::Refused(error.to_string()),
        }
    }
}

impl ChainError {
    /// Whether nothing was done, and nothing can still happen.
    pub fn is_before_anything(&self) -> bool {
        match self {
            Self::AuthorityRotated { .. } | Self::FeePayerEmpty { .. } | Self::RentOfAnother { .. } => true,
            Self::Unavailable { .. }
            | Self::SignerUnavailable { .. }
            | Self::Rejected { .. }
            | Self::PolicyChanged
            | Self::Expired
            | Self::NotFound { .. }
            | Self::Misconfigured(_) => false,
        }
    }

    /// Whether the program creates no account at this address for the policy authority, and would at another one.
    pub fn is_address_taken(&self) -> bool {
        let taken = [PurserError::AccountNotEmpty, PurserError::AgentClosed].map(u32::from);
        matches!(self, Self::Rejected { code: Some(code), .. } if taken.contains(code))
    }
}

/// One Solana network with our program on it; what a payment needs of it is in [`purser_core::Chain`].
#[async_trait]
pub trait Chain: purser_core::Chain {
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

    /// Creates the operator of `admin_secret` (64-byte keypair) and `id`. An operator that is already there is success.
    async fn create_operator(
        &self,
        admin_secret: &[u8],
        id: u64,
        guardian: Option<Address>,
        loosening_delay_seconds: u32,
    ) -> Result<Address, ChainError>;

    /// Waits for the commitment. An agent that is already there under the same operator is success. The initial policy must
    /// fit into the transaction.
    ///
    /// Like every call that needs a policy authority, fails with `AuthorityRotated` or `FeePayerEmpty` by `operator` as read.
    async fn create_agent(
        &self,
        operator: &OperatorOnChain,
        agent_id: [u8; 16],
        policy: &OnChainPolicy,
    ) -> Result<AgentCreation, ChainError>;

    /// Replaces the whole policy atomically and waits for the commitment; stages a long allowlist first.
    /// `PolicyChanged`: it is no longer at `expected_version`, or must wait now. `RentOfAnother`: the account would have to grow.
    async fn set_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// The hash by which [`Chain::propose_policy`] identifies this proposal on chain. Asks no node.
    fn proposal_hash(&self, agent: &AgentOnChain, policy: &OnChainPolicy) -> [u8; 32];

    /// Seals the whole policy in a draft, where it waits, and waits for the commitment. Drops an earlier draft.
    /// `PolicyChanged`, `RentOfAnother`: as for [`Chain::set_policy`].
    async fn propose_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// Puts the sealed draft with this hash in force, and waits for the commitment. `PolicyChanged`: the policy or the draft has
    /// changed. `RentOfAnother`: as for [`Chain::set_policy`].
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

    /// How final a transaction of ours is that has landed. `Unknown`: a fork dropped it, or this node is behind.
    async fn standing(&self, signature: &str) -> Result<SignatureStanding, ChainError>;

    /// Writes `memo` on the chain through the memo program, signed by a policy authority of the operator, and waits for the
    /// commitment. Writing it twice does no harm.
    async fn write_memo(&self, operator: &OperatorOnChain, memo: &str) -> Result<Confirmed, ChainError>;

    /// Which of our keys cannot act, for these operators or at all, judged by the chain's present state.
    async fn look_at_keys(&self, operators: &[Address]) -> Result<Vec<KeyProblem>, ChainError> {
        let _ = operators;
        Ok(Vec::new())
    }

    /// Counters and balances that are known without asking a node.
    fn figures(&self) -> ChainFigures {
        ChainFigures::default()
    }

    /// Signs a transfer that a facilitator pays for and sends, on its terms; the signature is the transfer authority's only.
    /// `AuthorityRotated`: the chain was read, and nothing was signed.
    async fn sign_for(&self, order: &UnsignedTransfer, terms: &Terms) -> Result<SignedTransfer, ChainFault>;

    /// The mint of USDC, and an owner's token account for it. Asks no node.
    fn usdc_mint(&self) -> Address;
    fn usdc_account_of(&self, owner: &Address) -> Address;

    /// Whether the address is a key of ours.
    fn signs_with(&self, address: &Address) -> bool;

    /// The defences that an operator does without.
    fn open_defences(&self, operator: &OperatorOnChain) -> Vec<OpenDefence> {
        operator.open_defences(&[])
    }
}
