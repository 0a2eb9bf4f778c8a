//! What a network is configured with.

use crate::live::prices::PriceBounds;
use crate::sign::signer::Signer;
use crate::{ChainError, Commitment, ProgramCheck};
use purser_model::Address;
use purser_rpc::ACCOUNTS_MAX;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A blockhash lives for this many blocks.
const BLOCKHASH_BLOCKS: u32 = 150;
/// Most keys of ours: every transfer reads all their wallets along with its accounts.
const KEYS_MAX: usize = ACCOUNTS_MAX / 2;

/// How to reach a network, and how to use it.
#[derive(Debug, Clone)]
pub struct ChainSettings {
    /// JSON-RPC of the nodes, the preferred one first; at least one.
    pub rpc_urls: Vec<String>,
    /// Proxy for JSON-RPC, if any; websockets do not use it.
    pub rpc_proxy: Option<String>,
    /// The nodes' websockets, each with its node's place in `rpc_urls`; may be empty.
    pub ws_urls: Vec<(usize, String)>,
    pub program_id: Address,
    pub usdc_mint: Address,
    pub commitment: Commitment,
    /// No slot of the network is shorter.
    pub shortest_slot: Duration,
    /// Bounds of the price per compute unit; a price of 0 needs no instruction.
    pub priority_fee: PriceBounds,
    /// Base58; if set, the cluster must be this one.
    pub genesis_hash: Option<String>,
    pub program_check: ProgramCheck,
    /// Wallets besides our keys that may get rent back: our earlier keys.
    pub rent_payers: Vec<Address>,
    /// Gets the rent back of accounts and drafts that we pay for. `None`: the wallet that pays.
    pub rent_refund: Option<Address>,
    /// How many buckets for tags of payments an account may have at our cost.
    pub tag_buckets_max: u32,
    /// How many token accounts websockets watch for deposits; the sweep covers the others.
    pub deposit_subscriptions_max: usize,
    /// The keypair files that lie beside our keys.
    pub keypairs_here: Vec<(PathBuf, Address)>,
}

impl ChainSettings {
    /// Signed bytes can land for at least so long.
    pub(super) fn shortest_life(&self) -> Duration {
        self.shortest_slot.saturating_mul(BLOCKHASH_BLOCKS)
    }
}

/// The keys that the relayer signs with. They must differ. Each operator's account names those that act for it.
#[derive(Clone)]
pub struct ChainSigners {
    /// Create agents, set policies, and pay for both. At least one; new operators name the first.
    pub policy: Vec<Arc<dyn Signer>>,
    /// Transfer within policy, and pay the fees of what they sign. At least one. Those that an operator names share the work,
    /// so that transfers do not all lock one fee payer.
    pub transfer: Vec<Arc<dyn Signer>>,
}

impl ChainSigners {
    pub(super) fn check(&self) -> Result<(), ChainError> {
        let wrong = |what: &str| Err(ChainError::Misconfigured(what.into()));
        if self.policy.is_empty() || self.transfer.is_empty() {
            return wrong("a policy authority and a transfer authority must be configured");
        }
        if self.policy.len() + self.transfer.len() > KEYS_MAX {
            return wrong("more keys are configured than one call can read");
        }
        let is_both = |signer: &Arc<dyn Signer>| {
            self.policy.iter().any(|policy| policy.public_key() == signer.public_key())
        };
        if self.transfer.iter().any(is_both) {
            return wrong("policy authority and transfer authority are the same key");
        }
        Ok(())
    }
}
