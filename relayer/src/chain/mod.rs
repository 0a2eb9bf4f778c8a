//! The chain as the services see it: one trait, no Solana types.
//!
//! `solana` is the trait on a node, in several files: it `reads` accounts, `provision`s operators and agents, replaces
//! policies (`staging`), chooses `authorities` and verifies nodes and program before anything is sent. The rooms under it, each
//! using only those before: `rpc` asks nodes, `read` understands accounts, `live` is told by nodes, `sign` makes bytes,
//! `send` follows them, `history` reads the past for indexing. Nothing here knows the database, HTTP or the services.

mod history;
mod live;
mod read;
mod rpc;
mod send;
mod sign;
mod solana;
mod types;

pub use history::landed::{Flow, LandedRecord};
pub use history::program_event::{PolicySetTo, PolicyTold, ProgramEvent};
pub use history::{
    BALANCES_MAX, Balances, Looked, STANDINGS_MAX, SignatureLine, SignaturePage, SignatureStanding,
    SignatureStandings, SolanaHistory,
};
pub use live::prices::PriceBounds;
pub use rpc::counters::{MethodCount, NodeFigures};
pub use sign::instructions::rent_of;
pub use sign::signer::{FileSigner, Signer, new_keypair};
pub use sign::source::{Credential, KeySource, RemoteKey, SigningService};
pub use solana::{ChainSettings, ChainSigners, SolanaChain};
pub use types::{
    AddressKind, AgentAddresses, AgentCreation, AgentOnChain, AllowedRecipients, Authority, ChainFigures,
    ChainView, Commitment, Confirmed, Destination, DraftOnChain, KeyProblem, OnChainPolicy, OperatorOnChain,
    Outcome, ProgramCheck, Refusal, SignedTransfer, UnsignedTransfer, Wallet,
};

use crate::domain::{Address, Network, Terms};
use async_trait::async_trait;

