//! Pages: links to files and headings that are there, citations of pages in code, the table of contents in
//! `docs/SUMMARY.md`, lines and table cells that fit on a screen, and sentences that are easy to read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};

use crate::workspace::{command, output_of};

/// Packed beside other files than those of its folder.
const ELSEWHERE: &str = "deploy/archive/README.md";

const SUMMARY: &str = "docs/SUMMARY.md";

/// Characters of a line of prose, without the targets of its links, and of a cell of a table.
const WIDTH_MAX: usize = 120;

/// Words of a sentence, and of a page's sentences in the mean.
const WORDS_MAX: usize = 30;
const WORDS_MEAN_MAX: usize = 25;

/// Words that begin no sentence but a question.
const NO_BEGINNINGS: [&str; 4] = ["What", "Who", "Whoever", "Of"];

/// Words that nobody would say to a colleague.
const NO_WORDS: [&str; 5] = ["anew", "henceforth", "thereof", "whichever", "whoever"];

/// Fails on a page that breaks one of these rules, and on code that cites a page that is not there.
pub fn check(root: &Path) -> Result<()> {
    let listed = output_of(command("git").current_dir(root).args(["ls-files", "-z"]))?;
    let mut pages = BTreeMap::new();
    let mut found = Vec::new();
    for name in listed.split_terminator('\0') {
        // What is no text, or was deleted and not committed yet, cites nothing.
        let Ok(text) = fs::read_to_string(root.join(name)) else { continue };
        found.extend(absent(name, &text, |path| root.join(path).exists()));
        if Path::new(name).extension().is_some_and(|end| end == "md") && name != ELSEWHERE {
            pages.insert(PathBuf::from(name), text);
        }
    }
    found.extend(broken(&pages, |path| root.join(path).exists()));
    found.extend(orphans(&pages));
    for (page, text) in pages.iter().filter(|(page, _)| is_read_as_text(page)) {
        let name = page.display();
        found.extend(wide(text).into_iter().chain(unclear(text)).map(|at| format!("{name}:{at}")));
    }
    ensure!(found.is_empty(), "pages:\n  {}", found.join("\n  "));
    Ok(())
}

/// What the service sends to programs is not, nor is what tests save.
fn is_read_as_text(page: &Path) -> bool {
    let is_at_the_top = page.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    is_at_the_top || page.starts_with("docs") || page.file_name().is_some_and(|name| name == "README.md")
}

/// Lines that are no code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((at + 1, line))
    })
}

/// What a link names a heading by, as GitHub does.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).collect::<String>().trim().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).map(|(_, line)| line).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let of_line =
        |(_, line)| str::split(line, "](").skip(1).filter_map(|rest| rest.split_once(')').map(|(to, _)| to));
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

/// The file that a link of a page leads to, and the heading in it.
fn target<'a>(page: &Path, link: &'a str) -> (PathBuf, &'a str) {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.parent().unwrap_or(Path::new(""));
    (if path.is_empty() { page.to_owned() } else { plain(&folder.join(path)) }, heading)
}

fn broken(pages: &BTreeMap<PathBuf, String>, is_there: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (page, text) in pages {
        for link in links(text) {
            let (to, heading) = target(page, link);
            let has_heading =
                heading.is_empty() || pages.get(&to).is_none_or(|text| anchors(text).contains(heading));
            if !is_there(&to) || !has_heading {
                broken.push(format!("{}: dead link {link}", page.display()));
            }
        }
    }
    broken
}

/// Pages under `docs/` that the table of contents does not name.
fn orphans(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let named: BTreeSet<PathBuf> = pages
        .get(summary)
        .into_iter()
        .flat_map(|text| links(text))
        .map(|link| target(summary, link).0)
        .collect();
    let pages = pages.keys().filter(|page| page.starts_with("docs") && *page != summary);
    let orphans = pages.filter(|page| !named.contains(*page));
    orphans.map(|page| format!("{} is not in {SUMMARY}", page.display())).collect()
}

/// Pages under `docs/` that a file cites and that are not there.
fn absent(name: &str, text: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    const FOLDER: &str = "docs/";
    let is_of_a_path = |sign: char| sign.is_ascii_alphanumeric() || "-_./".contains(sign);
    let mut absent = Vec::new();
    for (at, _) in text.match_indices(FOLDER) {
        let before = text[..at].trim_end_matches("../").chars().next_back();
        let path: String = text[at..].chars().take_while(|sign| is_of_a_path(*sign)).collect();
        let path = path.trim_end_matches('.');
        if !before.is_some_and(is_of_a_path) && path.ends_with(".md") && !is_there(path) {
            absent.push(format!("{name} cites {path}, which is not there"));
        }
    }
    absent
}

/// A line without what its links lead to.
fn shown(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + "]" + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Lines and cells that are too wide. Code, headings and bare addresses may be.
fn wide(text: &str) -> Vec<String> {
    let mut wide = Vec::new();
    for (at, line) in prose(text) {
        let shown = shown(line);
        if line.trim_start().starts_with('|') {
            let cell = shown.replace("\\|", "/").split('|').map(|cell| cell.trim().chars().count()).max();
            if cell.is_some_and(|count| count > WIDTH_MAX) {
                wide.push(format!("{at}: a cell of more than {WIDTH_MAX} characters"));
            }
        } else if shown.chars().count() > WIDTH_MAX
            && !line.starts_with('#')
            && !line.starts_with("    ")
            && !line.contains("://")
        {
            wide.push(format!("{at}: a line of more than {WIDTH_MAX} characters"));
        }
    }
    wide
}

/// Paragraphs, items of lists and cells of tables, with the numbers of their first lines. Headings are exempt, and so is code.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (at, line) in prose(text) {
        let (line, words) = (line.trim(), line.trim().trim_start_matches(['-', '*', '>', ' ']));
        let is_item =
            words.len() < line.len() || line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        if line.starts_with('|') {
            paragraphs.extend(line.split('|').map(|cell| (at, cell.trim().to_owned())));
        } else if is_open
            && !line.is_empty()
            && !is_item
            && let Some((_, open)) = paragraphs.last_mut()
        {
            open.push(' ');
            open.push_str(line);
        } else if !line.is_empty() && !line.starts_with('#') {
            paragraphs.push((at, words.to_owned()));
        }
        is_open = !line.is_empty() && !line.starts_with(['|', '#']);
    }
    paragraphs
}

