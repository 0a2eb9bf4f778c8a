//! One instruction of the program: its arguments, and the account in each slot.

use std::fmt;

use anchor_lang::prelude::{AccountMeta, Pubkey};
use anchor_lang::{system_program, InstructionData};
use anchor_spl::{associated_token, token};
use purser::{
    instruction, AllowlistArg, Bounds, BudgetCaps, DraftArgs, EntryCounts, GrantTerms, OperatorKeys,
    OperatorUpdate, PolicyArgs,
};
use solana_instruction::Instruction;

use crate::oracle::Policy;

const MEMO: Pubkey = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

#[derive(Clone, Debug)]
pub struct Call {
    pub args: Args,
    /// The accounts that can differ between calls; the programs follow them.
    pub slots: Vec<Pubkey>,
    /// Every instruction's first slot is a signer. This says whether it signs.
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub enum Args {
    CreateOperator {
        id: u64,
        keys: OperatorKeys,
    },
    UpdateOperator(OperatorUpdate),
    AcceptAdmin,
    CreateAgent {
        agent_id: [u8; 16],
        policy: Policy,
    },
    SetPolicy {
        expected_version: u32,
        policy: Policy,
    },
    OpenDraft(DraftArgs),
    WriteDraft {
        hash: [u8; 32],
        start: u16,
        entries: Vec<Pubkey>,
    },
    ApplyDraft {
        hash: [u8; 32],
    },
    CloseDraft {
        hash: [u8; 32],
    },
    SetPaused(bool),
    Halt {
        resume: bool,
    },
    /// With two agents behind the usual slots.
    ResumeMore,
    Transfer(Payment),
    TransferChecked(Payment),
    /// With a grant and a budget in the last slots, or none: the program's own address.
    TransferExtended(Payment),
    /// With an approver and the instructions sysvar in the last two slots, or none. `memo`: what the transaction says before.
    OpenGrant {
        id: u64,
        terms: GrantTerms,
        memo: Option<String>,
    },
    SetApprover {
        key: Pubkey,
        max_grant: u64,
        max_daily: u64,
    },
    RemoveApprover,
    SetBounds {
        by_grant_only: bool,
        /// For 30 days.
        cap: Option<u64>,
        budget: Option<Pubkey>,
        expected: Option<Bounds>,
    },
    SetBudget {
        id: u64,
        caps: BudgetCaps,
        expected: Option<BudgetCaps>,
    },
    SetTagBuckets(u16),
    CloseBudget,
    CloseGrant,
    VoidGrants,
    Withdraw {
        amount: u64,
    },
    CloseAgent,
    SetRentRefund,
    ReclaimRent,
}

#[derive(Clone)]
pub struct Payment {
    /// Ends in the tag.
    pub transfer_id: [u8; 16],
    pub asked_at: u32,
    pub amount: u64,
    /// Should be text.
    pub memo: Vec<u8>,
}

impl Payment {
    /// The tag, which all tries of a payment share.
    pub fn tag(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.transfer_id;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Debug for Payment {
    /// Prints only the tag of the id, because nothing depends on the rest, and leaves out the memo's text.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { asked_at, amount, memo, .. } = self;
        let tag = self.tag();
        let text = std::str::from_utf8(memo);
        let memo = text.map_or("no text".to_owned(), |text| format!("{} characters", text.chars().count()));
        write!(f, "tag {tag}, asked at {asked_at}, amount {amount}, memo of {memo}")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Signer,
    /// Signs, and is writable.
    Payer,
    Read,
    Write,
    /// Writable, and named as a refund address.
    Refund,
}

impl Args {
    /// The kinds of its slots, in order.
    pub fn slots(&self) -> &'static [Slot] {
        use Slot::{Payer, Read, Refund, Signer, Write};
        match self {
            Self::CreateOperator { .. } => &[Payer, Write, Read],
            Self::UpdateOperator(_) | Self::AcceptAdmin => &[Signer, Write],
            Self::CreateAgent { .. } => &[Signer, Payer, Read, Write, Write, Read, Refund, Write],
            Self::SetPolicy { .. } => &[Signer, Payer, Read, Write, Write],
            Self::OpenDraft(_) => &[Signer, Payer, Read, Read, Write, Refund],
            Self::WriteDraft { .. } => &[Signer, Read, Read, Write],
            Self::ApplyDraft { .. } => &[Signer, Payer, Read, Write, Write, Write, Write],
            Self::CloseDraft { .. } => &[Signer, Read, Read, Write, Write],
            Self::SetPaused(_) => &[Signer, Read, Write],
            Self::Halt { .. } => &[Signer, Write, Write],
            Self::ResumeMore => &[Signer, Write, Write, Write, Write],
            Self::Transfer(_) => &[Signer, Read, Write, Write, Write],
            Self::TransferChecked(_) => &[Signer, Read, Write, Write, Write, Read],
            Self::TransferExtended(_) => &[Signer, Read, Write, Write, Write, Read, Write, Write],
            Self::OpenGrant { .. } => &[Signer, Payer, Read, Read, Write, Refund, Write, Read],
            Self::SetApprover { .. } => &[Payer, Read, Write],
            Self::RemoveApprover => &[Payer, Write, Write],
            Self::SetBudget { .. } | Self::CloseBudget => &[Payer, Read, Write],
            Self::SetBounds { .. } => &[Signer, Payer, Read, Write, Write, Read],
            Self::SetTagBuckets(_) => &[Signer, Payer, Read, Write, Write],
            Self::CloseGrant => &[Signer, Read, Write, Write],
            Self::VoidGrants => &[Signer, Read, Write],
            Self::Withdraw { .. } => &[Signer, Read, Read, Write, Read, Write, Read],
            Self::CloseAgent => &[Payer, Read, Write, Write, Read, Write, Write, Write, Write],
            Self::SetRentRefund => &[Signer, Read, Write, Refund],
            Self::ReclaimRent => &[Write, Write],
        }
    }

    fn programs(&self) -> &'static [Pubkey] {
        const CREATE_AGENT: &[Pubkey] = &[token::ID, associated_token::ID, system_program::ID];
        match self {
            Self::CreateAgent { .. } => CREATE_AGENT,
            Self::CreateOperator { .. }
            | Self::SetPolicy { .. }
            | Self::OpenDraft(_)
            | Self::OpenGrant { .. }
            | Self::SetApprover { .. }
            | Self::SetBounds { .. }
            | Self::SetTagBuckets(_)
            | Self::SetBudget { .. }
            | Self::ApplyDraft { .. } => &[system_program::ID],
            Self::Transfer(_) | Self::TransferChecked(_) | Self::TransferExtended(_) => &[token::ID],
            Self::CloseAgent => &[token::ID, system_program::ID],
            _ => &[],
        }
    }

