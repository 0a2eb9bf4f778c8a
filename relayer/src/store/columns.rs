//! Parses columns: text that this service wrote, read back into its types.

use std::str::FromStr;

use super::StoreError;

/// A table's name for errors, and readers for its columns.
#[derive(Clone, Copy)]
pub(super) struct Table(pub &'static str);

impl Table {
    pub(super) fn unreadable(self, column: &'static str) -> StoreError {
        StoreError::Unreadable { table: self.0, column }
    }

    pub(super) fn read<T: FromStr>(self, column: &'static str, text: &str) -> Result<T, StoreError> {
        text.parse().map_err(|_| self.unreadable(column))
    }

    pub(super) fn read_optional<T: FromStr>(
        self,
        column: &'static str,
        text: Option<&str>,
    ) -> Result<Option<T>, StoreError> {
        text.map(|text| self.read(column, text)).transpose()
    }

    pub(super) fn required<T>(self, column: &'static str, value: Option<T>) -> Result<T, StoreError> {
        value.ok_or_else(|| self.unreadable(column))
    }
}
