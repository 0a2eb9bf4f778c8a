//! The instructions that the relayer sends, each with its compute unit limit.

use crate::UnsignedTransfer;
use crate::read::decode::{SYSTEM_PROGRAM, TOKEN_PROGRAM, to_pubkey};
use crate::sign::payers::{SIGNATURE_FEE, rent};
use purser::constants::ENTRY_BYTES;
use purser::state::{Agent, DraftView, PolicyDraft};
use purser_client::purser::{Bounds, BudgetCaps, OperatorKeys};
use purser_client::{
    Deployment, DraftAccounts, LOADED_BYTES, Proposal, RentRefunds, Staging, Step, StepKind, TransferOrder,
    extended_transfer_units, loaded_bytes, table_units, transfer_units,
};
use purser_core::Beyond;
use purser_model::{SpendingPolicy, Terms};
use purser_policy::TagBucket;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_sdk::instruction::{AccountMeta, Instruction};
use solana_sdk::pubkey::Pubkey;

/// An instruction and its compute unit limit. The limits leave room for unlucky PDA bumps: a transaction above its limit fails
/// without effect, and one far below it pays priority fees for nothing.
#[derive(Debug, Clone)]
pub struct Call {
    pub instruction: Instruction,
    pub compute_units: u32,
    /// The most bytes of accounts that it loads.
    pub loaded_bytes: u32,
    /// Roughly how many lamports of rent the authority pays with it.
    pub rent: u64,
    /// It pauses or halts: if the authority has no SOL, another of our keys pays the fee.
    pub stops: bool,
    /// It only prepares a change that another transaction makes.
    pub is_step: bool,
}

/// Fee in lamports at this unit limit, plus the eighth of the units that makes transactions differ.
fn fee(compute_units: u32, signatures: u64, priority_fee_micro_lamports: u64) -> u64 {
    let units = u64::from(compute_units) + u64::from(compute_units / 8);
    let priority = units.saturating_mul(priority_fee_micro_lamports).div_ceil(1_000_000);
    priority.saturating_add(SIGNATURE_FEE.saturating_mul(signatures))
}

/// Most lamports that a transfer with this memo costs, of an account with this many buckets of tags.
pub fn transfer_fee(memo: &str, tag_buckets: u16, priority_fee_micro_lamports: u64) -> u64 {
    fee(transfer_units(memo.len()) + table_units(tag_buckets), 1, priority_fee_micro_lamports)
}

/// Compute units of a transaction that opens an approver's grant: its memo, the grant, and room for it where one has ended.
pub const APPROVAL_UNITS: u32 = 250_000;

/// Most lamports that we pay for one, without its rent: it bears two signatures.
pub fn approval_fee(priority_fee_micro_lamports: u64) -> u64 {
    fee(APPROVAL_UNITS, 2, priority_fee_micro_lamports)
}

/// Most lamports that closing a grant that is over costs.
pub fn reclaim_fee(priority_fee_micro_lamports: u64) -> u64 {
    fee(CLOSE_GRANT_UNITS, 1, priority_fee_micro_lamports)
}

/// Bytes of a token account.
const TOKEN_ACCOUNT_BYTES: usize = 165;

/// Bytes of an agent account without a list, with the bucket of tags that it begins with.
const AGENT_BYTES: usize = Agent::BYTES + size_of::<TagBucket>();

/// Rent in lamports of an agent with this policy, without its token account.
pub fn agent_rent(policy: &SpendingPolicy) -> u64 {
    rent(AGENT_BYTES + policy.allowlist.len() * ENTRY_BYTES)
}

/// Rent in lamports of this many accounts with this many allowlist entries in total, without drafts and buckets that were added.
pub fn rent_of(accounts: u64, entries: u64) -> u64 {
    let account = rent(AGENT_BYTES).saturating_add(rent(TOKEN_ACCOUNT_BYTES));
    let entry = rent(ENTRY_BYTES).saturating_sub(rent(0));
    accounts.saturating_mul(account).saturating_add(entries.saturating_mul(entry))
}

/// Rent in lamports of a draft of this policy.
pub fn draft_rent(policy: &SpendingPolicy) -> u64 {
    rent(PolicyDraft::BYTES + policy.allowlist.len() * ENTRY_BYTES)
}

