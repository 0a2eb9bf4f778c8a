use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::{AccountMeta, Pubkey};
use anchor_lang::Discriminator;
use purser::error::PurserError;
use purser::instruction;
use purser::state::{Agent, Approver, Budget, Grant, Operator, PolicyDraft};

use super::{Call, Expected, Who, World};

/// What an instruction requires of a slot; it refuses every other account there.
pub struct Slot {
    name: &'static str,
    kind: Kind,
    /// The answer to another account of the right kind.
    other: Expected,
    exceptions: Vec<(&'static str, Option<Expected>)>,
    /// The answers to too few accounts, a missing signature and missing write access.
    missing: Expected,
    unsigned: Expected,
    read_only: Expected,
}

/// The name of a call's account that is not in the cast.
const OWN: &str = "another slot's account";

enum Kind {
    Signer,
    State { discriminator: &'static [u8], bytes: usize },
    Program,
    Address,
    Raw,
    Ignored,
}

/// A signer; `other` is the answer to any other key that signs.
pub fn signer(name: &'static str, other: impl Into<Expected>) -> Slot {
    Slot::new(name, Kind::Signer, other)
}

/// A signer that may be anyone: the payer.
pub fn any_signer(name: &'static str) -> Slot {
    let everyone = [
        "admin",
        "policy_authority",
        "transfer_authority",
        "guardian",
        "stranger",
        "new_admin",
        "foreign_admin",
        "foreign_policy_authority",
        "foreign_transfer_authority",
        "payer",
        "draft_payer",
    ];
    signer(name, PurserError::Unauthorized).accepts(&everyone)
}

/// What rent can go back to: whatever belongs to the system program.
pub const WALLETS: [&str; 13] = [
    "admin",
    "policy_authority",
    "transfer_authority",
    "guardian",
    "stranger",
    "new_admin",
    "foreign_admin",
    "foreign_policy_authority",
    "foreign_transfer_authority",
    "payer",
    "draft_payer",
    "nobody",
    "agent_under_system_program",
];

pub fn operator(other: impl Into<Expected>) -> Slot {
    let kind = Kind::State { discriminator: Operator::DISCRIMINATOR, bytes: Operator::BYTES };
    Slot::new("operator", kind, other)
}

pub fn agent(other: impl Into<Expected>) -> Slot {
    let kind = Kind::State { discriminator: Agent::DISCRIMINATOR, bytes: Agent::BYTES };
    Slot::new("agent", kind, other)
}

pub fn draft(other: impl Into<Expected>) -> Slot {
    let kind = Kind::State { discriminator: PolicyDraft::DISCRIMINATOR, bytes: PolicyDraft::BYTES };
    Slot::new("draft", kind, other)
}

pub fn program(name: &'static str) -> Slot {
    Slot::new(name, Kind::Program, ErrorCode::InvalidProgramId)
}

/// An account whose address the program knows, or whose contents it reads itself.
pub fn address(name: &'static str, other: impl Into<Expected>) -> Slot {
    Slot::new(name, Kind::Address, other)
}

/// An optional approver.
pub fn approver(name: &'static str) -> Slot {
    let kind = Kind::State { discriminator: Approver::DISCRIMINATOR, bytes: Approver::BYTES };
    Slot::new(name, kind, PurserError::Unauthorized)
}

/// An account that nothing looks at.
pub fn ignored(name: &'static str) -> Slot {
    Slot::new(name, Kind::Ignored, PurserError::Unauthorized)
}

/// An account of an instruction that bypasses Anchor. `other` is also the answer to a missing signature.
pub fn raw(name: &'static str, other: impl Into<Expected>) -> Slot {
    let other = other.into();
    Slot {
        missing: PurserError::MalformedInstruction.into(),
        unsigned: other.clone(),
        ..Slot::new(name, Kind::Raw, other)
    }
}

impl Slot {
    fn new(name: &'static str, kind: Kind, other: impl Into<Expected>) -> Self {
        Self {
            name,
            kind,
            other: other.into(),
            exceptions: Vec::new(),
            missing: ErrorCode::AccountNotEnoughKeys.into(),
            unsigned: ErrorCode::AccountNotSigner.into(),
            read_only: ErrorCode::ConstraintMut.into(),
        }
    }

    /// The answer when the transaction does not make the account writable.
    pub fn read_only(self, answer: impl Into<Expected>) -> Self {
        Self { read_only: answer.into(), ..self }
    }

