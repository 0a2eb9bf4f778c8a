//! The ledger of a report as files for bookkeeping: CSV, and a workbook.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anchor_lang::prelude::Pubkey;
use purser_csv::{BYTE_ORDER_MARK, disarmed, writer};
use purser_replay::AuditError;
use purser_replay::replay::{date, usdc};
use purser_replay::report::{LedgerEntry, LedgerTotal, Report, Sums, signed_usdc, totals};
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet, XlsxError};

const COLUMNS: [&str; 15] = [
    "date_utc",
    "account",
    "type",
    "number",
    "amount_usdc",
    "balance_usdc",
    "counterparty",
    "counterparty_owner",
    "memo",
    "policy_version",
    "grant",
    "approved_by",
    "approved_as",
    "transfer_id",
    "signature",
];
const SUMS: [&str; 6] = ["month", "type", "counterparty", "counterparty_owner", "count", "amount_usdc"];
const ACCOUNTS: [&str; 7] = [
    "account",
    "opening_balance_usdc",
    "deposited_usdc",
    "payments",
    "paid_usdc",
    "withdrawn_usdc",
    "closing_balance_usdc",
];
/// The columns of a workbook that hold numbers and dates.
const DATE: usize = 0;
const NUMBER: usize = 3;
const AMOUNT: usize = 4;
const BALANCE: usize = 5;
const VERSION: usize = 9;
const COUNT: usize = 4;
const SUM: usize = 5;
const PAYMENTS: usize = 3;

/// Writes the ledger to `file`; beside it its sums by month and counterparty, and the totals of each account. Returns the files
/// of both.
pub fn write_csv(file: &Path, report: &Report) -> Result<[PathBuf; 2], AuditError> {
    let ledger = &report.ledger;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let beside = ["totals", "accounts"].map(|what| file.with_file_name(format!("{stem}-{what}.csv")));
    let [sums, accounts] = &beside;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| AuditError::File { path, cause }
    };
    csv_file(file, &COLUMNS, ledger.iter().map(cells)).map_err(failed(file))?;
    csv_file(sums, &SUMS, totals(ledger).iter().map(sum_cells)).map_err(failed(sums))?;
    csv_file(accounts, &ACCOUNTS, account_rows(report)).map_err(failed(accounts))?;
    Ok(beside)
}

fn csv_file<const N: usize>(
    path: &Path,
    heads: &[&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(BYTE_ORDER_MARK.as_bytes())?;
    let mut writer = writer(file);
    writer.write_record(heads)?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.flush()
}

/// Writes a workbook with all three, and the first page of the report.
pub fn write_xlsx(file: &Path, report: &Report) -> Result<(), AuditError> {
    workbook(report)
        .and_then(|mut workbook| workbook.save(file))
        .map_err(|error| AuditError::File { path: file.to_owned(), cause: io::Error::other(error) })
}

fn workbook(report: &Report) -> Result<Workbook, XlsxError> {
    let ledger = &report.ledger;
    let mut workbook = Workbook::new();
    let (money, moment) =
        (Format::new().set_num_format("#,##0.000000"), Format::new().set_num_format("yyyy-mm-dd hh:mm:ss"));
    let sheet = headed(workbook.add_worksheet(), "Ledger", &COLUMNS)?;
    for (at, entry) in ledger.iter().enumerate() {
        let row = row_at(at)?;
        for (column, cell) in cells(entry).iter().enumerate() {
            let place = column_at(column)?;
            match column {
                DATE => sheet.write_with_format(
                    row,
                    place,
                    ExcelDateTime::from_timestamp(entry.time)?,
                    &moment,
                )?,
                AMOUNT => {
                    sheet.write_with_format(row, place, in_usdc(entry.amount.micros().into()), &money)?
                }
                BALANCE => sheet.write_with_format(row, place, in_usdc(entry.balance), &money)?,
                NUMBER | VERSION if !cell.is_empty() => {
                    sheet.write(row, place, cell.parse::<f64>().unwrap_or_default())?
                }
                // A string is no formula, whatever it begins with.
                _ => sheet.write_string(row, place, cell)?,
            };
        }
    }
    let sheet = headed(workbook.add_worksheet(), "Totals", &SUMS)?;
    for (at, sum) in totals(ledger).iter().enumerate() {
        let row = row_at(at)?;
        for (column, cell) in sum_cells(sum).iter().enumerate() {
            let place = column_at(column)?;
            match column {
                #[expect(clippy::cast_precision_loss, reason = "a workbook holds no other numbers")]
                COUNT => sheet.write(row, place, sum.count as f64)?,
                SUM => {
                    let micros = i128::try_from(sum.amount).unwrap_or(i128::MAX);
                    sheet.write_with_format(row, place, in_usdc(micros), &money)?
                }
                _ => sheet.write_string(row, place, cell)?,
            };
        }
    }
    let sheet = headed(workbook.add_worksheet(), "Accounts", &ACCOUNTS)?;
    for (at, cells) in account_rows(report).enumerate() {
        let row = row_at(at)?;
        for (column, cell) in cells.iter().enumerate() {
            let place = column_at(column)?;
            match (column, cell.parse::<f64>()) {
                (PAYMENTS, Ok(count)) => sheet.write(row, place, count)?,
                (1.., Ok(amount)) => sheet.write_with_format(row, place, amount, &money)?,
                _ => sheet.write_string(row, place, cell)?,
            };
        }
    }
    // A ledger says of itself which audit it belongs to.
    let sheet = headed(workbook.add_worksheet(), "Audit", &["item", "value"])?;
    let result = std::iter::once(("Result", report.verdict.clone()));
    for (at, (item, value)) in result.chain(report.first_page()).enumerate() {
        let row = row_at(at)?;
        sheet.write_string(row, 0, item)?.write_string(row, 1, value)?;
    }
    Ok(workbook)
}

fn headed<'a>(sheet: &'a mut Worksheet, name: &str, heads: &[&str]) -> Result<&'a mut Worksheet, XlsxError> {
    let bold = Format::new().set_bold();
    sheet.set_name(name)?.set_freeze_panes(1, 0)?;
    for (column, head) in heads.iter().enumerate() {
        let place = column_at(column)?;
        sheet.write_with_format(0, place, *head, &bold)?.set_column_width(place, 22)?;
    }
    Ok(sheet)
}

