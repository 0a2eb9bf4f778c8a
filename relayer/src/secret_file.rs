//! Files that hold secrets: nobody but the service may read them.

use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// What group and others may do.
const OTHERS: u32 = 0o077;
/// What the owner alone may do: read and write.
const OWNER_ALONE: u32 = 0o600;

/// Refuses, as ssh does, a file of this user's own that others may read or write, with the command that mends it. The file of
/// another user was put there by whoever runs the machine, who alone can change it: about that there is a warning.
pub(crate) fn check(file: &Path) -> Result<(), String> {
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

/// Makes an empty file that its owner alone may read. One that is there and that others may read is closed to them.
pub(crate) fn create(file: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(OWNER_ALONE).open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(file),
        Err(error) => Err(error),
    }
}

/// Writes a file that its owner alone may read. One that is there already is left alone, and is an error.
pub(crate) fn write_new(file: &Path, contents: &[u8]) -> io::Result<()> {
    let mut made = OpenOptions::new().write(true).create_new(true).mode(OWNER_ALONE).open(file)?;
    made.write_all(contents)?;
    made.sync_all()
}

/// Makes a folder that its owner alone may look into, with those above it. One that is there stays as it is.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(OWNER_ALONE | 0o100).create(folder)
}

/// Nothing is done where the file is not there, or is another user's.
pub(crate) fn close_to_others(file: &Path) -> io::Result<()> {
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
    fn what_is_made_is_for_the_owner_alone_also_when_it_was_there() {
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
