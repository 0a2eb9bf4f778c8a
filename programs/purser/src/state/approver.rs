//! A person's key that lets single payments past a policy, within limits of its own.

use anchor_lang::prelude::*;
use purser_policy::{SpendWindow, UsdcAmount};

use crate::constants::DISCRIMINATOR_BYTES;
use crate::error::PurserError;

use super::agent::{record_within, WINDOW_WORDS};

/// An approver. Address: `["approver", operator, key]`. It stays there once it was removed, so that what it granted still counts when
/// the key becomes an approver again.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Approver {
    pub version: u8,
    pub bump: u8,
    /// 1 once it was removed: it grants nothing.
    pub removed: u8,
    pub reserved: [u8; 5],
    /// The largest grant, in micro-USDC.
    pub max_grant: u64,
    /// The most that its grants of any 24 hours may add up to, in micro-USDC.
    pub max_daily: u64,
    pub operator: Pubkey,
    pub key: Pubkey,
    /// `purser_policy::SpendWindow` of what it granted, paid or not.
    pub window: [u64; WINDOW_WORDS],
}

const _: () = assert!(core::mem::size_of::<Approver>() == 584);

impl Approver {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    pub fn window(&self) -> &SpendWindow {
        bytemuck::must_cast_ref(&self.window)
    }

    pub fn is_removed(&self) -> bool {
        self.removed != 0
    }

    /// Counts a grant of `amount` micro-USDC at Unix second `now`, if both limits allow it.
    pub fn grants(&mut self, amount: u64, now: i64) -> core::result::Result<(), PurserError> {
        if amount > self.max_grant {
            return Err(PurserError::ApproverLimitExceeded);
        }
        let (window, amount) = (bytemuck::must_cast_mut(&mut self.window), UsdcAmount::from_micros(amount));
        record_within(window, self.max_daily, amount, now).ok_or(PurserError::ApproverLimitExceeded)?;
        Ok(())
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
