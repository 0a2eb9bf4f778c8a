//! Grants as tests open and use them.

use anchor_lang::prelude::Pubkey;
use anchor_lang::{system_program, InstructionData};
use anchor_spl::token;
use purser::constants::{APPROVER_SEED, BUDGET_SEED, GRANT_SEED};
use purser::{accounts, instruction, Bounds, BudgetCaps, GrantPayee, GrantTerms};
use solana_instruction::Instruction;
use solana_sdk_ids::sysvar;

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
        memo_hash: None,
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
            authority: Who::Admin.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            grant: self.grant(id),
            rent_refund: Who::DraftPayer.key(),
            approver: None,
            instructions: None,
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::OpenGrant { id, terms })
    }

    pub fn approver(&self, who: Who) -> Pubkey {
        let key = who.key();
        let seeds = [APPROVER_SEED, self.operator.as_ref(), key.as_ref()];
        Pubkey::find_program_address(&seeds, &purser::ID).0
    }

    pub fn set_approver(&self, who: Who, max_grant: u64, max_daily: u64) -> Call {
        let accounts = accounts::SetApprover {
            admin: Who::Admin.key(),
            operator: self.operator,
            approver: self.approver(who),
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::SetApprover { key: who.key(), max_grant, max_daily })
    }

    pub fn remove_approver(&self, who: Who) -> Call {
        let (admin, operator) = (Who::Admin.key(), self.operator);
        let accounts = accounts::RemoveApprover { admin, operator, approver: self.approver(who) };
        Call::new(accounts, instruction::RemoveApprover {})
    }

    /// The grant as an approver opens it, without the memo that has to come before.
    pub fn approve(&self, who: Who, id: u64, terms: GrantTerms) -> Call {
        let mut call = self.open_grant(id, terms).signed_by(who).with(6, self.approver(who));
        call.accounts[6].is_writable = true;
        call.with(7, sysvar::instructions::ID)
    }

    pub fn set_bounds(&self, by_grant_only: bool) -> Call {
        self.bounds(Bounds { by_grant_only, ..Bounds::default() })
    }

    pub fn bounds(&self, bounds: Bounds) -> Call {
        let accounts = accounts::SetBounds {
            authority: Who::PolicyAuthority.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            rent_refund: Who::Payer.key(),
            budget: bounds.budget,
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::SetBounds { bounds, expected: None })
    }

    /// The same, if this binds it so far.
    pub fn bounds_over(&self, expected: Bounds, bounds: Bounds) -> Call {
        let data = instruction::SetBounds { bounds, expected: Some(expected) }.data();
        Call { data, ..self.bounds(bounds) }
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
        self.transfer_extended(payment, Some(self.grant(id)))
    }

    /// The same payment as [`Place::transfer`] in the extended form.
    pub fn transfer_extended(&self, payment: Payment, grant: Option<Pubkey>) -> Call {
        self.transfer_through(payment, grant, None)
    }

    pub fn budget(&self, id: u64) -> Pubkey {
        let seeds = [BUDGET_SEED, self.operator.as_ref(), &id.to_le_bytes()];
        Pubkey::find_program_address(&seeds, &purser::ID).0
    }

    /// Signed by the admin.
    pub fn set_budget(&self, id: u64, max_daily_spend: u64, max_30_day_spend: Option<u64>) -> Call {
        let accounts = accounts::SetBudget {
            authority: Who::Admin.key(),
            operator: self.operator,
            budget: self.budget(id),
            system_program: system_program::ID,
        };
        let caps = BudgetCaps { max_daily_spend, max_30_day_spend };
        Call::new(accounts, instruction::SetBudget { id, caps, expected: None })
    }

    /// The same, if these are the caps in force.
    pub fn budget_over(&self, id: u64, expected: BudgetCaps, caps: BudgetCaps) -> Call {
        let data = instruction::SetBudget { id, caps, expected: Some(expected) }.data();
        Call { data, ..self.set_budget(id, caps.max_daily_spend, caps.max_30_day_spend) }
    }

    pub fn close_budget(&self, id: u64) -> Call {
        let (admin, operator, budget) = (Who::Admin.key(), self.operator, self.budget(id));
        Call::new(accounts::CloseBudget { admin, operator, budget }, instruction::CloseBudget {})
    }

    /// The same, by this grant and through this budget.
    pub fn transfer_through(&self, payment: Payment, grant: Option<Pubkey>, budget: Option<Pubkey>) -> Call {
        let accounts = accounts::TransferExtended {
            transfer_authority: Who::TransferAuthority.key(),
            operator: self.operator,
            agent: self.agent,
            source: self.source,
            destination: payment.to,
            mint: MINT,
            grant,
            budget,
            token_program: token::ID,
        };
        let Payment { asked_at, amount, memo, .. } = payment;
        let (transfer_id, memo) = (payment.transfer_id(), memo.into());
        Call::new(accounts, instruction::TransferExtended { transfer_id, asked_at, amount, memo })
    }
}

/// A memo with this text.
pub fn memo(text: &str) -> Instruction {
    let program_id = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
    Instruction { program_id, accounts: vec![], data: text.into() }
}
