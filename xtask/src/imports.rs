//! The rooms of core, relayer and audit, and the allowed direction of imports between them, read from their `crate::` paths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A room of a crate, the rooms that it may name, and the crates that it must not name.
struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    no_crates: &'static [&'static str],
}

const NO_IO: &[&str] = &["tokio", "sqlx", "rusqlite", "axum", "reqwest", "solana_"];
const NO_NODES: &[&str] = &["axum", "reqwest", "solana_", "anchor_lang", "utoipa"];
const NO_STORES: &[&str] = &["sqlx", "solana_", "anchor_lang"];
const ROOMS: &[Room] = &[
    Room {
        name: "domain",
        may_use: &[],
        no_crates: &["tokio", "sqlx", "rusqlite", "axum", "reqwest", "solana_", "utoipa"],
    },
    Room { name: "wire", may_use: &["domain"], no_crates: NO_IO },
    Room { name: "chain", may_use: &["domain"], no_crates: &["sqlx", "rusqlite", "axum", "utoipa"] },
    Room { name: "store", may_use: &["domain", "wire"], no_crates: NO_NODES },
    Room {
        name: "service",
        may_use: &["domain", "chain", "store"],
        no_crates: &["axum", "sqlx", "solana_", "anchor_lang", "utoipa"],
    },
    Room { name: "web", may_use: &["domain", "wire", "service"], no_crates: NO_STORES },
    Room { name: "http", may_use: &["domain", "wire", "service", "web"], no_crates: NO_STORES },
    Room { name: "indexer", may_use: &["domain", "service", "chain", "store"], no_crates: &["axum", "sqlx"] },
    Room {
        name: "webhook",
        may_use: &["domain", "service", "store"],
        no_crates: &["axum", "sqlx", "solana_"],
    },
];

/// What decides about money sees nothing of the world.
const CORE: &[Room] = &[Room {
    name: "src",
    may_use: &[],
    no_crates: &[
        "sqlx",
        "rusqlite",
        "axum",
        "reqwest",
        "hyper",
        "solana_",
        "anchor_",
        "purser_relayer",
        "purser_client",
        "utoipa",
    ],
}];

/// What speaks to nodes knows nothing of Purser.
const RPC: &[Room] =
    &[Room { name: "src", may_use: &[], no_crates: &["purser", "purser_", "anchor_", "sqlx", "axum"] }];

/// The doors, each a crate in a folder of its own: none knows another, and nothing inside knows one.
pub fn doors(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("doors");
    let mut doors = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").exists() {
            doors.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    doors.sort();
    Ok(doors)
}

/// They see services, and what they share with REST: neither REST itself, nor databases, nor nodes.
const DOOR: &[Room] = &[Room {
    name: "src",
    may_use: &[],
    no_crates: &["sqlx", "rusqlite", "solana_", "anchor_", "purser_core", "purser_relayer::http"],
}];

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

/// The rooms within `chain`: each may name those before it.
const CHAIN: [&str; 6] = ["read", "live", "sign", "send", "history", "solana"];

/// Fails on every import under `root` (the workspace's) in the wrong direction, and names its line.
pub fn check(root: &Path) -> Result<()> {
    let source = &root.join("relayer/src");
    let mut wrong = Vec::new();
    let doors = doors(root)?;
    // Only what composes a build names its doors.
    let crates_of_doors: Vec<String> =
        doors.iter().map(|door| format!("purser_{}", door.replace('-', "_"))).collect();
    let doors: Vec<_> = doors.iter().map(|door| (root.join("doors").join(door), DOOR)).collect();
    let inside = [
        (source.clone(), ROOMS),
        (root.join("audit/replay"), REPLAY_ALL),
        (root.join("audit/replay/src"), REPLAY),
        (root.join("core"), CORE),
        (root.join("rpc"), RPC),
    ];
    for (source, rooms) in inside.iter().chain(&doors) {
        for room in rooms.iter() {
            for file in files_of(source, room.name)? {
                let text =
                    fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                let named = crates_named(&text, crates_of_doors.iter().map(String::as_str));
                for (line, what) in violations(rooms, room, &text).into_iter().chain(named) {
                    wrong.push(format!("{}:{line}: `{}` may not use `{what}`", file.display(), room.name));
                }
            }
        }
    }
    for (place, room) in CHAIN.iter().enumerate() {
        for file in files_of(&source.join("chain"), room)? {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            for (line, used) in against_the_stream(place, &text) {
                wrong.push(format!("{}:{line}: `chain/{room}` may not use `chain/{used}`", file.display()));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("imports point the wrong way:\n{}", wrong.join("\n"));
    }
    Ok(())
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
            let known = rooms.iter().any(|other| other.name == used) || used == "app";
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

/// The names of later rooms in the room at `place` in [`CHAIN`], with line numbers.
fn against_the_stream(place: usize, text: &str) -> Vec<(usize, String)> {
    let named = code_lines(text).flat_map(|(number, code)| {
        let rooms = code.split("crate::chain::").skip(1).map(identifier);
        rooms.map(move |room| (number, room)).collect::<Vec<_>>()
    });
    named.filter(|(_, used)| CHAIN.iter().skip(place + 1).any(|later| later == used)).collect()
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
