//! Every instruction of the program that the relayer sends, and the addresses that follow from seeds.

use super::decode::{TOKEN_PROGRAM, associated_token_account, to_pubkey};
use super::{AgentAddresses, AllowedRecipients, OnChainPolicy, TransferOrder};
use anchor_lang::{InstructionData, ToAccountMetas};
use purser::constants::{AGENT_SEED, DRAFT_SEED, OPERATOR_SEED};
use purser::instructions::{AllowlistArg, OperatorKeys, PolicyArgs};
use purser::{accounts, instruction};
use purser_policy::Limit;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;

const SYSTEM_PROGRAM: Pubkey = Pubkey::from_str_const("11111111111111111111111111111111");

/// Most allowlist entries that `set_policy` carries itself; more are staged in a draft.
pub(super) const INLINE_ENTRIES_MAX: usize = 20;
/// Entries that one `write_draft` carries.
pub(super) const DRAFT_CHUNK_ENTRIES: usize = 25;

/// An instruction and the compute units that it may use. The limits leave room for unlucky PDA bumps; a transaction
/// above its limit fails without effect, one far below pays priority fees for nothing.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub instruction: Instruction,
    pub compute_units: u32,
}

const CREATE_OPERATOR_UNITS: u32 = 60_000;
const CREATE_AGENT_UNITS: u32 = 120_000;
const SET_POLICY_UNITS: u32 = 60_000;
const SET_POLICY_FROM_DRAFT_UNITS: u32 = 80_000;
const SET_PAUSED_UNITS: u32 = 20_000;
const OPEN_DRAFT_UNITS: u32 = 60_000;
const WRITE_DRAFT_UNITS: u32 = 40_000;
const CLOSE_DRAFT_UNITS: u32 = 20_000;
/// Without a memo.
const TRANSFER_UNITS: u32 = 8_000;
/// Checking the text of a memo costs by the byte, most where characters have several.
const MEMO_BYTE_UNITS: u32 = 24;

/// Builds calls for one deployment of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instructions {
    pub program: Pubkey,
    pub usdc_mint: Pubkey,
}

impl Instructions {
    pub fn operator_address(&self, admin: &Pubkey, id: u64) -> Pubkey {
        Pubkey::find_program_address(&[OPERATOR_SEED, admin.as_ref(), &id.to_le_bytes()], &self.program).0
    }

    /// Agent PDA and its token account.
    pub fn agent_addresses(&self, operator: &Pubkey, agent_id: &[u8; 16]) -> (Pubkey, Pubkey) {
        let (agent, _) =
            Pubkey::find_program_address(&[AGENT_SEED, operator.as_ref(), agent_id], &self.program);
        (agent, associated_token_account(&agent, &self.usdc_mint))
    }

    pub fn draft_address(&self, agent: &Pubkey) -> Pubkey {
        Pubkey::find_program_address(&[DRAFT_SEED, agent.as_ref()], &self.program).0
    }

    pub fn create_operator(
        &self,
        admin: Pubkey,
        id: u64,
        policy_authority: Pubkey,
        transfer_authority: Pubkey,
        guardian: Option<Pubkey>,
    ) -> Call {
        let accounts = accounts::CreateOperator {
            admin,
            operator: self.operator_address(&admin, id),
            usdc_mint: self.usdc_mint,
            system_program: SYSTEM_PROGRAM,
        };
        let keys = OperatorKeys { policy_authority, transfer_authority, guardian };
        self.call(accounts, instruction::CreateOperator { id, keys }, CREATE_OPERATOR_UNITS)
    }

    pub fn create_agent(&self, authority: Pubkey, operator: Pubkey, agent_id: [u8; 16]) -> Call {
        let (agent, token_account) = self.agent_addresses(&operator, &agent_id);
        let accounts = accounts::CreateAgent {
            authority,
            operator,
            agent,
            token_account,
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM,
            associated_token_program: anchor_spl::associated_token::ID,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::CreateAgent { agent_id }, CREATE_AGENT_UNITS)
    }

    /// With the allowlist inline; its entries must be sorted and at most [`INLINE_ENTRIES_MAX`].
    pub fn set_policy(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        policy: &OnChainPolicy,
    ) -> Call {
        let allowlist = match &policy.allowlist {
            AllowedRecipients::Anyone => AllowlistArg::Anyone,
            AllowedRecipients::Only(entries) => {
                AllowlistArg::Only(entries.iter().copied().map(Pubkey::new_from_array).collect())
            }
        };
        let accounts =
            accounts::SetPolicy { authority, operator, agent, draft: None, system_program: SYSTEM_PROGRAM };
        let data = instruction::SetPolicy { policy: policy_args(policy, allowlist) };
        self.call(accounts, data, SET_POLICY_UNITS)
    }

