//! What the programs of the archive are made of, by cargo's metadata and locks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::{Workspace, command, output_of};

/// Named, so that the flags for what is shipped do not reach build scripts.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The packages that are shipped as programs, by the workspace that holds them.
const SHIPPED: [(&str, &[&str]); 2] =
    [("", &["purser-main", "purser-migrate"]), ("localnet", &["purser-localnet"])];
/// How files with a licence's text begin.
const LICENCE_FILES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

pub struct Components {
    pub version: String,
    /// By name and version.
    pub packages: BTreeMap<(String, String), Component>,
}

pub struct Component {
    pub licence: Option<String>,
    /// SHA-256 of the package as the registry has it; `None` for what is ours.
    pub checksum: Option<String>,
    pub uses: BTreeSet<(String, String)>,
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` is an ordinary one; others are for tests and build scripts.
    kind: Option<String>,
}

impl Components {
    pub fn of(workspace: &Workspace) -> Result<Self> {
        let mut packages = BTreeMap::new();
        for (folder, programs) in SHIPPED {
            let folder = workspace.root.join(folder);
            let checksums = checksums(&fs::read_to_string(folder.join("Cargo.lock"))?);
            gather(&metadata(&folder)?, programs, &checksums, &mut packages)?;
        }
        let version =
            packages.keys().find(|(name, _)| name == "purser-main").map(|(_, version)| version.clone());
        Ok(Self { version: version.context("there is no purser-main")?, packages })
    }

    /// Each licence's text once, with the packages that are under it.
    pub fn licences(&self) -> Result<String> {
        let mut list = String::new();
        let mut texts = BTreeMap::<String, Vec<String>>::new();
        for ((name, version), component) in
            self.packages.iter().filter(|(_, component)| component.checksum.is_some())
        {
            let licence = component.licence.as_deref().unwrap_or("see its text");
            writeln!(list, "{name} {version}: {licence}")?;
            for text in licence_texts(&component.folder)? {
                texts.entry(text).or_default().push(format!("{name} {version}"));
            }
        }
        let mut all = format!("The programs of this archive contain these packages:\n\n{list}");
        for (text, packages) in texts {
            let line = "-".repeat(80);
            write!(all, "\n{line}\n{}\n{line}\n\n{}\n", packages.join(", "), text.trim_end())?;
        }
        Ok(all)
    }
}

fn metadata(folder: &Path) -> Result<Metadata> {
    let mut metadata = command("cargo");
    metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]);
    let text = output_of(metadata.current_dir(folder))?;
    serde_json::from_str(&text).context("unexpected answer of cargo metadata")
}

/// Adds the programs and everything that they are linked from.
fn gather(
    metadata: &Metadata,
    programs: &[&str],
    checksums: &BTreeMap<(String, String), String>,
    packages: &mut BTreeMap<(String, String), Component>,
) -> Result<()> {
    let known: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let key = |id: &str| {
        let package = known.get(id).with_context(|| format!("cargo knows no {id}"))?;
        anyhow::Ok((package.name.clone(), package.version.clone()))
    };
    let is_program = |package: &&Package| programs.contains(&package.name.as_str());
    let mut left: Vec<&str> = metadata.packages.iter().filter(is_program).map(|it| it.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = known.get(id).with_context(|| format!("cargo knows no {id}"))?;
        let node = nodes.get(id).with_context(|| format!("cargo resolves no {id}"))?;
        let linked = |it: &&Dependency| it.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let uses: Vec<&str> = node.deps.iter().filter(linked).map(|it| it.pkg.as_str()).collect();
        let component = packages.entry(key(id)?).or_insert_with(|| Component {
            licence: package.license.as_ref().map(|text| text.replace('/', " OR ")),
            checksum: checksums.get(&(package.name.clone(), package.version.clone())).cloned(),
            uses: BTreeSet::new(),
            folder: package.manifest_path.parent().unwrap_or(Path::new("")).to_path_buf(),
        });
        for used in &uses {
            component.uses.insert(key(used)?);
        }
        left.extend(uses);
    }
    Ok(())
}

/// By name and version, as `Cargo.lock` has them.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, field: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(" = \""));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
    };
    let of =
        |package| Some(((value(package, "name")?, value(package, "version")?), value(package, "checksum")?));
    lock.split("[[package]]").filter_map(of).collect()
}

fn licence_texts(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = file?;
        let name = file.file_name().to_string_lossy().to_lowercase();
        if LICENCE_FILES.iter().any(|begin| name.starts_with(begin)) && file.path().is_file() {
            texts.insert(String::from_utf8_lossy(&fs::read(file.path())?).replace('\r', ""));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_the_checksums_of_what_comes_from_a_registry() {
        let lock = "version = 4\n\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"theirs\"\n\
                    version = \"1.2.3\"\nsource = \"registry\"\nchecksum = \"ab\"\ndependencies = [\n \"ours\",\n]\n";
        let found = checksums(lock);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(("theirs".into(), "1.2.3".into()), "ab".into())]);
    }

    #[test]
    fn programs_are_made_of_what_they_link_and_not_of_what_builds_or_tests_them() {
        let json = r#"{
            "packages": [
                {"id": "a", "name": "a", "version": "1", "license": "MIT/Apache-2.0", "manifest_path": "/a/Cargo.toml"},
                {"id": "b", "name": "b", "version": "1", "license": null, "manifest_path": "/b/Cargo.toml"},
                {"id": "c", "name": "c", "version": "1", "license": null, "manifest_path": "/c/Cargo.toml"},
                {"id": "d", "name": "d", "version": "1", "license": null, "manifest_path": "/d/Cargo.toml"}],
            "resolve": {"nodes": [
                {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": null}]},
                    {"pkg": "c", "dep_kinds": [{"kind": "build"}, {"kind": "dev"}]}]},
                {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "d", "deps": []}]}}"#;
        let mut packages = BTreeMap::new();
        gather(&serde_json::from_str(json).unwrap(), &["a"], &BTreeMap::new(), &mut packages).unwrap();
        let names: Vec<&str> = packages.keys().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let a = &packages[&("a".to_owned(), "1".to_owned())];
        assert_eq!(a.licence.as_deref(), Some("MIT OR Apache-2.0"));
        assert!(a.uses.contains(&("b".to_owned(), "1".to_owned())));
    }
}
