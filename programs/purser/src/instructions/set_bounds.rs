use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::BoundsSet;
use crate::instructions::policy_args::resize;
use crate::state::{Agent, Authority, Bounds, Budget, Known, Operator, Role};

#[derive(Accounts)]
pub struct SetBounds<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for a longer account.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `rent_refund`; gets back what a shorter account frees.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    /// The budget that the bounds name.
    pub budget: Option<AccountLoader<'info, Budget>>,
    pub system_program: Program<'info, System>,
}

/// Replaces what binds an agent beside its policy. Where loosened policies wait, the admin alone loosens this, at once. A cap
/// for 30 days that is new counts from now on. A change that was made of what stood before names that (`expected`), so that it
/// undoes no other.
pub(crate) fn handler(ctx: Context<SetBounds>, bounds: Bounds, expected: Option<Bounds>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let info: &AccountInfo = accounts.agent.as_ref();
    let mut agent = *accounts.agent.known()?;
    let tail = agent.front(info.try_borrow_data()?.get(Agent::BYTES..).unwrap_or(&[])).to_vec();
    {
        let operator = accounts.operator.known()?;
        let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
        agent.check_operator(&accounts.operator.key())?;
        let current = agent.bounds(&tail);
        ensure!(expected.is_none_or(|expected| expected == current), PurserError::PolicyChanged);
        let may = role == Role::Admin || operator.loosening_delay_seconds == 0;
        ensure!(may || !bounds.loosens(&current), PurserError::LooseningMustWait);
    }
    // An account can pay through a budget of its own operator alone, so no other may look like a bound.
    if let Some(named) = bounds.budget {
        let budget = accounts.budget.as_ref().filter(|budget| budget.key() == named);
        let budget = budget.ok_or(PurserError::BudgetMismatch)?.known()?;
        ensure_same!(budget.operator, agent.operator, PurserError::WrongOperator);
    }
    let tail = agent.set_bounds(&bounds, &tail);
    resize(&accounts.agent, Agent::BYTES + tail.len(), &accounts.payer, &accounts.rent_refund)?;
    if let Some(room) = info.try_borrow_mut_data()?.get_mut(Agent::BYTES..Agent::BYTES + tail.len()) {
        room.copy_from_slice(&tail);
    }
    accounts.agent.known_mut()?.policy.bounds = agent.policy.bounds;
    emit!(BoundsSet {
        operator: agent.operator,
        agent: accounts.agent.key(),
        bounds,
        signer: accounts.authority.key(),
    });
    Ok(())
}
