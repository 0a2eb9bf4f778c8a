//! What whoever watches an operator wants to hear of at once, and what was told already.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use purser_replay::AuditError;
use purser_replay::replay::{KeyRole, MomentKind};
use purser_replay::report::{Reference, Report};

/// What is worth waking somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertKind {
    /// A policy allows what the one before it had refused.
    PolicyLoosened,
    /// A policy was sealed, to come into force later.
    DraftSealed,
    /// The program was deployed, upgraded or closed, or somebody else may do that.
    ProgramChanged,
    /// There is another admin, or its place is offered.
    AdminChanged,
    /// Somebody may be paid beyond an account's list or limits, at once or later.
    GrantOpened,
    /// An account was closed, or one was created: anew, it has nothing of what bound the one before.
    AccountClosed,
    AccountCreated,
    /// A key may approve payments, or other amounts.
    ApproverSet,
    /// Somebody got a right over an account's money: a delegate, a close authority, another owner.
    RightGiven,
    /// A check does not hold.
    Finding,
}

impl AlertKind {
    pub const ALL: [Self; 10] = [
        Self::PolicyLoosened,
        Self::DraftSealed,
        Self::ProgramChanged,
        Self::AdminChanged,
        Self::GrantOpened,
        Self::AccountClosed,
        Self::AccountCreated,
        Self::ApproverSet,
        Self::RightGiven,
        Self::Finding,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PolicyLoosened => "audit.policy_loosened",
            Self::DraftSealed => "audit.draft_sealed",
            Self::ProgramChanged => "audit.program_changed",
            Self::AdminChanged => "audit.admin_changed",
            Self::GrantOpened => "audit.grant_opened",
            Self::AccountClosed => "audit.account_closed",
            Self::AccountCreated => "audit.account_created",
            Self::ApproverSet => "audit.approver_set",
            Self::RightGiven => "audit.right_given",
            Self::Finding => "audit.finding",
        }
    }

    /// Whether it is told although it is older than the watch: it should not be there at all.
    const fn is_always_told(self) -> bool {
        matches!(self, Self::RightGiven | Self::Finding)
    }
}

impl Serialize for AlertKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One of them. The same fact has the same id in every audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alert {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: AlertKind,
    pub operator: String,
    pub account: Option<String>,
    pub text: String,
    /// The transaction; `None`: it is about how the chain stands.
    pub at: Option<Reference>,
}

