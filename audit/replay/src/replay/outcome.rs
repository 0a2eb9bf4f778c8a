//! The result of a replay: what does not hold, what each account did, and what was in force when.

use std::collections::{BTreeMap, BTreeSet};

use anchor_lang::prelude::Pubkey;
use purser::state::Operator;
use purser::{Bounds, BudgetCaps, OpenedBy};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::check::Check;

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub signature: String,
    pub slot: u64,
    /// Unix seconds.
    pub time: i64,
}

impl Place {
    /// Its time as text.
    pub fn date(&self) -> String {
        date(self.time)
    }
}

/// Unix seconds as text.
pub fn date(unix_seconds: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp(unix_seconds).ok();
    moment.and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_else(|| unix_seconds.to_string())
}

/// An amount that may exceed what one account can hold, in USDC.
pub fn usdc(micros: u128) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    format!("{whole}.{rest:06}")
}

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub check: Check,
    /// `None`: the operator, and so all its accounts.
    pub account: Option<Pubkey>,
    /// `None`: it is about how the chain stands now.
    pub place: Option<Place>,
    pub text: String,
}

/// A replayed payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub agent: Pubkey,
    pub number: u64,
    pub amount: UsdcAmount,
    /// A token account, and whose it is as far as the node or the log says.
    pub recipient: Pubkey,
    pub owner: Option<Pubkey>,
    pub transfer_id: [u8; 16],
    pub memo: Vec<u8>,
    /// In force then.
    pub policy_version: u32,
    /// The grant that it names.
    pub grant: Option<Pubkey>,
    /// Who opened that grant; `None` too if its opening was not read.
    pub approved_by: Option<(OpenedBy, Pubkey)>,
}

/// A movement of money on an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Movement {
    Payment {
        payment: Payment,
        /// The daily limit at that time.
        cap: Limit,
    },
    /// Made by the admin, past the policy.
    Withdrawal {
        agent: Pubkey,
        amount: UsdcAmount,
        /// A token account, and whose it is as far as the node or the log says.
        recipient: Pubkey,
        owner: Option<Pubkey>,
        admin: Pubkey,
    },
    Deposit {
        agent: Pubkey,
        amount: UsdcAmount,
        /// The token account that it came from, if there was only one.
        source: Option<Pubkey>,
        /// The id and memo of the program's transfer that made it, if there was only one.
        transfer: Option<([u8; 16], Vec<u8>)>,
    },
}

impl Movement {
    pub fn agent(&self) -> Pubkey {
        match self {
            Self::Payment { payment, .. } => payment.agent,
            Self::Withdrawal { agent, .. } | Self::Deposit { agent, .. } => *agent,
        }
    }

    /// The amount that it took out of an account.
    pub fn out_of(&self, account: &Pubkey) -> Option<UsdcAmount> {
        match self {
            Self::Payment { payment, .. } => (payment.agent == *account).then_some(payment.amount),
            Self::Withdrawal { agent, amount, .. } => (agent == account).then_some(*amount),
            Self::Deposit { .. } => None,
        }
    }
}

/// A time in which a policy, or what binds an account beside it, allowed what the one before it had refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loosening {
    pub agent: Pubkey,
    pub version: u32,
    pub signer: Pubkey,
    /// In words.
    pub what: Vec<String>,
    pub from: Place,
    /// `None`: it is still so.
    pub until: Option<Place>,
    /// What the account paid meanwhile.
    pub payments: u64,
    pub paid: u128,
    pub(super) before: Before,
}

/// What a loosening loosened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    Policy(OnChainPolicy),
    Bounds(Bounds),
}

impl Loosening {
    /// Until now it had counted what was paid before it.
    pub(super) fn end(&mut self, until: Option<&Place>, so_far: (u64, u128)) {
        self.until = until.cloned();
        self.payments = so_far.0.saturating_sub(self.payments);
        self.paid = so_far.1.saturating_sub(self.paid);
    }
}

/// A policy of an account, from when to when it was in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub version: u32,
    pub signer: Pubkey,
    pub words: String,
    pub from: Place,
    /// `None`: it is still in force.
    pub until: Option<Place>,
    /// What the account paid meanwhile.
    pub payments: u64,
    pub paid: u128,
}

impl Term {
    /// Until now it had counted what was paid before it.
    pub(super) fn end(&mut self, until: Option<&Place>, so_far: (u64, u128)) {
        self.until = until.cloned();
        self.payments = so_far.0.saturating_sub(self.payments);
        self.paid = so_far.1.saturating_sub(self.paid);
    }
}

/// What an entry of the timeline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    OperatorCreated,
    KeysSet,
    PolicySet,
    DraftSealed,
    DraftDropped,
    Halted,
    Resumed,
    Withdrawn,
    /// Also anew, at the address of one that was closed.
    AccountCreated,
    AccountClosed,
    GrantOpened,
    GrantClosed,
    GrantsVoided,
    PaidByGrant,
    ApproverSet,
    ApproverRemoved,
    BoundsSet,
    /// Bounds that allow what those before them refused.
    BoundsLoosened,
    /// Somebody got a right over an account's money.
    RightGiven,
}

