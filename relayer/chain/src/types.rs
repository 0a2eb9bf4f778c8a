//! What the chain takes and returns, in the domain's terms.

use purser::state::waits_seconds;
use purser_core::{
    Beyond, BudgetState, CapsInUse, ChainView, Destination, Granted, MonthCap, SharedAllowlist,
};
use purser_model::{
    Address, BudgetId, CounterpartyKind, GrantOpener, GrantState, Halt, HaltedBy, OpenDefence, SpendingPolicy,
};
use purser_policy::{Limit, MonthWindow, SpendWindow, TagBucket, UsdcAmount, Waived};
use purser_rpc::NodeFigures;
use solana_sdk::pubkey::Pubkey;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What to do about a program on chain that is not the committed build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgramCheck {
    Off,
    #[default]
    Warn,
    Refuse,
}

/// An operator's account as it stands on chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorOnChain {
    pub address: Address,
    pub admin: Address,
    pub policy_authority: Address,
    /// One to eight.
    pub transfer_authorities: Vec<Address>,
    pub guardian: Option<Address>,
    pub usdc_mint: Address,
    /// How long a policy that loosens anything waits. 0 means no wait.
    pub loosening_delay_seconds: u32,
    /// Every agent of the operator is halted.
    pub halted_by: Option<HaltedBy>,
}

impl OperatorOnChain {
    /// The defences that it does without, where these keypair files lie on the server.
    pub fn open_defences(&self, keypairs: &[(PathBuf, Address)]) -> Vec<OpenDefence> {
        let admins = keypairs.iter().filter(|(_, address)| *address == self.admin);
        let no_delay = (self.loosening_delay_seconds == 0).then_some(OpenDefence::NoLooseningDelay);
        let no_guardian = self.guardian.is_none().then_some(OpenDefence::NoGuardian);
        let defences = admins.map(|(file, _)| OpenDefence::AdminKeyHere(file.clone()));
        defences.chain(no_delay).chain(no_guardian).collect()
    }
}

/// An agent account as it stands on chain, with its token balance.
#[derive(Debug, Clone)]
pub struct AgentOnChain {
    pub address: Address,
    pub operator: Address,
    pub token_account: Address,
    /// The agent's own halt, apart from its operator's.
    pub halted_by: Option<HaltedBy>,
    /// The wallet that gets the rent back.
    pub rent_refund: Address,
    pub policy: SpendingPolicy,
    /// Grows by one with every policy change.
    pub policy_version: u64,
    /// Unix seconds of the last policy change, by the chain's clock.
    pub policy_updated_at: i64,
    pub window: SpendWindow,
    /// How many payments it ever made.
    pub payments: u64,
    /// The tags of its payments of a day.
    pub tags: Arc<[TagBucket]>,
    pub balance: UsdcAmount,
    /// The issuer of USDC has frozen the token account: nothing leaves it.
    pub is_frozen: bool,
    /// Set where it pays by the extended form alone.
    pub beyond: Option<Beyond>,
    /// Its cap for 30 days, if it has one.
    pub month: Option<MonthCap>,
}

/// A policy in an agent's draft on chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftOnChain {
    /// Identifies the proposal: agent, version and policy.
    pub hash: [u8; 32],
    /// Applies over this policy version and no other.
    pub expected_version: u64,
    pub policy: SpendingPolicy,
    /// When it was completed, unix seconds by the chain's clock; `None` while it is being written.
    pub sealed_at: Option<i64>,
    /// The operator's loosening delay at that time.
    pub sealed_delay_seconds: u32,
    pub rent_refund: Address,
}

impl DraftOnChain {
    /// When its wait ends if it loosens something, unix seconds by the chain's clock. `None`: never, or it is not complete.
    pub fn loosens_at(&self, operator: &OperatorOnChain) -> Option<i64> {
        let waits = waits_seconds(self.sealed_delay_seconds, operator.loosening_delay_seconds)?;
        Some(self.sealed_at?.saturating_add(i64::from(waits)))
    }
}

