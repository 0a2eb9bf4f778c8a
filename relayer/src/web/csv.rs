//! Lists as CSV, for bookkeeping: streamed, so that no list is in memory as a whole.

use std::io;

use axum::response::Response;
use csv::{Terminator, Writer, WriterBuilder};
use futures::{Stream, StreamExt};
use serde::Serialize;

use super::file;

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
    let head = futures::stream::once(async { text(|writer| writer.write_record(R::head())) });
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
    let mut writer =
        WriterBuilder::new().has_headers(false).terminator(Terminator::CRLF).from_writer(Vec::new());
    write(&mut writer)?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// A spreadsheet evaluates text that begins like a formula: https://owasp.org/www-community/attacks/CSV_Injection.
/// A leading apostrophe makes it text.
fn disarm(cell: &mut String) {
    let begins = |start: char| {
        matches!(start, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n')
            || matches!(start, '\u{FF1D}' | '\u{FF0B}' | '\u{FF0D}' | '\u{FF20}')
    };
    if cell.starts_with(begins) || cell.trim_start().starts_with(begins) {
        cell.insert(0, '\'');
    }
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
        assert_eq!(row("tea"), "ent_1,tea\r\n");
        assert_eq!(row("a \"b\", c"), "ent_1,\"a \"\"b\"\", c\"\r\n");
        assert_eq!(row("two\nlines"), "ent_1,\"two\nlines\"\r\n");
        assert_eq!(row("=cmd|' /C calc'!A0"), "ent_1,'=cmd|' /C calc'!A0\r\n");
        for memo in ["+1", "-1", "@a", "  =1", "\t=1", "\u{FF1D}1"] {
            assert_eq!(row(memo), format!("ent_1,'{memo}\r\n"));
        }
        assert_eq!(row("\r=1"), "ent_1,\"'\r=1\"\r\n");
    }
}
