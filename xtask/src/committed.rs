//! A build that is committed, with a record of the tools that made it, and whether the source still gives it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A committed file, beside which `NAME.json` is its record.
pub struct Committed {
    pub folder: PathBuf,
    pub name: &'static str,
    /// The command that builds it anew.
    pub command: &'static str,
}

/// What a build script writes beside what it built.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Of the file, lower-case hex.
    pub sha256: String,
    rustc: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    llvm: Option<String>,
    linker: String,
    target: String,
}

/// What a fresh build of the source is to the committed one.
#[derive(Debug, PartialEq, Eq)]
pub enum Freshness {
    Same,
    /// Other tools give other bytes, which proves nothing.
    OtherTools,
}

impl Committed {
    pub fn record(&self) -> Result<BuildRecord> {
        self.record_in(&self.folder)
    }

    fn record_in(&self, folder: &Path) -> Result<BuildRecord> {
        let path = folder.join(format!("{}.json", self.name));
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a build record", path.display()))
    }

    /// Builds aside, and fails if the same tools give other bytes.
    pub fn check(
        &self,
        aside: &Path,
        build: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<(Freshness, BuildRecord)> {
        let Self { folder, name, command } = self;
        let committed = self.record()?;
        ensure!(
            sha256_of(&folder.join(name))? == committed.sha256,
            "{} is not the file that {name}.json describes; run `{command}`",
            folder.join(name).display()
        );
        build(aside)?;
        let fresh = self.record_in(aside)?;
        if fresh.sha256 == committed.sha256 {
            eprintln!("{name}: the committed build is what the source gives ({})", fresh.sha256);
            return Ok((Freshness::Same, fresh));
        }
        ensure!(
            fresh.tools() != committed.tools(),
            "the same tools give other bytes: committed {}, rebuilt {}. The committed build is stale; run `{command}`",
            committed.sha256,
            fresh.sha256
        );
        eprintln!("{name}: other tools than those of the committed build, so other bytes");
        eprintln!("  committed with {}", committed.tools().join(", "));
        eprintln!("  rebuilt with   {}", fresh.tools().join(", "));
        Ok((Freshness::OtherTools, fresh))
    }
}

impl BuildRecord {
    fn tools(&self) -> [&str; 4] {
        [&self.rustc, self.llvm.as_deref().unwrap_or_default(), &self.linker, &self.target]
    }
}

fn sha256_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, bytes: &str, rustc: &str) {
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let record = serde_json::json!({ "sha256": sha256, "rustc": rustc, "linker": "l", "target": "t" });
        fs::create_dir_all(folder).expect("the folder is writable");
        fs::write(folder.join("a.wasm"), bytes).expect("the folder is writable");
        fs::write(folder.join("a.wasm.json"), record.to_string()).expect("the folder is writable");
    }

    #[test]
    fn build_is_stale_if_the_same_tools_give_other_bytes() {
        let folder = std::env::temp_dir().join(format!("purser-committed-{}", std::process::id()));
        let committed = Committed { folder: folder.join("committed"), name: "a.wasm", command: "build" };
        written(&committed.folder, "one", "1");
        let check = |bytes: &'static str, rustc: &'static str| {
            committed.check(&folder.join("aside"), |aside| {
                written(aside, bytes, rustc);
                Ok(())
            })
        };
        assert_eq!(check("one", "1").expect("it holds").0, Freshness::Same);
        assert_eq!(check("two", "2").expect("it proves nothing").0, Freshness::OtherTools);
        assert!(check("two", "1").expect_err("it is stale").to_string().contains("is stale"));
        fs::write(committed.folder.join("a.wasm"), "three").expect("the folder is writable");
        assert!(check("one", "1").expect_err("its record is of another").to_string().contains("is not the file"));
        fs::remove_dir_all(folder).expect("it is there");
    }
}
