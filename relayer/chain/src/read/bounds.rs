//! Decodes what binds accounts beside their policies, and what lets them pay past these: budgets and grants.

use purser::OpenedBy;
use purser::state::{Agent, Budget, Grant, Operator};
use purser_core::BudgetState;
use purser_policy::{UsdcAmount, Waived};
use purser_rpc::wire::RawAccount;
use solana_sdk::pubkey::Pubkey;

use super::decode::{month_cap, to_address};
use crate::{BudgetOnChain, Caps, GrantOnChain, Raise};
use purser_model::{CounterpartyKind, GrantOpener, GrantState};

/// Where [`Grant::flags`] says that the payee is a token account.
const PAYS_TOKEN_ACCOUNT: u8 = 1 << 3;

/// The budget at `address` of an operator of `program`, with its caps in force at Unix second `now`. `None` where none of it is.
pub fn budget(
    program: &Pubkey,
    address: &Pubkey,
    (operator_key, operator): (&Pubkey, &RawAccount),
    account: &RawAccount,
    now: i64,
) -> Option<BudgetOnChain> {
    if [operator, account].iter().any(|account| account.owner != *program) {
        return None;
    }
    let (operator, budget) = (Operator::read(&operator.data)?, Budget::read(&account.data)?);
    if budget.operator != *operator_key {
        return None;
    }
    let caps = budget.caps(&operator, now);
    let waits_until = budget.loosens_at(&operator);
    let waits = budget.raised_at != 0 && waits_until.is_none_or(|at| now < at);
    Some(BudgetOnChain {
        number: budget.id,
        state: BudgetState {
            address: to_address(address),
            is_closed: false,
            daily_cap: UsdcAmount::from_micros(caps.max_daily_spend),
            window: *budget.window(),
            month: caps.max_30_day_spend.map(|cap| month_cap(cap, *budget.month())),
        },
        month: *budget.month(),
        raise: waits.then(|| Raise {
            caps: Caps {
                max_daily_spend: UsdcAmount::from_micros(budget.waiting_daily),
                max_30_day_spend: (budget.waiting_30_day != u64::MAX)
                    .then(|| UsdcAmount::from_micros(budget.waiting_30_day)),
            },
            effective_at: waits_until,
        }),
    })
}

/// The grant at `address`, as it stands at Unix second `now`. `None` where none of this agent is.
pub fn grant(
    program: &Pubkey,
    address: &Pubkey,
    [operator, agent, grant]: [&RawAccount; 3],
    agent_key: &Pubkey,
    now: i64,
) -> Option<GrantOnChain> {
    if [operator, agent, grant].iter().any(|account| account.owner != *program) {
        return None;
    }
    let (operator, agent) = (Operator::read(&operator.data)?, Agent::read(&agent.data)?.agent);
    let grant = Grant::read(&grant.data).filter(|grant| grant.agent == *agent_key)?;
    let now = agent.window().effective(now);
    let waived = Waived::from_bits(grant.flags);
    let loosens = waived != Waived::NOTHING || agent.pays_by_grant_only();
    let has_to_wait = loosens && grant.opened_by() == OpenedBy::PolicyAuthority;
    let is_void =
        grant.is_void(&operator, &agent) || ![0, agent.policy_version].contains(&grant.policy_version);
    let (state, effective_at) = match has_to_wait.then(|| grant.loosens_at(&operator)) {
        _ if grant.is_over(now) => (GrantState::Over, None),
        _ if is_void => (GrantState::Void, None),
        // Opened where nothing had to wait, and now it has.
        Some(None) => (GrantState::Void, None),
        Some(Some(at)) if now < at => (GrantState::Pending, Some(at)),
        Some(at) => (GrantState::Open, at),
        None => (GrantState::Open, Some(grant.opened_at)),
    };
    Some(GrantOnChain {
        address: to_address(address),
        state,
        effective_at,
        payee: to_address(&grant.payee),
        payee_kind: match grant.flags & PAYS_TOKEN_ACCOUNT {
            0 => CounterpartyKind::Wallet,
            _ => CounterpartyKind::TokenAccount,
        },
        left: UsdcAmount::from_micros(grant.left),
        expires_at: grant.expires_at,
        waived,
        is_for_one_payment: grant.tag != 0,
        opened_by: match grant.opened_by() {
            OpenedBy::Admin => GrantOpener::Admin,
            OpenedBy::PolicyAuthority => GrantOpener::PolicyAuthority,
            OpenedBy::Approver => GrantOpener::Approver,
        },
        opened_at: grant.opened_at,
        rent_refund: to_address(&grant.rent_refund),
    })
}
