//! Leave to pay one payee beyond the policy.

use anchor_lang::prelude::*;
use purser_policy::{GrantRefusal, Payee, TransferRequest, UsdcAmount, Waived};

use crate::constants::DISCRIMINATOR_BYTES;
use crate::error::PurserError;

use super::agent::Agent;

/// Behind the bits of [`Waived`].
const PAYS_TOKEN_ACCOUNT: u8 = 1 << 3;

/// A grant. Address: `["grant", agent, id: u64 le]`. One that has ended or is spent stays until somebody closes it.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grant {
    pub version: u8,
    pub bump: u8,
    /// Bit 0 beyond the allowlist, 1 beyond the largest single transfer, 2 beyond the daily limit; 3: the payee is a token
    /// account, and otherwise a wallet.
    pub flags: u8,
    /// The agent's `grant_epoch` when this was opened. Since it was raised, this pays nothing.
    pub epoch: u8,
    /// Not 0: under this version of the agent's policy alone.
    pub policy_version: u32,
    pub id: u64,
    /// Micro-USDC that may still be paid.
    pub left: u64,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
    /// Not 0: for the one payment with this tag, of all that is left.
    pub tag: u64,
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub payee: Pubkey,
    /// Gets the rent of this account back: named by who paid it.
    pub rent_refund: Pubkey,
}

const _: () = assert!(core::mem::size_of::<Grant>() == 168);

/// What a grant is for, as it is opened and announced.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantTerms {
    pub payee: GrantPayee,
    /// Micro-USDC.
    pub amount: u64,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
    pub beyond_allowlist: bool,
    pub beyond_single_limit: bool,
    /// What is paid still counts against the limit of what others pay after it.
    pub beyond_daily_limit: bool,
    /// For the one payment with this tag, of exactly `amount`.
    pub tag: Option<u64>,
    /// Under this version of the policy alone.
    pub policy_version: Option<u32>,
}

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantPayee {
    /// Any token account that this wallet owns at that moment.
    Wallet(Pubkey),
    TokenAccount(Pubkey),
}

impl Grant {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Writes the terms into a new account.
    pub fn set_terms(&mut self, terms: &GrantTerms) {
        let (payee, is_token_account) = match terms.payee {
            GrantPayee::Wallet(key) => (key, false),
            GrantPayee::TokenAccount(key) => (key, true),
        };
        let waived = Waived::NOTHING
            .and(Waived::ALLOWLIST, terms.beyond_allowlist)
            .and(Waived::SINGLE_LIMIT, terms.beyond_single_limit)
            .and(Waived::DAILY_LIMIT, terms.beyond_daily_limit);
        self.flags = waived.bits() | if is_token_account { PAYS_TOKEN_ACCOUNT } else { 0 };
        self.payee = payee;
        self.left = terms.amount;
        self.expires_at = terms.expires_at;
        self.tag = terms.tag.unwrap_or(0);
        self.policy_version = terms.policy_version.unwrap_or(0);
    }

    /// The rules that this payment of `agent`, at `address`, may pass. `now`: by the agent's window, so that a clock that is
    /// behind opens nothing again.
    pub fn waives_for(
        &self,
        address: &[u8; 32],
        agent: &Agent,
        request: &TransferRequest,
        now: i64,
    ) -> core::result::Result<Waived, PurserError> {
        let in_force = [0, agent.policy_version].contains(&self.policy_version);
        if self.agent.as_array() != address || self.epoch != agent.grant_epoch || !in_force {
            return Err(PurserError::GrantMismatch);
        }
        Ok(self.as_policy().waives_for(request, now)?)
    }

    /// Whether it pays nothing any more at Unix second `now`, whatever happens.
    pub fn is_over(&self, now: i64) -> bool {
        self.left == 0 || now >= self.expires_at
    }

    fn as_policy(&self) -> purser_policy::Grant<'_> {
        let payee = self.payee.as_array();
        purser_policy::Grant {
            payee: match self.flags & PAYS_TOKEN_ACCOUNT {
                0 => Payee::Wallet(payee),
                _ => Payee::TokenAccount(payee),
            },
            left: UsdcAmount::from_micros(self.left),
            expires_at: self.expires_at,
            tag: (self.tag != 0).then_some(self.tag),
            waived: Waived::from_bits(self.flags),
        }
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}

impl From<GrantRefusal> for PurserError {
    fn from(refusal: GrantRefusal) -> Self {
        match refusal {
            GrantRefusal::OtherPayment => Self::GrantMismatch,
            GrantRefusal::Expired => Self::GrantExpired,
            GrantRefusal::Exceeded => Self::GrantExceeded,
        }
    }
}
