//! Who may do what for a set of agents.

use anchor_lang::prelude::*;

use crate::constants::{DISCRIMINATOR_BYTES, LOOSENING_DELAY_SECONDS_MAX, TRANSFER_AUTHORITIES_MAX};
use crate::error::PurserError;
use crate::refuse::refusal;

/// An operator. Address: `["operator", created_by, id: u64 le]`.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Operator {
    pub version: u8,
    pub bump: u8,
    /// Not 0: all its agents are halted, by the [`Role`] with this [number](Role::halt_number).
    pub halted_by: u8,
    pub reserved: u8,
    /// How long a policy that loosens anything waits before it can be applied.
    pub loosening_delay_seconds: u32,
    pub id: u64,
    /// The admin that created it: part of the address, without power of its own.
    pub created_by: Pubkey,
    pub admin: Pubkey,
    /// Offered the admin's place; the default key where nobody is.
    pub pending_admin: Pubkey,
    pub policy_authority: Pubkey,
    /// May halt; the default key where there is none.
    pub guardian: Pubkey,
    pub usdc_mint: Pubkey,
    /// Whoever holds one of them can pay within policy. Free places, all after the others, hold the default key.
    pub transfer_authorities: [Pubkey; TRANSFER_AUTHORITIES_MAX],
    /// Unix second at which an approver was last removed; only ever raised. A grant that an approver opened then or earlier pays
    /// nothing.
    pub approvers_voided_at: i64,
}

const _: () = assert!(core::mem::size_of::<Operator>() == 472);

/// What a signer wants to do. Transfers are decided by the accounts of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Rotate keys, resume what is halted, withdraw, close.
    Administer,
    /// Create agents, set and stage policies, pause.
    SetPolicy,
    /// Halt, drop a policy that waits.
    Halt,
}

/// The key that a signer holds.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Admin,
    PolicyAuthority,
    Guardian,
}

impl Role {
    /// As `halted_by` stores it: 1, 2, 3.
    pub fn halt_number(self) -> u8 {
        self as u8 + 1
    }

    /// The role with this number in `halted_by`; `None` where nothing is halted.
    pub fn of_halt(number: u8) -> Option<Self> {
        match number {
            0 => None,
            1 => Some(Self::Admin),
            2 => Some(Self::PolicyAuthority),
            _ => Some(Self::Guardian),
        }
    }
}

impl Operator {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// The role in which `signer` may do `what`.
    pub fn authorise(&self, signer: &Pubkey, what: Authority) -> Result<Role> {
        let admin = (&self.admin, Role::Admin);
        let policy_authority = (&self.policy_authority, Role::PolicyAuthority);
        let guardian = (&self.guardian, Role::Guardian);
        let allowed: &[(&Pubkey, Role)] = match what {
            Authority::Administer => &[admin],
            Authority::SetPolicy => &[admin, policy_authority],
            Authority::Halt => &[admin, policy_authority, guardian],
        };
        // No one signs with the default key, which stands for "none".
        let found = allowed.iter().find(|(key, _)| *key == signer);
        found.map(|(_, role)| *role).ok_or(refusal(PurserError::Unauthorized))
    }

    /// The transfer authorities that are set.
    pub fn transfer_authorities(&self) -> &[Pubkey] {
        let is_free = |key: &Pubkey| *key == Pubkey::default();
        let count = self.transfer_authorities.iter().position(is_free).unwrap_or(TRANSFER_AUTHORITIES_MAX);
        self.transfer_authorities.get(..count).unwrap_or(&[])
    }

    /// Replaces all transfer authorities.
    pub fn set_transfer_authorities(&mut self, keys: &[Pubkey]) -> Result<()> {
        let mut places = [Pubkey::default(); TRANSFER_AUTHORITIES_MAX];
        let taken = places.get_mut(..keys.len()).ok_or(PurserError::TransferAuthorityCount)?;
        taken.copy_from_slice(keys);
        self.transfer_authorities = places;
        // A default key among them would end the list early.
        ensure!(
            !keys.is_empty() && self.transfer_authorities().len() == keys.len(),
            PurserError::TransferAuthorityCount
        );
        Ok(())
    }

    /// Whether `key` may be an approver: it must not be a key that a server holds, nor the guardian's, and the admin needs none.
    pub fn may_approve(&self, key: &Pubkey) -> bool {
        let others = [Pubkey::default(), self.admin, self.policy_authority, self.guardian];
        !others.contains(key) && !self.transfer_authorities.contains(key)
    }

    /// Whoever steals a server holds its transfer authorities: none of them may be another key too.
    pub fn check(&self) -> Result<()> {
        let [admin, policy, guardian] = [&self.admin, &self.policy_authority, &self.guardian];
        ensure!(*policy != Pubkey::default() && admin != policy, PurserError::KeysNotDistinct);
        let keys = self.transfer_authorities();
        for (index, key) in keys.iter().enumerate() {
            let again = keys.iter().skip(index + 1).any(|other| other == key);
            let distinct = !again && ![admin, policy, guardian].contains(&key);
            ensure!(distinct, PurserError::KeysNotDistinct);
        }
        ensure!(
            self.loosening_delay_seconds <= LOOSENING_DELAY_SECONDS_MAX,
            PurserError::LooseningDelayTooLong
        );
        Ok(())
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
