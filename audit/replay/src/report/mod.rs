//! The result of an audit, ready to be shown.

mod build;
mod html;
mod ledger;
mod links;
mod parts;
mod period;
mod spans;
mod text;

pub use build::{Facts, Relayer, build};
pub use html::html;
pub use ledger::{LedgerEntry, LedgerTotal, totals};
pub use period::{AccountSums, CalendarDay, Period, PeriodDays, PeriodReport, Sums, signed_usdc};
pub use text::text;

use serde::Serialize;

use crate::check::Check;
use crate::replay::{KeyRole, MomentKind};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Holds,
    DoesNotHold,
    /// There was nothing to check: no policy had that rule, or the check was not requested.
    NothingToCheck,
    /// Some or all of it could not be checked: see `unchecked`.
    Incomplete,
}

impl Verdict {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "DOES NOT HOLD",
            Self::NothingToCheck => "nothing to check",
            Self::Incomplete => "incomplete",
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    pub check: Check,
    pub title: &'static str,
    pub means: &'static str,
    pub result: Verdict,
    /// How many items were examined.
    pub examined: u64,
    pub findings: Vec<Finding>,
    pub unchecked: Vec<String>,
}

/// Something that does not hold.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub account: Option<String>,
    pub text: String,
    #[serde(flatten)]
    pub at: Option<Reference>,
}

/// A transaction, and its URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    pub signature: String,
    pub slot: u64,
    pub time: String,
    pub explorer: Option<String>,
}

/// Something that an auditor has to know, but that breaks no rule.
#[derive(Debug, Clone, Serialize)]
pub struct Remark {
    pub text: String,
    pub at: Vec<Reference>,
    /// How many references are not listed.
    pub more: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct AccountReport {
    pub address: String,
    pub account_id: String,
    pub token_account: String,
    pub created: Option<Reference>,
    pub closed: Option<Reference>,
    /// The policy in force at the end; `None` where there is none any more.
    pub policy: Option<String>,
    /// Each policy that was in force, and what left meanwhile.
    pub policies: Vec<PolicyReport>,
    pub payments: u64,
    pub paid_usdc: String,
    pub withdrawn_usdc: String,
    /// Everything that left: payments and withdrawals.
    pub out_usdc: String,
    /// Everything that came in.
    pub deposited_usdc: String,
    pub first_balance_usdc: Option<String>,
    pub last_balance_usdc: Option<String>,
}

/// All accounts of the report together. What one of them pays to another counts on both sides.
#[derive(Debug, Clone, Serialize)]
pub struct TotalsReport {
    pub accounts: usize,
    pub payments: u64,
    pub paid_usdc: String,
    pub withdrawn_usdc: String,
    pub out_usdc: String,
    pub deposited_usdc: String,
    pub last_balance_usdc: String,
}

/// A policy of an account, and what left under it.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReport {
    pub version: u32,
    pub terms: String,
    pub signer: String,
    pub from: Reference,
    /// `None`: it is still in force.
    pub until: Option<Reference>,
    pub payments: u64,
    pub paid_usdc: String,
}

/// A key of the operator, and what it was for.
#[derive(Debug, Clone, Serialize)]
pub struct RoleReport {
    pub role: KeyRole,
    pub key: String,
    pub from: Reference,
    /// `None`: it is still so.
    pub until: Option<Reference>,
}

/// How long loosened policies had to wait.
#[derive(Debug, Clone, Serialize)]
pub struct DelayReport {
    pub seconds: u32,
    pub from: Reference,
    /// `None`: they still have to.
    pub until: Option<Reference>,
}

#[derive(Debug, Clone, Serialize)]
pub struct HaltReport {
    /// `None`: the operator, with all its accounts.
    pub account: Option<String>,
    pub by: String,
    pub from: Reference,
    /// `None`: it lasts.
    pub until: Option<Reference>,
    /// `None` too if the account was closed.
    pub resumed_by: Option<String>,
}

/// Money that the admin took out, past every policy.
#[derive(Debug, Clone, Serialize)]
pub struct WithdrawalReport {
    pub account: String,
    pub amount_usdc: String,
    /// A token account.
    pub recipient: String,
    pub recipient_owner: Option<String>,
    pub admin: String,
    #[serde(flatten)]
    pub at: Reference,
}

