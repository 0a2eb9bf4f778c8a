//! `cargo xtask lines`: how much there is to read in every room, with and without its tests; and whether each crate keeps within
//! its budget.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::workspace::{Workspace, command, output_of};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON array of {"room","lines","lines_without_tests"}
    #[arg(long)]
    json: bool,
    /// Fail if a crate has more lines without tests than its budget
    #[arg(long, conflicts_with = "json")]
    check: bool,
}

/// The lines without tests that a crate may have stand in its manifest, in hundreds: small changes need not touch it. A feature raises
/// them in its own commit, which says why.
const BUDGET: &str = "\n[package.metadata.purser]\nlines = ";

fn budget(manifest: &str) -> Option<usize> {
    let (_, rest) = manifest.split_once(BUDGET)?;
    rest.lines().next()?.replace('_', "").parse().ok()
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    room: String,
    lines: usize,
    lines_without_tests: usize,
}

/// Files that people write and read, as opposed to built and locked ones.
const READ: [&str; 4] = ["rs", "sql", "py", "sh"];

/// Every file in git's sight, separated by zeros, and the texts of those that people read.
fn read(workspace: &Workspace) -> Result<(String, BTreeMap<String, String>)> {
    let mut files = command("git");
    files.current_dir(&workspace.root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let files = output_of(&mut files)?;
    let mut texts = BTreeMap::new();
    for file in files.split_terminator('\0') {
        let is_read = Path::new(file).extension().is_some_and(|end| READ.iter().any(|read| end == *read));
        let path = workspace.root.join(file);
        if is_read && path.exists() {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.insert(file.to_owned(), text);
        }
    }
    Ok((files, texts))
}

fn built_for_tests(texts: &BTreeMap<String, String>) -> BTreeSet<String> {
    texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect()
}

/// Fails if a crate has more lines than its budget.
pub fn check_budgets(workspace: &Workspace) -> Result<()> {
    let (files, texts) = read(workspace)?;
    let crates = lines_of_crates(&files, &texts, &built_for_tests(&texts));
    let budget = |name: &str| budget(&fs::read_to_string(workspace.root.join(name).join("Cargo.toml")).ok()?);
    check(crates.into_iter().map(|(name, lines)| (budget(&name), name, lines)))
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if args.check {
        return check_budgets(workspace);
    }
    let (_, texts) = read(workspace)?;
    let built_for_tests = built_for_tests(&texts);
    let mut rooms = BTreeMap::<String, (usize, usize)>::new();
    for (file, text) in &texts {
        let (lines, tests) = count(file, text, &built_for_tests);
        let room = rooms.entry(room_of(file)).or_default();
        room.0 += lines;
        room.1 += lines - tests;
    }
    let sum = rooms.values().fold((0, 0), |sum, room| (sum.0 + room.0, sum.1 + room.1));
    let rows = rooms.into_iter().chain([("all".to_owned(), sum)]);
    let rows: Vec<Row> =
        rows.map(|(room, (lines, lines_without_tests))| Row { room, lines, lines_without_tests }).collect();
    if args.json {
        println!("{}", serde_json::to_string(&rows)?);
        return Ok(());
    }
    println!("{:30} {:>8} {:>14}", "room", "lines", "without tests");
    for Row { room, lines, lines_without_tests } in rows {
        println!("{room:30} {lines:>8} {lines_without_tests:>14}");
    }
    Ok(())
}

/// The lines without tests of each crate; a file belongs to the nearest folder above it with a `Cargo.toml`.
fn lines_of_crates(
    files: &str,
    texts: &BTreeMap<String, String>,
    built_for_tests: &BTreeSet<String>,
) -> BTreeMap<String, usize> {
    let crates: Vec<&str> =
        files.split_terminator('\0').filter_map(|file| file.strip_suffix("/Cargo.toml")).collect();
    let mut sums: BTreeMap<String, usize> = crates.iter().map(|name| ((*name).to_owned(), 0)).collect();
    for (file, text) in texts {
        let is_in = |folder: &&&str| file.strip_prefix(**folder).is_some_and(|rest| rest.starts_with('/'));
        if let Some(nearest) = crates.iter().filter(is_in).max_by_key(|folder| folder.len()) {
            let (lines, tests) = count(file, text, built_for_tests);
            *sums.entry((*nearest).to_owned()).or_default() += lines - tests;
        }
    }
    sums
}

/// Fails on crates above their budgets, and on those that have none.
fn check(crates: impl Iterator<Item = (Option<usize>, String, usize)>) -> Result<()> {
    let over = crates.filter_map(|(budget, name, lines)| match budget {
        Some(budget) if lines <= budget => None,
        Some(budget) => Some(format!("{name} has {lines} lines without tests; its budget is {budget}")),
        None if lines == 0 => None,
        None => Some(format!("{name} has {lines} lines without tests, and its Cargo.toml says not how many it may have:{BUDGET}{lines}")),
    });
    let over: Vec<String> = over.collect();
    if !over.is_empty() {
        bail!("{}", over.join("\n"));
    }
    Ok(())
}

/// The room of a file, as a newcomer would call it: mostly a crate.
fn room_of(file: &str) -> String {
    let folders: Vec<&str> = file.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect();
    let depth = match folders.as_slice() {
        ["programs", "purser", "tests", ..] => 3,
        ["programs" | "extensions" | "relayer", ..] => 2,
        _ => 1,
    };
    folders[..depth.min(folders.len())].join("/")
}

/// The modules that `file` declares for tests alone, as paths without `.rs`.
fn test_modules(file: &str, text: &str) -> Vec<String> {
    let stem = file.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "mod" | "lib" | "main")) => folder,
        Some(_) | None => stem,
    };
    let is_for_tests = |line: &str| line == "#[cfg(test)]" || line.starts_with("#[cfg(any(test, ");
    let declared = text.lines().zip(text.lines().skip(1)).filter_map(|(attribute, line)| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        line.strip_prefix("mod ")?.strip_suffix(';').filter(|_| is_for_tests(attribute))
    });
    declared.map(|name| format!("{folder}/{name}")).collect()
}

