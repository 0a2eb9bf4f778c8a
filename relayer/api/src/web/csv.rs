//! Lists as files for bookkeeping: CSV, which is streamed, so that no list is in memory as a whole; and workbooks of a bounded size.

use std::io;
use std::sync::LazyLock;

use axum::response::Response;
use csv::Writer;
use futures::{Stream, StreamExt};
use rust_xlsxwriter::{Format, Workbook, XlsxError};
use serde::Serialize;

use super::file::{self, FileFormat};
use purser_base::shares::Shares;
use purser_csv::{BYTE_ORDER_MARK, disarmed, writer};
use purser_model::{Invalid, OperatorId};

/// A workbook is in memory as a whole.
const WORKBOOK_ROWS_MAX: usize = 10_000;
/// How many workbooks a process makes at once; an operator alone, half of them. Others wait, before they read anything.
const WORKBOOKS_AT_ONCE: usize = 4;

static WORKBOOKS: LazyLock<Shares> = LazyLock::new(|| Shares::new(WORKBOOKS_AT_ONCE));

/// A row of a list.
pub(crate) trait CsvRow: Serialize {
    /// The column names, in order.
    fn head() -> impl Iterator<Item = &'static str>;

    /// The cells whose text may come from somebody else.
    fn foreign_cells(&mut self) -> impl Iterator<Item = &mut String>;
}

/// An answer with these pages, to be saved under `name` with its extension. Invalid: more rows than a workbook may have.
pub(crate) async fn answer<R, E>(
    (format, operator): (FileFormat, OperatorId),
    name: &str,
    pages: impl Stream<Item = Result<Vec<R>, E>> + Send + 'static,
) -> Result<Response, Invalid>
where
    R: CsvRow + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    match format {
        FileFormat::Csv => Ok(as_csv(name, pages)),
        FileFormat::Xlsx => as_workbook(operator, name, pages).await,
    }
}

/// The cells are the same as in CSV: text, which a spreadsheet takes as it is, and amounts as numbers.
async fn as_workbook<R, E>(
    operator: OperatorId,
    name: &str,
    pages: impl Stream<Item = Result<Vec<R>, E>> + Send + 'static,
) -> Result<Response, Invalid>
where
    R: CsvRow + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let share = WORKBOOKS.take(Some(operator)).await;
    let mut pages = Box::pin(pages);
    let mut rows = Vec::new();
    let read = loop {
        match pages.next().await {
            Some(Ok(page)) => rows.extend(page),
            Some(Err(error)) => break Err(file::broken(error)),
            None => break Ok(()),
        }
        if rows.len() > WORKBOOK_ROWS_MAX {
            let too_many =
                "has more than 10,000 rows, which a workbook does not hold: take CSV, or a shorter time";
            return Err(Invalid::new("format", too_many));
        }
    };
    let bytes = match read {
        // Made to its end even if the client is gone.
        Ok(()) => {
            let make = move || {
                let made = workbook(rows).map_err(io::Error::other);
                drop(share);
                made
            };
            tokio::task::spawn_blocking(make).await
        }
        Err(error) => Ok(Err(error)),
    };
    let bytes = futures::stream::once(async { bytes.map_err(io::Error::other)? });
    let media_type = FileFormat::Xlsx.media_type();
    Ok(file::answer(&format!("{name}.xlsx"), media_type, bytes))
}

fn workbook<R: CsvRow>(rows: Vec<R>) -> Result<Vec<u8>, XlsxError> {
    let csv = text(|writer| {
        writer.write_record(R::head())?;
        rows.into_iter().try_for_each(|row| writer.serialize(row))
    });
    let csv = csv.map_err(XlsxError::IoError)?;
    let mut book = Workbook::new();
    let (bold, money) = (Format::new().set_bold(), Format::new().set_num_format("#,##0.000000"));
    let sheet = book.add_worksheet();
    sheet.set_freeze_panes(1, 0)?;
    let heads: Vec<&str> = R::head().collect();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_slice());
    for (row, record) in (0..).zip(reader.records()) {
        let record = record.map_err(|error| XlsxError::IoError(io::Error::other(error)))?;
        for ((column, head), cell) in (0..).zip(&heads).zip(&record) {
            match cell.parse::<f64>() {
                _ if row == 0 => sheet.write_string_with_format(row, column, cell, &bold)?,
                Ok(amount) if *head == "amount_usdc" => {
                    sheet.write_number_with_format(row, column, amount, &money)?
                }
                // A string is no formula, whatever it begins with.
                Ok(_) | Err(_) => sheet.write_string(row, column, cell)?,
            };
        }
    }
    book.save_to_buffer()
}

