//! The result of an audit, ready to be shown.

mod build;
mod html;
mod text;

pub use build::{Facts, build};
pub use html::html;
pub use text::text;

use serde::Serialize;

use crate::check::Check;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Holds,
    DoesNotHold,
    /// There was nothing to check, or the check was not requested.
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
    pub policy_versions: u64,
    pub payments: u64,
    pub paid_usdc: String,
    pub withdrawn_usdc: String,
    pub deposited_usdc: String,
    pub first_balance_usdc: Option<String>,
    pub last_balance_usdc: Option<String>,
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
    /// The version of this audit.
    pub tool: &'static str,
    pub from_time: Option<String>,
    pub keys: Option<KeysReport>,
    pub loosenings: Vec<LooseningReport>,
    pub timeline: Vec<Moment>,
    pub program: ProgramReport,
    pub accounts: Vec<AccountReport>,
    pub checks: Vec<CheckReport>,
    pub remarks: Vec<Remark>,
    /// What no audit of the chain can see.
    pub unseen: Vec<String>,
}
