use super::{Invalid, check_text};

/// Checks a label shown to people, 1 to `chars_max` characters. Invalid: blank, longer, a NUL, or a character that
/// makes a screen show a different text.
pub fn check_name(param: &str, name: &str, chars_max: usize) -> Result<(), Invalid> {
    if name.trim().is_empty() {
        return Err(Invalid::new(param, "must not be empty"));
    }
    if name.chars().any(reorders) {
        return Err(Invalid::new(param, "must not contain characters that override the direction of text"));
    }
    check_text(param, name, chars_max)
}

/// Bidirectional embeddings, overrides and isolates. A label in a right-to-left script needs none of them.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
