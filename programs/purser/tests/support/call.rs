use anchor_lang::prelude::{AccountMeta, Pubkey};
use anchor_lang::{system_program, Discriminator, InstructionData, ToAccountMetas};
use anchor_spl::{associated_token, token};
use purser::{accounts, instruction, DraftArgs, OperatorKeys, OperatorUpdate, PolicyArgs};
use purser_policy::id_with_tag;
use solana_instruction::Instruction;

use super::policies::open_policy;
use super::{agent_address, draft_address, operator_address, token_account_address, Who, MINT, PAYEE};

/// The slot of the mint in a checked transfer.
const MINT_SLOT: usize = 5;

/// One instruction of the program. Every account that is marked as a signer signs.
#[derive(Clone, Debug)]
pub struct Call {
    pub accounts: Vec<AccountMeta>,
    pub data: Vec<u8>,
}

impl Call {
    pub(super) fn new(accounts: impl ToAccountMetas, arguments: impl InstructionData) -> Self {
        Self { accounts: accounts.to_account_metas(None), data: arguments.data() }
    }

    pub fn instruction(&self) -> Instruction {
        Instruction { program_id: purser::ID, accounts: self.accounts.clone(), data: self.data.clone() }
    }

    /// The same call with another signer: the first slot of every instruction.
    pub fn signed_by(self, who: Who) -> Self {
        self.with(0, who.key())
    }

    /// The same transfer with `TransferChecked`.
    pub fn checked(mut self) -> Self {
        let arguments = self.data.strip_prefix(instruction::Transfer::DISCRIMINATOR).expect("a transfer");
        self.data = [instruction::TransferChecked::DISCRIMINATOR, arguments].concat();
        self.accounts.insert(self.accounts.len().min(MINT_SLOT), AccountMeta::new_readonly(MINT, false));
        self
    }

    /// The same call with these agents behind its accounts.
    pub fn with_agents(mut self, agents: &[Pubkey]) -> Self {
        self.accounts.extend(agents.iter().map(|agent| AccountMeta::new(*agent, false)));
        self
    }

    /// The same call with another account in `slot`.
    pub fn with(mut self, slot: usize, key: Pubkey) -> Self {
        self.accounts[slot].pubkey = key;
        self
    }
}

/// See [`Payment::asked_at`].
pub const NOW: u32 = 0;

/// A payment as the transfer authority signs it.
#[derive(Clone, Copy, Debug)]
pub struct Payment<'a> {
    /// The start of the transfer's id, which ends in the tag.
    pub id_start: [u8; 8],
    pub tag: u64,
    /// Unix second; [`NOW`] for that of the account's clock when it is sent.
    pub asked_at: u32,
    /// Micro-USDC.
    pub amount: u64,
    pub memo: &'a str,
    pub to: Pubkey,
}

impl Payment<'_> {
    pub fn transfer_id(&self) -> [u8; 16] {
        id_with_tag(self.id_start, self.tag)
    }
}

impl Default for Payment<'_> {
    fn default() -> Self {
        Self { id_start: [7; 8], tag: 1, asked_at: NOW, amount: 1_000_000, memo: "", to: PAYEE }
    }
}

/// An agent, its operator and its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub operator: Pubkey,
    pub agent: Pubkey,
    /// The agent's token account.
    pub source: Pubkey,
    pub draft: Pubkey,
}

impl Place {
    pub fn new(admin: Who, operator_id: u64, agent_id: [u8; 16]) -> Self {
        let operator = operator_address(&admin.key(), operator_id);
        let agent = agent_address(&operator, &agent_id);
        let source = token_account_address(&agent, &MINT);
        Self { operator, agent, source, draft: draft_address(&agent) }
    }

    pub fn create_operator(admin: Who, id: u64, keys: OperatorKeys) -> Call {
        let accounts = accounts::CreateOperator {
            admin: admin.key(),
            operator: operator_address(&admin.key(), id),
            usdc_mint: MINT,
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::CreateOperator { id, keys })
    }

    pub fn update_operator(&self, update: OperatorUpdate) -> Call {
        let accounts = accounts::UpdateOperator { admin: Who::Admin.key(), operator: self.operator };
        Call::new(accounts, instruction::UpdateOperator { update })
    }

    pub fn accept_admin(&self) -> Call {
        let accounts = accounts::AcceptAdmin { pending_admin: Who::NewAdmin.key(), operator: self.operator };
        Call::new(accounts, instruction::AcceptAdmin {})
    }

    /// `agent_id` must be the one of this place.
    pub fn create_agent(&self, agent_id: [u8; 16]) -> Call {
        self.create_agent_with(agent_id, open_policy())
    }

    pub fn create_agent_with(&self, agent_id: [u8; 16], policy: PolicyArgs) -> Call {
        let accounts = accounts::CreateAgent {
            authority: Who::PolicyAuthority.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            token_account: self.source,
            usdc_mint: MINT,
            rent_refund: Who::Payer.key(),
            closed_rent_refund: Some(Who::Admin.key()),
            token_program: token::ID,
            associated_token_program: associated_token::ID,
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::CreateAgent { agent_id, policy })
    }

