use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::BoundsSet;
use crate::instructions::policy_args::resize;
use crate::instructions::set_policy::SetPolicy;
use crate::state::{Agent, Authority, Bounds, Known, Role};

/// Replaces what binds an agent beside its policy. Where loosened policies wait, the admin alone loosens this, at once. A cap
/// for 30 days that is new counts from now on.
pub(crate) fn handler(ctx: Context<SetPolicy>, bounds: Bounds) -> Result<()> {
    let accounts = &*ctx.accounts;
    let info: &AccountInfo = accounts.agent.as_ref();
    let mut agent = *accounts.agent.known()?;
    let tail = info.try_borrow_data()?.get(Agent::BYTES..).unwrap_or(&[]).to_vec();
    {
        let operator = accounts.operator.known()?;
        let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
        agent.check_operator(&accounts.operator.key())?;
        let may = role == Role::Admin || operator.loosening_delay_seconds == 0;
        require!(may || !bounds.loosens(&agent.bounds(&tail)), PurserError::LooseningMustWait);
    }
    let tail = agent.set_bounds(&bounds, &tail);
    resize(&accounts.agent, Agent::BYTES + tail.len(), &accounts.payer, &accounts.rent_refund)?;
    if let Some(room) = info.try_borrow_mut_data()?.get_mut(Agent::BYTES..) {
        room.copy_from_slice(&tail);
    }
    accounts.agent.known_mut()?.policy.bounds = agent.policy.bounds;
    emit!(BoundsSet {
        operator: agent.operator,
        agent: accounts.agent.key(),
        bounds,
        signer: accounts.authority.key(),
    });
    Ok(())
}
