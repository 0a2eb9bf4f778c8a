use anchor_lang::prelude::*;
use anchor_spl::token::Token;
use purser_policy::{check, AccountState, TransferRequest, UsdcAmount};

use crate::constants::LAYOUT_VERSION;
use crate::error::PurserError;
use crate::events::TransferExecuted;
use crate::state::{Agent, Operator};
use crate::token_account::{self, TokenAccount};

/// Absent on purpose: the mint. The token program refuses to move between accounts of different mints, `recipient`
/// checks the destination against the operator's mint, and 32 bytes less let an 800-byte memo fit a transaction.
#[derive(Accounts)]
pub struct Transfer<'info> {
    pub transfer_authority: Signer<'info>,
    #[account(has_one = transfer_authority @ PurserError::Unauthorized)]
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut, has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: checked by `token_account::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

pub(crate) fn handler(
    ctx: Context<Transfer>,
    transfer_id: [u8; 16],
    tag: u64,
    amount: u64,
    memo: String,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    require!(amount > 0, PurserError::AmountZero);
    require!(tag != 0, PurserError::TagZero);
    let now = Clock::get()?.unix_timestamp;
    let info = accounts.agent.to_account_info();

    let event = {
        let operator = accounts.operator.load()?;
        let mut data = info.try_borrow_mut_data()?;
        let (agent, tail) = Agent::split_mut(&mut data)?;
        require!(agent.version == LAYOUT_VERSION, PurserError::UnknownLayout);
        require_keys_eq!(*accounts.source.key, agent.token_account, PurserError::WrongSource);
        let recipient =
            token_account::recipient(&accounts.destination, accounts.source.key, &operator.usdc_mint)?;

        let state = AccountState {
            operator_paused: operator.paused != 0,
            policy: agent.policy(tail),
            window: agent.window(),
            tags: agent.tags(),
        };
        let request = TransferRequest {
            tag,
            amount: UsdcAmount::from_micros(amount),
            memo: &memo,
            recipient: accounts.destination.key.as_array(),
            recipient_owner: recipient.owner.as_array(),
        };
        let cleared = check(&state, &request, now).map_err(PurserError::from)?;
        require!(TokenAccount::balance(&accounts.source) >= Some(amount), PurserError::InsufficientBalance);

        let spent_in_window = cleared.spent_after().micros();
        let (window, tags) = agent.ledger_mut();
        cleared.record(window, tags);
        TransferExecuted {
            operator: *accounts.operator.to_account_info().key,
            agent: *info.key,
            transfer_id,
            tag,
            amount,
            recipient: *accounts.destination.key,
            recipient_owner: recipient.owner,
            policy_version: agent.policy_version,
            spent_in_window,
            memo,
        }
    };
    token_account::pay(&accounts.agent, &accounts.source, &accounts.destination, amount)?;
    emit!(event);
    Ok(())
}
