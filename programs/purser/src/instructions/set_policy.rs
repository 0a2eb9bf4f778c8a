use anchor_lang::prelude::*;
use anchor_lang::system_program;
use purser_policy::{Address, Allowlist, Limit, Policy, UsdcAmount};
use solana_program::hash::hashv;

use crate::constants::ENTRY_BYTES;
use crate::error::PurserError;
use crate::events::{AllowlistRecord, PolicySet};
use crate::state::{Agent, AllowlistDraft, Authority, Operator};

/// Whom to allow.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub enum AllowlistArg {
    Anyone,
    /// Sorted strictly ascending by bytes. As many as fit a transaction, about 25.
    Only(Vec<Pubkey>),
    /// The entries of the draft account, which is closed by this; its rent goes to the signer.
    Draft,
}

/// The whole policy. Amounts in micro-USDC; `None` is no limit.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct PolicyArgs {
    pub max_single_transfer: Option<u64>,
    pub max_daily_spend: Option<u64>,
    pub require_memo: bool,
    pub paused: bool,
    pub allowlist: AllowlistArg,
}

#[derive(Accounts)]
pub struct SetPolicy<'info> {
    /// Policy authority or admin; pays for a longer allowlist, is paid back for a shorter one.
    #[account(mut)]
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut, has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut, has_one = agent @ PurserError::DraftMismatch, close = authority)]
    pub draft: Option<AccountLoader<'info, AllowlistDraft>>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<SetPolicy>, args: PolicyArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.load()?.authorise(accounts.authority.key, Authority::SetPolicy)?;

    let drafted = accounts.draft.as_ref().map(drafted_entries).transpose()?;
    let (inline, drafted) = (args.allowlist, drafted);
    let entries: &[Address] = match (&inline, &drafted) {
        (AllowlistArg::Anyone, None) => &[],
        (AllowlistArg::Only(entries), None) => as_addresses(entries)?,
        (AllowlistArg::Draft, Some(entries)) => entries,
        _ => return err!(PurserError::DraftMismatch),
    };
    let allowlist = match inline {
        AllowlistArg::Anyone => Allowlist::Anyone,
        AllowlistArg::Only(_) | AllowlistArg::Draft => {
            require!(entries.len() <= purser_policy::ALLOWLIST_ENTRIES_MAX, PurserError::AllowlistTooLong);
            Allowlist::only(entries).ok_or(PurserError::AllowlistNotSorted)?
        }
    };
    let limit = |micros: Option<u64>| {
        micros.map_or(Limit::Unlimited, |micros| Limit::AtMost(UsdcAmount::from_micros(micros)))
    };
    let policy = Policy {
        max_single_transfer: limit(args.max_single_transfer),
        max_daily_spend: limit(args.max_daily_spend),
        require_memo: args.require_memo,
        paused: args.paused,
        allowlist,
    };

    store_entries(accounts, entries)?;
    let mut agent = accounts.agent.load_mut()?;
    agent.set_policy(&policy, Clock::get()?.unix_timestamp)?;

    let entry_count = entries.len() as u16;
    let entries_hash = || hashv(&[bytemuck::cast_slice(entries)]).to_bytes();
    emit!(PolicySet {
        operator: agent.operator,
        agent: accounts.agent.key(),
        policy_version: agent.policy_version,
        max_single_transfer: args.max_single_transfer,
        max_daily_spend: args.max_daily_spend,
        require_memo: args.require_memo,
        paused: args.paused,
        allowlist: match drafted {
            Some(_) => AllowlistRecord::Draft { entry_count, entries_hash: entries_hash() },
            None => match inline {
                AllowlistArg::Only(entries) => AllowlistRecord::Only(entries),
                AllowlistArg::Anyone | AllowlistArg::Draft => AllowlistRecord::Anyone,
            },
        },
        signer: accounts.authority.key(),
    });
    Ok(())
}

fn as_addresses(keys: &[Pubkey]) -> Result<&[Address]> {
    bytemuck::try_cast_slice(keys).map_err(|_| error!(PurserError::AllowlistNotSorted))
}

/// The entries of a complete draft.
fn drafted_entries(draft: &AccountLoader<AllowlistDraft>) -> Result<Vec<Address>> {
    {
        let draft = draft.load()?;
        require!(draft.written == draft.entry_count, PurserError::DraftIncomplete);
    }
    let info = draft.to_account_info();
    let data = info.try_borrow_data()?;
    let tail = data.get(AllowlistDraft::BYTES..).ok_or(PurserError::DraftIncomplete)?;
    let entries = bytemuck::try_cast_slice(tail).map_err(|_| PurserError::DraftIncomplete)?;
    Ok(entries.to_vec())
}

/// Makes the agent account as long as its allowlist needs, keeps its rent exact, and writes the entries.
fn store_entries(accounts: &SetPolicy, entries: &[Address]) -> Result<()> {
    let info = accounts.agent.to_account_info();
    let bytes = Agent::BYTES + entries.len() * ENTRY_BYTES;
    let rent = Rent::get()?.minimum_balance(bytes);
    let missing = rent.saturating_sub(info.lamports());
    if missing > 0 {
        let payment =
            system_program::Transfer { from: accounts.authority.to_account_info(), to: info.clone() };
        system_program::transfer(CpiContext::new(system_program::ID, payment), missing)?;
    }
    let shrinks = bytes < info.data_len();
    info.resize(bytes)?;
    let surplus = info.lamports().saturating_sub(rent);
    if shrinks && surplus > 0 {
        info.sub_lamports(surplus)?;
        accounts.authority.to_account_info().add_lamports(surplus)?;
    }
    let mut data = info.try_borrow_mut_data()?;
    if let Some(tail) = data.get_mut(Agent::BYTES..) {
        tail.copy_from_slice(bytemuck::cast_slice(entries));
    }
    Ok(())
}
