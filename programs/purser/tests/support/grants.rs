//! Grants as tests open and use them.

use anchor_lang::prelude::Pubkey;
use anchor_lang::system_program;
use anchor_spl::token;
use purser::constants::GRANT_SEED;
use purser::{accounts, instruction, GrantPayee, GrantTerms};

use super::{Call, Payment, Place, Who, DAY, MINT, NOON, PAYEE_OWNER};

/// For 100 micro-USDC to the payee's wallet until tomorrow, past all three rules.
pub fn terms() -> GrantTerms {
    GrantTerms {
        payee: GrantPayee::Wallet(PAYEE_OWNER),
        amount: 100,
        expires_at: NOON + DAY,
        beyond_allowlist: true,
        beyond_single_limit: true,
        beyond_daily_limit: true,
        tag: None,
        policy_version: None,
    }
}

impl Place {
    pub fn grant(&self, id: u64) -> Pubkey {
        let seeds = [GRANT_SEED, self.agent.as_ref(), &id.to_le_bytes()];
        Pubkey::find_program_address(&seeds, &purser::ID).0
    }

    pub fn open_grant(&self, id: u64, terms: GrantTerms) -> Call {
        let accounts = accounts::OpenGrant {
            admin: Who::Admin.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            grant: self.grant(id),
            rent_refund: Who::DraftPayer.key(),
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::OpenGrant { id, terms })
    }

    pub fn close_grant(&self, id: u64) -> Call {
        let accounts = accounts::CloseGrant {
            authority: Who::Guardian.key(),
            operator: self.operator,
            grant: self.grant(id),
            rent_refund: Who::DraftPayer.key(),
        };
        Call::new(accounts, instruction::CloseGrant {})
    }

    pub fn void_grants(&self) -> Call {
        let accounts = accounts::SetPaused {
            authority: Who::Guardian.key(),
            operator: self.operator,
            agent: self.agent,
        };
        Call::new(accounts, instruction::VoidGrants {})
    }

    /// The same payment as [`Place::transfer`], by this grant.
    pub fn transfer_granted(&self, payment: Payment, id: u64) -> Call {
        let accounts = accounts::TransferGranted {
            transfer_authority: Who::TransferAuthority.key(),
            operator: self.operator,
            agent: self.agent,
            source: self.source,
            destination: payment.to,
            mint: MINT,
            grant: self.grant(id),
            token_program: token::ID,
        };
        let Payment { sequence, amount, memo, .. } = payment;
        let (transfer_id, memo) = (payment.transfer_id(), memo.into());
        Call::new(accounts, instruction::TransferGranted { transfer_id, sequence, amount, memo })
    }
}
