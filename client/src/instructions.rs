//! Every instruction of the program, and the addresses derived from seeds.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::instruction::{AccountMeta, Instruction};
use anchor_lang::{InstructionData, ToAccountMetas};
use purser::constants::{
    AGENT_SEED, APPROVER_SEED, BUDGET_SEED, DRAFT_SEED, GRANT_SEED, INSTRUCTIONS_SYSVAR, MEMO_PROGRAM,
    OPERATOR_SEED,
};
use purser::{Bounds, BudgetCaps, GrantTerms, OperatorKeys, OperatorUpdate, accounts, instruction};

use crate::policy::{OnChainPolicy, Proposal, args_of};

/// Which account of `create_agent` gets what a closed agent holds.
const CLOSED_RENT_REFUND_AT: usize = 7;
const SYSTEM_PROGRAM: Pubkey = anchor_lang::system_program::ID;
const TOKEN_PROGRAM: Pubkey = anchor_spl::token::ID;

/// How many agents fit a transaction that resumes them with their operator, beside a nonce and a unit price.
pub const RESUMED_MAX: usize = 24;

/// The program on one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    /// [`purser::ID`], unless another build was deployed.
    pub program: Pubkey,
    /// The mint that the cluster's operators were created with.
    pub usdc_mint: Pubkey,
}

/// The signer of a policy change, and the agent that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftAccounts {
    /// Policy authority or admin; to close a draft, the guardian too.
    pub authority: Pubkey,
    /// Owns the agent.
    pub operator: Pubkey,
    /// Whose policy changes.
    pub agent: Pubkey,
}

/// Who gets rent back, as stored in the accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RentRefunds {
    /// The agent account's.
    pub agent: Pubkey,
    /// The draft's; any key if there is no draft.
    pub draft: Pubkey,
}

/// A token account, of either token program, to take money from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenSource {
    /// The agent owns it.
    pub token_account: Pubkey,
    /// What it holds.
    pub mint: Pubkey,
    /// The program that keeps it.
    pub token_program: Pubkey,
}

/// One payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferOrder<'a> {
    /// Owns the agent.
    pub operator: Pubkey,
    /// Who pays.
    pub agent: Pubkey,
    /// The agent's USDC token account.
    pub source: Pubkey,
    /// The token account to pay.
    pub destination: Pubkey,
    /// Its last eight bytes are the tag ([`purser_policy::tag_of`]): the same for every retry of this payment, and not 0.
    pub transfer_id: [u8; 16],
    /// The chain's Unix second when the payment was asked for ([`purser_policy::is_timely`]): the same for every retry.
    pub asked_at: u32,
    /// Micro-USDC.
    pub amount: u64,
    /// Empty for none.
    pub memo: &'a str,
}

impl Deployment {
    /// The operator that `admin` created, or creates, under this number.
    pub fn operator_address(&self, admin: &Pubkey, id: u64) -> Pubkey {
        self.find(&[OPERATOR_SEED, admin.as_ref(), &id.to_le_bytes()])
    }

    /// The agent of the operator with this id.
    pub fn agent_address(&self, operator: &Pubkey, agent_id: &[u8; 16]) -> Pubkey {
        self.find(&[AGENT_SEED, operator.as_ref(), agent_id])
    }

    /// The USDC token account of an agent, or of any other owner.
    pub fn token_account(&self, owner: &Pubkey) -> Pubkey {
        anchor_spl::associated_token::get_associated_token_address(owner, &self.usdc_mint)
    }

    /// The one draft that an agent can have.
    pub fn draft_address(&self, agent: &Pubkey) -> Pubkey {
        self.find(&[DRAFT_SEED, agent.as_ref()])
    }

    /// The operator's approver with this key.
    pub fn approver_address(&self, operator: &Pubkey, key: &Pubkey) -> Pubkey {
        self.find(&[APPROVER_SEED, operator.as_ref(), key.as_ref()])
    }

    /// The operator's budget with this id.
    pub fn budget_address(&self, operator: &Pubkey, id: u64) -> Pubkey {
        self.find(&[BUDGET_SEED, operator.as_ref(), &id.to_le_bytes()])
    }

