use anchor_lang::prelude::*;
use anchor_lang::solana_program::program_pack::Pack;
use anchor_spl::token::{self, spl_token::state::Mint};

use crate::constants::{LAYOUT_VERSION, OPERATOR_SEED, USDC_DECIMALS};
use crate::error::PurserError;
use crate::events::OperatorCreated;
use crate::state::Operator;

/// The keys that an operator hands out.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorKeys {
    pub policy_authority: Pubkey,
    pub transfer_authority: Pubkey,
    pub guardian: Option<Pubkey>,
}

#[derive(Accounts)]
#[instruction(id: u64)]
pub struct CreateOperator<'info> {
    /// Signs, so that nobody can take an operator address before its admin.
    #[account(mut)]
    pub admin: Signer<'info>,
    #[account(
        init,
        payer = admin,
        space = Operator::BYTES,
        seeds = [OPERATOR_SEED, admin.key().as_ref(), &id.to_le_bytes()],
        bump
    )]
    pub operator: AccountLoader<'info, Operator>,
    /// CHECK: owner and contents are checked by `check_mint`.
    pub usdc_mint: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<CreateOperator>, id: u64, keys: OperatorKeys) -> Result<()> {
    check_mint(&ctx.accounts.usdc_mint)?;
    let mut operator = ctx.accounts.operator.load_init()?;
    *operator = Operator {
        version: LAYOUT_VERSION,
        bump: ctx.bumps.operator,
        paused: 0,
        reserved: [0; 5],
        id,
        created_by: ctx.accounts.admin.key(),
        admin: ctx.accounts.admin.key(),
        pending_admin: Pubkey::default(),
        policy_authority: keys.policy_authority,
        transfer_authority: keys.transfer_authority,
        guardian: keys.guardian.unwrap_or_default(),
        usdc_mint: ctx.accounts.usdc_mint.key(),
    };
    operator.check_keys()?;
    emit!(OperatorCreated {
        operator: ctx.accounts.operator.key(),
        admin: operator.admin,
        id,
        policy_authority: operator.policy_authority,
        transfer_authority: operator.transfer_authority,
        guardian: operator.guardian,
        usdc_mint: operator.usdc_mint,
    });
    Ok(())
}

/// An initialised mint of the legacy SPL Token program with USDC's decimals.
fn check_mint(mint: &AccountInfo) -> Result<()> {
    require_keys_eq!(*mint.owner, token::ID, PurserError::WrongMint);
    let state = Mint::unpack(&mint.try_borrow_data()?).map_err(|_| PurserError::WrongMint)?;
    require!(state.decimals == USDC_DECIMALS, PurserError::WrongMint);
    Ok(())
}