const CREATE_OPERATOR_UNITS: u32 = 60_000;
const SET_APPROVER_UNITS: u32 = 60_000;
const CREATE_AGENT_UNITS: u32 = 130_000;
const SET_POLICY_UNITS: u32 = 60_000;
const APPLY_DRAFT_UNITS: u32 = 250_000;
const SET_BUDGET_UNITS: u32 = 40_000;
const SET_BOUNDS_UNITS: u32 = 60_000;
/// 53 more take 48,000 at most.
const SET_TAG_BUCKETS_UNITS: u32 = 80_000;
const CLOSE_GRANT_UNITS: u32 = 30_000;
const SET_PAUSED_UNITS: u32 = 20_000;
const HALT_UNITS: u32 = 20_000;
const OPEN_DRAFT_UNITS: u32 = 70_000;
const WRITE_DRAFT_UNITS: u32 = 60_000;
const CLOSE_DRAFT_UNITS: u32 = 20_000;
/// The program searches for the address of the token account, which takes more for some wallets.
const CREATE_TOKEN_ACCOUNT_UNITS: u32 = 60_000;

/// The most that facilitators accept: units, and micro-lamports per unit.
const FACILITATED_UNITS_MAX: u32 = 400_000;
const FACILITATED_PRICE_MAX: u64 = 50_000;
/// The extra cost of naming the mint, and the cost of the memo program.
const CHECKED_UNITS: u32 = 1_000;
const MEMO_UNITS: u32 = 10_000;
const MEMO_UNITS_PER_BYTE: u32 = 500;
const MEMO_PROGRAM: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/// Builds calls for one deployment of the program.
#[derive(Debug, Clone, Copy)]
pub struct Instructions(pub Deployment);

impl Instructions {
    /// Agent PDA and its token account.
    pub fn agent_addresses(&self, operator: &Pubkey, agent_id: &[u8; 16]) -> (Pubkey, Pubkey) {
        let agent = self.0.agent_address(operator, agent_id);
        (agent, self.0.token_account(&agent))
    }

    pub fn create_operator(&self, admin: Pubkey, id: u64, keys: OperatorKeys) -> Call {
        Call::new(self.0.create_operator(admin, id, keys), CREATE_OPERATOR_UNITS)
    }

    pub fn set_approver(
        &self,
        admin: Pubkey,
        operator: Pubkey,
        key: Pubkey,
        [grant, daily]: [u64; 2],
    ) -> Call {
        Call::new(self.0.set_approver(admin, operator, key, grant, daily), SET_APPROVER_UNITS)
    }

    pub fn create_agent(
        &self,
        authority: Pubkey,
        rent_refund: Pubkey,
        operator: Pubkey,
        agent_id: [u8; 16],
        policy: &SpendingPolicy,
    ) -> Call {
        let create = self.0.create_agent(authority, authority, rent_refund, operator, agent_id, policy);
        Call::new(create, CREATE_AGENT_UNITS).with_rent(agent_rent(policy) + rent(TOKEN_ACCOUNT_BYTES))
    }

    /// With the allowlist inline: at most [`purser_client::INLINE_ENTRIES_MAX`] entries.
    pub fn set_policy(
        &self,
        at: DraftAccounts,
        rent_refund: Pubkey,
        expected_version: u32,
        policy: &SpendingPolicy,
    ) -> Call {
        let set = self.0.set_policy(at, at.authority, rent_refund, expected_version, policy);
        Call::new(set, SET_POLICY_UNITS)
    }

    /// Seals the proposal in the agent's draft, in place of the one `found`, even if that is the same proposal: its rent may
    /// be another's, and its delay is running.
    pub fn seal_draft(
        &self,
        at: DraftAccounts,
        rent_refund: Pubkey,
        proposal: &Proposal,
        found: Option<&DraftView>,
    ) -> Vec<Call> {
        let DraftAccounts { authority, operator, .. } = at;
        let payer = authority;
        let staging = Staging { deployment: self.0, authority, payer, rent_refund, operator, proposal };
        let call = |Step { kind, instruction }| match kind {
            StepKind::Close => Call::new(instruction, CLOSE_DRAFT_UNITS).stopping(),
            StepKind::Open => {
                Call::new(instruction, OPEN_DRAFT_UNITS).with_rent(draft_rent(&proposal.policy))
            }
            StepKind::Write => Call::new(instruction, WRITE_DRAFT_UNITS),
        };
        staging.anew(found).into_iter().map(call).collect()
    }

