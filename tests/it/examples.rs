//! The commands that readers copy, wherever they stand, protect whoever types them.

use std::fs;
use std::path::PathBuf;

use purser_tests::binaries::workspace;

/// Splits a text into commands, each on one line.
fn commands_in(text: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    for line in text.lines().map(|line| line.trim_start_matches('#').trim()) {
        let command = commands.last_mut().expect("there is one");
        match line.strip_suffix('\\') {
            Some(begun) => command.push_str(begun),
            None => {
                command.push_str(line);
                commands.push(String::new());
            }
        }
    }
    commands
}

/// Lists the commands of pages and sample files, with their files.
fn examples() -> Vec<(PathBuf, String)> {
    let mut commands = Vec::new();
    let mut places =
        ["deploy", "docs", "migrations", "sdk", "README.md"].map(|name| workspace().join(name)).to_vec();
    while let Some(place) = places.pop() {
        if place.is_dir() {
            let entries = fs::read_dir(place).expect("it is there");
            places.extend(entries.map(|entry| entry.expect("readable").path()));
        } else if let Ok(text) = fs::read_to_string(&place) {
            commands.extend(commands_in(&text).into_iter().map(|command| (place.clone(), command)));
        }
    }
    commands
}

/// Asserts that each example of a kind is safe, that each of `files` has one, and that the texts in `bad` would be found.
fn all_are_safe(is_kind: fn(&str) -> bool, is_safe: fn(&str) -> bool, files: &[&str], bad: &[&str]) {
    for text in bad {
        let commands = commands_in(text);
        assert!(commands.iter().any(|command| is_kind(command) && !is_safe(command)), "{commands:?}");
    }
    let mut found = examples();
    found.retain(|(_, command)| is_kind(command));
    for name in files {
        assert!(found.iter().any(|(file, _)| file.ends_with(name)), "{name}: {found:?}");
    }
    for (file, command) in found {
        assert!(is_safe(&command), "{}: {command}", file.display());
    }
}

/// Sets up the live network.
fn goes_live(command: &str) -> bool {
    command.contains("--network live")
        && ["init", "operator create"].iter().any(|word| command.contains(word))
}

fn names_guardian(command: &str) -> bool {
    let (_, guardian) = command.split_once("--guardian").unwrap_or_default();
    !matches!(guardian.trim_start_matches(['=', ' ', '"']).split([' ', '"']).next(), None | Some("" | "none"))
}

#[test]
fn no_example_goes_live_without_a_guardian() {
    let bad = [
        "#   purser init a --network live \\\n#     --guardian none\n",
        "purser init a --network live\n",
        "purser init a --network live --guardian=none",
    ];
    all_are_safe(goes_live, names_guardian, &["purser.service"], &bad);
}

/// Creates an account, over REST or with the operator's wallet.
fn creates_account(command: &str) -> bool {
    let over_rest = command.contains("$PURSER_URL/accounts\"") && command.contains(" -d ");
    over_rest || command.contains("run account-create")
}

fn sets_limit(command: &str) -> bool {
    let rules = [
        "\"max_single_transfer\"",
        "\"max_daily_spend\"",
        "\"allowed_counterparties\"",
        "--max-single-transfer ",
        "--max-daily-spend ",
        "--allow ",
    ];
    rules.iter().any(|rule| command.contains(rule))
}

#[test]
fn no_example_creates_an_account_without_a_limit() {
    let bad = [
        "curl \"$PURSER_URL/accounts\" -H \"Authorization: x\" \\\n  -d '{\"name\": \"Ada\"}'\n",
        "anchor run account-create -- --yes\n",
    ];
    let pages = ["docs/build/api.md", "docs/run/set-up.md", "docs/run/own-wallet.md", "migrations/README.md"];
    all_are_safe(creates_account, sets_limit, &pages, &bad);
}