/// How many lines there are, and how many of them are tests: a whole file of tests, or the `mod tests` at the end.
fn count(file: &str, text: &str, built_for_tests: &BTreeSet<String>) -> (usize, usize) {
    let lines = text.lines().count();
    let stem = file.trim_end_matches(".rs");
    let is_of = |module: &String| {
        stem.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if stem.split('/').any(|part| part == "tests") || built_for_tests.iter().any(is_of) {
        return (lines, lines);
    }
    let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().count();
    (lines, lines - own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_crates() {
        assert_eq!(room_of("relayer/store/src/tests/cases/keys.rs"), "relayer/store");
        assert_eq!(room_of("relayer/app/src/app.rs"), "relayer/app");
        assert_eq!(room_of("relayer/store/migrations/0001_start.sql"), "relayer/store");
        assert_eq!(room_of("programs/purser/src/state/agent.rs"), "programs/purser");
        assert_eq!(room_of("programs/purser/tests/support/world.rs"), "programs/purser/tests");
        assert_eq!(room_of("policy/src/check.rs"), "policy");
    }

    #[test]
    fn tests_are_files_of_tests_and_modules_at_the_end_of_others() {
        let count = |file, text| count(file, text, &BTreeSet::new());
        assert_eq!(count("relayer/store/src/tests.rs", "a\nb\n"), (2, 2));
        assert_eq!(count("tests/it/keys.rs", "a\n"), (1, 1));
        assert_eq!(count("relayer/base/src/tasks.rs", "a\n\n#[cfg(test)]\nmod tests {\n}\n"), (5, 3));
        assert_eq!(count("relayer/base/src/tasks.rs", "a\n#[cfg(test)]\nmod tests;\n"), (3, 0));
    }

    #[test]
    fn module_that_only_tests_build_is_a_test() {
        let declared = "pub mod a;\n#[cfg(test)]\npub mod node;\nmod b;\n#[cfg(any(test, feature = \"it\"))]\nmod log;\n";
        let modules = BTreeSet::from_iter(test_modules("relayer/src/rpc/mod.rs", declared));
        assert_eq!(
            modules,
            BTreeSet::from(["relayer/src/rpc/log", "relayer/src/rpc/node"].map(str::to_owned))
        );
        assert_eq!(test_modules("relayer/src/a.rs", declared)[0], "relayer/src/a/node");
        assert_eq!(count("relayer/src/rpc/node.rs", "a\n", &modules), (1, 1));
        assert_eq!(count("relayer/src/rpc/a.rs", "a\n", &modules), (1, 0));
    }

    #[test]
    fn line_belongs_to_the_nearest_crate_and_counts_against_its_budget() {
        let files = "core/Cargo.toml\0core/src/a.rs\0core/inner/Cargo.toml\0core/inner/src/b.rs\0cored.rs\0";
        let texts = ["core/src/a.rs", "core/inner/src/b.rs", "cored.rs"]
            .map(|file| (file.to_owned(), "a\nb\n".to_owned()));
        let crates = lines_of_crates(files, &BTreeMap::from(texts), &BTreeSet::new());
        assert_eq!(crates, BTreeMap::from([("core".to_owned(), 2), ("core/inner".to_owned(), 2)]));
        let checked = |manifest| check([(budget(manifest), "core".to_owned(), 20)].into_iter());
        let error = checked("[package]\n").expect_err("no budget").to_string();
        assert!(error.contains("its Cargo.toml says not how many"), "{error}");
        let error = checked("a\n[package.metadata.purser]\nlines = 1_9\n").expect_err("too many").to_string();
        assert_eq!(error, "core has 20 lines without tests; its budget is 19");
        assert!(checked("a\n[package.metadata.purser]\nlines = 20\n[lints]\n").is_ok());
    }
}