    pub fn apply_draft(&self, at: DraftAccounts, rent_refunds: RentRefunds, hash: [u8; 32]) -> Call {
        Call::new(self.0.apply_draft(at, at.authority, rent_refunds, hash), APPLY_DRAFT_UNITS)
    }

    pub fn close_draft(&self, at: DraftAccounts, rent_refund: Pubkey, hash: [u8; 32]) -> Call {
        Call::new(self.0.close_draft(at, rent_refund, hash), CLOSE_DRAFT_UNITS).stopping()
    }

    pub fn set_paused(&self, at: DraftAccounts, paused: bool) -> Call {
        Call::new(self.0.set_paused(at, paused), SET_PAUSED_UNITS).stopping()
    }

    pub fn halt(&self, authority: Pubkey, operator: Pubkey, agent: Option<Pubkey>) -> Call {
        Call::new(self.0.halt(authority, operator, agent), HALT_UNITS).stopping()
    }

    pub fn set_budget(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        number: u64,
        [expected, caps]: [BudgetCaps; 2],
    ) -> Call {
        let set = self.0.set_budget(authority, operator, number, caps, Some(expected));
        Call::new(set, SET_BUDGET_UNITS)
    }

    pub fn set_bounds(
        &self,
        at: DraftAccounts,
        rent_refund: Pubkey,
        [expected, bounds]: [Bounds; 2],
    ) -> Call {
        let set = self.0.set_bounds(at, at.authority, rent_refund, bounds, Some(expected));
        Call::new(set, SET_BOUNDS_UNITS)
    }

    pub fn set_tag_buckets(&self, at: DraftAccounts, rent_refund: Pubkey, buckets: u16) -> Call {
        Call::new(self.0.set_tag_buckets(at, at.authority, rent_refund, buckets), SET_TAG_BUCKETS_UNITS)
    }

    /// `at`: operator, grant, and who gets the rent back.
    pub fn close_grant(&self, authority: Pubkey, [operator, grant, rent_refund]: [Pubkey; 3]) -> Call {
        Call::new(self.0.close_grant(authority, operator, grant, rent_refund), CLOSE_GRANT_UNITS).stopping()
    }

    /// The same for one that is over, which anybody may close: nothing stops by it.
    pub fn reclaim_grant(&self, anybody: Pubkey, [operator, grant, rent_refund]: [Pubkey; 3]) -> Call {
        Call::new(self.0.close_grant(anybody, operator, grant, rent_refund), CLOSE_GRANT_UNITS)
    }

    pub fn void_grants(&self, at: DraftAccounts) -> Call {
        Call::new(self.0.void_grants(at), CLOSE_GRANT_UNITS).stopping()
    }

    /// Creates the wallet's associated USDC token account, unless it is there.
    pub fn create_token_account(&self, payer: Pubkey, wallet: Pubkey) -> Call {
        const IDEMPOTENT: u8 = 1;
        let accounts = vec![
            AccountMeta::new(payer, true),
            AccountMeta::new(self.0.token_account(&wallet), false),
            AccountMeta::new_readonly(wallet, false),
            AccountMeta::new_readonly(self.0.usdc_mint, false),
            AccountMeta::new_readonly(SYSTEM_PROGRAM, false),
            AccountMeta::new_readonly(TOKEN_PROGRAM, false),
        ];
        let program_id = anchor_spl::associated_token::ID;
        let create = Instruction { program_id, accounts, data: vec![IDEMPOTENT] };
        Call::new(create, CREATE_TOKEN_ACCOUNT_UNITS).with_rent(rent(TOKEN_ACCOUNT_BYTES))
    }

    /// A public text that the authority signs.
    pub fn memo(&self, authority: Pubkey, memo: &str) -> Call {
        let signer = AccountMeta::new_readonly(authority, true);
        let said = Instruction { program_id: MEMO_PROGRAM, accounts: vec![signer], data: memo.into() };
        Call::new(said, MEMO_UNITS + MEMO_UNITS_PER_BYTE * count(memo.len()))
    }

