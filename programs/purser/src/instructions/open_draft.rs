use anchor_lang::prelude::*;
use purser_policy::ALLOWLIST_ENTRIES_MAX;

use crate::constants::{DRAFT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::instructions::room::{check_refund, create};
use crate::instructions::write_draft::seal;
use crate::refuse::refusal;
use crate::state::{begin, Agent, Authority, Known, Operator, PolicyDraft, Rules, StoredPolicy};

/// A whole policy whose entries are written later.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct DraftArgs {
    /// `PolicyDraft::hash_of` what it will hold.
    pub hash: [u8; 32],
    /// The policy version that it is written against, and can be applied over.
    pub expected_version: u32,
    pub rules: Rules,
    /// `None`: anyone may be paid.
    pub entries: Option<EntryCounts>,
}

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryCounts {
    pub wallets: u16,
    pub token_accounts: u16,
}

#[derive(Accounts)]
pub struct OpenDraft<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for the draft, and says by its signature who gets it back.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: the address by its seeds; the system program refuses where anything is.
    #[account(mut, seeds = [DRAFT_SEED, agent.key().as_ref()], bump)]
    pub draft: UncheckedAccount<'info>,
    /// CHECK: gets the rent back; must be a wallet.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<OpenDraft>, args: DraftArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
    let agent = accounts.agent.known()?;
    agent.check_operator(&accounts.operator.key())?;
    ensure!(agent.policy_version == args.expected_version, PurserError::PolicyChanged);
    let (count, agent_key, bump) = (entry_count(&args)?, accounts.agent.key(), [ctx.bumps.draft]);
    let seeds: [&[u8]; 3] = [DRAFT_SEED, agent_key.as_ref(), &bump];
    create(&accounts.draft, PolicyDraft::bytes(count), &accounts.payer, &seeds)?;
    // By now the draft belongs to this program, and is no wallet.
    check_refund(&accounts.rent_refund)?;
    let mut data = accounts.draft.try_borrow_mut_data()?;
    let (draft, _) = begin::<PolicyDraft>(&mut data).ok_or(PurserError::UnknownLayout)?;
    draft.version = LAYOUT_VERSION;
    [draft.bump] = bump;
    draft.entry_count = count;
    draft.expected_version = args.expected_version;
    draft.agent = agent_key;
    draft.rent_refund = accounts.rent_refund.key();
    draft.hash = args.hash;
    draft.policy = StoredPolicy::new(&args.rules, args.entries.map(|entries| entries.wallets));
    if draft.entry_count == 0 {
        emit!(seal(draft, &[], &agent, &operator, accounts.authority.key)?);
    }
    Ok(())
}

fn entry_count(args: &DraftArgs) -> Result<u16> {
    let count = args.entries.map_or(Some(0), |entries| entries.wallets.checked_add(entries.token_accounts));
    let count = count.filter(|count| usize::from(*count) <= ALLOWLIST_ENTRIES_MAX);
    count.ok_or(refusal(PurserError::AllowlistTooLong))
}