    fn data(&self) -> Vec<u8> {
        match self.clone() {
            Self::CreateOperator { id, keys } => instruction::CreateOperator { id, keys }.data(),
            Self::UpdateOperator(update) => instruction::UpdateOperator { update }.data(),
            Self::AcceptAdmin => instruction::AcceptAdmin {}.data(),
            Self::CreateAgent { agent_id, policy } => {
                instruction::CreateAgent { agent_id, policy: policy.into() }.data()
            }
            Self::SetPolicy { expected_version, policy } => {
                instruction::SetPolicy { expected_version, policy: policy.into() }.data()
            }
            Self::OpenDraft(args) => instruction::OpenDraft { args }.data(),
            Self::WriteDraft { hash, start, entries } => {
                instruction::WriteDraft { hash, start, entries }.data()
            }
            Self::ApplyDraft { hash } => instruction::ApplyDraft { hash }.data(),
            Self::CloseDraft { hash } => instruction::CloseDraft { hash }.data(),
            Self::SetPaused(paused) => instruction::SetPaused { paused }.data(),
            Self::Halt { resume: false } => instruction::Halt {}.data(),
            Self::Halt { resume: true } | Self::ResumeMore => instruction::Resume {}.data(),
            Self::Transfer(Payment { transfer_id, asked_at, amount, memo }) => {
                instruction::Transfer { transfer_id, asked_at, amount, memo }.data()
            }
            Self::TransferChecked(Payment { transfer_id, asked_at, amount, memo }) => {
                instruction::TransferChecked { transfer_id, asked_at, amount, memo }.data()
            }
            Self::TransferExtended(Payment { transfer_id, asked_at, amount, memo }) => {
                instruction::TransferExtended { transfer_id, asked_at, amount, memo }.data()
            }
            Self::OpenGrant { id, terms, .. } => instruction::OpenGrant { id, terms }.data(),
            Self::SetApprover { key, max_grant, max_daily } => {
                instruction::SetApprover { key, max_grant, max_daily }.data()
            }
            Self::RemoveApprover => instruction::RemoveApprover {}.data(),
            Self::SetBudget { id, caps, expected } => instruction::SetBudget { id, caps, expected }.data(),
            Self::CloseBudget => instruction::CloseBudget {}.data(),
            Self::SetBounds { by_grant_only, cap, budget, expected } => {
                let bounds = Bounds { by_grant_only, max_30_day_spend: cap, budget };
                instruction::SetBounds { bounds, expected }.data()
            }
            Self::SetTagBuckets(buckets) => instruction::SetTagBuckets { buckets }.data(),
            Self::CloseGrant => instruction::CloseGrant {}.data(),
            Self::VoidGrants => instruction::VoidGrants {}.data(),
            Self::Withdraw { amount } => instruction::Withdraw { amount }.data(),
            Self::CloseAgent => instruction::CloseAgent {}.data(),
            Self::SetRentRefund => instruction::SetRentRefund {}.data(),
            Self::ReclaimRent => instruction::ReclaimRent {}.data(),
        }
    }
}

impl Call {
    pub fn new(args: Args, slots: impl Into<Vec<Pubkey>>) -> Self {
        let slots = slots.into();
        assert_eq!(slots.len(), args.slots().len(), "{args:?}");
        Self { args, slots, signed: true }
    }