    pub fn transfer(&self, transfer_authority: Pubkey, order: &UnsignedTransfer) -> Call {
        match order.beyond {
            None => Call::new(
                self.0.transfer(transfer_authority, &client_order(order)),
                transfer_units(order.memo.len()),
            )
            .with_table(order.tag_buckets),
            Some(beyond) => self.transfer_extended(transfer_authority, order, beyond),
        }
    }

    fn transfer_extended(&self, authority: Pubkey, order: &UnsignedTransfer, beyond: Beyond) -> Call {
        let [grant, budget] = [beyond.grant, beyond.budget].map(|address| address.as_ref().map(to_pubkey));
        let transfer = self.0.transfer_extended(authority, &client_order(order), grant, budget);
        Call::new(transfer, extended_transfer_units(order.memo.len())).with_table(order.tag_buckets)
    }

    /// All instructions of a transaction that a facilitator sends on `terms`: unit limit, unit price, the transfer in a form
    /// that names its mint, and the facilitator's memo.
    pub fn transfer_for(
        &self,
        transfer_authority: Pubkey,
        order: &UnsignedTransfer,
        terms: &Terms,
        price: u64,
    ) -> Vec<Instruction> {
        let memo_units =
            terms.memo.as_ref().map_or(0, |memo| MEMO_UNITS + MEMO_UNITS_PER_BYTE * count(memo.len()));
        let transfer = match order.beyond {
            None => Call::new(
                self.0.transfer_checked(transfer_authority, &client_order(order)),
                CHECKED_UNITS + transfer_units(order.memo.len()),
            )
            .with_table(order.tag_buckets),
            Some(beyond) => self.transfer_extended(transfer_authority, order, beyond),
        };
        let units = transfer.compute_units + memo_units;
        let memo = terms.memo.as_ref().map(|memo| Instruction {
            program_id: MEMO_PROGRAM,
            accounts: Vec::new(),
            data: memo.clone().into_bytes(),
        });
        [
            ComputeBudgetInstruction::set_compute_unit_limit(units.min(FACILITATED_UNITS_MAX)),
            ComputeBudgetInstruction::set_compute_unit_price(price.clamp(1, FACILITATED_PRICE_MAX)),
            transfer.instruction,
        ]
        .into_iter()
        .chain(memo)
        .collect()
    }
}

fn client_order(order: &UnsignedTransfer) -> TransferOrder<'_> {
    TransferOrder {
        operator: to_pubkey(&order.operator),
        agent: to_pubkey(&order.agent.agent),
        source: to_pubkey(&order.agent.token_account),
        destination: to_pubkey(&order.destination),
        transfer_id: order.transfer_id,
        // Its low 32 bits, as the program stores seconds.
        asked_at: order.asked_at as u32,
        amount: order.amount.micros(),
        memo: &order.memo,
    }
}

fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Call {
    fn new(instruction: Instruction, compute_units: u32) -> Self {
        Self { instruction, compute_units, loaded_bytes: LOADED_BYTES, rent: 0, stops: false, is_step: false }
    }

    pub fn with_rent(self, rent: u64) -> Self {
        Self { rent, ..self }
    }

    /// For an account with this many buckets of tags.
    fn with_table(self, tag_buckets: u16) -> Self {
        let compute_units = self.compute_units + table_units(tag_buckets);
        Self { compute_units, loaded_bytes: loaded_bytes(tag_buckets), ..self }
    }

    pub fn preparing(self) -> Self {
        Self { is_step: true, ..self }
    }

    fn stopping(self) -> Self {
        Self { stops: true, ..self }
    }

    /// Most lamports that its transaction costs with this many signatures, without rent.
    pub fn fee(&self, signatures: u64, priority_fee_micro_lamports: u64) -> u64 {
        fee(self.compute_units, signatures, priority_fee_micro_lamports)
    }

    /// The instructions of its transaction: unit limit, loaded-accounts limit, unit price if there is one,
    /// and the call.
    pub fn with_budget(self, priority_fee_micro_lamports: u64) -> Vec<Instruction> {
        let units = ComputeBudgetInstruction::set_compute_unit_limit(self.compute_units);
        let loaded = ComputeBudgetInstruction::set_loaded_accounts_data_size_limit(self.loaded_bytes);
        let price = (priority_fee_micro_lamports > 0)
            .then(|| ComputeBudgetInstruction::set_compute_unit_price(priority_fee_micro_lamports));
        [units, loaded].into_iter().chain(price).chain([self.instruction]).collect()
    }
}