fn as_csv<R, E>(name: &str, pages: impl Stream<Item = Result<Vec<R>, E>> + Send + 'static) -> Response
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
    let media_type = "text/csv; charset=utf-8; header=present";
    file::answer(&format!("{name}.csv"), media_type, head.chain(pages))
}

fn write<R: CsvRow>(writer: &mut Writer<Vec<u8>>, mut row: R) -> csv::Result<()> {
    row.foreign_cells().for_each(|cell| *cell = disarmed(cell));
    writer.serialize(row)
}

fn text(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> io::Result<Vec<u8>> {
    let mut writer = writer(Vec::new());
    write(&mut writer)?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const OPERATOR: OperatorId = OperatorId::from_bytes([1; 16]);

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
    fn text_of_others_is_disarmed() {
        let row = |memo: &str| {
            let line = Line { id: "ent_1", memo: Some(memo.to_owned()) };
            let bytes = text(|writer| write(writer, line)).expect("written");
            String::from_utf8(bytes).expect("UTF-8")
        };
        assert_eq!(row("tea"), "\"ent_1\",\"tea\"\r\n");
        assert_eq!(row("=cmd|' /C calc'!A0"), "\"ent_1\",\"'=cmd|' /C calc'!A0\"\r\n");
    }

    #[tokio::test]
    async fn operator_makes_two_workbooks_at_once_and_another_still_finds_a_place() {
        let operator = OperatorId::from_bytes([2; 16]);
        let held = [WORKBOOKS.take(Some(operator)).await, WORKBOOKS.take(Some(operator)).await];
        let asks = |operator| {
            let pages =
                futures::stream::once(async { Ok::<_, io::Error>(vec![Line { id: "a", memo: None }]) });
            answer((FileFormat::Xlsx, operator), "list", pages)
        };
        let mut third = Box::pin(asks(operator));
        assert!(third.as_mut().now_or_never().is_none(), "it waits");
        asks(OperatorId::from_bytes([3; 16])).await.expect("made");
        drop(held);
        third.await.expect("made");
    }

    #[tokio::test]
    async fn workbook_has_text_as_it_is_and_at_most_so_many_rows() {
        let line = || Line { id: "ent_1", memo: Some("=1+1".into()) };
        let of =
            |rows: usize| futures::stream::iter([Ok::<_, io::Error>((0..rows).map(|_| line()).collect())]);
        let whole =
            answer((FileFormat::Xlsx, OPERATOR), "list", of(WORKBOOK_ROWS_MAX)).await.expect("few enough");
        let bytes = axum::body::to_bytes(whole.into_body(), usize::MAX).await.expect("whole");
        assert!(bytes.starts_with(b"PK"), "a workbook is an archive");
        assert!(answer((FileFormat::Xlsx, OPERATOR), "list", of(WORKBOOK_ROWS_MAX + 1)).await.is_err());
        assert!(
            answer((FileFormat::Csv, OPERATOR), "list", of(WORKBOOK_ROWS_MAX + 1)).await.is_ok(),
            "CSV has no such bound"
        );
        let broken = futures::stream::iter([Ok(vec![line()]), Err(io::Error::other("the database is away"))]);
        let broken =
            answer((FileFormat::Xlsx, OPERATOR), "list", broken).await.expect("an answer that breaks off");
        axum::body::to_bytes(broken.into_body(), usize::MAX).await.expect_err("nobody takes it for complete");
    }
}