/// Everything in a report that is worth an alert, in the order of the report.
pub fn alerts(report: &Report) -> Vec<Alert> {
    let alert = |kind: AlertKind, account: Option<&String>, text: String, at: Option<&Reference>| {
        let signature = at.map_or("", |at| at.signature.as_str());
        let whose = account.map_or("", String::as_str);
        let facts = [kind.as_str(), &report.genesis_hash, &report.operator, whose, signature, &text];
        let hash: [u8; 32] = Sha256::digest(facts.join("\n")).into();
        let bytes = hash.first_chunk().copied().unwrap_or_default();
        Alert {
            id: format!("evt_{}", Ulid::from_bytes(bytes)),
            kind,
            operator: report.operator.clone(),
            account: account.cloned(),
            text,
            at: at.cloned(),
        }
    };
    let mut all = Vec::new();
    for it in &report.loosenings {
        let text = format!("Version {} by {}: {}.", it.policy_version, it.signer, it.what.join(", "));
        all.push(alert(AlertKind::PolicyLoosened, Some(&it.account), text, Some(&it.from)));
    }
    for it in &report.timeline {
        let kind = match it.kind {
            MomentKind::DraftSealed => AlertKind::DraftSealed,
            MomentKind::GrantOpened => AlertKind::GrantOpened,
            MomentKind::AccountClosed => AlertKind::AccountClosed,
            MomentKind::AccountCreated => AlertKind::AccountCreated,
            MomentKind::ApproverSet => AlertKind::ApproverSet,
            // Those of an account are among the loosenings.
            MomentKind::BoundsLoosened if it.account.is_none() => AlertKind::PolicyLoosened,
            MomentKind::RightGiven => AlertKind::RightGiven,
            MomentKind::OperatorCreated
            | MomentKind::KeysSet
            | MomentKind::PolicySet
            | MomentKind::DraftDropped
            | MomentKind::Halted
            | MomentKind::Resumed
            | MomentKind::Withdrawn
            | MomentKind::GrantClosed
            | MomentKind::GrantsVoided
            | MomentKind::PaidByGrant
            | MomentKind::ApproverRemoved
            | MomentKind::BoundsSet
            | MomentKind::BoundsLoosened => continue,
        };
        all.push(alert(kind, it.account.as_ref(), it.text.clone(), Some(&it.at)));
    }
    for it in &report.program.upgrades {
        let by = it.authority.as_deref().unwrap_or("nobody that is named");
        let text = format!("The program was changed ({}) by {by}.", it.what);
        all.push(alert(AlertKind::ProgramChanged, None, text, Some(&it.at)));
    }
    for it in &report.roles {
        let text = match it.role {
            KeyRole::Admin => format!("The admin is {}.", it.key),
            KeyRole::PendingAdmin => format!("The admin's place is offered to {}.", it.key),
            KeyRole::PolicyAuthority | KeyRole::Guardian | KeyRole::TransferAuthority => continue,
        };
        all.push(alert(AlertKind::AdminChanged, None, text, Some(&it.from)));
    }
    for check in &report.checks {
        for it in &check.findings {
            let text = format!("{}: {}", check.title, it.text);
            all.push(alert(AlertKind::Finding, it.account.as_ref(), text, it.at.as_ref()));
        }
    }
    all
}

/// What was told already, kept beside what was read.
pub struct AlertLog {
    path: PathBuf,
    ids: BTreeSet<String>,
    /// Nothing was followed before.
    is_new: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct Saved {
    told: BTreeSet<String>,
}

impl AlertLog {
    pub fn read(folder: &Path) -> Result<Self, AuditError> {
        let path = folder.join("follow.json");
        let (saved, is_new) = match fs::read(&path) {
            Ok(bytes) => {
                let saved: Result<Saved, _> = serde_json::from_slice(&bytes);
                let unreadable = |why: serde_json::Error| why.to_string();
                match saved.map_err(unreadable) {
                    Ok(saved) => (saved, false),
                    Err(why) => return Err(AuditError::Unreadable { path, why }),
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (Saved::default(), true),
            Err(cause) => return Err(AuditError::File { path, cause }),
        };
        Ok(Self { path, ids: saved.told, is_new })
    }

    /// What is to be told of a report. At first, what lies behind is only noted, unless it should never have been.
    pub fn new_in(&mut self, report: &Report) -> Result<Vec<Alert>, AuditError> {
        let mut new = alerts(report);
        if std::mem::take(&mut self.is_new) {
            let (tell, known): (Vec<_>, Vec<_>) = new.into_iter().partition(|it| it.kind.is_always_told());
            self.ids.extend(known.into_iter().map(|alert| alert.id));
            self.save()?;
            new = tell;
        }
        let mut seen = BTreeSet::new();
        new.retain(|alert| !self.ids.contains(&alert.id) && seen.insert(alert.id.clone()));
        Ok(new)
    }

    /// Call this once it was told: after a stop in between it is told again, under the same id.
    pub fn was_told(&mut self, alert: &Alert) -> Result<(), AuditError> {
        self.ids.insert(alert.id.clone());
        self.save()
    }

    fn save(&self) -> Result<(), AuditError> {
        let failed = |cause: std::io::Error| AuditError::File { path: self.path.clone(), cause };
        let saved = Saved { told: self.ids.clone() };
        let bytes = serde_json::to_vec(&saved).map_err(|error| failed(error.into()))?;
        let beside = self.path.with_extension("part");
        fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &self.path)).map_err(failed)
    }
}
