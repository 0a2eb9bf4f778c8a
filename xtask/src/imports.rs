//! Which crates may be named where: each crate's own `Cargo.toml` against the walls below, and the rooms within some crates, read
//! from their `crate::` paths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::circles::crates_under;

/// Crates that a crate's `[dependencies]` must not name; with `-` at the end, the beginning of names. Cargo itself refuses the other
/// way of an arrow. From what decides about money, which sees nothing of the world, to REST.
const WALLS: &[(&str, &str)] = &[
    // With its feature `schema` alone, its values know serde and utoipa.
    ("core", "sqlx rusqlite axum reqwest hyper solana- anchor- purser purser-client purser-csv purser-rpc"),
    ("rpc", "sqlx axum anchor- purser purser-"),
    ("csv", "tokio sqlx rusqlite axum reqwest solana- anchor- purser purser-"),
    (
        "relayer/base",
        "sqlx rusqlite solana- anchor- purser purser-client purser-csv purser-model purser-policy purser-rpc",
    ),
    (
        "relayer/model",
        "tokio sqlx rusqlite axum reqwest solana- anchor- purser purser-base purser-client purser-csv purser-rpc",
    ),
    ("relayer/chain", "sqlx rusqlite axum utoipa purser-csv purser-store"),
    (
        "relayer/store",
        "axum reqwest solana- anchor- utoipa purser purser-chain purser-client purser-csv purser-rpc",
    ),
    ("relayer/webhooks", "axum sqlx rusqlite solana- anchor- purser purser-chain purser-client purser-rpc"),
    ("relayer/service", "axum sqlx rusqlite solana- anchor- purser purser-client purser-csv purser-rpc"),
    ("relayer/indexer", "axum sqlx rusqlite purser-api purser-rpc"),
    (
        "relayer/api",
        "sqlx rusqlite solana- anchor- purser purser-chain purser-client purser-indexer purser-rpc purser-store purser-webhooks",
    ),
];

/// An extension uses another only where its `Cargo.toml` names it, and the chain and the store where it has tables of its own.
const NEVER_OF_EXTENSIONS: &str = "sqlx rusqlite solana- anchor- purser purser-client purser-indexer purser-relayer purser-rpc purser-webhooks";
/// The crates that put the extensions in, and test them.
const KNOW_EXTENSIONS: &[&str] = &["main", "tests"];

/// A room of a crate, the rooms that it may name, and the crates that it must not name.
struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    no_crates: &'static [&'static str],
}

/// REST stands on what extensions share with it.
const API: &[Room] = &[
    Room { name: "web", may_use: &[], no_crates: &[] },
    Room { name: "http", may_use: &["web"], no_crates: &[] },
];

/// The rooms of the chain, each over those before it.
const CHAIN: &[Room] = &[
    Room { name: "read", may_use: &[], no_crates: &[] },
    Room { name: "live", may_use: &["read"], no_crates: &[] },
    Room { name: "sign", may_use: &["live", "read"], no_crates: &[] },
    Room { name: "send", may_use: &["live", "read", "sign"], no_crates: &[] },
    Room { name: "history", may_use: &["live", "read", "send", "sign"], no_crates: &[] },
    Room { name: "solana", may_use: &["history", "live", "read", "send", "sign"], no_crates: &[] },
];

/// The extensions, each a crate in a folder of its own. Nothing inside knows one.
pub fn extensions(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("extensions");
    let mut extensions = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").exists() {
            extensions.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    extensions.sort();
    Ok(extensions)
}

/// They see what they share with REST, and not REST itself.
const EXTENSION: &[Room] = &[Room { name: "src", may_use: &[], no_crates: &["purser_api::http"] }];

/// What an audit decides, and what it asks for, sees no file, no network and no clock: a page in a browser runs it too.
const REPLAY_ALL: &[Room] = &[Room {
    name: "src",
    may_use: &[],
    no_crates: &[
        "tokio",
        "reqwest",
        "hyper",
        "tempfile",
        "purser_rpc",
        "solana_sdk",
        "std::env",
        "std::fs",
        "std::net",
        "std::process",
    ],
}];

