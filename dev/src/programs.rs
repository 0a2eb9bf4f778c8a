//! The files that are run.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub struct Programs {
    pub purser: PathBuf,
    pub localnet: PathBuf,
    /// With its IDL beside it, which names the program's address.
    pub program_so: PathBuf,
}

impl Programs {
    /// This program, and what lies beside it or where the environment says.
    pub fn installed() -> Result<Self> {
        let purser = env::current_exe().context("cannot tell where this program lies")?;
        let folder = purser.parent().context("a program lies in a folder")?;
        let found = |variable: &str, name: &str| -> Result<PathBuf> {
            let path = env::var_os(variable).map_or_else(|| folder.join(name), PathBuf::from);
            if !path.exists() {
                bail!("{} is missing; put it beside `purser`, or name it in {variable}", path.display());
            }
            Ok(path)
        };
        Ok(Self {
            localnet: found("PURSER_LOCALNET_BIN", "purser-localnet")?,
            program_so: found("PURSER_PROGRAM_SO", "purser.so")?,
            purser,
        })
    }

    /// The folder that is put on the `PATH`.
    pub fn folder(&self) -> &Path {
        self.purser.parent().unwrap_or(Path::new("."))
    }
}