/// Something that was in force from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    pub kind: MomentKind,
    pub place: Place,
    /// `None`: the operator.
    pub account: Option<Pubkey>,
    pub text: String,
}

/// Something that was so from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<T> {
    pub what: T,
    pub from: Place,
    /// `None`: it is still so.
    pub until: Option<Place>,
}

/// What a key of an operator is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    Admin,
    /// The admin's place is offered to it.
    PendingAdmin,
    PolicyAuthority,
    Guardian,
    TransferAuthority,
}

impl KeyRole {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::PendingAdmin => "offered the admin's place",
            Self::PolicyAuthority => "policy authority",
            Self::Guardian => "guardian",
            Self::TransferAuthority => "transfer authority",
        }
    }
}

/// A halt, of an account or of the whole operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    pub account: Option<Pubkey>,
    pub by: Pubkey,
    /// `None` too if the account was closed.
    pub resumed_by: Option<Pubkey>,
}

/// The caps of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetTerms {
    pub caps: BudgetCaps,
    /// Higher ones that wait, and until when.
    pub waiting: Option<(BudgetCaps, i64)>,
}

/// The summary of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Life {
    pub created: Option<Place>,
    pub closed: Option<Place>,
    /// Every version of its policy, in order.
    pub policies: Vec<Term>,
    pub payments: u64,
    pub paid: u128,
    pub withdrawn: u128,
    pub deposited: u128,
    /// The balance of its token account, before the first transaction and after the last one.
    pub first_balance: Option<u64>,
    pub last_balance: Option<u64>,
    /// The policy in force at the end, in words.
    pub terms: Option<String>,
}

/// The result of a replay.
#[derive(Debug, Default)]
pub struct Outcome {
    pub mismatches: Vec<Mismatch>,
    /// How many items each check examined.
    pub examined: BTreeMap<Check, u64>,
    /// What could not be checked, and why.
    pub unchecked: BTreeMap<Check, BTreeSet<String>>,
    pub lives: BTreeMap<Pubkey, Life>,
    /// All of the operator's accounts, audited or not, by token account.
    pub owners: BTreeMap<Pubkey, Pubkey>,
    /// In the order of the chain.
    pub movements: Vec<(Place, Movement)>,
    /// Transactions whose events were cut off, or not kept by the node, and so recomputed from what was signed.
    pub recomputed: Vec<(Place, u64)>,
    /// Events in this program's form that another program wrote: without effect, but reported.
    pub forged: Vec<(Place, Pubkey, &'static str)>,
    /// Transactions of an unknown version that do nothing here, as the node shows them.
    pub unknown_version: Vec<Place>,
    /// Unsigned gifts of SOL on a network of somebody's own.
    pub airdrops: Vec<Place>,
    /// Every time in which a policy, or bounds, allowed more than those before.
    pub loosenings: Vec<Loosening>,
    /// Micro-USDC that audited accounts paid by grants.
    pub by_grants: u128,
    /// Grants, approvers and budgets at the end.
    pub beside: BTreeSet<Pubkey>,
    /// How often a budget was raised.
    pub budgets_raised: u64,
    /// Keys, delays, halts and policies, in the order of the chain.
    pub timeline: Vec<TimelineEntry>,
    /// Each key of the operator, and what it was for.
    pub roles: Vec<Span<(KeyRole, Pubkey)>>,
    /// How many seconds loosened policies had to wait.
    pub delays: Vec<Span<u32>>,
    /// Every policy of each account, if asked for: its version, since when, and what it says.
    pub policies: BTreeMap<Pubkey, Vec<(u32, i64, OnChainPolicy)>>,
    pub halts: Vec<Span<Halt>>,
    /// What bound each account beside its policy.
    pub limits: Vec<Span<(Pubkey, Bounds)>>,
    /// Who could approve payments: at once, and in 24 hours, in micro-USDC.
    pub approvers: Vec<Span<(Pubkey, [u64; 2])>>,
    pub budgets: Vec<Span<(Pubkey, BudgetTerms)>>,
    /// How often an account was closed and created anew.
    pub anew: u64,
    /// Micro-USDC that counted against caps for 30 days until then.
    pub forgotten: u128,
    /// The operator at the end.
    pub keys: Option<Operator>,
    /// When the operator was created.
    pub operator_created: Option<Place>,
    /// Decisions that hold at one second before their block's date.
    pub second_earlier: Vec<Place>,
    /// Accounts whose token account the mint's freeze authority froze.
    pub frozen: Vec<Pubkey>,
    /// Over the signatures of the transactions, in order.
    pub inputs_sha256: String,
    pub transactions: u64,
    /// Files of the archive that are no part of this audit.
    pub surplus: Vec<String>,
    pub last_time: Option<i64>,
}

impl Outcome {
    /// Adds something that does not hold of the operator as a whole.
    pub(crate) fn finds(&mut self, check: Check, text: Option<String>) {
        let mismatch = |text| Mismatch { check, account: None, place: None, text };
        self.mismatches.extend(text.map(mismatch));
    }

    pub(crate) fn leaves_open(&mut self, check: Check, why: String) {
        self.unchecked.entry(check).or_default().insert(why);
    }
}