    /// The agent's grant with this id.
    pub fn grant_address(&self, agent: &Pubkey, id: u64) -> Pubkey {
        self.find(&[GRANT_SEED, agent.as_ref(), &id.to_le_bytes()])
    }

    /// `admin` pays the rent.
    pub fn create_operator(&self, admin: Pubkey, id: u64, keys: OperatorKeys) -> Instruction {
        let accounts = accounts::CreateOperator {
            admin,
            operator: self.operator_address(&admin, id),
            usdc_mint: self.usdc_mint,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::CreateOperator { id, keys })
    }

    /// Changes keys and loosening delay; what `update` leaves out stays.
    pub fn update_operator(&self, admin: Pubkey, operator: Pubkey, update: OperatorUpdate) -> Instruction {
        self.call(accounts::UpdateOperator { admin, operator }, instruction::UpdateOperator { update })
    }

    /// The second half of handing over an operator: the new admin signs for itself.
    pub fn accept_admin(&self, pending_admin: Pubkey, operator: Pubkey) -> Instruction {
        self.call(accounts::AcceptAdmin { pending_admin, operator }, instruction::AcceptAdmin {})
    }

    /// `payer` pays rent; `rent_refund` gets it back when the account is closed.
    pub fn create_agent(
        &self,
        authority: Pubkey,
        payer: Pubkey,
        rent_refund: Pubkey,
        operator: Pubkey,
        agent_id: [u8; 16],
        policy: &OnChainPolicy,
    ) -> Instruction {
        let agent = self.agent_address(&operator, &agent_id);
        let accounts = accounts::CreateAgent {
            authority,
            payer,
            operator,
            agent,
            token_account: self.token_account(&agent),
            usdc_mint: self.usdc_mint,
            rent_refund,
            closed_rent_refund: None,
            token_program: TOKEN_PROGRAM,
            associated_token_program: anchor_spl::associated_token::ID,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::CreateAgent { agent_id, policy: args_of(policy) })
    }

    /// A `create_agent` of the admin where an agent was closed: what that holds goes to `closed_rent_refund`, its own refund address.
    pub fn create_agent_over(mut create: Instruction, closed_rent_refund: Pubkey) -> Instruction {
        if let Some(slot) = create.accounts.get_mut(CLOSED_RENT_REFUND_AT) {
            *slot = AccountMeta::new(closed_rent_refund, false);
        }
        create
    }

