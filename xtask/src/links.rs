//! Links between pages, as their tests find them: to files that are there, and to headings that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::workspace::{Workspace, command, output_of};

/// Packed beside other files than those of its folder.
const ELSEWHERE: &str = "deploy/archive/README.md";

/// Lines that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What a link names a heading by, as GitHub does.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).collect::<String>().trim().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let of_line =
        |line| str::split(line, "](").skip(1).filter_map(|rest| rest.split_once(')').map(|(to, _)| to));
    prose(text).flat_map(of_line).filter(|to| !to.contains("://") && !to.starts_with("mailto:"))
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

fn broken(pages: &BTreeMap<PathBuf, String>, is_there: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (page, text) in pages {
        for link in links(text) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().unwrap_or(Path::new(""));
            let to = if path.is_empty() { page.clone() } else { plain(&folder.join(path)) };
            let has_heading =
                heading.is_empty() || pages.get(&to).is_none_or(|text| anchors(text).contains(heading));
            if !is_there(&to) || !has_heading {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    broken
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there() {
    let workspace = Workspace::find().expect("a workspace");
    let listed = output_of(command("git").current_dir(&workspace.root).args(["ls-files", "-z", "*.md"]));
    let listed = listed.expect("git lists files");
    let pages = listed.split_terminator('\0').filter(|page| *page != ELSEWHERE).map(|page| {
        (PathBuf::from(page), fs::read_to_string(workspace.root.join(page)).expect("it can be read"))
    });
    let broken = broken(&pages.collect(), |path| workspace.root.join(path).exists());
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn missing_file_missing_heading_and_missing_own_heading_are_found() {
    let page = "# A `b` c\n[x](b.md) [x](c.md) [x](b.md#d-e) [x](b.md#f) [x](#a-b-c) [x](#g)\n```\n[x](no.md)\n```\n";
    let pages =
        [("docs/a.md", page), ("docs/b.md", "## D, e\n[up](../docs/a.md) [web](https://x.example/#y)")];
    let pages = pages.map(|(name, text)| (PathBuf::from(name), text.to_owned()));
    let pages = BTreeMap::from(pages);
    let found = broken(&pages, |path| pages.contains_key(path));
    assert_eq!(found, ["docs/a.md: c.md", "docs/a.md: b.md#f", "docs/a.md: #g"]);
}
