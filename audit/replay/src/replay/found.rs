//! What a transaction did, as its replay finds it.

use anchor_lang::prelude::Pubkey;
use purser::Bounds;
use purser::state::Operator;
use purser_client::OnChainPolicy;
use purser_policy::UsdcAmount;

use super::{BudgetTerms, MomentKind, Movement};
use crate::check::Check;

/// The result of a step.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub mismatches: Vec<(Check, Option<Pubkey>, String)>,
    pub examined: Vec<(Check, Option<Pubkey>)>,
    /// How many events were cut off.
    pub recomputed: u64,
    pub movements: Vec<Movement>,
    /// Whom accounts paid in USDC: the account, and where to.
    pub recipients: Vec<(Pubkey, Pubkey)>,
    pub created_operator: bool,
    /// The operator after each change of its keys or delay.
    pub operators: Vec<Operator>,
    pub created: Vec<Pubkey>,
    pub policies: Vec<PolicyChange>,
    pub bounds: Vec<BoundsChange>,
    pub budgets_raised: u64,
    /// What each budget and each approver may from here on; `None`: it is closed, or removed.
    pub budgets: Vec<(Pubkey, Option<BudgetTerms>)>,
    pub approvers: Vec<(Pubkey, Option<[u64; 2]>)>,
    /// Accounts that were created where one was closed, and what had counted against its cap for 30 days.
    pub anew: Vec<(Pubkey, UsdcAmount)>,
    /// Who was halted (true) or resumed, and by whom; `None`: the operator.
    pub halts: Vec<(Option<Pubkey>, bool, Pubkey)>,
    /// What belongs into the timeline: of which kind and account, and in words.
    pub told: Vec<(MomentKind, Option<Pubkey>, String)>,
    pub closed: Vec<Pubkey>,
}

impl Found {
    /// What an account paid: how often, and micro-USDC.
    pub fn paid_by(&self, agent: &Pubkey) -> (u64, u128) {
        let payments = self.movements.iter().filter_map(|movement| match movement {
            Movement::Payment { payment, .. } if payment.agent == *agent => Some(payment.amount),
            Movement::Payment { .. } | Movement::Withdrawal { .. } | Movement::Deposit { .. } => None,
        });
        payments.fold((0, 0), |(count, sum), amount| (count + 1, sum + u128::from(amount.micros())))
    }
}

/// A policy that came into force in a transaction.
#[derive(Debug)]
pub(super) struct PolicyChange {
    pub agent: Pubkey,
    pub version: u32,
    pub signer: Pubkey,
    pub before: Option<OnChainPolicy>,
    pub after: OnChainPolicy,
    /// What the account had paid in the same transaction: how often, and micro-USDC.
    pub paid: (u64, u128),
}

/// What binds an account beside its policy, replaced in a transaction.
#[derive(Debug)]
pub(super) struct BoundsChange {
    pub agent: Pubkey,
    /// Of the policy in force.
    pub version: u32,
    pub signer: Pubkey,
    pub before: Bounds,
    pub after: Bounds,
    /// What the account had paid in the same transaction: how often, and micro-USDC.
    pub paid: (u64, u128),
}

/// Money moved between token accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub source: Pubkey,
    pub destination: Pubkey,
    pub amount: UsdcAmount,
}