    /// These accounts get another answer.
    pub fn but(mut self, names: &[&'static str], answer: impl Into<Expected>) -> Self {
        let answer = answer.into();
        self.exceptions.extend(names.iter().map(|name| (*name, Some(answer.clone()))));
        self
    }

    /// These accounts are accepted, too.
    pub fn accepts(mut self, names: &[&'static str]) -> Self {
        self.exceptions.extend(names.iter().map(|name| (*name, None)));
        self
    }

    /// Unnamed accounts of other slots are accepted, too.
    pub fn accepts_own(self) -> Self {
        self.accepts(&[OWN])
    }

    /// The answer to `candidate`; `None` if it is accepted.
    fn answer(&self, world: &World, candidate: (&str, Pubkey), writable: bool) -> Option<Expected> {
        let (name, key) = candidate;
        if let Some((_, answer)) = self.exceptions.iter().find(|(known, _)| *known == name) {
            return answer.clone();
        }
        if matches!(self.kind, Kind::Ignored) {
            return None;
        }
        // No transaction can make these writable.
        let never_written = ["system_program", "purser_program", "clock"].contains(&name);
        Some(match &self.kind {
            Kind::Signer if Who::with_key(&key).is_none() => ErrorCode::AccountNotSigner.into(),
            Kind::State { discriminator, bytes } => match world.svm.get_account(&key) {
                Some(account) if account.owner == purser::ID => {
                    if account.data.len() < discriminator.len() {
                        ErrorCode::AccountDiscriminatorNotFound.into()
                    } else if !account.data.starts_with(discriminator) {
                        ErrorCode::AccountDiscriminatorMismatch.into()
                    } else if account.data.len() < *bytes {
                        PurserError::UnknownLayout.into()
                    } else {
                        self.other.clone()
                    }
                }
                Some(_) | None => ErrorCode::AccountOwnedByWrongProgram.into(),
            },
            Kind::Address
                if writable && never_written && self.read_only == ErrorCode::ConstraintMut.into() =>
            {
                self.read_only.clone()
            }
            Kind::Signer | Kind::Program | Kind::Address | Kind::Raw | Kind::Ignored => self.other.clone(),
        })
    }
}

/// Puts every account of the cast into every slot of `call`, which succeeds unchanged. Also removes signatures and write
/// access, leaves accounts out and adds some.
#[track_caller]
pub fn attack(world: &World, call: &Call, slots: &[Slot]) {
    assert_eq!(call.accounts.len(), slots.len(), "every slot needs its attacks");
    // What follows the accounts of a resume is more agents to resume.
    if !call.data.starts_with(instruction::Resume::DISCRIMINATOR) {
        attack_with_extra_accounts(world, call);
    }
    let mut target = world.clone();
    for (index, slot) in slots.iter().enumerate() {
        let right = call.accounts[index].clone();
        let short = Call { accounts: call.accounts[..index].to_vec(), data: call.data.clone() };
        target.refuse_as(&format!("no {}", slot.name), &short, slot.missing.clone());
        if right.is_signer {
            let mut unsigned = call.clone();
            unsigned.accounts[index].is_signer = false;
            target.refuse_as(&format!("unsigned {}", slot.name), &unsigned, slot.unsigned.clone());
        }
        if right.is_writable {
            let mut read_only = call.clone();
            read_only.accounts[index].is_writable = false;
            target.refuse_as(&format!("read-only {}", slot.name), &read_only, slot.read_only.clone());
        }
        let known = |key: &Pubkey| world.cast.iter().any(|(_, known)| known == *key);
        let own = call.accounts.iter().map(|account| account.pubkey).filter(|key| !known(key));
        let candidates = world.cast.iter().chain(own.map(|key| (OWN, key)));
        for candidate in candidates.filter(|(_, key)| *key != right.pubkey) {
            let mut forged = call.clone().with(index, candidate.1);
            forged.accounts[index].is_signer = right.is_signer && Who::with_key(&candidate.1).is_some();
            match slot.answer(world, candidate, right.is_writable) {
                Some(expected) => {
                    target.refuse_as(&format!("{} as {}", candidate.0, slot.name), &forged, expected);
                }
                None => drop(world.clone().accept(&forged)),
            }
        }
        for (name, _) in slot.exceptions.iter().filter(|(name, _)| *name != OWN) {
            world.cast.get(name);
        }
    }
}

/// Additional accounts, even writable and signing ones, change nothing.
#[track_caller]
fn attack_with_extra_accounts(world: &World, call: &Call) {
    let keys: Vec<Pubkey> = world.cast.iter().map(|(_, key)| key).collect();
    let mut plain = world.clone();
    let plainly = plain.accept(call);
    let mut extended = world.clone();
    let mut longer = call.clone();
    longer.accounts.extend(call.accounts.iter().cloned());
    longer.accounts.push(AccountMeta::new(Who::Stranger.key(), true));
    let writable = [world.foreign.agent, world.foreign.source, world.cast.get("stub")];
    longer.accounts.extend(writable.map(|key| AccountMeta::new(key, false)));
    longer.accounts.extend(keys.iter().take(40).map(|key| AccountMeta::new_readonly(*key, false)));
    let extendedly = extended.accept(&longer);
    assert_eq!(plainly.events, extendedly.events);
    assert!(plain.accounts(&keys) == extended.accounts(&keys), "extra accounts changed the result");
}

/// Gives each account of this program that `call` reads another layout version, and truncates it. Unchanged, `call` succeeds.
#[track_caller]
pub fn attack_layouts(world: &World, name: &str, call: &Call) {
    world.clone().accept(call);
    let bytes = |data: &[u8]| match data.get(..8) {
        Some(Operator::DISCRIMINATOR) => Operator::BYTES,
        Some(Agent::DISCRIMINATOR) => Agent::BYTES,
        Some(Grant::DISCRIMINATOR) => Grant::BYTES,
        Some(Approver::DISCRIMINATOR) => Approver::BYTES,
        Some(Budget::DISCRIMINATOR) => Budget::BYTES,
        _ => PolicyDraft::BYTES,
    };
    for slot in &call.accounts {
        let key = slot.pubkey;
        let Some(account) = world.svm.get_account(&key).filter(|account| account.owner == purser::ID) else {
            continue;
        };
        for version in [0, 1, 2, 255] {
            let mut world = world.clone();
            world.edit(key, |account| account.data[8] = version);
            world.refuse_as(&format!("{name}, version {version}"), call, PurserError::UnknownLayout);
        }
        // From only the discriminator to one byte too few.
        for length in [8, 9, 10, bytes(&account.data) - 1] {
            let mut world = world.clone();
            world.edit(key, |account| account.data.truncate(length));
            world.refuse_as(&format!("{name}, {length} bytes"), call, PurserError::UnknownLayout);
        }
        let mut world = world.clone();
        world.edit(key, |account| account.data.truncate(7));
        let empty = world.send(&[call.instruction()], Who::FeePayer);
        assert!(empty.is_err(), "{name}, 7 bytes");
    }
}