    /// Whether `key` signs the transaction, in any slot.
    pub fn signs(&self, key: &Pubkey) -> bool {
        let signs = |(at, slot): (usize, &Slot)| {
            matches!(slot, Slot::Signer | Slot::Payer) && (at > 0 || self.signed)
        };
        let mut signers = self.args.slots().iter().enumerate().filter(|(at, slot)| signs((*at, slot)));
        signers.any(|(at, _)| self.slots[at] == *key)
    }

    /// The accounts that the call may change.
    pub fn written(&self) -> impl Iterator<Item = Pubkey> + '_ {
        let slots = self.args.slots().iter().zip(&self.slots);
        slots
            .filter(|(slot, _)| matches!(slot, Slot::Payer | Slot::Write | Slot::Refund))
            .map(|(_, key)| *key)
    }

    /// The call, and the memo before it.
    pub fn instructions(&self) -> Vec<Instruction> {
        let memo = match &self.args {
            Args::OpenGrant { memo: Some(memo), .. } => {
                Some(Instruction { program_id: MEMO, accounts: vec![], data: memo.clone().into_bytes() })
            }
            _ => None,
        };
        memo.into_iter().chain([self.instruction()]).collect()
    }

    fn instruction(&self) -> Instruction {
        let meta = |(at, (slot, key)): (usize, (&Slot, &Pubkey))| AccountMeta {
            pubkey: *key,
            is_signer: matches!(slot, Slot::Signer | Slot::Payer) && (at > 0 || self.signed),
            is_writable: matches!(slot, Slot::Payer | Slot::Write | Slot::Refund),
        };
        let mut accounts: Vec<_> = self.args.slots().iter().zip(&self.slots).enumerate().map(meta).collect();
        accounts.extend(self.args.programs().iter().map(|id| AccountMeta::new_readonly(*id, false)));
        Instruction { program_id: purser::ID, accounts, data: self.args.data() }
    }
}

impl From<Policy> for PolicyArgs {
    fn from(policy: Policy) -> Self {
        Self {
            rules: policy.rules(),
            allowlist: match policy.only {
                None => AllowlistArg::Anyone,
                Some(only) => {
                    AllowlistArg::Only { wallets: only.wallets, token_accounts: only.token_accounts }
                }
            },
        }
    }
}

/// The arguments that open a draft for `policy`.
pub fn draft_args(policy: &Policy, expected_version: u32, hash: [u8; 32]) -> DraftArgs {
    DraftArgs {
        hash,
        expected_version,
        rules: policy.rules(),
        entries: policy.only.as_ref().map(|only| EntryCounts {
            wallets: only.wallets.len() as u16,
            token_accounts: only.token_accounts.len() as u16,
        }),
    }
}