    /// With the allowlist that stands complete in the agent's draft.
    pub fn set_policy_from_draft(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        policy: &OnChainPolicy,
    ) -> Call {
        let draft = Some(self.draft_address(&agent));
        let accounts =
            accounts::SetPolicy { authority, operator, agent, draft, system_program: SYSTEM_PROGRAM };
        let data = instruction::SetPolicy { policy: policy_args(policy, AllowlistArg::Draft) };
        self.call(accounts, data, SET_POLICY_FROM_DRAFT_UNITS)
    }

    pub fn open_draft(&self, authority: Pubkey, operator: Pubkey, agent: Pubkey, entry_count: u16) -> Call {
        let accounts = accounts::OpenDraft {
            authority,
            operator,
            agent,
            draft: self.draft_address(&agent),
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::OpenDraft { entry_count }, OPEN_DRAFT_UNITS)
    }

    pub fn write_draft(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        start: u16,
        entries: &[purser_policy::Address],
    ) -> Call {
        let draft = self.draft_address(&agent);
        let accounts = accounts::WriteDraft { authority, operator, agent, draft };
        let entries = entries.iter().copied().map(Pubkey::new_from_array).collect();
        self.call(accounts, instruction::WriteDraft { start, entries }, WRITE_DRAFT_UNITS)
    }

    pub fn close_draft(&self, authority: Pubkey, operator: Pubkey, agent: Pubkey) -> Call {
        let draft = self.draft_address(&agent);
        let accounts = accounts::CloseDraft { authority, operator, agent, draft };
        self.call(accounts, instruction::CloseDraft {}, CLOSE_DRAFT_UNITS)
    }

    pub fn set_paused(&self, authority: Pubkey, operator: Pubkey, agent: Pubkey, paused: bool) -> Call {
        let accounts = accounts::SetPaused { authority, operator, agent };
        self.call(accounts, instruction::SetPaused { paused }, SET_PAUSED_UNITS)
    }

    pub fn transfer(&self, transfer_authority: Pubkey, order: &TransferOrder) -> Call {
        let AgentAddresses { agent, token_account } = &order.agent;
        let accounts = accounts::Transfer {
            transfer_authority,
            operator: to_pubkey(&order.operator),
            agent: to_pubkey(agent),
            source: to_pubkey(token_account),
            destination: to_pubkey(&order.destination),
            token_program: TOKEN_PROGRAM,
        };
        let TransferOrder { transfer_id, tag, sequence, amount, memo, .. } = order;
        let data = instruction::Transfer {
            transfer_id: *transfer_id,
            tag: *tag,
            sequence: *sequence,
            amount: amount.micros(),
            memo: memo.clone(),
        };
        // At most 200 characters, so at most 800 bytes.
        let memo_bytes = u32::try_from(memo.len()).unwrap_or(800);
        self.call(accounts, data, TRANSFER_UNITS + MEMO_BYTE_UNITS * memo_bytes)
    }

    fn call(&self, accounts: impl ToAccountMetas, data: impl InstructionData, compute_units: u32) -> Call {
        let accounts = accounts.to_account_metas(None);
        Call {
            instruction: Instruction { program_id: self.program, accounts, data: data.data() },
            compute_units,
        }
    }
}

impl Call {
    /// The instructions of its transaction: unit limit, unit price where there is one, and the call.
    pub fn with_budget(self, priority_fee_micro_lamports: u64) -> Vec<Instruction> {
        let limit = ComputeBudgetInstruction::set_compute_unit_limit(self.compute_units);
        let price = (priority_fee_micro_lamports > 0)
            .then(|| ComputeBudgetInstruction::set_compute_unit_price(priority_fee_micro_lamports));
        std::iter::once(limit).chain(price).chain(std::iter::once(self.instruction)).collect()
    }
}

fn policy_args(policy: &OnChainPolicy, allowlist: AllowlistArg) -> PolicyArgs {
    let micros = |limit| match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.micros()),
    };
    PolicyArgs {
        max_single_transfer: micros(policy.max_single_transfer),
        max_daily_spend: micros(policy.max_daily_spend),
        require_memo: policy.require_memo,
        paused: policy.paused,
        allowlist,
    }
}
