//! The one folder with everything that `purser dev` makes: keys, chain, database, logs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub struct Folder {
    path: PathBuf,
    /// Held while we run: two instances in one folder would share a database and a chain.
    _lock: File,
}

/// All files that `Folder` makes; it never touches anything else in the folder.
const DATABASE_FILES: [&str; 3] = ["purser.db", "purser.db-wal", "purser.db-shm"];
const SERVICE_FILES: [&str; 4] = [DEMO, "env", "purser.toml", READY];
pub const DEMO: &str = "demo.json";
/// What `--json` prints, for those who come later.
pub const READY: &str = "ready.json";
const LOG_FILES: [&str; 2] = ["network.log", "relayer.log"];
const SUBFOLDERS: [&str; 2] = ["keys", "network"];

impl Folder {
    pub fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        let path = path.canonicalize()?;
        let lock = File::create(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "`purser dev` is already running on {}; stop it or choose another --dir",
                    path.display()
                )
            }
            Err(TryLockError::Error(error)) => Err(error).context("cannot lock the state folder"),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Deletes everything, keys included.
    pub fn clear(&self) -> Result<()> {
        self.forget_service()?;
        for name in SUBFOLDERS {
            remove(fs::remove_dir_all(self.file(name)), name)?;
        }
        for name in LOG_FILES {
            remove(fs::remove_file(self.file(name)), name)?;
        }
        Ok(())
    }

    /// Deletes the relayer's side; keys and chain stay.
    pub fn forget_service(&self) -> Result<()> {
        for name in DATABASE_FILES.iter().chain(&SERVICE_FILES) {
            remove(fs::remove_file(self.file(name)), name)?;
        }
        Ok(())
    }

    pub fn has_database(&self) -> bool {
        self.file("purser.db").exists()
    }

    /// Writes a file that only its owner may read.
    pub fn write_secret(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.file(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

/// A missing file need not be removed.
fn remove(outcome: std::io::Result<()>, name: &str) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {name}"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn second_run_on_the_same_folder_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let first = Folder::open(place.path()).unwrap();
        let refusal = Folder::open(place.path()).err().expect("the folder is taken").to_string();
        assert!(refusal.contains("already running"), "{refusal}");
        drop(first);
        // A process that another test starts holds a copy of the lock until it executes its program.
        let free = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Folder::open(place.path()).is_ok()
        });
        assert!(free, "the lock outlives the run");
    }

    #[test]
    fn clear_removes_what_it_made_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        fs::write(folder.file("notes.txt"), "mine").unwrap();
        Keys::load_or_make(&folder).unwrap();
        for name in DATABASE_FILES.iter().chain(&SERVICE_FILES).chain(&LOG_FILES) {
            fs::write(folder.file(name), "x").unwrap();
        }
        folder.clear().unwrap();
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["lock", "notes.txt"]);
        folder.clear().unwrap();
    }

    #[test]
    fn keys_are_kept_for_their_owner_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let made = Keys::load_or_make(&folder).unwrap();
        let loaded = Keys::load_or_make(&folder).unwrap();
        assert_eq!(made.admin.address, loaded.admin.address);
        assert_ne!(made.admin.address, made.transfer_authority.address);
        assert_eq!(fs::metadata(&made.admin.path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
