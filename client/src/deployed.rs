//! Is the program on chain the committed build?

use anchor_lang::prelude::Pubkey;
use sha2::{Digest, Sha256};

/// How the committed program was built, and its hash.
const BUILD: &str = include_str!("../../programs/purser/idl/purser.so.json");

/// The loader of upgradeable programs. A program's account holds the address of a second one, which holds the bytes.
pub const UPGRADEABLE_LOADER: Pubkey = Pubkey::from_str_const("BPFLoaderUpgradeab1e11111111111111111111111");
const PROGRAM_TAG: u32 = 2;
const PROGRAM_DATA_TAG: u32 = 3;
/// Tag, slot, and the optional upgrade authority come before the program.
const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// A program may end with zeros of its own; on chain more of them may follow, up to any size.
const TRAILING_ZEROS_MAX: usize = 4_096;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// It is the committed build.
    Same,
    /// Holds the hash of the program on chain, without trailing zeros, in hex.
    Other(String),
}

/// SHA-256 of the committed build, in hex.
pub fn committed_sha256() -> String {
    let build: serde_json::Value = serde_json::from_str(BUILD).unwrap_or_default();
    build["sha256"].as_str().unwrap_or_default().to_owned()
}

/// A program's second account, which holds its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramData<'a> {
    /// The slot of the last deployment, upgrade or extension.
    pub slot: u64,
    /// Who may replace the program; `None` if nobody can any more.
    pub upgrade_authority: Option<Pubkey>,
    /// The program, then zeros up to the length that it may grow to.
    pub bytes: &'a [u8],
}

/// Where the bytes of a program are: the address in its account, which `owner` owns.
pub fn program_data_address(owner: &Pubkey, data: &[u8]) -> Option<Pubkey> {
    let (tag, address) = data.split_at_checked(4)?;
    if *owner != UPGRADEABLE_LOADER || tag != PROGRAM_TAG.to_le_bytes() {
        return None;
    }
    Some(Pubkey::new_from_array(address.get(..32)?.try_into().ok()?))
}

impl<'a> ProgramData<'a> {
    /// The program in the account that [`program_data_address`] names.
    pub fn read(data: &'a [u8]) -> Option<Self> {
        let (header, bytes) = data.split_at_checked(PROGRAM_DATA_HEADER_BYTES)?;
        if header.get(..4)? != PROGRAM_DATA_TAG.to_le_bytes() {
            return None;
        }
        let authority = Pubkey::new_from_array(header.get(13..45)?.try_into().ok()?);
        Some(Self {
            slot: u64::from_le_bytes(header.get(4..12)?.try_into().ok()?),
            upgrade_authority: (*header.get(12)? != 0).then_some(authority),
            bytes,
        })
    }
}

/// Compares a program as it stands on chain with the hash of a file, in hex.
pub fn compare(program: &[u8], sha256: &str) -> Comparison {
    let used = program.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (contents, zeros) = program.split_at(used);
    let mut hasher = Sha256::new_with_prefix(contents);
    let trimmed = hex(&hasher.clone().finalize());
    for zero in std::iter::once(None).chain(zeros.iter().take(TRAILING_ZEROS_MAX).map(Some)) {
        hasher.update(zero.map_or(&[][..], std::slice::from_ref));
        if hex(&hasher.clone().finalize()) == sha256 {
            return Comparison::Same;
        }
    }
    Comparison::Other(trimmed)
}

/// The markers around the text of neodyme's security.txt standard in a program's bytes.
const SECURITY_TXT: [&str; 2] =
    ["=======BEGIN SECURITY.TXT V1=======\0", "=======END SECURITY.TXT V1=======\0"];

