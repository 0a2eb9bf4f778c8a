//! The one folder that keeps what `cargo dev` makes: keys, chain, database, logs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::demo::Demo;
use super::report::Ready;

pub struct Folder {
    path: PathBuf,
    /// Held while we run: two of us in one folder would share a database and a chain.
    _lock: File,
}

/// All that `Folder` makes; nothing else in the folder is ever touched.
const DATABASE_FILES: [&str; 3] = ["purser.db", "purser.db-wal", "purser.db-shm"];
const SERVICE_FILES: [&str; 3] = ["demo.json", "env", "purser.toml"];
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
                bail!("`cargo dev` is already running on {}; stop it or choose another --dir", path.display())
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

    /// Everything goes, keys included.
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

    /// The relayer's side goes; keys and chain stay.
    pub fn forget_service(&self) -> Result<()> {
        for name in DATABASE_FILES.iter().chain(&SERVICE_FILES) {
            remove(fs::remove_file(self.file(name)), name)?;
        }
        Ok(())
    }

    pub fn read_demo(&self) -> Result<Option<Demo>> {
        let path = self.file("demo.json");
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path)?;
        // A file of another version is as good as none.
        Ok(serde_json::from_str(&text).ok())
    }

    pub fn write_demo(&self, demo: &Demo) -> Result<()> {
        self.write_secret("demo.json", &(serde_json::to_string_pretty(demo)? + "\n")).map(drop)
    }

    /// Shell variables with what is ready, for `source`.
    pub fn write_env(&self, ready: &Ready) -> Result<()> {
        self.write_secret("env", &ready.shell_variables()).map(drop)
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

/// What is not there need not be removed.
fn remove(outcome: std::io::Result<()>, name: &str) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {name}"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
