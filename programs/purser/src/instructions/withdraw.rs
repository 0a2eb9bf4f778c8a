use anchor_lang::prelude::*;
use anchor_lang::solana_program::instruction::{AccountMeta, Instruction};
use anchor_lang::solana_program::program::invoke_signed;

use crate::error::PurserError;
use crate::events::Withdrawn;
use crate::refuse::refusal;
use crate::state::{Agent, Authority, Known, Operator};
use crate::token_account::{mint_decimals, TokenAccount, TOKEN_PROGRAMS};

/// `TokenInstruction::TransferChecked`, SPL Token and Token-2022 interface.
const TRANSFER_CHECKED: u8 = 12;

/// The admin's way out, past the policy and outside its window: any amount of any mint, from any token account that the
/// agent owns. Accounts after these are handed to the token program, for mints with a transfer hook.
#[derive(Accounts)]
pub struct Withdraw<'info> {
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be a token account that the agent owns.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: the token program holds it against both token accounts.
    pub mint: UncheckedAccount<'info>,
    /// CHECK: checked by `TokenAccount::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    /// CHECK: must be SPL Token or Token-2022, and own the source.
    pub token_program: UncheckedAccount<'info>,
}

pub(crate) fn handler<'info>(ctx: Context<'info, Withdraw<'info>>, amount: u64) -> Result<()> {
    let accounts = &*ctx.accounts;
    ensure!(amount > 0, PurserError::AmountZero);
    accounts.operator.known()?.authorise(accounts.admin.key, Authority::Administer)?;
    accounts.agent.known()?.check_operator(&accounts.operator.key())?;
    let hook: &[AccountInfo] = ctx.remaining_accounts;
    let withdrawal = Withdrawal {
        agent: &accounts.agent,
        source: &accounts.source,
        mint: &accounts.mint,
        destination: &accounts.destination,
        token_program: &accounts.token_program,
    };
    let (mint, recipient_owner) = withdrawal.make(amount, hook)?;
    emit!(Withdrawn {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        source: accounts.source.key(),
        mint,
        amount,
        recipient: accounts.destination.key(),
        recipient_owner,
        admin: accounts.admin.key(),
    });
    Ok(())
}

/// Money that leaves by the admin's word.
pub(crate) struct Withdrawal<'a, 'info> {
    pub agent: &'a AccountLoader<'info, Agent>,
    pub source: &'a AccountInfo<'info>,
    pub mint: &'a AccountInfo<'info>,
    pub destination: &'a AccountInfo<'info>,
    pub token_program: &'a AccountInfo<'info>,
}

impl<'info> Withdrawal<'_, 'info> {
    /// Returns the mint, and the wallet that owned the recipient.
    pub fn make(&self, amount: u64, hook: &[AccountInfo<'info>]) -> Result<(Pubkey, Pubkey)> {
        let program = *self.token_program.key;
        ensure!(TOKEN_PROGRAMS.contains(&program), PurserError::WrongSource);
        let (mint, recipient_owner) = {
            let (source, destination) = (self.source.try_borrow_data()?, self.destination.try_borrow_data()?);
            let source = TokenAccount::of(self.source, &source);
            let (owner, mint) = (source.owner(&program), source.mint(&program));
            let (Some(owner), Some(mint)) = (owner, mint) else {
                return Err(refusal(PurserError::WrongSource));
            };
            ensure!(owner == self.agent.as_ref().key.as_array(), PurserError::WrongSource);
            ensure!(source.balance() >= Some(amount), PurserError::InsufficientBalance);
            ensure!(self.source.key != self.destination.key, PurserError::RecipientIsSource);
            let destination = TokenAccount::of(self.destination, &destination);
            let mint = Pubkey::new_from_array(*mint);
            (mint, Pubkey::new_from_array(*destination.recipient(&program, &mint)?))
        };
        let decimals = mint_decimals(self.mint).ok_or(PurserError::WrongMint)?;
        let agent = *self.agent.known()?;
        let mut metas = vec![
            AccountMeta::new(*self.source.key, false),
            AccountMeta::new_readonly(*self.mint.key, false),
            AccountMeta::new(*self.destination.key, false),
            AccountMeta::new_readonly(self.agent.key(), true),
        ];
        // A hook is somebody else's program, and whoever sends tokens here chooses it: it gets no one's signature, or it
        // could spend what the signer owns.
        metas.extend(hook.iter().map(|info| AccountMeta {
            pubkey: *info.key,
            is_signer: false,
            is_writable: info.is_writable,
        }));
        let [a, b, c, d, e, f, g, h] = amount.to_le_bytes();
        let data = vec![TRANSFER_CHECKED, a, b, c, d, e, f, g, h, decimals];
        let mut infos = vec![
            self.source.clone(),
            self.mint.clone(),
            self.destination.clone(),
            self.agent.to_account_info(),
            self.token_program.clone(),
        ];
        infos.extend_from_slice(hook);
        let bump = [agent.bump];
        let instruction = Instruction { program_id: program, accounts: metas, data };
        invoke_signed(&instruction, &infos, &[&agent.signer_seeds(&bump)])?;
        Ok((mint, recipient_owner))
    }
}