/// The program's contacts for security reports: names and values, in their order. `None` if there are none, or they
/// cannot be read. Anyone can have written them, so they are text and no more.
pub fn security_txt(program: &[u8]) -> Option<Vec<(String, String)>> {
    let [begin, end] = SECURITY_TXT.map(str::as_bytes);
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|window| window == what);
    let text = program.get(find(program, begin)? + begin.len()..)?;
    let text = std::str::from_utf8(text.get(..find(text, end)?)?).ok()?;
    let parts: Vec<&str> = text.strip_suffix('\0')?.split('\0').collect();
    let pair = |pair: &[&str]| match pair {
        [name, value] => Some(((*name).to_owned(), (*value).to_owned())),
        _ => None,
    };
    parts.chunks(2).map(pair).collect()
}

/// Lower-case hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_program_is_recognised_whatever_zeros_follow() {
        let file = [&[127, b'E', b'L', b'F', 9][..], &[0; 7]].concat();
        let sha256 = hex(&Sha256::digest(&file));
        let padded = [&file[..], &[0; 5_000]].concat();
        assert_eq!(compare(&file, &sha256), Comparison::Same);
        assert_eq!(compare(&padded, &sha256), Comparison::Same);
        let mut other = padded.clone();
        other[4] = 8;
        assert!(matches!(compare(&other, &sha256), Comparison::Other(_)));
        // Shorter than the file: the file's own trailing zeros are missing.
        assert!(matches!(compare(&file[..8], &sha256), Comparison::Other(_)));
        assert!(matches!(compare(&[], &sha256), Comparison::Other(_)));
    }

    #[test]
    fn the_committed_program_says_whom_to_tell_of_a_weakness() {
        let fields = security_txt(include_bytes!("../../programs/purser/idl/purser.so")).unwrap();
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        for required in ["name", "project_url", "contacts", "policy"] {
            assert!(names.contains(&required), "{names:?}");
        }
        assert!(fields.iter().all(|(_, value)| !value.is_empty()), "{fields:?}");
    }

    #[test]
    fn a_security_txt_is_read_whole_or_not_at_all() {
        let [begin, end] = SECURITY_TXT;
        let read = |text: String| security_txt(&[&[0xff, 0][..], text.as_bytes(), &[0xff]].concat());
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let whole = format!("{begin}name\0Ada\0policy\0\0{end}");
        assert_eq!(read(whole), Some(vec![field("name", "Ada"), field("policy", "")]));
        for broken in [
            String::new(),
            begin.to_owned(),
            format!("{begin}{end}"),
            format!("{begin}name\0Ada\0"),
            format!("{begin}name\0{end}"),
            format!("{begin}name\0Ada{end}"),
            format!("{end}name\0Ada\0{begin}"),
        ] {
            assert_eq!(read(broken.clone()), None, "{broken:?}");
        }
    }

    #[test]
    fn the_committed_hash_is_one() {
        let sha256 = committed_sha256();
        assert!(sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sha256}");
    }

    #[test]
    fn a_program_is_found_through_its_account() {
        let address = Pubkey::new_from_array([7; 32]);
        let data = [&PROGRAM_TAG.to_le_bytes()[..], address.as_ref()].concat();
        assert_eq!(program_data_address(&UPGRADEABLE_LOADER, &data), Some(address));
        assert_eq!(program_data_address(&Pubkey::default(), &data), None);
        assert_eq!(program_data_address(&UPGRADEABLE_LOADER, &[2]), None);
        let program = |flag: u8| {
            let (slot, authority) = (9_u64.to_le_bytes(), [1; 32]);
            [&PROGRAM_DATA_TAG.to_le_bytes()[..], &slot, &[flag], &authority, &[5, 6]].concat()
        };
        let (upgradeable, last) = (program(1), program(0));
        let read = ProgramData::read(&upgradeable).unwrap();
        assert_eq!((read.slot, read.bytes), (9, &[5, 6][..]));
        assert_eq!(read.upgrade_authority, Some(Pubkey::new_from_array([1; 32])));
        assert_eq!(ProgramData::read(&last).unwrap().upgrade_authority, None);
        assert_eq!(ProgramData::read(&[0; 60]), None);
        assert_eq!(ProgramData::read(&upgradeable[..44]), None);
    }
}
