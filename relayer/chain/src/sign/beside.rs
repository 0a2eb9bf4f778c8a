//! Keypair files that lie beside ours: an admin's key among them undoes most of what is defended.

use crate::sign::signer::{FILE_BYTES_MAX, FileSigner, Signer};
use purser_model::Address;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The keypair files in these folders that we can read, and their addresses. Their secrets are forgotten at once.
pub fn keypairs_in(folders: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, Address)> {
    let mut folders: Vec<PathBuf> = folders.into_iter().collect();
    folders.sort();
    folders.dedup();
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let json = files.filter(|file| file.extension().is_some_and(|extension| extension == "json"));
    let mut found: Vec<_> = json.filter_map(|file| Some((address_in(&file)?, file))).collect();
    found.sort_by(|(_, one), (_, other)| one.cmp(other));
    found.into_iter().map(|(address, file)| (file, address)).collect()
}

fn address_in(file: &Path) -> Option<Address> {
    let found = std::fs::metadata(file).ok()?;
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return None;
    }
    let text = Zeroizing::new(std::fs::read(file).ok()?);
    let bytes = Zeroizing::new(serde_json::from_slice::<Vec<u8>>(&text).ok()?);
    let signer = FileSigner::from_bytes(&bytes).ok()?;
    Some(Address::from_bytes(signer.public_key()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new_keypair;

    #[test]
    fn keypairs_are_found_among_other_files_whoever_may_read_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let (text, address) = new_keypair();
        std::fs::write(file("admin.json"), text.as_bytes()).expect("written");
        std::fs::write(file("denials.jsonl"), text.as_bytes()).expect("written");
        std::fs::write(file("other.json"), "[1, 2, 3]").expect("written");
        std::fs::write(file("long.json"), " ".repeat(5_000)).expect("written");
        std::fs::create_dir(file("folder.json")).expect("made");
        let folders = [folder.path().to_owned(), folder.path().to_owned(), file("nowhere")];
        assert_eq!(keypairs_in(folders), [(file("admin.json"), address)]);
    }
}
