//! Rows of either database, read by column name.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::StoreError;

/// A row, while its statement runs.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

/// Identifies a column in a row.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Name(&'static str),
    Place(usize),
}

/// Readable from a row: TEXT, BIGINT or BOOLEAN from one column, or a struct or tuple from several columns, which
/// locates them itself.
pub(super) trait Record: Sized + Send + 'static {
    fn read(row: &Row<'_>, column: Column) -> Result<Self, StoreError>;
}

macro_rules! held_by_a_column {
    ($($held:ty),*) => {$(
        impl Record for $held {
            fn read(row: &Row<'_>, column: Column) -> Result<Self, StoreError> {
                Ok(match (row, column) {
                    (Row::Sqlite(row), Column::Name(name)) => row.get(name)?,
                    (Row::Sqlite(row), Column::Place(place)) => row.get(place)?,
                    (Row::Postgres(row), Column::Name(name)) => row.try_get(name)?,
                    (Row::Postgres(row), Column::Place(place)) => row.try_get(place)?,
                })
            }
        }
    )*};
}

held_by_a_column!(String, Option<String>, i64, Option<i64>, bool, Vec<u8>);

macro_rules! tuple {
    ($($part:ident $place:literal),*) => {
        impl<$($part: Record),*> Record for ($($part,)*) {
            fn read(row: &Row<'_>, _: Column) -> Result<Self, StoreError> {
                Ok(($($part::read(row, Column::Place($place))?,)*))
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);

/// `#[derive(ByName!)]`: reads each field from the column of its name, or from several if the field is such a struct itself.
macro_rules! ByName {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $($(#[$of_field:meta])* $field_visible:vis $field:ident: $held:ty),* $(,)?
    }) => {
        impl $crate::store::row::Record for $name {
            fn read(
                row: &$crate::store::row::Row<'_>,
                _: $crate::store::row::Column,
            ) -> Result<Self, $crate::store::StoreError> {
                use $crate::store::row::{Column, Record};
                Ok(Self { $($field: <$held as Record>::read(row, Column::Name(stringify!($field)))?),* })
            }
        }
    };
}
pub(super) use ByName;