purser_policy::bounds! {
    /// The bounds of an account beside its policy.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    AccountBounds, UsdcAmount, BudgetId
}

impl From<&AccountBounds> for purser::Bounds {
    fn from(bounds: &AccountBounds) -> Self {
        Self {
            by_grant_only: bounds.by_grant_only,
            max_30_day_spend: bounds.max_30_day_spend.map(UsdcAmount::micros),
            budget: bounds.budget.map(|BudgetId(address)| Pubkey::new_from_array(address.bytes())),
        }
    }
}

impl AgentOnChain {
    /// What binds it beside its policy.
    pub fn bounds(&self) -> AccountBounds {
        AccountBounds {
            by_grant_only: self.beyond.is_some_and(|beyond| beyond.needs_grant),
            max_30_day_spend: self.month.map(|month| month.cap),
            budget: self.beyond.and_then(|beyond| beyond.budget).map(BudgetId),
        }
    }
}

/// The caps of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub max_daily_spend: UsdcAmount,
    pub max_30_day_spend: Option<UsdcAmount>,
}

impl Caps {
    /// For 24 hours, and for 30 days.
    pub fn limits(&self) -> [Limit; 2] {
        let month = self.max_30_day_spend.map_or(Limit::Unlimited, Limit::AtMost);
        [Limit::AtMost(self.max_daily_spend), month]
    }

    /// Whether these allow anything that `current` refuse.
    pub fn loosens(&self, current: &Self) -> bool {
        purser::BudgetCaps::from(self).loosens(&purser::BudgetCaps::from(current))
    }
}

impl From<&Caps> for purser::BudgetCaps {
    fn from(caps: &Caps) -> Self {
        Self {
            max_daily_spend: caps.max_daily_spend.micros(),
            max_30_day_spend: caps.max_30_day_spend.map(UsdcAmount::micros),
        }
    }
}

/// A budget as it stands on chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetOnChain {
    /// Among those of its operator.
    pub number: u64,
    pub state: BudgetState,
    /// What left through it in 30 days, with or without a cap for them.
    pub month: MonthWindow,
    /// Higher caps that wait.
    pub raise: Option<Raise>,
}

impl BudgetOnChain {
    /// The caps in force.
    pub fn caps(&self) -> Caps {
        Caps {
            max_daily_spend: self.state.daily_cap,
            max_30_day_spend: self.state.month.map(|month| month.cap),
        }
    }
}

/// Caps of a budget that wait for the loosening delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raise {
    pub caps: Caps,
    /// Unix seconds by the chain's clock. `None`: never.
    pub effective_at: Option<i64>,
}

/// A grant as it stands on chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantOnChain {
    pub address: Address,
    pub state: GrantState,
    /// The first Unix second at which it pays, by the chain's clock. `None`: it does not.
    pub effective_at: Option<i64>,
    pub payee: Address,
    pub payee_kind: CounterpartyKind,
    /// What may still be paid.
    pub left: UsdcAmount,
    /// Unix seconds by the chain's clock.
    pub expires_at: i64,
    pub waived: Waived,
    /// For one payment, of all that is left.
    pub is_for_one_payment: bool,
    pub opened_by: GrantOpener,
    /// Unix seconds by the chain's clock.
    pub opened_at: i64,
    pub rent_refund: Address,
}

/// What kind of address a recipient is, for an allowlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    /// A token account stands there.
    TokenAccount,
    /// A point on the curve, where no token account stands.
    Wallet,
    /// Neither; the caller has to say what it is.
    Unclear,
}

