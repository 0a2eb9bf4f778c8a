//! What a page prints for people to type.

use std::fs;

use crate::binaries;

/// The code blocks of a page of this project that begin with this fence, such as `sh` or `sh rotation`, in order.
pub fn blocks(page: &str, fence: &str) -> Vec<String> {
    let (text, begin) = (text_of(page), format!("```{fence}\n"));
    let blocks = text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

/// The first command in a page's running text that begins with these words.
pub fn inline(page: &str, begin: &str) -> String {
    let found = text_of(page).split('`').find(|part| part.starts_with(begin)).map(str::to_owned);
    found.unwrap_or_else(|| panic!("no `{begin}...` in {page}"))
}

fn text_of(page: &str) -> String {
    fs::read_to_string(binaries::workspace().join(page)).expect("the page is there")
}

/// A block with values for the words in it that stand for something, such as `OPERATOR` or `new.json`.
pub fn filled(block: &str, values: &[(&str, &str)]) -> String {
    let ends = |sign: char| sign.is_whitespace() || sign == '"';
    let fill = |word: &str| {
        let bare = word.trim_end_matches(ends);
        let value = values.iter().find(|(name, _)| *name == bare).map(|(_, value)| *value);
        let is_a_name = bare.len() > 2 && bare.chars().all(|sign| sign.is_ascii_uppercase() || sign == '_');
        assert!(value.is_some() || !is_a_name, "nothing for {bare} in {block}");
        format!("{}{}", value.unwrap_or(bare), &word[bare.len()..])
    };
    block.split_inclusive(ends).map(fill).collect()
}
