//! Accounts of the program. All are zero-copy, little-endian, and begin with Anchor's eight discriminator bytes and a
//! layout version.

mod agent;
mod approver;
mod budget;
mod closed;
mod draft;
mod grant;
mod operator;
mod rules;
mod tail;

pub use agent::{second, Agent, AgentView, Bounds, Month, StoredPolicy};
pub use approver::Approver;
pub use budget::{Budget, BudgetCaps};
pub use closed::ClosedAgent;
pub use draft::{waits_seconds, DraftView, PolicyDraft};
pub use grant::{Grant, GrantPayee, GrantTerms, OpenedBy};
pub use operator::{Authority, Operator, Role};
pub use rules::Rules;
pub(crate) use tail::write_tail;
pub use tail::{read_tail, tail_bytes};

use anchor_lang::prelude::*;
use anchor_lang::ZeroCopy;
use core::cell::{Ref, RefMut};

use crate::constants::{DISCRIMINATOR_BYTES, LAYOUT_VERSION};
use crate::error::PurserError;

/// Where the layout version stands in every account's data.
const VERSION_AT: usize = DISCRIMINATOR_BYTES;

/// An account in the layout that this program writes. The only ways to its contents: Anchor's own would read another
/// layout as if it were this one, and panic on a shorter one.
pub trait Known<'info, T> {
    fn known(&self) -> Result<Ref<'_, T>>;
    fn known_mut(&self) -> Result<RefMut<'_, T>>;
}

impl<'info, T: ZeroCopy + Owner> Known<'info, T> for AccountLoader<'info, T> {
    fn known(&self) -> Result<Ref<'_, T>> {
        check_layout::<T>(self.as_ref())?;
        self.load()
    }

    fn known_mut(&self) -> Result<RefMut<'_, T>> {
        check_layout::<T>(self.as_ref())?;
        self.load_mut()
    }
}

fn check_layout<T>(info: &AccountInfo) -> Result<()> {
    let data = info.try_borrow_data()?;
    let version = data.get(VERSION_AT).copied();
    let known = data.len() >= DISCRIMINATOR_BYTES + size_of::<T>() && version == Some(LAYOUT_VERSION);
    ensure!(known, PurserError::UnknownLayout);
    Ok(())
}

/// The refund address in the data of an agent, a draft, a grant or a closed agent. `None`: it is none of these in this layout.
pub(crate) fn rent_refund(data: &[u8]) -> Option<Pubkey> {
    let body = match data.get(..DISCRIMINATOR_BYTES)? {
        Agent::DISCRIMINATOR => core::mem::offset_of!(Agent, rent_refund),
        PolicyDraft::DISCRIMINATOR => core::mem::offset_of!(PolicyDraft, rent_refund),
        Grant::DISCRIMINATOR => core::mem::offset_of!(Grant, rent_refund),
        ClosedAgent::DISCRIMINATOR => core::mem::offset_of!(ClosedAgent, rent_refund),
        _ => return None,
    };
    let known = data.get(VERSION_AT).copied() == Some(LAYOUT_VERSION);
    let key = data.get(DISCRIMINATOR_BYTES + body..)?.first_chunk::<32>()?;
    known.then_some(Pubkey::new_from_array(*key))
}

/// Makes `data` a `T` of nothing but zeroes, and returns it with the tail behind it. `None`: too few bytes.
pub(crate) fn begin<T: Discriminator + bytemuck::Pod>(data: &mut [u8]) -> Option<(&mut T, &mut [u8])> {
    data.fill(0);
    let (head, tail) = data.split_at_mut_checked(DISCRIMINATOR_BYTES + size_of::<T>())?;
    let (discriminator, body) = head.split_at_mut_checked(DISCRIMINATOR_BYTES)?;
    discriminator.copy_from_slice(T::DISCRIMINATOR);
    Some((bytemuck::try_from_bytes_mut(body).ok()?, tail))
}

/// The `T` that `data` holds in this layout.
pub(crate) fn existing<T: Discriminator + bytemuck::Pod>(data: &mut [u8]) -> Option<&mut T> {
    let known = data.starts_with(T::DISCRIMINATOR) && data.get(VERSION_AT) == Some(&LAYOUT_VERSION);
    let body = data.get_mut(DISCRIMINATOR_BYTES..DISCRIMINATOR_BYTES + size_of::<T>()).filter(|_| known)?;
    bytemuck::try_from_bytes_mut(body).ok()
}

/// Reads the fixed part of an account's data off chain. `None` unless it is a `T` in this layout.
fn read_body<T: Discriminator + bytemuck::AnyBitPattern>(data: &[u8]) -> Option<T> {
    let body = data.strip_prefix(T::DISCRIMINATOR)?;
    if body.first() != Some(&LAYOUT_VERSION) {
        return None;
    }
    bytemuck::try_pod_read_unaligned(body.get(..size_of::<T>())?).ok()
}
