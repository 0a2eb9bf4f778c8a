//! Small mistakes as patches: each is put into a copy of the tree, and must be caught there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{Workspace, command, output_of, run as run_command};

/// The patches in `folder` whose names have `name` in them, sorted by their numbers.
pub fn patches(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(name)) {
            patches.push(path);
        }
    }
    patches.sort();
    Ok(patches)
}

/// Copies git's files as they are in the work tree: mutants apply to what is under development.
pub fn copy_tree(workspace: &Workspace, tree: &Path) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    let mut files = command("git");
    files.current_dir(&workspace.root).args(["ls-files", "-z"]);
    for file in output_of(&mut files)?.split_terminator('\0') {
        let (from, to) = (workspace.root.join(file), tree.join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// With `--reverse` among the options, takes it back.
pub fn apply(tree: &Path, patch: &Path, options: &[&str]) -> Result<()> {
    let mut apply = command("patch");
    apply.args(["--strip=1", "--silent", "--force"]).args(options).arg("--directory").arg(tree);
    apply.arg("--input").arg(patch);
    run_command(&mut apply).with_context(|| format!("{} does not fit the source any more", patch.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_fits_the_source() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in ["programs/purser/tests/fuzz/mutants", "simulate/mutants"] {
            let all = patches(&root.join(folder), "").expect("a folder");
            assert!(all.len() > 10, "{folder}");
            for patch in all {
                let mut fits = command("git");
                fits.current_dir(&root).args(["apply", "--check"]).arg(&patch);
                run_command(&mut fits).expect("it fits");
            }
        }
    }
}
