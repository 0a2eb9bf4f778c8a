//! Files that import each other in a circle: to read one, you have to read all of them.
//!
//! A module and its parent may name each other, since a parent's file lists what is in its room.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// A module's path: `["store", "events"]`.
pub type Module = Vec<String>;

/// Fails on every circle among the files under `source` (a crate's `src`), and names its files.
pub fn check(source: &Path) -> Result<()> {
    let texts = modules_under(source)?;
    let modules: BTreeSet<&Module> = texts.keys().collect();
    let imports: BTreeMap<&Module, BTreeSet<Module>> =
        texts.iter().map(|(module, text)| (module, imports_of(module, text, &modules))).collect();
    let mut circles = BTreeSet::new();
    for module in texts.keys() {
        let circle: BTreeSet<Module> = reached_from(module, &imports)
            .into_iter()
            .filter(|other| reached_from(other, &imports).contains(module))
            .collect();
        if !circle.is_empty() {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            circles.insert(names.join(", "));
        }
    }
    if !circles.is_empty() {
        let circles: Vec<String> = circles.into_iter().collect();
        bail!("files import each other in a circle:\n{}", circles.join("\n"));
    }
    Ok(())
}

/// The modules under `source` with their texts, without tests, comments, and the files that only start the process.
pub fn modules_under(source: &Path) -> Result<BTreeMap<Module, String>> {
    let mut texts = BTreeMap::new();
    read_folder(source, &mut Vec::new(), &mut texts)?;
    Ok(texts)
}

fn read_folder(folder: &Path, parents: &mut Module, texts: &mut BTreeMap<Module, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if name == "tests" || ["main", "lib", "bin"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            parents.push(name);
            read_folder(&path, parents, texts)?;
            parents.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut module = parents.clone();
            if name != "mod" {
                module.push(name);
            }
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let code: Vec<&str> =
                text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
            texts.insert(module, code.join("\n"));
        }
    }
    Ok(())
}

/// The other modules that `text`, the source of `module`, names; its parents and children do not count.
fn imports_of(module: &Module, text: &str, modules: &BTreeSet<&Module>) -> BTreeSet<Module> {
    let mut named = BTreeSet::new();
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            // Of `super::super::`, only the first counts.
            if before.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':') {
                continue;
            }
            let mut from = if start == "crate::" { Module::new() } else { module.clone() };
            let mut rest = text[at..].strip_prefix("crate::").unwrap_or(&text[at..]);
            while let Some(further) = rest.strip_prefix("super::") {
                from.pop();
                rest = further;
            }
            paths(rest, &from, &mut |path| named.extend(file_of(path, modules)));
        }
    }
    named.retain(|other| !other.starts_with(module) && !module.starts_with(other));
    named
}

/// Every path of a use tree, or of a plain path, that begins here.
fn paths(text: &str, from: &Module, found: &mut impl FnMut(&Module)) {
    let word: String =
        text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
    let rest = &text[word.len()..];
    let mut path = from.clone();
    if !word.is_empty() && word != "self" {
        path.push(word);
    }
    if let Some(deeper) = rest.strip_prefix("::") {
        return paths(deeper, &path, found);
    }
    let Some(group) = rest.strip_prefix('{').filter(|_| text.starts_with('{')) else {
        return found(&path);
    };
    let (mut depth, mut item) = (0_u32, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                paths(group[item..at].trim_start(), from, found);
                item = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
}

/// The module whose file holds what `path` names: the longest prefix that is a module.
fn file_of(path: &Module, modules: &BTreeSet<&Module>) -> Option<Module> {
    (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|module| modules.contains(module))
}

/// Everything that `module` imports, directly or not.
fn reached_from(module: &Module, imports: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module.clone()];
    while let Some(module) = next.pop() {
        for import in imports.get(&module).into_iter().flatten() {
            if reached.insert(import.clone()) {
                next.push(import.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn the_relayer_has_no_circles() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../relayer/src");
        check(&source).expect("no circles");
    }

    #[test]
    fn a_circle_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("store")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("store/mod.rs", "mod events; mod deliveries; use events::Event;");
        write("store/events.rs", "use super::{Store, deliveries::insert};");
        write("store/deliveries.rs", "// use super::events::Row;\nuse super::Store;");
        check(folder.path()).expect("one way");
        write("store/deliveries.rs", "fn f() { crate::store::events::row() }");
        let error = check(folder.path()).expect_err("a circle").to_string();
        assert!(error.ends_with("store::deliveries, store::events"), "{error}");
    }

    #[test]
    fn a_use_tree_names_each_of_its_paths() {
        let (a, b, own) = (module("domain::amount"), module("chain::rpc::wire"), module("store::events"));
        let modules = BTreeSet::from([&a, &b, &own]);
        let text = "use crate::{chain::{rpc::wire::{self, Line}, Other}, domain::amount::Usdc};";
        assert_eq!(imports_of(&own, text, &modules), BTreeSet::from([a.clone(), b.clone()]));
    }
}