/// What the relayer says that accounts hold, beside what their token accounts hold.
#[derive(Debug, Clone, Serialize)]
pub struct SolvencyReport {
    pub purses_usdc: String,
    /// `None` if the relayer states something that is no amount.
    pub stated_usdc: Option<String>,
    pub accounts: Vec<BalanceReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BalanceReport {
    pub account: String,
    pub purse_usdc: String,
    pub stated_usdc: String,
}

/// What bound an account beside its policy.
#[derive(Debug, Clone, Serialize)]
pub struct LimitsReport {
    pub account: String,
    pub terms: String,
    pub from: Reference,
    /// `None`: it still does.
    pub until: Option<Reference>,
}

/// A key that could approve payments.
#[derive(Debug, Clone, Serialize)]
pub struct ApproverReport {
    pub key: String,
    pub max_grant_usdc: String,
    pub max_daily_usdc: String,
    pub from: Reference,
    /// `None`: it still can.
    pub until: Option<Reference>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BudgetReport {
    pub budget: String,
    pub max_daily_usdc: String,
    pub max_30_day_usdc: Option<String>,
    /// Higher caps that waited then.
    pub waiting: Option<WaitingCaps>,
    pub from: Reference,
    /// `None`: these are its caps still.
    pub until: Option<Reference>,
}

#[derive(Debug, Clone, Serialize)]
pub struct WaitingCaps {
    pub max_daily_usdc: String,
    pub max_30_day_usdc: Option<String>,
    /// Until when.
    pub until: String,
}

/// The operator's keys at the end.
#[derive(Debug, Clone, Serialize)]
pub struct KeysReport {
    pub admin: String,
    pub pending_admin: Option<String>,
    pub policy_authority: String,
    pub guardian: Option<String>,
    pub transfer_authorities: Vec<String>,
    pub loosening_delay_seconds: u32,
    pub halted: bool,
}

/// A time in which a policy allowed what the one before it had refused.
#[derive(Debug, Clone, Serialize)]
pub struct LooseningReport {
    pub account: String,
    pub policy_version: u32,
    pub signer: String,
    pub what: Vec<String>,
    pub from: Reference,
    /// `None`: it is still so.
    pub until: Option<Reference>,
    /// What left by payments meanwhile.
    pub payments: u64,
    pub paid_usdc: String,
}

/// Keys, delays, halts and policies, from a moment on.
#[derive(Debug, Clone, Serialize)]
pub struct Moment {
    pub kind: MomentKind,
    /// `None`: the operator.
    pub account: Option<String>,
    pub text: String,
    #[serde(flatten)]
    pub at: Reference,
}

#[derive(Debug, Clone, Serialize)]
pub struct ProgramReport {
    pub program: String,
    /// Whether the running program is the committed build; `None` if it could not be read.
    pub is_committed_build: Option<bool>,
    pub committed_sha256: String,
    pub sha256: Option<String>,
    /// The slot of the last deployment, upgrade or extension.
    pub changed_in_slot: Option<u64>,
    pub upgrade_authority: Option<String>,
    pub upgrades: Vec<Upgrade>,
    /// Payments made in or before that slot: another build may have decided them.
    pub payments_of_older_builds: u64,
}

impl ProgramReport {
    /// Whoever may replace it, in words.
    fn upgradeable_by(&self) -> &str {
        match (&self.upgrade_authority, self.sha256.is_some()) {
            (Some(key), _) => key,
            (None, true) => "nobody",
            (None, false) => "unknown",
        }
    }

    /// Which build it is, in words.
    fn build(&self) -> &'static str {
        match self.is_committed_build {
            Some(true) => "the committed build",
            Some(false) => "ANOTHER BUILD than the committed one",
            None => "could not be read",
        }
    }
}

/// A change of the program.
#[derive(Debug, Clone, Serialize)]
pub struct Upgrade {
    pub what: &'static str,
    pub authority: Option<String>,
    pub at: Reference,
}

#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub holds: bool,
    /// Whether nothing had to be left out.
    pub complete: bool,
    pub verdict: String,
    pub operator: String,
    pub account: Option<String>,
    pub genesis_hash: String,
    pub usdc_mint: String,
    pub read_from: String,
    pub until_slot: u64,
    pub until_time: Option<String>,
    pub transactions: u64,
    /// Over the signatures of the transactions, in the order of the chain: two audits of the same past have the same.
    pub inputs_sha256: String,
    /// The public network and mint by name, or that they are none.
    pub network: String,
    pub mint: String,
    /// The root of a Merkle tree over everything that was read, as it stands in the directory.
    pub archive_sha256: String,
    /// The version of this audit.
    pub tool: &'static str,
    /// Of the program that made this report, if it was able to read itself.
    pub tool_sha256: Option<String>,
    /// When it was made, by the clock of the machine.
    pub made_at: String,
    pub from_time: Option<String>,
    pub keys: Option<KeysReport>,
    pub roles: Vec<RoleReport>,
    pub delays: Vec<DelayReport>,
    pub halts: Vec<HaltReport>,
    pub limits: Vec<LimitsReport>,
    pub approvers: Vec<ApproverReport>,
    pub budgets: Vec<BudgetReport>,
    /// How often an account was closed and created anew at its address.
    pub created_anew: u64,
    pub withdrawals: Vec<WithdrawalReport>,
    pub loosenings: Vec<LooseningReport>,
    pub timeline: Vec<Moment>,
    pub program: ProgramReport,
    pub accounts: Vec<AccountReport>,
    pub totals: TotalsReport,
    /// The totals of each account in the requested period.
    pub period: PeriodReport,
    /// `None`: no relayer was asked.
    pub solvency: Option<SolvencyReport>,
    pub checks: Vec<CheckReport>,
    pub remarks: Vec<Remark>,
    /// What no audit of the chain can see.
    pub unseen: Vec<String>,
    /// Every movement of money in the period, in the order of the chain. A file of its own.
    #[serde(skip)]
    pub ledger: Vec<LedgerEntry>,
}

/// Text that somebody else chose, with everything in escapes that could move a cursor, forge a line or turn the direction of
/// writing.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hostile(letter) { shown.extend(letter.escape_unicode()) } else { shown.push(letter) }
    }
    shown
}

/// True for characters that move the cursor, end a line or change the writing direction.
pub fn is_hostile(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
