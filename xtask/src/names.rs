//! Types of one crate that share a name: a reader has to find out each time which of them is meant.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use crate::circles::modules_under;

/// Pairs of modules of which a build has one, so that they declare the same names.
const EITHER: &[[&str; 2]] = &[["traces::export", "traces::nowhere"]];

/// Fails on every name that two types under `source` (a crate's `src`) share, and says where they stand.
pub fn check(source: &Path) -> Result<()> {
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (module, text) in modules_under(source)? {
        for name in types_of(&text) {
            declared.entry(name.to_owned()).or_default().push(module.join("::"));
        }
    }
    let shared: Vec<String> = declared
        .into_iter()
        .filter(|(_, modules)| modules.len() > 1 && EITHER.iter().all(|either| modules != either))
        .map(|(name, modules)| format!("  {name}: {}", modules.join(", ")))
        .collect();
    if !shared.is_empty() {
        bail!("types of {} share a name; rename all but one:\n{}", source.display(), shared.join("\n"));
    }
    Ok(())
}

/// The types that a file declares. Indented ones belong to an `impl`, a function or a test.
fn types_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let visible = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.strip_prefix(' ')?,
            None => line,
        };
        let name = ["struct ", "enum ", "trait ", "type ", "union "]
            .into_iter()
            .find_map(|keyword| visible.strip_prefix(keyword))?;
        name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn finds_types_at_any_visibility() {
        let text = "pub struct A<T>(T);\npub(super) enum B {\npub(in crate::x) trait C: Send {\n    type Inner;\ntype D = u8;\nstruct E;\nfn pub_struct() {}\nlet structure = 1;\n";
        assert_eq!(types_of(text).collect::<Vec<_>>(), ["A", "B", "C", "D", "E"]);
    }

    #[test]
    fn names_that_two_files_declare_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("one.rs", "struct Walk;\npub struct Other;\n#[cfg(test)]\nmod tests {\nstruct Probe;\n}\n");
        write("two.rs", "pub(crate) enum Step {}\nstruct Probe;\n");
        check(folder.path()).expect("each name stands once");
        write("three.rs", "pub type Walk = u8;\n");
        let refused = check(folder.path()).expect_err("`Walk` stands twice").to_string();
        assert!(refused.contains("Walk: one, three"), "{refused}");
        assert!(!refused.contains("Probe"), "{refused}");
    }
}