/// Why the chain could not be asked or did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// No answer, an overloaded or lagging node: nothing is known, ask again later.
    #[error("chain RPC unavailable in {during}: {reason}")]
    Unavailable { during: &'static str, reason: String },
    /// The node or the program said no; asking again unchanged gives the same. `code`: the program's custom code.
    #[error("rejected by the chain: {message}")]
    Rejected { code: Option<u32>, message: String },
    /// The operator's admin has named other keys than ours. Nothing was signed, or the program refused it.
    #[error("operator {operator} names no {role} of this relayer")]
    AuthorityRotated { operator: Address, role: Authority },
    /// The wallet that would have to pay cannot; `lamports` is what it can spend. Nothing was signed.
    #[error("wallet {address} can spend {lamports} lamports, which is too little")]
    FeePayerEmpty { address: Address, lamports: u64 },
    /// Whoever keeps this key of ours did not sign with it. The transaction does not exist; those before it may.
    #[error("the signer of {address} did not sign")]
    SignerUnavailable { address: Address },
    /// More rent would be paid for an account whose rent goes back to somebody else. Nothing was signed.
    #[error("the rent of agent {agent} goes back to {rent_payer}")]
    RentOfAnother { agent: Address, rent_payer: Address },
    /// A policy was to be written over another one than stands there now.
    #[error("the policy was changed meanwhile")]
    PolicyChanged,
    /// A transaction of ours was never included and can no longer be; doing it again is safe.
    #[error("the transaction expired before it was included")]
    Expired,
    /// The account asked for is not on chain, or is not what its address says.
    #[error("{what} {address} is not on chain")]
    NotFound { what: &'static str, address: Address },
    /// A key, an address or the cluster is not what the configuration claims.
    #[error("{0}")]
    Misconfigured(String),
}

impl ChainError {
    /// Whether nothing was done, nor can still come to be done.
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
}

/// One Solana network with our program on it.
#[async_trait]
pub trait Chain: Send + Sync + 'static {
    fn network(&self) -> Network;

    /// Derives the PDA and its token account; asks nobody.
    fn addresses_of(&self, operator: &Address, agent_id: [u8; 16]) -> AgentAddresses;

    /// The chain's clock, unix seconds, cached for less than 1 s.
    async fn now(&self) -> Result<i64, ChainError>;

    /// `None` when nothing is there; `NotFound` when something else is. What our wallets hold is read along with it.
    async fn read_operator(&self, operator: &Address) -> Result<Option<OperatorOnChain>, ChainError>;

    /// In the order asked; `None` where no agent of ours lives. Batches of 100 keys.
    async fn read_agents(&self, agents: &[AgentAddresses]) -> Result<Vec<Option<AgentOnChain>>, ChainError>;

    /// Operator, agent, source, destination and clock in one call, at one slot.
    async fn read_for_transfer(
        &self,
        operator: &Address,
        agent: &AgentAddresses,
        destination: &Address,
    ) -> Result<ChainView, ChainError>;

    /// The same from what is known without asking anybody, transfers of ours that are on their way counted as made. May
    /// be a moment old, or wrong: enough to go on by, never to refuse by. `None` when not all of it is known.
    fn known_for_transfer(
        &self,
        _operator: &Address,
        _agent: &AgentAddresses,
        _destination: &Address,
    ) -> Option<ChainView> {
        None
    }

    /// What stands at these addresses, in the order asked.
    async fn read_kinds(&self, addresses: &[Address]) -> Result<Vec<AddressKind>, ChainError>;

    /// The agent's draft, complete or not.
    async fn read_draft(&self, agent: &Address) -> Result<Option<DraftOnChain>, ChainError>;

    /// Creates the operator of `admin_secret` (64-byte keypair) and `id`; if it is there already, that is success.
    async fn create_operator(
        &self,
        admin_secret: &[u8],
        id: u64,
        guardian: Option<Address>,
        loosening_delay_seconds: u32,
    ) -> Result<Address, ChainError>;

    /// Waits for the commitment. Being there already under the same operator is success. The policy that it begins with
    /// must fit a transaction.
    ///
    /// This and whatever else needs a policy authority: `AuthorityRotated`, `FeePayerEmpty`, by `operator` as it was read.
    async fn create_agent(
        &self,
        operator: &OperatorOnChain,
        agent_id: [u8; 16],
        policy: &OnChainPolicy,
    ) -> Result<AgentCreation, ChainError>;

    /// Replaces the whole policy atomically and waits for the commitment; a long allowlist is staged first.
    /// `PolicyChanged`: it is not at `expected_version` any more, or must wait now. `RentOfAnother`: it would be longer.
    async fn set_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// What [`Chain::propose_policy`] calls this proposal on chain. Asks nobody.
    fn proposal_hash(&self, agent: &AgentOnChain, policy: &OnChainPolicy) -> [u8; 32];

    /// Writes the whole policy into a draft that is sealed and waits, and waits for the commitment. A draft in its place is
    /// dropped. `PolicyChanged`, `RentOfAnother`: as for [`Chain::set_policy`].
    async fn propose_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError>;

    /// Puts the sealed draft of this hash in force, and waits for the commitment. `PolicyChanged`: the policy is another one
    /// by now, or the draft is. `RentOfAnother`: as for [`Chain::set_policy`].
    async fn apply_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError>;

    /// Drops the draft of this hash, and waits for the commitment. `PolicyChanged`: the draft is another one by now.
    async fn drop_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError>;

    /// Pauses the agent whatever its policy's version, and waits for the commitment. A policy authority without SOL is no
    /// obstacle, for this or for a halt: another of our keys pays.
    async fn pause(&self, operator: &OperatorOnChain, agent: &Address) -> Result<Confirmed, ChainError>;

    /// Halts one agent, or without one every agent of the operator, and waits for the commitment. Only the admin's own wallet
    /// resumes.
    async fn halt(
        &self,
        operator: &OperatorOnChain,
        agent: Option<&Address>,
    ) -> Result<Confirmed, ChainError>;

    /// Has a policy authority of the operator say `memo` on the chain, by the memo program and with its signature, and waits for
    /// the commitment. Saying it twice does no harm.
    async fn write_memo(&self, operator: &OperatorOnChain, memo: &str) -> Result<Confirmed, ChainError>;

    /// Which of our keys cannot act, for these operators or at all, by what the chain says now.
    async fn look_at_keys(&self, operators: &[Address]) -> Result<Vec<KeyProblem>, ChainError> {
        let _ = operators;
        Ok(Vec::new())
    }

    /// What is counted and known without asking anybody.
    fn figures(&self) -> ChainFigures {
        ChainFigures::default()
    }

    /// Signs over the cached blockhash; nothing is sent. Store the result before `send`. `AuthorityRotated`,
    /// `FeePayerEmpty`: the chain was read, and nothing was signed.
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainError>;

    /// Signs a transfer that another pays the fee of and sends, on its terms; its signature is the transfer authority's alone.
    /// `AuthorityRotated`: the chain was read, and nothing was signed.
    async fn sign_for(&self, order: &UnsignedTransfer, terms: &Terms) -> Result<SignedTransfer, ChainError>;

    /// Whether nothing can land any more whose last valid block height this is. Whatever is read after that shows what did.
    async fn has_passed(&self, block_height: u64) -> Result<bool, ChainError>;

    /// The mint of what is paid, and where an owner has it. Asks nobody.
    fn usdc_mint(&self) -> Address;
    fn usdc_account_of(&self, owner: &Address) -> Address;

    /// Whether the address is a key of ours.
    fn signs_with(&self, address: &Address) -> bool;

    /// Takes back that the signed bytes are about to be sent: they no longer count.
    fn discard(&self, signed: &SignedTransfer) {
        let _ = signed;
    }

    /// Sends the stored bytes once. An error says nothing about whether they land: ask `outcome`.
    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainError>;

    /// Resolves when a node has seen the bytes confirmed, which may be long before their end. May never resolve.
    async fn confirmed(&self, signed: &SignedTransfer) {
        let _ = signed;
        std::future::pending().await
    }

    /// Follows the bytes to their end, re-sending them meanwhile. Dropping the future does not stop the following;
    /// asking again for the same signature joins it.
    async fn outcome(&self, signed: &SignedTransfer) -> Outcome;

    /// When the block of `slot` was made, unix seconds by the chain's clock. One question for each slot.
    async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainError>;

    /// Has whoever reads the past look at once: something is missing.
    fn look_again(&self) {}

    /// The earlier of the chain's clock (unix seconds) and this host's `host_now`, if they and every node's agree. No node moves it
    /// alone, and nothing is over by it that is not over by both.
    async fn agreed_now(&self, host_now: i64) -> Option<i64> {
        let now = self.now().await.ok()?;
        clocks_agree(now, host_now).then(|| now.min(host_now))
    }
}

/// How far two clocks may be apart that agree, in seconds.
const CLOCKS_DIFFER_SECONDS: u64 = 300;

fn clocks_agree(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= CLOCKS_DIFFER_SECONDS
}