/// Below the heading.
fn row_at(at: usize) -> Result<u32, XlsxError> {
    u32::try_from(at + 1).map_err(|_| XlsxError::RowColumnLimitError)
}

fn column_at(at: usize) -> Result<u16, XlsxError> {
    u16::try_from(at).map_err(|_| XlsxError::RowColumnLimitError)
}

/// For a cell of a workbook, which holds no integer: exact to the micro-USDC up to nine thousand million USDC.
#[expect(clippy::cast_precision_loss, reason = "a workbook holds no other numbers")]
fn in_usdc(micros: i128) -> f64 {
    micros as f64 / 1_000_000.0
}

fn cells(entry: &LedgerEntry) -> [String; COLUMNS.len()] {
    let LedgerEntry { time, account, kind, number, amount, counterparty, owner, .. } = entry;
    [
        date(*time),
        account.to_string(),
        (*kind).to_owned(),
        number.map_or(String::new(), |number| number.to_string()),
        amount.to_string(),
        signed_usdc(entry.balance),
        key(counterparty),
        key(owner),
        entry.memo.as_deref().map_or(String::new(), disarmed),
        entry.policy_version.map_or(String::new(), |version| version.to_string()),
        key(&entry.grant),
        key(&entry.approved_by),
        entry.approved_as.unwrap_or_default().to_owned(),
        entry.transfer_id.map_or(String::new(), |id| format!("txn_{id}")),
        entry.signature.clone(),
    ]
}

fn sum_cells(sum: &LedgerTotal) -> [String; SUMS.len()] {
    let LedgerTotal { month, kind, counterparty, owner, count, amount } = sum;
    [month.clone(), (*kind).to_owned(), key(counterparty), key(owner), count.to_string(), usdc(*amount)]
}

/// One row for each account, and one for all.
fn account_rows(report: &Report) -> impl Iterator<Item = [String; ACCOUNTS.len()]> {
    let row = |account: &str, sums: &Sums| {
        [
            account.to_owned(),
            sums.opening_balance_usdc.clone(),
            sums.deposited_usdc.clone(),
            sums.payments.to_string(),
            sums.paid_usdc.clone(),
            sums.withdrawn_usdc.clone(),
            sums.closing_balance_usdc.clone(),
        ]
    };
    let all = std::iter::once(row("all", &report.period.all));
    report.period.accounts.iter().map(move |it| row(&it.account, &it.sums)).chain(all)
}

fn key(key: &Option<Pubkey>) -> String {
    key.map_or(String::new(), |key| key.to_string())
}
