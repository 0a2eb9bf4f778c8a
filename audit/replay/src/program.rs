//! Which build of the program runs, who may replace it, and when it was replaced.

use anchor_lang::prelude::Pubkey;
use purser_client::{
    Comparison, Landed, ProgramData, UPGRADEABLE_LOADER, WireLanded, committed_sha256, compare,
    program_data_address,
};

use crate::AuditError;
use crate::archive::{Archive, SavedAccount, program_data_at};
use crate::check::Check;
use crate::replay::{Outcome, Place};

/// What is known about the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// `None` if it could not be read.
    pub is_committed: Option<bool>,
    pub sha256: Option<String>,
    pub changed_in_slot: Option<u64>,
    pub upgrade_authority: Option<Pubkey>,
    /// Oldest first: each change, and the authority that signed it.
    pub changes: Vec<(Place, &'static str, Option<Pubkey>)>,
}

/// Reads the program's state and changes from the archive.
pub fn program(archive: &Archive, id: &Pubkey, outcome: &mut Outcome) -> Result<Program, AuditError> {
    let program = read(archive, id)?;
    *outcome.examined.entry(Check::Program).or_default() += 1;
    // If the account was not saved, this check stays open: the directory's own check reports the gap.
    let is_saved = archive.account(id)?.is_some() && archive.account(&program_data_at(id))?.is_some();
    match program.is_committed {
        Some(true) => {}
        // The address is part of a build, so one under another address cannot be the committed one.
        Some(false) if *id != purser::ID => {}
        Some(false) => outcome.finds(
            Check::Program,
            Some("ANOTHER BUILD than the committed one runs. It decides by what its source says.".to_owned()),
        ),
        None if is_saved => {
            outcome.finds(Check::Program, Some(format!("No program that can be read stands at {id}.")));
        }
        None => {
            let why = format!("{id}, or its bytes, was not saved as it stands on the chain");
            outcome.leaves_open(Check::Program, why);
        }
    }
    Ok(program)
}

fn read(archive: &Archive, id: &Pubkey) -> Result<Program, AuditError> {
    let account = |address: &Pubkey| -> Result<Option<SavedAccount>, AuditError> {
        Ok(archive.account(address)?.and_then(|snapshot| snapshot.account))
    };
    let mut program = Program::default();
    let own = account(id)?;
    let own = own.as_ref().and_then(|own| Some((own.owner()?, own.bytes()?)));
    let Some(address) = own.and_then(|(owner, data)| program_data_address(&owner, &data)) else {
        return Ok(program);
    };
    if let Some(data) = account(&address)?.as_ref().and_then(SavedAccount::bytes)
        && let Some(read) = ProgramData::read(&data)
    {
        let committed = committed_sha256();
        program.changed_in_slot = Some(read.slot);
        program.upgrade_authority = read.upgrade_authority;
        (program.is_committed, program.sha256) = match compare(read.bytes, &committed) {
            Comparison::Same => (Some(true), Some(committed)),
            Comparison::Other(found) => (Some(false), Some(found)),
        };
    }
    for line in archive.signatures(&address)?.iter().rev().filter(|line| line.err.is_none()) {
        let Some(saved) = archive.transaction(&line.signature)? else { continue };
        let wire = serde_json::from_value::<WireLanded>(saved).ok();
        let read = wire.and_then(|wire| wire.read(&UPGRADEABLE_LOADER, &Pubkey::default(), &line.signature));
        let Some(Landed::Well(landed)) = read else { continue };
        for called in landed.calls.iter().filter(|called| called.accounts.contains(&address)) {
            let Some((what, authority)) = change(&called.data) else { continue };
            let place = Place {
                signature: line.signature.clone(),
                slot: landed.slot,
                time: landed.block_time.unwrap_or_default(),
            };
            let authority = authority.and_then(|place| called.accounts.get(place).copied());
            program.changes.push((place, what, authority));
        }
    }
    Ok(program)
}

/// What a loader instruction does to a program, and the index of its authority (solana-loader-v3-interface).
fn change(data: &[u8]) -> Option<(&'static str, Option<usize>)> {
    match u32::from_le_bytes(*data.first_chunk()?) {
        2 => Some(("deployed", Some(7))),
        3 => Some(("upgraded", Some(6))),
        4 => Some(("upgrade authority changed", Some(1))),
        5 => Some(("closed", Some(2))),
        6 | 9 => Some(("extended", None)),
        7 => Some(("upgrade authority handed over", Some(1))),
        _ => None,
    }
}