    pub fn set_policy(&self, expected_version: u32, policy: PolicyArgs) -> Call {
        let accounts = accounts::SetPolicy {
            authority: Who::PolicyAuthority.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            rent_refund: Who::Payer.key(),
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::SetPolicy { expected_version, policy })
    }

    pub fn set_tag_buckets(&self, buckets: u16) -> Call {
        let mut call = self.set_policy(0, open_policy());
        call.data = instruction::SetTagBuckets { buckets }.data();
        call
    }

    pub fn open_draft(&self, args: DraftArgs) -> Call {
        let accounts = accounts::OpenDraft {
            authority: Who::PolicyAuthority.key(),
            payer: Who::DraftPayer.key(),
            operator: self.operator,
            agent: self.agent,
            draft: self.draft,
            rent_refund: Who::DraftPayer.key(),
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::OpenDraft { args })
    }

    pub fn write_draft(&self, hash: [u8; 32], start: u16, entries: &[Pubkey]) -> Call {
        let accounts = accounts::WriteDraft {
            authority: Who::PolicyAuthority.key(),
            operator: self.operator,
            agent: self.agent,
            draft: self.draft,
        };
        Call::new(accounts, instruction::WriteDraft { hash, start, entries: entries.to_vec() })
    }

    pub fn apply_draft(&self, hash: [u8; 32]) -> Call {
        let accounts = accounts::ApplyDraft {
            authority: Who::PolicyAuthority.key(),
            payer: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            draft: self.draft,
            rent_refund: Who::Payer.key(),
            draft_rent_refund: Who::DraftPayer.key(),
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::ApplyDraft { hash })
    }

    pub fn close_draft(&self, hash: [u8; 32]) -> Call {
        let accounts = accounts::CloseDraft {
            authority: Who::PolicyAuthority.key(),
            operator: self.operator,
            agent: self.agent,
            draft: self.draft,
            rent_refund: Who::DraftPayer.key(),
        };
        Call::new(accounts, instruction::CloseDraft { hash })
    }

    /// Halts the agent, signed by the guardian.
    pub fn halt(&self) -> Call {
        Call::new(self.halt_accounts(Who::Guardian, Some(self.agent)), instruction::Halt {})
    }

    /// Halts the operator, signed by the guardian.
    pub fn halt_operator(&self) -> Call {
        Call::new(self.halt_accounts(Who::Guardian, None), instruction::Halt {})
    }

    pub fn resume(&self) -> Call {
        Call::new(self.halt_accounts(Who::Admin, Some(self.agent)), instruction::Resume {})
    }

    pub fn resume_operator(&self) -> Call {
        Call::new(self.halt_accounts(Who::Admin, None), instruction::Resume {})
    }

    fn halt_accounts(&self, authority: Who, agent: Option<Pubkey>) -> accounts::Halt {
        accounts::Halt { authority: authority.key(), operator: self.operator, agent }
    }

    pub fn set_paused(&self, paused: bool) -> Call {
        let accounts = accounts::SetPaused {
            authority: Who::PolicyAuthority.key(),
            operator: self.operator,
            agent: self.agent,
        };
        Call::new(accounts, instruction::SetPaused { paused })
    }

    pub fn transfer(&self, payment: Payment) -> Call {
        let accounts = accounts::Transfer {
            transfer_authority: Who::TransferAuthority.key(),
            operator: self.operator,
            agent: self.agent,
            source: self.source,
            destination: payment.to,
            token_program: token::ID,
        };
        let Payment { asked_at, amount, memo, .. } = payment;
        let (transfer_id, memo) = (payment.transfer_id(), memo.into());
        Call::new(accounts, instruction::Transfer { transfer_id, asked_at, amount, memo })
    }

    pub fn withdraw(&self, amount: u64, to: Pubkey) -> Call {
        let accounts = accounts::Withdraw {
            admin: Who::Admin.key(),
            operator: self.operator,
            agent: self.agent,
            source: self.source,
            mint: MINT,
            destination: to,
            token_program: token::ID,
        };
        Call::new(accounts, instruction::Withdraw { amount })
    }

    /// Signed by the payer, whose rent it is.
    pub fn set_rent_refund(&self, to: Pubkey) -> Call {
        let accounts = accounts::SetRentRefund {
            rent_refund: Who::Payer.key(),
            operator: self.operator,
            agent: self.agent,
            new_rent_refund: to,
        };
        Call::new(accounts, instruction::SetRentRefund {})
    }

    pub fn reclaim_rent(&self, account: Pubkey, to: Pubkey) -> Call {
        Call::new(accounts::ReclaimRent { account, rent_refund: to }, instruction::ReclaimRent {})
    }

    /// Closes the agent; the remaining USDC goes to [`PAYEE`].
    pub fn close_agent(&self) -> Call {
        let accounts = accounts::CloseAgent {
            admin: Who::Admin.key(),
            operator: self.operator,
            agent: self.agent,
            token_account: self.source,
            usdc_mint: MINT,
            destination: PAYEE,
            rent_refund: Who::Payer.key(),
            draft: self.draft,
            draft_rent_refund: Who::DraftPayer.key(),
            token_program: token::ID,
            system_program: system_program::ID,
        };
        Call::new(accounts, instruction::CloseAgent {})
    }
}
