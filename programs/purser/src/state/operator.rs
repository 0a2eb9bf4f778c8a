//! Who may do what for a set of agents.

use anchor_lang::prelude::*;

use crate::error::PurserError;

/// An operator. Address: `["operator", created_by, id: u64 le]`.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Operator {
    pub version: u8,
    pub bump: u8,
    /// 1 stops the transfers of all agents.
    pub paused: u8,
    pub reserved: [u8; 5],
    pub id: u64,
    /// The admin that created it: part of the address, without power of its own.
    pub created_by: Pubkey,
    pub admin: Pubkey,
    /// Offered the admin's place; the default key where nobody is.
    pub pending_admin: Pubkey,
    pub policy_authority: Pubkey,
    pub transfer_authority: Pubkey,
    /// May pause; the default key where there is none.
    pub guardian: Pubkey,
    pub usdc_mint: Pubkey,
}

const _: () = assert!(core::mem::size_of::<Operator>() == 240);

/// What a signer wants to do. Transfers are decided by the accounts of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    Administer,
    SetPolicy,
    Pause,
}

impl Operator {
    pub const BYTES: usize = crate::constants::DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Whether `signer` holds a key that may do `what`.
    pub fn authorise(&self, signer: &Pubkey, what: Authority) -> Result<()> {
        let allowed: &[&Pubkey] = match what {
            Authority::Administer => &[&self.admin],
            Authority::SetPolicy => &[&self.admin, &self.policy_authority],
            Authority::Pause => &[&self.admin, &self.policy_authority, &self.guardian],
        };
        // No one signs with the default key, which stands for "none".
        require!(allowed.contains(&signer), PurserError::Unauthorized);
        Ok(())
    }

    /// A stolen relayer holds the transfer authority: it must be no other key at the same time.
    pub fn check_keys(&self) -> Result<()> {
        let [admin, policy, transfer] = [&self.admin, &self.policy_authority, &self.transfer_authority];
        let given = *policy != Pubkey::default() && *transfer != Pubkey::default();
        let distinct = admin != policy && admin != transfer && policy != transfer;
        require!(given && distinct && self.guardian != *transfer, PurserError::KeysNotDistinct);
        Ok(())
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        let body = data.strip_prefix(Self::DISCRIMINATOR)?;
        bytemuck::try_pod_read_unaligned(body.get(..core::mem::size_of::<Self>())?).ok()
    }
}
