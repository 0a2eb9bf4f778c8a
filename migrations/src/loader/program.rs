//! A deployed program, as the chain holds it.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};
use solana_loader_v3_interface::get_program_data_address;
use solana_loader_v3_interface::state::UpgradeableLoaderState;
use solana_sdk::account::Account;

use crate::network::Network;

/// First four bytes of a program account, little-endian.
const PROGRAM: u32 = 2;
/// First four bytes of a program data account, little-endian.
const PROGRAM_DATA: u32 = 3;

/// A deployed program.
pub struct DeployedProgram {
    pub program_data: Pubkey,
    /// Slot of the last deploy, upgrade or extension.
    pub slot: u64,
    /// Who may upgrade it; `None` if it is final.
    pub upgrade_authority: Option<Pubkey>,
    /// The program, then zeros up to the length that it may grow to.
    bytes: Vec<u8>,
}

/// The program at `id`, or `None` if there is none yet.
pub async fn read(network: &Network, id: &Pubkey) -> Result<Option<DeployedProgram>> {
    let program_data = get_program_data_address(id);
    let [program, data] = network.accounts(&[*id, program_data]).await?;
    let Some(program) = program.filter(|account| account.owner != anchor_lang::system_program::ID) else {
        return Ok(None);
    };
    if program.owner != bpf_loader_upgradeable::ID || tag(&program) != Some(PROGRAM) {
        bail!("{id} is not a program of the upgradeable loader, but an account of {}", program.owner);
    }
    let data = data.with_context(|| {
        format!(
            "the program {id} was closed, and a closed program's address is lost: deploy under another one"
        )
    })?;
    DeployedProgram::parse(program_data, &data)
        .map(Some)
        .ok_or_else(|| anyhow!("the program data account {program_data} has an unknown layout"))
}

impl DeployedProgram {
    /// From the loader's layout: tag u32, slot u64, authority as a flag byte and 32 bytes, then the program.
    pub fn parse(program_data: Pubkey, account: &Account) -> Option<Self> {
        if tag(account)? != PROGRAM_DATA {
            return None;
        }
        let data = &account.data;
        let authority = || Some(Pubkey::new_from_array(data.get(13..45)?.try_into().ok()?));
        Some(Self {
            program_data,
            slot: u64::from_le_bytes(data.get(4..12)?.try_into().ok()?),
            upgrade_authority: match data.get(12)? {
                0 => None,
                _ => Some(authority()?),
            },
            bytes: data.get(UpgradeableLoaderState::size_of_programdata_metadata()..)?.to_vec(),
        })
    }

    /// How many bytes a program here may have without an extension.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Whether exactly these bytes run, followed by nothing but zeros.
    pub fn holds(&self, elf: &[u8]) -> bool {
        self.bytes.strip_prefix(elf).is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
    }

    /// SHA-256 of the program in lower-case hex. `expected`, if the program with some of the zeros after it has that
    /// hash (a file may end with zeros itself); otherwise the hash of the bytes up to the last nonzero one.
    pub fn sha256(&self, expected: &str) -> String {
        let end = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let (program, zeros) = self.bytes.split_at(end);
        let mut hasher = Sha256::new_with_prefix(program);
        let shortest = hex(&hasher.clone().finalize());
        if shortest == expected {
            return shortest;
        }
        for zero in zeros {
            hasher.update([*zero]);
            if hex(&hasher.clone().finalize()) == expected {
                return expected.to_string();
            }
        }
        shortest
    }
}

/// SHA-256 in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tag(account: &Account) -> Option<u32> {
    Some(u32::from_le_bytes(account.data.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployed(bytes: &[u8]) -> DeployedProgram {
        let mut data = PROGRAM_DATA.to_le_bytes().to_vec();
        data.extend(9u64.to_le_bytes());
        data.push(1);
        data.extend([5; 32]);
        data.extend(bytes);
        DeployedProgram::parse(Pubkey::default(), &Account { data, ..Account::default() }).unwrap()
    }

    #[test]
    fn a_program_is_read_from_its_account() {
        let program = deployed(b"ELF\0\0");
        assert_eq!((program.slot, program.capacity()), (9, 5));
        assert_eq!(program.upgrade_authority, Some(Pubkey::new_from_array([5; 32])));
    }

    #[test]
    fn a_final_program_has_no_upgrade_authority() {
        let mut data = PROGRAM_DATA.to_le_bytes().to_vec();
        data.extend([0; 8 + 33]);
        let account = Account { data, ..Account::default() };
        assert_eq!(DeployedProgram::parse(Pubkey::default(), &account).unwrap().upgrade_authority, None);
    }

    #[test]
    fn short_and_foreign_accounts_are_not_programs() {
        for data in [vec![], vec![3, 0, 0, 0], [vec![2, 0, 0, 0], vec![0; 60]].concat()] {
            let account = Account { data, ..Account::default() };
            assert!(DeployedProgram::parse(Pubkey::default(), &account).is_none());
        }
    }

    #[test]
    fn zeros_after_the_program_are_not_part_of_it_but_other_bytes_are() {
        assert!(deployed(b"ELF\0\0").holds(b"ELF"));
        assert!(deployed(b"ELF\0\0").holds(b"ELF\0"));
        assert!(!deployed(b"ELF\0x").holds(b"ELF"));
        assert!(!deployed(b"EL").holds(b"ELF"));
    }

    #[test]
    fn the_hash_is_that_of_the_file_even_where_the_file_ends_with_zeros() {
        let program = deployed(b"ELF\0\0\0\0");
        for file in [&b"ELF"[..], b"ELF\0", b"ELF\0\0\0\0"] {
            assert_eq!(program.sha256(&sha256(file)), sha256(file));
        }
        assert_eq!(program.sha256(&sha256(b"other")), sha256(b"ELF"));
    }
}