/// Text in which each piece of code is one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "X" }).collect()
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut begin = 0;
    for (at, _) in text.match_indices(' ') {
        if text[begin..at].ends_with(['.', '?', '!', ':']) {
            sentences.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    sentences.push(&text[begin..]);
    sentences
}

/// Sentences that are too long or begin with words of [`NO_BEGINNINGS`], and words of [`NO_WORDS`].
fn unclear(text: &str) -> Vec<String> {
    let mut unclear = Vec::new();
    let mut lengths = Vec::new();
    for (at, paragraph) in paragraphs(text) {
        let text = without_code(&shown(&paragraph));
        for sentence in sentences(&text) {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            lengths.push(words.len());
            if words.len() > WORDS_MAX {
                unclear.push(format!("{at}: a sentence of {} words", words.len()));
            }
            let first =
                words.first().map_or("", |word| word.trim_matches(|sign: char| !sign.is_alphanumeric()));
            if NO_BEGINNINGS.contains(&first) && !sentence.trim_end().ends_with('?') {
                unclear.push(format!("{at}: a sentence begins with {first}"));
            }
            let bare = |word: &&str| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
            let words = words.iter().map(bare).filter(|word| NO_WORDS.contains(&word.as_str()));
            unclear.extend(words.map(|word| format!("{at}: the word {word}")));
        }
    }
    if lengths.iter().sum::<usize>() > WORDS_MEAN_MAX * lengths.len() {
        unclear.push(format!("1: sentences of more than {WORDS_MEAN_MAX} words in the mean"));
    }
    unclear
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        texts.iter().map(|(name, text)| (PathBuf::from(name), (*text).to_owned())).collect()
    }

    #[test]
    fn missing_file_missing_heading_and_missing_own_heading_are_found() {
        let page = "# A `b` c\n[x](b.md) [x](c.md) [x](b.md#d-e) [x](b.md#f) [x](#a-b-c) [x](#g)\n```\n[x](no.md)\n```\n";
        let pages =
            pages(&[("p/a.md", page), ("p/b.md", "## D, e\n[up](../p/a.md) [web](https://x.example/#y)")]);
        let found = broken(&pages, |path| pages.contains_key(path));
        let dead = ["c.md", "b.md#f", "#g"].map(|link| format!("p/a.md: dead link {link}"));
        assert_eq!(found, dead);
    }

    #[test]
    fn page_that_the_table_of_contents_does_not_name_is_found() {
        let (known, orphan) = (concat!("docs", "/run/a.md"), concat!("docs", "/run/b.md"));
        let pages = pages(&[(SUMMARY, "- [A](run/a.md)"), (known, ""), (orphan, ""), ("README.md", "")]);
        assert_eq!(orphans(&pages), [format!("{orphan} is not in {SUMMARY}")]);
    }

    #[test]
    fn cited_page_that_is_not_there_is_found_in_code_and_prose() {
        let (here, gone) = (concat!("docs", "/a.md"), concat!("docs", "/run/gone.md"));
        let text = format!(
            "include_str!(\"../../{here}\"); // see {gone}. Also `../{gone}`, https://x.example/{gone}"
        );
        let found = absent("a.rs", &text, |path| path == here);
        let cited = format!("a.rs cites {gone}, which is not there");
        assert_eq!(found, [cited.clone(), cited]);
    }

    #[test]
    fn wide_lines_and_cells_are_found_and_code_addresses_and_targets_are_not() {
        let long = "a ".repeat(61);
        let fits = "a ".repeat(59);
        let text = format!(
            "{long}\n\n| a | {long} |\n| {fits} | {fits} |\n\n```\n{long}\n```\n\n# {long}\n\n\
             [{fits}]({}.md)\nhttps://x.example/{}\n",
            "b".repeat(99),
            "c".repeat(150)
        );
        assert_eq!(
            wide(&text).iter().map(|at| at.split(':').next()).collect::<Vec<_>>(),
            [Some("1"), Some("3")]
        );
    }

    #[test]
    fn long_and_inverted_sentences_are_found_and_questions_code_and_headings_are_not() {
        let long = "word ".repeat(31);
        let text = format!(
            "# What is this\n\nWhat is it? It is fine. What it\ndoes is unclear.\n\n- {long}\n- Ask\n  whoever.\n\n\
             | Who can | a `Of x` |\n\n```\n{long}\n```\n"
        );
        let found = unclear(&text);
        let expected = [
            "3: a sentence begins with What",
            "6: a sentence of 31 words",
            "7: the word whoever",
            "10: a sentence begins with Who",
        ];
        assert_eq!(found, expected);
        assert_eq!(
            unclear(&format!("{}.", "word ".repeat(26))),
            ["1: sentences of more than 25 words in the mean"]
        );
    }
}
