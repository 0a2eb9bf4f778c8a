//! Files that hold secrets: only the service may read them.

use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The permission bits of group and others.
const OTHERS: u32 = 0o077;
/// Only the owner may read and write.
const OWNER_ALONE: u32 = 0o600;

/// Refuses, as ssh does, this user's own file if others may read or write it, and names the command that fixes it. If another
/// user owns the file, whoever runs the machine put it there and alone can change it: that only gets a warning.
pub fn check(file: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(file).map_err(|error| error.to_string())?;
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let file = file.display();
    if metadata.uid() == rustix::process::geteuid().as_raw() {
        return Err(format!("others can read or write it (mode {mode:04o}): chmod 600 {file}"));
    }
    if mode & 0o007 != 0 {
        tracing::warn!("everybody on this machine can read {file} (mode {mode:04o}), which holds a secret");
    }
    Ok(())
}

/// Makes an empty file that only its owner may read. If it exists and others may read it, it is closed to them.
pub fn create(file: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(OWNER_ALONE).open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(file),
        Err(error) => Err(error),
    }
}

/// Writes a file that only its owner may read. An existing file is left alone, and is an error.
pub fn write_new(file: &Path, contents: &[u8]) -> io::Result<()> {
    let mut made = OpenOptions::new().write(true).create_new(true).mode(OWNER_ALONE).open(file)?;
    made.write_all(contents)?;
    made.sync_all()
}

/// Makes a folder that only its owner may enter, with its parents. An existing one stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(OWNER_ALONE | 0o100).create(folder)
}

/// Does nothing if the file does not exist or belongs to another user.
pub fn close_to_others(file: &Path) -> io::Result<()> {
    let is_open = |found: &Metadata| {
        found.mode() & OTHERS != 0 && found.is_file() && found.uid() == rustix::process::geteuid().as_raw()
    };
    match std::fs::metadata(file) {
        Ok(found) if is_open(&found) => {
            tracing::warn!("{} could be read by others; now it cannot", file.display());
            std::fs::set_permissions(file, Permissions::from_mode(OWNER_ALONE))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(file: &Path) -> u32 {
        std::fs::metadata(file).expect("it is there").mode() & 0o777
    }

    #[test]
    fn a_file_for_the_owner_alone_is_taken_and_every_other_refused_with_the_command() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path();
        for (mode, is_good) in [(0o600, true), (0o400, true), (0o640, false), (0o644, false), (0o602, false)]
        {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("own file");
            let checked = check(path);
            assert_eq!(checked.is_ok(), is_good, "{mode:o}");
            if let Err(problem) = checked {
                assert!(problem.contains(&format!("chmod 600 {}", path.display())), "{problem}");
            }
        }
        assert!(check(Path::new("/nowhere/key.json")).is_err());
    }

    #[test]
    fn written_file_is_for_its_owner_alone_even_if_it_existed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("purser.db");
        close_to_others(&path).expect("nothing to do");
        create(&path).expect("made");
        assert_eq!(mode_of(&path), 0o600);
        std::fs::write(&path, "kept").expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("own file");
        create(&path).expect("closed");
        assert_eq!((mode_of(&path), std::fs::read_to_string(&path).expect("read").as_str()), (0o600, "kept"));
    }
}