/// What a payment out of this account to this destination needs to know, at this second. `budget`: the one that it names.
pub fn view_of(
    operator: OperatorOnChain,
    mut agent: AgentOnChain,
    destination: Destination,
    (granted, budget): (Option<Granted>, Option<BudgetState>),
    now: i64,
) -> ChainView {
    let allowlist = std::mem::take(&mut agent.policy.allowlist);
    ChainView {
        halt: Halt::of(operator.halted_by, agent.halted_by),
        transfer_authorities: operator.transfer_authorities,
        policy: agent.policy.over(SharedAllowlist::new(allowlist)),
        policy_version: agent.policy_version,
        window: agent.window,
        caps: CapsInUse { month: agent.month, budget },
        tags: agent.tags,
        balance: agent.balance,
        is_frozen: agent.is_frozen,
        destination,
        granted,
        beyond: match granted {
            Some(Granted { address, .. }) => {
                Some(Beyond { grant: Some(address), ..agent.beyond.unwrap_or_default() })
            }
            None => agent.beyond,
        },
        now,
    }
}

/// A transaction that reached the configured commitment without error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Base58.
    pub signature: String,
    pub slot: u64,
}

/// How a transaction ended that nobody follows. Landed and failed ones are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentEnd {
    /// It can still land, or a fork can still drop it.
    Open,
    Landed,
    Failed,
    /// No node knows it, and it can no longer land.
    Expired,
}

/// How `create_agent` succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCreation {
    Created(Confirmed),
    /// It was already there under the same operator: an earlier try landed.
    AlreadyThere,
}

/// What one of our keys is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Authority {
    Policy,
    Transfer,
}

impl std::fmt::Display for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy authority",
            Self::Transfer => "transfer authority",
        })
    }
}

/// What keeps one of our keys from acting. Lamports are what the wallet can spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyProblem {
    /// The operator's account names none of our keys for this role.
    AuthorityRotated { operator: Address, role: Authority },
    /// The wallet cannot pay a transfer's fee.
    FeePayerEmpty { address: Address, lamports: u64 },
    /// The wallet will soon be unable to pay.
    FeePayerLow { address: Address, lamports: u64 },
    /// The holder of the key does not sign with it.
    SignerUnavailable { address: Address, role: Authority },
}

/// The result of checking our keys against the operators' accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLook {
    pub problems: Vec<KeyProblem>,
    /// The operators that are halted, with all of their accounts.
    pub halted: Vec<(Address, HaltedBy)>,
}

/// How often a network's nodes were asked, and what our wallets hold.
#[derive(Debug, Clone, Default)]
pub struct ChainFigures {
    /// In the order of the configuration.
    pub nodes: Vec<NodeFigures>,
    pub wallets: Vec<Wallet>,
    /// Transactions that are sent and not yet final.
    pub in_flight: usize,
    /// How long no websocket has been connected, zero while one is; `None` where none is configured.
    pub websocket_down_for: Option<Duration>,
    /// Subscriptions of the websocket that were refused, and not granted since.
    pub topics_missing: usize,
    /// Unix seconds by the chain's clock, as last seen and moved on; `None` while that is too old.
    pub now: Option<i64>,
}

impl ChainFigures {
    /// Whether the websocket is lost for longer than a new connection takes.
    pub fn is_websocket_down(&self) -> bool {
        self.websocket_down_for.is_some_and(|down_for| down_for >= WEBSOCKET_DOWN_MAX)
    }
}

/// A websocket that was lost is usually connected again sooner than this.
pub const WEBSOCKET_DOWN_MAX: Duration = Duration::from_secs(30);

/// One of our wallets, which pays fees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    pub address: Address,
    pub role: Authority,
    /// Lamports; `None` until first read.
    pub spendable: Option<u64>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Holds 100 micro-USDC, all of which may go anywhere.
    pub fn agent_without_limits() -> AgentOnChain {
        AgentOnChain {
            address: Address::from_bytes([1; 32]),
            operator: Address::from_bytes([2; 32]),
            token_account: Address::from_bytes([4; 32]),
            halted_by: None,
            rent_refund: Address::from_bytes([5; 32]),
            policy: SpendingPolicy::default(),
            policy_version: 1,
            policy_updated_at: 0,
            window: SpendWindow::EMPTY,
            payments: 0,
            tags: [TagBucket::EMPTY].into(),
            balance: UsdcAmount::from_micros(100),
            is_frozen: false,
            beyond: None,
            month: None,
        }
    }
}