/// The rooms in it. The replay asks for nothing.
const REPLAY: &[Room] = &[
    Room {
        name: "replay",
        may_use: &["archive", "check", "signed", "tables"],
        no_crates: &["futures", "async_trait"],
    },
    Room { name: "check", may_use: &[], no_crates: &[] },
    Room { name: "scope", may_use: &["archive"], no_crates: &[] },
    Room { name: "signed", may_use: &["tables"], no_crates: &[] },
    Room { name: "order", may_use: &["archive"], no_crates: &[] },
    Room { name: "archive", may_use: &[], no_crates: &[] },
    Room { name: "node", may_use: &["archive"], no_crates: &[] },
    Room { name: "tables", may_use: &["archive"], no_crates: &[] },
    Room { name: "shown", may_use: &["archive", "replay", "scope", "signed", "tables"], no_crates: &[] },
    Room { name: "gather", may_use: &["archive", "node", "order", "signed", "tables"], no_crates: &[] },
    Room {
        name: "whole",
        may_use: &["archive", "check", "gather", "node", "replay", "scope"],
        no_crates: &[],
    },
    Room { name: "network", may_use: &["check", "replay"], no_crates: &[] },
    Room { name: "program", may_use: &["archive", "check", "replay"], no_crates: &[] },
    Room { name: "history", may_use: &["check", "node", "replay"], no_crates: &[] },
    Room {
        name: "denials",
        may_use: &["archive", "audit", "gather", "node", "replay", "signed"],
        no_crates: &[],
    },
    Room {
        name: "report",
        may_use: &["check", "history", "network", "program", "replay", "scope"],
        no_crates: &[],
    },
    Room { name: "turns", may_use: &["node"], no_crates: &[] },
];
/// Only the command line runs audits: the audit must not depend on the relayer that it audits, nor the other way round.
const AUDIT: &str = "purser_audit";

/// The project is built of these, whatever else comes and goes.
const BUILT_OF: &str = "anchor-client anchor-lang anchor-spl axum hmac reqwest rust_decimal serde sha2 solana-program solana-sdk tokio";
const TOP_LEVEL: &str = "Anchor.toml Cargo.toml README.md migrations programs relayer tests";

/// Returns a sentence for each of these that is gone.
fn missing(root: &Path) -> Result<Vec<String>> {
    let mut used = BTreeSet::new();
    for folder in crates_under(root)? {
        let file = folder.join("Cargo.toml");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        used.extend(dependencies(&text).map(str::to_owned));
    }
    let crates = BUILT_OF.split(' ').filter(|name| !used.contains(*name));
    let top = TOP_LEVEL.split(' ').filter(|name| !root.join(name).exists());
    Ok(crates.chain(top).map(|name| format!("{name}: the project is built of it, and it is gone")).collect())
}

/// Fails on every crate and every import under `root` (the workspace's) in the wrong direction, and names its place.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = missing(root)?;
    for (folder, never) in WALLS {
        wrong.extend(through_walls(&root.join(folder), never)?);
    }
    let extensions = extensions(root)?;
    let crates: Vec<String> = extensions.iter().map(|name| format!("purser-{name}")).collect();
    let crates = crates.join(" ");
    for folder in crates_under(root)? {
        let is_in = |names: &[&str]| names.iter().any(|name| folder.starts_with(root.join(name)));
        if is_in(&["extensions"]) {
            wrong.extend(through_walls(&folder, NEVER_OF_EXTENSIONS)?);
        } else if !is_in(KNOW_EXTENSIONS) {
            wrong.extend(through_walls(&folder, &crates)?);
        }
    }
    let extensions: Vec<_> =
        extensions.iter().map(|extension| (root.join("extensions").join(extension), EXTENSION)).collect();
    let inside = [
        (root.join("relayer/api/src"), API),
        (root.join("relayer/chain/src"), CHAIN),
        (root.join("audit/replay"), REPLAY_ALL),
        (root.join("audit/replay/src"), REPLAY),
    ];
    for (source, rooms) in inside.iter().chain(&extensions) {
        for room in rooms.iter() {
            for file in files_of(source, room.name)? {
                let text =
                    fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                for (line, what) in violations(rooms, room, &text) {
                    wrong.push(format!("{}:{line}: `{}` may not use `{what}`", file.display(), room.name));
                }
            }
        }
    }
    if !wrong.is_empty() {
        bail!("imports point the wrong way:\n{}", wrong.join("\n"));
    }
    Ok(())
}

