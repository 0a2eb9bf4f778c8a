//! SPL Token accounts as the program needs them: three fields read in place, and one payment.

use anchor_lang::prelude::*;
use anchor_lang::solana_program::instruction::{AccountMeta, Instruction};
use anchor_lang::solana_program::program::invoke_signed_unchecked;
use anchor_spl::token;

use crate::error::PurserError;
use crate::state::Agent;

/// Length of a legacy SPL Token account.
const BYTES: usize = 165;
const STATE_OFFSET: usize = 108;
const UNINITIALISED: u8 = 0;
const FROZEN: u8 = 2;
/// `TokenInstruction::Transfer`, SPL Token interface.
const TRANSFER: u8 = 3;

/// What the program reads of a token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAccount {
    pub owner: Pubkey,
}

impl TokenAccount {
    /// Micro-USDC in an account that the token program owns. `None` where it does not.
    pub fn balance(info: &AccountInfo) -> Option<u64> {
        if *info.owner != token::ID {
            return None;
        }
        let data = info.try_borrow_data().ok()?;
        field(&data, 64).map(u64::from_le_bytes)
    }
}

/// Checks that `destination` can be paid: an initialised, unfrozen account of `mint`, and not `source` itself.
#[inline]
pub fn recipient(destination: &AccountInfo, source: &Pubkey, mint: &Pubkey) -> Result<TokenAccount> {
    require_keys_neq!(*destination.key, *source, PurserError::RecipientIsSource);
    require_keys_eq!(*destination.owner, token::ID, PurserError::RecipientNotTokenAccount);
    let data = destination.try_borrow_data()?;
    require!(data.len() == BYTES, PurserError::RecipientNotTokenAccount);
    let state = data.get(STATE_OFFSET).copied().unwrap_or(UNINITIALISED);
    require!(state != UNINITIALISED, PurserError::RecipientNotTokenAccount);
    require!(field(&data, 0) == Some(mint.to_bytes()), PurserError::RecipientWrongMint);
    require!(state != FROZEN, PurserError::RecipientFrozen);
    let owner = field(&data, 32).ok_or(PurserError::RecipientNotTokenAccount)?;
    Ok(TokenAccount { owner: Pubkey::new_from_array(owner) })
}

/// Moves `amount` micro-USDC out of the agent's token account, signed by the agent's own address.
#[inline]
pub fn pay<'info>(
    agent: &AccountLoader<'info, Agent>,
    source: &AccountInfo<'info>,
    destination: &AccountInfo<'info>,
    amount: u64,
) -> Result<()> {
    let info = agent.to_account_info();
    let (operator, agent_id, bump) = {
        let agent = agent.load()?;
        (agent.operator, agent.agent_id, [agent.bump])
    };
    let mut data = [TRANSFER; 9];
    data[1..].copy_from_slice(&amount.to_le_bytes());
    let instruction = Instruction {
        program_id: token::ID,
        accounts: vec![
            AccountMeta::new(*source.key, false),
            AccountMeta::new(*destination.key, false),
            AccountMeta::new_readonly(*info.key, true),
        ],
        data: data.to_vec(),
    };
    let seeds: [&[u8]; 4] = [crate::constants::AGENT_SEED, operator.as_ref(), &agent_id, &bump];
    // Unchecked: no account data is borrowed here any more, which is all that the checked form would look at.
    invoke_signed_unchecked(&instruction, &[source.clone(), destination.clone(), info], &[&seeds])?;
    Ok(())
}

fn field<const N: usize>(data: &[u8], offset: usize) -> Option<[u8; N]> {
    data.get(offset..offset + N)?.try_into().ok()
}
