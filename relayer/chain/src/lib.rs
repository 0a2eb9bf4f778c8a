//! The chain as the services see it, without Solana types. Start at `solana`: what can be asked of a network, and done there.
//!
//! Each has its file: it `reads` accounts, `provision`s operators and agents, replaces
//! policies (`staging`), `stops` payments, chooses `authorities`, and verifies nodes and program before it sends anything. `purser_rpc` asks the
//! nodes. The rooms below use only those before them: `read` decodes accounts, `live` holds subscriptions, `sign` makes bytes, `send` follows
//! them, `history` reads the past for indexing. Nothing here knows the database, HTTP or the services.

mod history;
mod live;
mod read;
#[cfg(any(test, feature = "testing"))]
pub mod scripted;
mod send;
mod sign;
mod solana;
mod types;

pub use history::grants_opened::GrantCall;
pub use history::landed::{Flow, LandedRecord};
pub use history::policy_steps::{PolicyCall, PolicyStep};
pub use history::program_event::{LoggedPolicy, PolicySetTo, ProgramEvent};
pub use history::{
    BALANCES_MAX, Balances, Looked, STANDINGS_MAX, SignatureLine, SignaturePage, SignatureStanding,
    SignatureStandings, SolanaHistory,
};
pub use live::prices::PriceBounds;
pub use read::decode::is_on_curve;
pub use sign::beside::keypairs_in;
pub use sign::instructions::rent_of;
pub use sign::signer::{FileSigner, Signer, new_keypair};
pub use sign::source::{Credential, KeySource, RemoteKey, SigningService};
pub use solana::{
    ApprovalOrder, ChainSettings, ChainSigners, ForApprover, GrantPayer, PaidGrant, Recorded, SendRecorder,
    SolanaChain,
};
pub use types::{
    AccountBounds, AddressKind, AgentCreation, AgentOnChain, Authority, BudgetOnChain, Caps, ChainFigures,
    Confirmed, DraftOnChain, GrantOnChain, KeyLook, KeyProblem, OperatorOnChain, ProgramCheck, Raise,
    SentEnd, WEBSOCKET_DOWN_MAX, Wallet, view_of,
};

pub use purser_rpc::{Commitment, MethodCount, NodeFigures};

pub use purser_core::{
    AgentAddresses, ChainFault, ChainView, Destination, Outcome, Refusal, SignedTransfer, UnsignedTransfer,
    clocks_agree,
};

use purser::error::PurserError;
pub use purser_client::TAG_BUCKETS_MAX;
use purser_model::Address;
use purser_rpc::RpcError;

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
    /// A transaction could not be recorded. It was not sent; earlier ones may have been.
    #[error("the transaction could not be recorded, and was not sent")]
    Unrecorded,
    /// The account is not on chain, or is not what its address says.
    #[error("{what} {address} is not on chain")]
    NotFound { what: &'static str, address: Address },
    /// A key, an address or the cluster is not what the configuration claims.
    #[error("{0}")]
    Misconfigured(String),
}

impl From<RpcError> for ChainError {
    fn from(RpcError { method, cause }: RpcError) -> Self {
        // A node that refuses a call says nothing of the accounts on the chain, and a send that it refuses may still land.
        Self::Unavailable { during: method, reason: cause.to_string() }
    }
}

impl From<ChainError> for ChainFault {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Unavailable { .. } | ChainError::Expired | ChainError::Unrecorded => {
                Self::Unavailable(error.to_string())
            }
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
            | Self::Unrecorded
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
