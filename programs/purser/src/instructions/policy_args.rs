//! A policy as instructions take it, and as it gets into an agent account.

use anchor_lang::prelude::*;
use purser_policy::{Address, Allowlist, Policy, ALLOWLIST_ENTRIES_MAX};

use crate::error::PurserError;
use crate::instructions::room::{pay_rent, return_rent};
use crate::refuse::refusal;
use crate::state::{tail_bytes, write_tail, Agent, Known, Rules};

/// The whole policy.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct PolicyArgs {
    pub rules: Rules,
    pub allowlist: AllowlistArg,
}

/// Whom to allow.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub enum AllowlistArg {
    Anyone,
    /// Each list in strictly ascending order of bytes. As many as fit a transaction, about 20; more need a draft.
    Only {
        wallets: Vec<Pubkey>,
        token_accounts: Vec<Pubkey>,
    },
}

impl PolicyArgs {
    pub fn policy(&self) -> Result<Policy<'_>> {
        Ok(self.rules.over(match &self.allowlist {
            AllowlistArg::Anyone => Allowlist::Anyone,
            AllowlistArg::Only { wallets, token_accounts } => {
                checked(addresses(wallets)?, addresses(token_accounts)?)?
            }
        }))
    }
}

/// An allowlist, if it may be stored as one.
pub(crate) fn checked<'a>(wallets: &'a [Address], token_accounts: &'a [Address]) -> Result<Allowlist<'a>> {
    ensure!(wallets.len() + token_accounts.len() <= ALLOWLIST_ENTRIES_MAX, PurserError::AllowlistTooLong);
    Allowlist::only(wallets, token_accounts).ok_or(refusal(PurserError::AllowlistNotSorted))
}

fn addresses(keys: &[Pubkey]) -> Result<&[Address]> {
    bytemuck::try_cast_slice(keys).map_err(|_| refusal(PurserError::AllowlistNotSorted))
}

/// Refuses with `error` a policy that lets anything pass which the agent's own refuses.
#[inline(never)]
pub(crate) fn must_not_loosen(
    agent: &AccountLoader<Agent>,
    policy: &Policy,
    error: PurserError,
) -> Result<()> {
    let stored = *agent.known()?;
    let info: &AccountInfo = agent.as_ref();
    let data = info.try_borrow_data()?;
    let tail = stored.front(data.get(Agent::BYTES..).unwrap_or(&[]));
    let current = stored.policy.with(stored.list(tail));
    if policy.loosens(&current) {
        return Err(error.into());
    }
    Ok(())
}

/// Replaces the policy of an agent, and makes its account as long as the allowlist needs. `payer` pays for more length;
/// for less, `rent_refund` gets back what was paid. Returns the new policy version.
pub(crate) fn replace<'info>(
    agent: &AccountLoader<'info, Agent>,
    policy: &Policy,
    payer: &Signer<'info>,
    rent_refund: &AccountInfo<'info>,
) -> Result<u32> {
    let info: &AccountInfo = agent.as_ref();
    let list_at = Agent::BYTES + agent.known()?.list_at();
    resize(agent, list_at + tail_bytes(&policy.allowlist), payer, rent_refund)?;
    // Not over the tags behind it: it writes no more than it has entries.
    if let Some(tail) = info.try_borrow_mut_data()?.get_mut(list_at..) {
        write_tail(tail, &policy.allowlist);
    }
    let mut agent = agent.known_mut()?;
    agent.set_policy(policy);
    agent.policy_changed(Clock::get()?.unix_timestamp)?;
    Ok(agent.policy_version)
}

/// Makes what stands before an agent's tags as long as this, and moves the tags. `payer` pays for more length; for less,
/// `rent_refund` gets back what was paid.
#[inline(never)]
pub(crate) fn resize<'info>(
    agent: &AccountLoader<'info, Agent>,
    front: usize,
    payer: &Signer<'info>,
    rent_refund: &AccountInfo<'info>,
) -> Result<()> {
    let info: &AccountInfo = agent.as_ref();
    let tags = {
        let agent = agent.known()?;
        ensure_same!(agent.rent_refund, *rent_refund.key, PurserError::WrongRentRefund);
        agent.tags_bytes()
    };
    let (bytes, length) = (front.saturating_add(tags), info.data_len());
    let was_at = length.checked_sub(tags).ok_or(PurserError::UnknownLayout)?;
    pay_rent(info, bytes, payer)?;
    // They are moved while the account is at its longest.
    info.resize(bytes.max(length))?;
    info.try_borrow_mut_data()?.copy_within(was_at..length, front);
    if bytes < length {
        info.resize(bytes)?;
        return_rent(info, rent_refund)?;
    }
    Ok(())
}
