use anchor_lang::prelude::*;
use purser_policy::{grow, shrink, TagBucket};

use crate::constants::TAG_BUCKETS_ADDED_MAX;
use crate::error::PurserError;
use crate::events::TagBucketsSet;
use crate::instructions::room::{pay_rent, return_rent};
use crate::instructions::set_policy::SetPolicy;
use crate::state::{Agent, Authority, Known};

/// Gives an agent this many buckets for tags. `payer` pays for more; for fewer, `rent_refund` gets back what was paid. Asked for
/// again, it does nothing: so two that see the account full do not both pay.
pub(crate) fn handler(ctx: Context<SetPolicy>, buckets: u16) -> Result<()> {
    let accounts = &*ctx.accounts;
    let info: &AccountInfo = accounts.agent.as_ref();
    let (had, tags_bytes, now) = {
        accounts.operator.known()?.authorise(accounts.authority.key, Authority::SetPolicy)?;
        let agent = accounts.agent.known()?;
        agent.check_operator(&accounts.operator.key())?;
        ensure_same!(agent.rent_refund, *accounts.rent_refund.key, PurserError::WrongRentRefund);
        let now = agent.clock(Clock::get()?.unix_timestamp);
        (agent.policy.tag_buckets, agent.tags_bytes(), now)
    };
    let most = had.saturating_add(TAG_BUCKETS_ADDED_MAX);
    ensure!((1..=most).contains(&buckets), PurserError::TagBucketCount);
    let tags_at = info.data_len().checked_sub(tags_bytes).ok_or(PurserError::UnknownLayout)?;
    let bytes = tags_at + usize::from(buckets) * size_of::<TagBucket>();
    if buckets > had {
        pay_rent(info, bytes, &accounts.payer)?;
        info.resize(bytes)?;
    }
    {
        let mut data = info.try_borrow_mut_data()?;
        let tags = data.get_mut(tags_at..).unwrap_or(&mut []);
        let all: &mut [TagBucket] =
            bytemuck::try_cast_slice_mut(tags).map_err(|_| PurserError::UnknownLayout)?;
        grow(all, usize::from(had));
        shrink(all, usize::from(buckets), now).ok_or(PurserError::TagBucketCount)?;
    }
    accounts.agent.known_mut()?.policy.tag_buckets = buckets;
    if buckets < had {
        info.resize(bytes)?;
        return_rent(info, &accounts.rent_refund)?;
    }
    emit!(TagBucketsSet { operator: accounts.operator.key(), agent: accounts.agent.key(), buckets });
    Ok(())
}

const _: () = assert!(Agent::BYTES.is_multiple_of(8));