    /// With the allowlist in the instruction. `rent_refund`: the agent's.
    pub fn set_policy(
        &self,
        at: DraftAccounts,
        payer: Pubkey,
        rent_refund: Pubkey,
        expected_version: u32,
        policy: &OnChainPolicy,
    ) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let system_program = SYSTEM_PROGRAM;
        let accounts = accounts::SetPolicy { authority, payer, operator, agent, rent_refund, system_program };
        self.call(accounts, instruction::SetPolicy { expected_version, policy: args_of(policy) })
    }

    /// Room to remember 16 payments of 25 hours in each bucket. Directly after `create_agent` in its transaction, it gives an account
    /// more than one to begin with. `rent_refund`: the agent's.
    pub fn set_tag_buckets(
        &self,
        at: DraftAccounts,
        payer: Pubkey,
        rent_refund: Pubkey,
        buckets: u16,
    ) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let system_program = SYSTEM_PROGRAM;
        let accounts = accounts::SetPolicy { authority, payer, operator, agent, rent_refund, system_program };
        self.call(accounts, instruction::SetTagBuckets { buckets })
    }

    /// `payer` pays for the draft; `rent_refund` gets it back.
    pub fn open_draft(
        &self,
        authority: Pubkey,
        payer: Pubkey,
        rent_refund: Pubkey,
        operator: Pubkey,
        proposal: &Proposal,
    ) -> Instruction {
        let accounts = accounts::OpenDraft {
            authority,
            payer,
            operator,
            agent: proposal.agent,
            draft: self.draft_address(&proposal.agent),
            rent_refund,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::OpenDraft { args: proposal.as_args() })
    }

    /// `start`: how many entries are already written.
    pub fn write_draft(
        &self,
        at: DraftAccounts,
        hash: [u8; 32],
        start: u16,
        entries: &[Pubkey],
    ) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let accounts = accounts::WriteDraft { authority, operator, agent, draft: self.draft_address(&agent) };
        self.call(accounts, instruction::WriteDraft { hash, start, entries: entries.to_vec() })
    }

    /// Puts the sealed draft with this hash in force; `payer` pays the rent of a longer allowlist.
    pub fn apply_draft(
        &self,
        at: DraftAccounts,
        payer: Pubkey,
        rent_refunds: RentRefunds,
        hash: [u8; 32],
    ) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let accounts = accounts::ApplyDraft {
            authority,
            payer,
            operator,
            agent,
            draft: self.draft_address(&agent),
            rent_refund: rent_refunds.agent,
            draft_rent_refund: rent_refunds.draft,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::ApplyDraft { hash })
    }

    /// `rent_refund`: the draft's.
    pub fn close_draft(&self, at: DraftAccounts, rent_refund: Pubkey, hash: [u8; 32]) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let draft = self.draft_address(&agent);
        let accounts = accounts::CloseDraft { authority, operator, agent, draft, rent_refund };
        self.call(accounts, instruction::CloseDraft { hash })
    }

    /// Pauses the agent at any version of its policy, or lifts its pause.
    pub fn set_paused(&self, at: DraftAccounts, paused: bool) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        self.call(accounts::SetPaused { authority, operator, agent }, instruction::SetPaused { paused })
    }

    /// Halts one agent, or the operator with all its agents if `agent` is `None`.
    pub fn halt(&self, authority: Pubkey, operator: Pubkey, agent: Option<Pubkey>) -> Instruction {
        self.call(accounts::Halt { authority, operator, agent }, instruction::Halt {})
    }

    /// Lifts a halt. Only the admin can sign this.
    pub fn resume(&self, admin: Pubkey, operator: Pubkey, agent: Option<Pubkey>) -> Instruction {
        self.call(accounts::Halt { authority: admin, operator, agent }, instruction::Resume {})
    }

    /// Lifts the operator's own halt and those of these agents: at most [`RESUMED_MAX`].
    pub fn resume_with(&self, admin: Pubkey, operator: Pubkey, agents: &[Pubkey]) -> Instruction {
        let mut resume = self.resume(admin, operator, None);
        resume.accounts.extend(agents.iter().map(|agent| AccountMeta::new(*agent, false)));
        resume
    }

    /// Pays. Ask for [`crate::transfer_units`] with [`crate::table_units`], and for [`crate::loaded_bytes`].
    pub fn transfer(&self, transfer_authority: Pubkey, order: &TransferOrder<'_>) -> Instruction {
        let TransferOrder { operator, agent, source, destination, .. } = *order;
        let token_program = TOKEN_PROGRAM;
        let accounts =
            accounts::Transfer { transfer_authority, operator, agent, source, destination, token_program };
        let TransferOrder { transfer_id, asked_at, amount, memo, .. } = *order;
        let memo = memo.as_bytes().to_vec();
        self.call(accounts, instruction::Transfer { transfer_id, asked_at, amount, memo })
    }

    /// The same in the form of the token program's `TransferChecked`, so that tools which look for that see the payment.
    pub fn transfer_checked(&self, transfer_authority: Pubkey, order: &TransferOrder<'_>) -> Instruction {
        let TransferOrder { operator, agent, source, destination, .. } = *order;
        let accounts = accounts::TransferChecked {
            transfer_authority,
            operator,
            agent,
            source,
            destination,
            mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM,
        };
        let TransferOrder { transfer_id, asked_at, amount, memo, .. } = *order;
        let memo = memo.as_bytes().to_vec();
        self.call(accounts, instruction::TransferChecked { transfer_id, asked_at, amount, memo })
    }

    /// The same as [`Self::transfer_checked`], past the rules that the grant with this address waives. An agent with
    /// [`Bounds`] pays by this form alone, and through the budget that these name. Ask for
    /// [`crate::extended_transfer_units`].
    pub fn transfer_extended(
        &self,
        transfer_authority: Pubkey,
        order: &TransferOrder<'_>,
        grant: Option<Pubkey>,
        budget: Option<Pubkey>,
    ) -> Instruction {
        let TransferOrder { operator, agent, source, destination, .. } = *order;
        let accounts = accounts::TransferExtended {
            transfer_authority,
            operator,
            agent,
            source,
            destination,
            mint: self.usdc_mint,
            grant,
            budget,
            token_program: TOKEN_PROGRAM,
        };
        let TransferOrder { transfer_id, asked_at, amount, memo, .. } = *order;
        let memo = memo.as_bytes().to_vec();
        self.call(accounts, instruction::TransferExtended { transfer_id, asked_at, amount, memo })
    }

    /// Lets one payee be paid beyond the policy; signed by the admin, or the policy authority, whose grants wait where they
    /// loosen anything. `payer` pays rent; `rent_refund` gets it back when the grant is closed.
    pub fn open_grant(
        &self,
        authority: Pubkey,
        payer: Pubkey,
        rent_refund: Pubkey,
        at: (Pubkey, Pubkey),
        id: u64,
        terms: GrantTerms,
    ) -> Instruction {
        self.open_grant_with([authority, payer, rent_refund], at, id, terms, [None, None])
    }

    /// Has an approver let a single payment pass. The two go into one transaction in this order, with nothing between: wallets
    /// show the memo, and the program holds the grant to it.
    pub fn approve(
        &self,
        approver: Pubkey,
        payer: Pubkey,
        rent_refund: Pubkey,
        (operator, agent): (Pubkey, Pubkey),
        id: u64,
        terms: GrantTerms,
    ) -> [Instruction; 2] {
        let memo = Instruction {
            program_id: MEMO_PROGRAM,
            accounts: vec![AccountMeta::new_readonly(approver, true)],
            data: terms.approval(&agent).into_bytes(),
        };
        let more = [Some(self.approver_address(&operator, &approver)), Some(INSTRUCTIONS_SYSVAR)];
        let keys = [approver, payer, rent_refund];
        [memo, self.open_grant_with(keys, (operator, agent), id, terms, more)]
    }

    fn open_grant_with(
        &self,
        [authority, payer, rent_refund]: [Pubkey; 3],
        (operator, agent): (Pubkey, Pubkey),
        id: u64,
        terms: GrantTerms,
        [approver, instructions]: [Option<Pubkey>; 2],
    ) -> Instruction {
        let accounts = accounts::OpenGrant {
            authority,
            payer,
            operator,
            agent,
            grant: self.grant_address(&agent, id),
            rent_refund,
            approver,
            instructions,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::OpenGrant { id, terms })
    }

    /// Makes a key an approver, or changes its limits, in micro-USDC: for one grant, and for those of any 24 hours. `admin`
    /// pays the rent.
    pub fn set_approver(
        &self,
        admin: Pubkey,
        operator: Pubkey,
        key: Pubkey,
        max_grant: u64,
        max_daily: u64,
    ) -> Instruction {
        let approver = self.approver_address(&operator, &key);
        let accounts = accounts::SetApprover { admin, operator, approver, system_program: SYSTEM_PROGRAM };
        self.call(accounts, instruction::SetApprover { key, max_grant, max_daily })
    }

    /// Removes an approver and voids the open grants of all approvers of the operator.
    pub fn remove_approver(&self, admin: Pubkey, operator: Pubkey, key: Pubkey) -> Instruction {
        let approver = self.approver_address(&operator, &key);
        self.call(accounts::RemoveApprover { admin, operator, approver }, instruction::RemoveApprover {})
    }

    /// Makes a budget, which only the admin does and pays for, or gives it other caps: instead of those that are `expected` to be in
    /// force, if given.
    pub fn set_budget(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        id: u64,
        caps: BudgetCaps,
        expected: Option<BudgetCaps>,
    ) -> Instruction {
        let budget = self.budget_address(&operator, id);
        let accounts = accounts::SetBudget { authority, operator, budget, system_program: SYSTEM_PROGRAM };
        self.call(accounts, instruction::SetBudget { id, caps, expected })
    }

    /// Closes a budget in which nothing counts any more.
    pub fn close_budget(&self, admin: Pubkey, operator: Pubkey, budget: Pubkey) -> Instruction {
        self.call(accounts::CloseBudget { admin, operator, budget }, instruction::CloseBudget {})
    }

    /// Replaces what binds an agent beside its policy. Signed by policy authority or admin; what loosens it where loosened
    /// policies wait, by the admin. `expected`: what binds it so far, if nothing else may be replaced. `payer` pays for a longer account;
    /// `rent_refund`: the agent's.
    pub fn set_bounds(
        &self,
        at: DraftAccounts,
        payer: Pubkey,
        rent_refund: Pubkey,
        bounds: Bounds,
        expected: Option<Bounds>,
    ) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        let system_program = SYSTEM_PROGRAM;
        let budget = bounds.budget;
        let accounts =
            accounts::SetBounds { authority, payer, operator, agent, rent_refund, budget, system_program };
        self.call(accounts, instruction::SetBounds { bounds, expected })
    }

    /// Takes a grant back: guardian, policy authority or admin; anyone where it has expired or is spent. `rent_refund`: the
    /// grant's.
    pub fn close_grant(
        &self,
        authority: Pubkey,
        operator: Pubkey,
        grant: Pubkey,
        rent_refund: Pubkey,
    ) -> Instruction {
        let accounts = accounts::CloseGrant { authority, operator, grant, rent_refund };
        self.call(accounts, instruction::CloseGrant {})
    }

    /// Voids every open grant of the agent. Signed by guardian, policy authority or admin.
    pub fn void_grants(&self, at: DraftAccounts) -> Instruction {
        let DraftAccounts { authority, operator, agent } = at;
        self.call(accounts::SetPaused { authority, operator, agent }, instruction::VoidGrants {})
    }

    /// The agent's USDC token account, to withdraw from.
    pub fn usdc_of(&self, agent: &Pubkey) -> TokenSource {
        TokenSource {
            token_account: self.token_account(agent),
            mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM,
        }
    }

    /// From any token account of the agent; `amount` in the mint's smallest unit.
    pub fn withdraw(
        &self,
        admin: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        from: TokenSource,
        destination: Pubkey,
        amount: u64,
    ) -> Instruction {
        let TokenSource { token_account, mint, token_program } = from;
        let source = token_account;
        let accounts =
            accounts::Withdraw { admin, operator, agent, source, mint, destination, token_program };
        self.call(accounts, instruction::Withdraw { amount })
    }

    /// The rest of the agent's token account goes to `destination`. `admin` pays for the mark that stays.
    pub fn close_agent(
        &self,
        admin: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        destination: Pubkey,
        rent_refunds: RentRefunds,
    ) -> Instruction {
        let accounts = accounts::CloseAgent {
            admin,
            operator,
            agent,
            token_account: self.token_account(&agent),
            usdc_mint: self.usdc_mint,
            destination,
            rent_refund: rent_refunds.agent,
            draft: self.draft_address(&agent),
            draft_rent_refund: rent_refunds.draft,
            token_program: TOKEN_PROGRAM,
            system_program: SYSTEM_PROGRAM,
        };
        self.call(accounts, instruction::CloseAgent {})
    }

    /// Names another refund address of an agent's rent, signed by the one that it has.
    pub fn set_rent_refund(
        &self,
        rent_refund: Pubkey,
        operator: Pubkey,
        agent: Pubkey,
        new: Pubkey,
    ) -> Instruction {
        let accounts = accounts::SetRentRefund { rent_refund, operator, agent, new_rent_refund: new };
        self.call(accounts, instruction::SetRentRefund {})
    }

    /// Sends what an agent, a draft or a closed agent holds beyond its rent to its refund address. Anyone may.
    pub fn reclaim_rent(&self, account: Pubkey, rent_refund: Pubkey) -> Instruction {
        self.call(accounts::ReclaimRent { account, rent_refund }, instruction::ReclaimRent {})
    }

    fn find(&self, seeds: &[&[u8]]) -> Pubkey {
        Pubkey::find_program_address(seeds, &self.program).0
    }

    fn call(&self, accounts: impl ToAccountMetas, data: impl InstructionData) -> Instruction {
        let mut accounts = accounts.to_account_metas(None);
        // A missing optional account is written as the program's address, which must be this deployment's.
        for meta in &mut accounts {
            if meta.pubkey == purser::ID {
                meta.pubkey = self.program;
            }
        }
        Instruction { program_id: self.program, accounts, data: data.data() }
    }
}
