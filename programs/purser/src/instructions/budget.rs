use anchor_lang::prelude::*;
use anchor_lang::AccountsClose;

use crate::constants::{BUDGET_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{BudgetClosed, BudgetSet};
use crate::instructions::room::create;
use crate::state::{begin, existing, Authority, Budget, BudgetCaps, Known, Operator, Role};

/// Makes a budget, or gives it other caps. Lower ones hold at once, and drop those that wait; a raise of the policy authority
/// waits in the budget. A change that was made of the caps in force names those (`expected`), so that it undoes no other.
#[derive(Accounts)]
#[instruction(id: u64)]
pub struct SetBudget<'info> {
    /// Admin or policy authority; to lower, the guardian too. Made by the admin alone, who pays for it.
    #[account(mut)]
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    /// CHECK: the address by its seeds. Nothing is there, or this budget.
    #[account(mut, seeds = [BUDGET_SEED, operator.key().as_ref(), &id.to_le_bytes()], bump)]
    pub budget: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn set_budget(
    ctx: Context<SetBudget>,
    id: u64,
    caps: BudgetCaps,
    expected: Option<BudgetCaps>,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    let role = operator.authorise(accounts.authority.key, Authority::Halt)?;
    let key = accounts.operator.key();
    let is_new = *accounts.budget.owner != crate::ID;
    if is_new {
        ensure!(role == Role::Admin, PurserError::Unauthorized);
        let bump = [ctx.bumps.budget];
        let seeds: [&[u8]; 4] = [BUDGET_SEED, key.as_ref(), &id.to_le_bytes(), &bump];
        create(&accounts.budget, Budget::BYTES, &accounts.authority, &seeds)?;
        let mut data = accounts.budget.try_borrow_mut_data()?;
        let (budget, _) = begin::<Budget>(&mut data).ok_or(PurserError::UnknownLayout)?;
        budget.version = LAYOUT_VERSION;
        [budget.bump] = bump;
        budget.id = id;
        budget.operator = key;
    }
    let mut data = accounts.budget.try_borrow_mut_data()?;
    let budget = existing::<Budget>(&mut data).ok_or(PurserError::UnknownLayout)?;
    let now = Clock::get()?.unix_timestamp;
    let current = budget.caps(&operator, now);
    ensure!(expected.is_none_or(|expected| expected == current), PurserError::PolicyChanged);
    let loosens = caps.loosens(&current);
    ensure!(!loosens || role != Role::Guardian, PurserError::Unauthorized);
    let waits = loosens && role != Role::Admin && operator.loosening_delay_seconds > 0;
    // Nothing begins to wait in a halt.
    ensure!(!waits || operator.halted_by == 0, PurserError::Halted);
    budget.set_caps(&caps, waits, &operator, now);
    emit!(BudgetSet {
        operator: key,
        budget: accounts.budget.key(),
        id,
        caps,
        loosens_at: budget.loosens_at(&operator),
        signer: accounts.authority.key(),
    });
    Ok(())
}

/// Closes a budget in which nothing counts. Agents that name it pay nothing until they name another, or none.
#[derive(Accounts)]
pub struct CloseBudget<'info> {
    /// Gets the rent of the account.
    #[account(mut)]
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub budget: AccountLoader<'info, Budget>,
}

pub(crate) fn close_budget(ctx: Context<CloseBudget>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?.authorise(accounts.admin.key, Authority::Administer)?;
    {
        let budget = accounts.budget.known()?;
        ensure_same!(budget.operator, accounts.operator.key(), PurserError::WrongOperator);
        ensure!(budget.is_empty(Clock::get()?.unix_timestamp), PurserError::SpendWindowNotEmpty);
    }
    accounts.budget.close(accounts.admin.to_account_info())?;
    emit!(BudgetClosed {
        operator: accounts.operator.key(),
        budget: accounts.budget.key(),
        admin: accounts.admin.key(),
    });
    Ok(())
}