/// A sentence for each forbidden dependency of the crate in this folder.
fn through_walls(folder: &Path, never: &str) -> Result<Vec<String>> {
    let file = folder.join("Cargo.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let wrong = forbidden(&text, never);
    Ok(wrong.into_iter().map(|name| format!("{} may not depend on {name}", file.display())).collect())
}

/// The forbidden names in the `[dependencies]` of a `Cargo.toml`, but for those that its feature `testing` brings.
fn forbidden(text: &str, never: &str) -> Vec<String> {
    let names = dependencies(text);
    let testing =
        text.split("\ntesting = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let names = names.filter(|name| !testing.contains(&format!("\"dep:{name}\"")));
    let is_wrong = |name: &&str| {
        never.split(' ').any(|never| *name == never || never.ends_with('-') && name.starts_with(never))
    };
    names.filter(is_wrong).map(str::to_owned).collect()
}

/// The names in the `[dependencies]` of a `Cargo.toml`.
fn dependencies(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty())
}

/// `room.rs` and everything under `room/`, without its tests, which may import whatever they need.
fn files_of(source: &Path, room: &str) -> Result<Vec<PathBuf>> {
    let single = source.join(format!("{room}.rs"));
    let mut files: Vec<PathBuf> = single.exists().then_some(single).into_iter().collect();
    let mut folders = vec![source.join(room)];
    while let Some(folder) = folders.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if name == "tests" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The forbidden names in `text`, with line numbers.
fn violations(rooms: &[Room], room: &Room, text: &str) -> Vec<(usize, String)> {
    let mut found = crates_named(text, room.no_crates.iter().copied().chain([AUDIT]));
    for (number, code) in code_lines(text) {
        for used in rooms_named(code) {
            let own = used == room.name;
            let known = rooms.iter().any(|other| other.name == used);
            if known && !own && !room.may_use.contains(&used.as_str()) {
                found.push((number, format!("crate::{used}")));
            }
        }
    }
    found
}

/// Those of these crates that `text` names, with line numbers.
fn crates_named<'a>(text: &str, crates: impl Iterator<Item = &'a str> + Clone) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, code) in code_lines(text) {
        let named = crates.clone().filter(|name| names_crate(code, name));
        found.extend(named.map(|name| (number, name.to_owned())));
    }
    found
}

/// The lines, numbered, without comments and a closing `mod tests`.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .enumerate()
        .map(|(index, code)| (index + 1, code))
}

/// The first path segments after `crate::`, including those of a `use crate::{a, b::c}` on one line.
fn rooms_named(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            named.insert(identifier(rest));
            continue;
        };
        let mut depth = 0_i32;
        let mut segment_start = true;
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => segment_start = true,
                letter if segment_start && letter.is_ascii_alphabetic() => {
                    named.insert(identifier(&group[at..]));
                    segment_start = false;
                }
                _ => {}
            }
        }
    }
    named
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

/// Whether `code` has a path that starts with the crate (or, for a name ending in `_`, with a crate of that prefix).
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let fresh =
            !before.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':');
        let rest = &code[at..];
        let word = identifier(rest);
        let whole = name.ends_with('_') || name.contains("::") || word == name;
        fresh && whole && rest[word.len()..].starts_with("::")
    })
}

#[cfg(test)]
mod tests;
