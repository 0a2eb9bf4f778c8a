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

/// The lines without tests that each crate may have. What is over its goal has today's figure, and the goal behind it: it must not
/// grow. A feature raises its budget in its own commit, with the reason.
const BUDGETS: &[(&str, usize)] = &[
    ("audit", 1_125), // the audit alone, for its benchmark; a ledger as CSV and as a workbook, and a relayer that is waited for; what a saved directory must hold; a machine's part: HTTP, files, signed verdicts, --follow; the page is its latest raise
    ("audit/page", 400), // in turns, for WebAssembly; its build is its latest raise
    ("audit/replay", 10_380), // changes that name what they replace; balance and approver in the ledger; what decides; one life held against the one before, caps and budgets over time, refusals decided by them, a page to sign and a ledger; one list of everything that a saved directory must hold, buckets of tags, accounts that are read again and held against every moment of a slot, and refusals by caps or for want of a grant, are its latest raise
    ("cli", 3_465), // unfinished payments, counted by doctor; builds that sign no refusals; a guardian that cannot pay; the transaction of a halt, on record; `operator set`; a disk of Postgres that is full; what doctor knows of certificates, disks and accounts without a limit; variables for a shell, what doctor knows of poolers and nodes; the audit's options in groups, with examples; streams of events, whoever sends them; keys that it makes and revokes are on record
    ("client", 1_500), // the most buckets that services read; changes of bounds and caps that name what they replace; creating over a mark; goal 1,100; what a large table of tags loads is its latest raise
    ("csv", 60),       // what the audit's ledger and the relayer's lists share
    ("core", 4_987), // clocks that were wrong at the claim of an approval; wallets as payees; a question that whoever asked takes back; its values as JSON and OpenAPI, behind `schema`; approvals that wait are read for together; goal 3,300; one path: decided and signed before the claim
    ("dev", 1_525), // an approval that was not paid fails; the approver and its phone, beside the signature of who pays; `purser trigger`
    ("extensions/approvals", 740), // what of the API and the service was about approvals
    ("extensions/bulk", 630), // what of the API and the service was about many accounts
    ("extensions/dashboard", 7_075), // functions that name the context; sums, which were the services'; approvals by their extension; sessions and passkeys, which were the services'; tabs, days, changes in words; warnings, reasons that are required; one account and one budget as last seen, Change many filled in again; what was last seen, with its time; stops of many by their form, accounts without a limit; budgets, webhooks and approvals that need attention; what is not known, what waits at a button, grants beside checks; wallets in a browser; what no approver passes; actions, sessions, tags, changes of many accounts, passkeys; budgets and caps for 30 days, seen, compared and changed; 500 accounts: who pays how much, what is refused and why, names, also in filters, what waits, the system
    ("extensions/denials", 410), // what of the API, the service and the configuration was about signed refusals
    ("extensions/mcp", 1_800), // what may be removed, by the document; wallets as payees; what a host that expects OAuth is told; strangers' memos; goal 500; a client that shows pages is led to an approval
    ("extensions/x402", 1_255), // offers in every form that sellers write
    ("localnet", 1_630),       // a gate: pages of other sites only read
    ("main", 375),             // the same program without extensions, which the tests turn off and on
    ("migrations", 6_090), // the names of rules, once; warnings; approvers that were removed; `tag-buckets`, and a wait after revocations; the commands of grants, approvers and budgets, and `approve`
    ("policy", 1_823), // one list of fields for every struct of rules, and one of bounds; the table of rules with their waivers; when waiting helps; a limit from and to its number, for all crates; warnings of rules that never apply; goal 900; buckets that grow are its latest raise
    ("programs/purser", 4_565), // changes of bounds and caps that name what they replace; removed approvers that are remembered, and whose rent a mark holds; buckets of tags; approvers, grants that wait, bounds and budgets
    ("relayer/api", 7_025),     // grants by the table of rules; wallets as payees; goal 7,000
    ("relayer/app", 1_530),     // extensions are made over the services
    ("relayer/base", 920),      // turns, which were the services'
    ("relayer/chain", 7_465), // a change hands on its record; a network that stood still; whether a wallet can pay a fee; token accounts of payees; transactions of changes, recorded before they are sent, and how they ended; the owner of a wallet's token account; the second that a payment names, beside its log; goal 7,000; operators that are halted, and named budgets in one call
    ("relayer/indexer", 1_830),
    ("relayer/model", 6_410), // lists and their cursors; token accounts of payees; transactions of actions; wallets as payees; warnings; halts that were announced, as read back; the bodies and answers that came from the API; goal 6,000
    ("relayer/service", 8_140), // answers and sentences that came from the API; token accounts of payees; what warnings need, reasons that are required; goal 7,000; what became of interrupted actions; one table of conditions, what counts them for alerts, and what was last seen
    ("relayer/store", 10_625), // ages of what a wrong clock wrote; token accounts of payees; open actions and their transactions; a setting of an operator; tables that moved into `operators` and `marks`; room on a disk; goal 7,000; the SQL of its migrations counts
    ("relayer/webhooks", 965),
    ("rpc", 2_005), // nodes that let nobody in; topics that are refused or left unanswered take turns; answers that say nothing; goal 1,800; subscriptions that are refused are requested again; a blockhash since a slot
    ("simulate", 2_370), // nodes that are away for 70 minutes, and copies put back after 30; a day in which every node hides a payment, and claims by a clock that is ahead; blocks that are dated wrong; approvals that wait are read for together; copies of approvals that are put back, nodes that swallow and hide; tables that grow; people who approve; forks amid payments, and as one is signed
    ("xtask", 4_485), // programs beside others; crates and folders that must stay; tiers, groups and their inputs, times of tests; extensions known by their folders; pages of docs in the archive; the same draws in every build of it
];

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
    check(lines_of_crates(&files, &texts, &built_for_tests(&texts)))
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
fn check(crates: BTreeMap<String, usize>) -> Result<()> {
    let budget = |name: &str| BUDGETS.iter().find(|(known, _)| *known == name).map(|(_, lines)| *lines);
    let over: Vec<String> = crates
        .into_iter()
        .filter_map(|(name, lines)| match budget(&name) {
            Some(budget) if lines <= budget => None,
            Some(budget) => Some(format!("{name} has {lines} lines without tests; its budget is {budget}")),
            None if lines == 0 => None,
            None => {
                Some(format!("{name} has {lines} lines without tests and no budget (xtask/src/lines.rs)"))
            }
        })
        .collect();
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
        let error = check(crates).expect_err("an unknown crate").to_string();
        assert!(error.starts_with("core/inner has 2 lines without tests and no budget"), "{error}");
        let core = BTreeMap::from([("core".to_owned(), 1_000_000)]);
        assert!(check(core).expect_err("too many").to_string().contains("its budget is"));
    }
}
