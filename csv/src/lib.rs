//! Lists as CSV for bookkeeping, alike from the relayer and from the audit.

use std::io::Write;

use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};

/// Begins a file. Without it, Excel reads the file in the machine's own encoding.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Writes rows with text in quotes and numbers without. It writes no column names by itself.
pub fn writer<W: Write>(file: W) -> Writer<W> {
    // Where several separators count, only a cell in quotes stays one.
    WriterBuilder::new()
        .has_headers(false)
        .terminator(Terminator::CRLF)
        .quote_style(QuoteStyle::NonNumeric)
        .from_writer(file)
}

/// Returns a stranger's text such that no spreadsheet evaluates it: https://owasp.org/www-community/attacks/CSV_Injection.
/// A leading apostrophe makes it text. Where a file is read by another separator, as Excel does in many languages, a cell may end
/// at each separator in the text, so each part gets its own.
pub fn disarmed(text: &str) -> String {
    let mut disarmed = String::with_capacity(text.len() + 1);
    if text.starts_with(['\t', '\r', '\n']) {
        disarmed.push('\'');
    }
    // Where the part began, as long as it is blank.
    let mut blank_since = Some(disarmed.len());
    for letter in text.chars() {
        if let Some(begin) = blank_since
            && begins_formula(letter)
        {
            disarmed.insert(begin, '\'');
        }
        disarmed.push(letter);
        let is_separator = matches!(letter, ',' | ';' | '|' | '\t' | '\r' | '\n');
        let is_blank = letter.is_whitespace() || letter == '"';
        blank_since = if is_separator { Some(disarmed.len()) } else { blank_since.filter(|_| is_blank) };
    }
    disarmed
}

/// In ASCII, or in full width.
fn begins_formula(letter: char) -> bool {
    matches!(letter, '=' | '+' | '-' | '@' | '\u{FF1D}' | '\u{FF0B}' | '\u{FF0D}' | '\u{FF20}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_cell_is_a_formula_whatever_separates() {
        for (text, expected) in [
            ("rent", "rent"),
            ("", ""),
            ("5-3=2", "5-3=2"),
            ("a;b|c\td, e", "a;b|c\td, e"),
            ("two\nlines", "two\nlines"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("  @SUM(A1)", "'  @SUM(A1)"),
            ("\"-1", "'\"-1"),
            ("\u{FF1D}1", "'\u{FF1D}1"),
            ("\ttea", "'\ttea"),
            ("\t=1", "'\t'=1"),
            ("\r'=1", "'\r'=1"),
            ("=1;=2", "'=1;'=2"),
            ("lunch,=1", "lunch,'=1"),
            ("lunch;=1+1;x", "lunch;'=1+1;x"),
            ("lunch|=1+1|-2", "lunch|'=1+1|'-2"),
            ("lunch\t@SUM(A1)", "lunch\t'@SUM(A1)"),
            ("lunch; \u{a0}+1", "lunch;' \u{a0}+1"),
            ("lunch;\"=1+1\"", "lunch;'\"=1+1\""),
            ("lunch;\u{FF1D}1", "lunch;'\u{FF1D}1"),
            ("lunch\n=1+1", "lunch\n'=1+1"),
            ("lunch;|;=1", "lunch;|;'=1"),
        ] {
            assert_eq!(disarmed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_stay_numbers_and_text_stands_in_quotes() {
        let mut file = Vec::new();
        let mut rows = writer(&mut file);
        for row in [["12.500000", "a \"b\", c"], ["7", "two\nlines"]] {
            rows.write_record(row).expect("written");
        }
        drop(rows);
        assert_eq!(file, b"12.500000,\"a \"\"b\"\", c\"\r\n7,\"two\nlines\"\r\n");
    }
}
