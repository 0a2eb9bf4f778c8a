//! The migrations of releases do not change: databases have them already. `relayer/store/migrations/frozen.sha256` has their hashes, as
//! `sha256sum` prints them; a file that is not in it belongs to no release yet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// Fails if a file that was released is gone or has changed.
pub fn check(root: &Path) -> Result<()> {
    let folder = folder(root);
    let frozen = fs::read_to_string(list(&folder)).context(
        "relayer/store/migrations/frozen.sha256 is missing: put it back, or nothing holds what was released",
    )?;
    let changed = changed(&folder, &frozen)?;
    if changed.is_empty() {
        return Ok(());
    }
    bail!(
        "{} of relayer/store/migrations belong to a release, whose databases have them: put them back, and write what changes into a \
         new file (docs/trust/versions.md)",
        changed.join(", ")
    );
}

/// Freezes every migration there is: for a release.
pub fn freeze(root: &Path) -> Result<()> {
    check(root)?;
    let folder = folder(root);
    let mut names = Vec::new();
    for file in fs::read_dir(&folder)? {
        names.extend(file?.file_name().into_string().ok().filter(|name| name.ends_with(".sql")));
    }
    names.sort();
    let mut text = String::new();
    for name in &names {
        text.push_str(&format!("{}  {name}\n", hash_of(&folder.join(name))?));
    }
    fs::write(list(&folder), text)?;
    eprintln!("{} migrations are frozen", names.len());
    Ok(())
}

fn folder(root: &Path) -> PathBuf {
    root.join("relayer/store/migrations")
}

fn list(folder: &Path) -> PathBuf {
    folder.join("frozen.sha256")
}

fn changed(folder: &Path, frozen: &str) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for line in frozen.lines() {
        let (hash, name) =
            line.split_once("  ").with_context(|| format!("`{line}` is no hash with a name"))?;
        if !hash_of(&folder.join(name)).is_ok_and(|now| now == hash) {
            changed.push(name.to_owned());
        }
    }
    Ok(changed)
}

fn hash_of(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_file_that_changed_or_is_gone_is_named_and_a_new_file_is_not() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = folder(root.path());
        fs::create_dir_all(&folder).expect("made");
        let writes = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        writes("0001_a.sql", "a");
        writes("0002_b.sql", "b");
        assert!(check(root.path()).is_err(), "without a list nothing is held");
        writes("frozen.sha256", "");
        freeze(root.path()).expect("nothing was frozen before");
        writes("0003_c.sql", "c");
        check(root.path()).expect("a new file belongs to no release");
        writes("0002_b.sql", "other");
        fs::remove_file(folder.join("0001_a.sql")).expect("removed");
        let problem = check(root.path()).expect_err("two differ").to_string();
        assert!(problem.starts_with("0001_a.sql, 0002_b.sql of relayer/store/migrations"), "{problem}");
        assert!(freeze(root.path()).is_err(), "what was released stays");
    }
}
