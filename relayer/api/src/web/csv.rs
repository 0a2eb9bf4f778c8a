//! Lists as CSV, for bookkeeping: streamed, so that no list is in memory as a whole.

use std::io;

use axum::response::Response;
use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};
use futures::{Stream, StreamExt};
use serde::Serialize;

use super::file;

/// Without it, Excel reads the file in the machine's own encoding.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A row of a list.
pub(crate) trait CsvRow: Serialize {
    /// The column names, in order.
    fn head() -> impl Iterator<Item = &'static str>;

    /// The cells whose text may come from somebody else.
    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String>;
}

/// An answer with these pages, to be saved under `name` with its extension.
pub(crate) fn answer<R, E>(
    name: &str,
    pages: impl Stream<Item = Result<Vec<R>, E>> + Send + 'static,
) -> Response
where
    R: CsvRow + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let head = futures::stream::once(async {
        let names = text(|writer| writer.write_record(R::head()))?;
        Ok([BYTE_ORDER_MARK.as_bytes(), &names].concat())
    });
    let pages = pages.map(|page| match page {
        Ok(rows) => text(|writer| rows.into_iter().try_for_each(|row| write(writer, row))),
        Err(error) => Err(file::broken(error)),
    });
    file::answer(&format!("{name}.csv"), "text/csv; charset=utf-8; header=present", head.chain(pages))
}

fn write<R: CsvRow>(writer: &mut Writer<Vec<u8>>, mut row: R) -> csv::Result<()> {
    row.foreign_cells().for_each(disarm);
    writer.serialize(row)
}

fn text(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> io::Result<Vec<u8>> {
    // Where several separators count, only a cell in quotes stays one.
    let mut writer = WriterBuilder::new()
        .has_headers(false)
        .terminator(Terminator::CRLF)
        .quote_style(QuoteStyle::NonNumeric)
        .from_writer(Vec::new());
    write(&mut writer)?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// A spreadsheet evaluates text that begins like a formula: https://owasp.org/www-community/attacks/CSV_Injection.
/// A leading apostrophe makes it text. Where `;`, tab or `|` separates, as in Excel in many languages, a cell may end at each of them in
/// it, and a line at each line break.
fn disarm(cell: &mut String) {
    let begins = |start: char| {
        matches!(start, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n')
            || matches!(start, '\u{FF1D}' | '\u{FF0B}' | '\u{FF0D}' | '\u{FF20}')
    };
    let mut disarmed = String::with_capacity(cell.len());
    if cell.starts_with(begins) || cell.trim_start().starts_with(begins) {
        disarmed.push('\'');
    }
    for (at, char) in cell.char_indices() {
        disarmed.push(char);
        if matches!(char, ';' | '\t' | '|' | '\r' | '\n') {
            let rest = &cell[at + char.len_utf8()..];
            let inner = rest.trim_start_matches(|char: char| char.is_whitespace() || char == '"');
            if inner.starts_with(begins) {
                disarmed.push('\'');
            }
        }
    }
    *cell = disarmed;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        id: &'static str,
        memo: Option<String>,
    }

    impl CsvRow for Line {
        fn head() -> impl Iterator<Item = &'static str> {
            ["id", "memo"].into_iter()
        }

        fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String> {
            self.memo.iter_mut()
        }
    }

    #[test]
    fn no_cell_is_a_formula_and_none_breaks_its_line() {
        let row = |memo: &str| {
            let line = Line { id: "ent_1", memo: Some(memo.to_owned()) };
            let bytes = text(|writer| write(writer, line)).expect("written");
            String::from_utf8(bytes).expect("UTF-8")
        };
        assert_eq!(row("tea"), "\"ent_1\",\"tea\"\r\n");
        assert_eq!(row("a \"b\", c"), "\"ent_1\",\"a \"\"b\"\", c\"\r\n");
        assert_eq!(row("two\nlines"), "\"ent_1\",\"two\nlines\"\r\n");
        assert_eq!(row("=cmd|' /C calc'!A0"), "\"ent_1\",\"'=cmd|' /C calc'!A0\"\r\n");
        for memo in ["+1", "-1", "@a", "  =1", "\t'=1", "\u{FF1D}1", "\r'=1"] {
            assert_eq!(row(memo), format!("\"ent_1\",\"'{memo}\"\r\n"));
        }
    }

    #[test]
    fn no_part_of_a_cell_is_a_formula_for_another_separator() {
        for (memo, disarmed) in [
            ("lunch;=1+1;x", "lunch;'=1+1;x"),
            ("lunch|=1+1|-2", "lunch|'=1+1|'-2"),
            ("lunch\t@SUM(A1)", "lunch\t'@SUM(A1)"),
            ("lunch; \u{a0}+1", "lunch;' \u{a0}+1"),
            ("lunch;\"=1+1\"", "lunch;'\"=1+1\""),
            ("lunch;\u{FF1D}1", "lunch;'\u{FF1D}1"),
            ("lunch\n=1+1", "lunch\n'=1+1"),
            ("lunch;|;=1", "lunch;|;'=1"),
            ("\t=1", "'\t'=1"),
            ("=1;=2", "'=1;'=2"),
            ("a;b|c\td", "a;b|c\td"),
            ("5-3=2", "5-3=2"),
            ("", ""),
        ] {
            let mut cell = memo.to_owned();
            disarm(&mut cell);
            assert_eq!(cell, disarmed, "{memo:?}");
        }
    }

    #[test]
    fn amounts_stay_numbers_and_text_stands_in_quotes() {
        let row = |memo: &str| {
            let line = Line { id: "12.500000", memo: Some(memo.to_owned()) };
            String::from_utf8(text(|writer| write(writer, line)).expect("written")).expect("UTF-8")
        };
        assert_eq!(row("a;b"), "12.500000,\"a;b\"\r\n");
        assert_eq!(row("7"), "12.500000,7\r\n");
    }
}
