use anchor_lang::prelude::*;
use anchor_lang::solana_program::program_pack::Pack;
use anchor_spl::token::{self, spl_token::state::Mint};

use crate::constants::{LAYOUT_VERSION, OPERATOR_SEED, USDC_DECIMALS};
use crate::error::PurserError;
use crate::events::OperatorCreated;
use crate::instructions::room::create;
use crate::state::{begin, Operator};

/// The keys that an operator hands out, and how long loosened policies wait.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct OperatorKeys {
    pub policy_authority: Pubkey,
    /// One to eight.
    pub transfer_authorities: Vec<Pubkey>,
    pub guardian: Option<Pubkey>,
    pub loosening_delay_seconds: u32,
}

#[derive(Accounts)]
#[instruction(id: u64)]
pub struct CreateOperator<'info> {
    /// Signs, so that nobody can take an operator address before its admin.
    #[account(mut)]
    pub admin: Signer<'info>,
    /// CHECK: the address by its seeds; the system program refuses where anything is.
    #[account(mut, seeds = [OPERATOR_SEED, admin.key().as_ref(), &id.to_le_bytes()], bump)]
    pub operator: UncheckedAccount<'info>,
    /// CHECK: owner and contents are checked by `check_mint`.
    pub usdc_mint: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<CreateOperator>, id: u64, keys: OperatorKeys) -> Result<()> {
    let accounts = &*ctx.accounts;
    check_mint(&accounts.usdc_mint)?;
    let (admin, bump) = (accounts.admin.key(), [ctx.bumps.operator]);
    let seeds: [&[u8]; 4] = [OPERATOR_SEED, admin.as_ref(), &id.to_le_bytes(), &bump];
    create(&accounts.operator, Operator::BYTES, &accounts.admin, &seeds)?;
    let mut data = accounts.operator.try_borrow_mut_data()?;
    let (operator, _) = begin::<Operator>(&mut data).ok_or(PurserError::UnknownLayout)?;
    operator.version = LAYOUT_VERSION;
    [operator.bump] = bump;
    operator.loosening_delay_seconds = keys.loosening_delay_seconds;
    operator.id = id;
    operator.created_by = admin;
    operator.admin = admin;
    operator.policy_authority = keys.policy_authority;
    operator.guardian = keys.guardian.unwrap_or_default();
    operator.usdc_mint = accounts.usdc_mint.key();
    operator.set_transfer_authorities(&keys.transfer_authorities)?;
    operator.check()?;
    emit!(OperatorCreated {
        operator: accounts.operator.key(),
        id,
        usdc_mint: operator.usdc_mint,
        keys: (&*operator).into(),
    });
    Ok(())
}

/// An initialised mint of the legacy SPL Token program with USDC's decimals.
fn check_mint(mint: &AccountInfo) -> Result<()> {
    ensure_same!(*mint.owner, token::ID, PurserError::WrongMint);
    let state = Mint::unpack(&mint.try_borrow_data()?).map_err(|_| PurserError::WrongMint)?;
    ensure!(state.decimals == USDC_DECIMALS, PurserError::WrongMint);
    Ok(())
}
