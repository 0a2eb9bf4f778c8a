//! Rows of either database, read into our types by column name: a record says which column each of its fields has.

use std::fmt;

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::{Result, StoreError};

/// A row, while its statement runs.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

impl Row<'_> {
    /// The value of a column.
    pub fn get<C: Column>(&self, column: &'static str) -> Result<C> {
        C::read_at(self, At::Name(column))
    }
}

/// The column does not hold what this build writes.
pub(super) fn unreadable(column: &'static str) -> StoreError {
    At::Name(column).unreadable()
}

/// Where a value stands in its row.
#[derive(Clone, Copy)]
pub(super) enum At {
    Name(&'static str),
    Place(usize),
}

impl At {
    fn unreadable(self) -> StoreError {
        StoreError::Unreadable { column: self.to_string() }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Place(place) => write!(f, "{place}"),
        }
    }
}

/// A type that both databases have.
pub(super) trait Native: Sized {
    fn take(row: &Row<'_>, at: At) -> Result<Option<Self>>;
}

/// A type that a column holds, as a type that both databases have.
pub(super) trait Stored: Sized {
    type As: Native;
    /// `None`: this build did not write that.
    fn from_held(held: Self::As) -> Option<Self>;
}

macro_rules! native {
    ($($native:ty)*) => {$(
        impl Native for $native {
            fn take(row: &Row<'_>, at: At) -> Result<Option<Self>> {
                Ok(match (row, at) {
                    (Row::Sqlite(row), At::Name(name)) => row.get(name)?,
                    (Row::Sqlite(row), At::Place(place)) => row.get(place)?,
                    (Row::Postgres(row), At::Name(name)) => row.try_get(name)?,
                    (Row::Postgres(row), At::Place(place)) => row.try_get(place)?,
                })
            }
        }

        impl Stored for $native {
            type As = Self;

            fn from_held(held: Self) -> Option<Self> {
                Some(held)
            }
        }
    )*};
}

native!(String i64 bool Vec<u8>);

/// Readable from one column.
pub(super) trait Column: Sized {
    fn read_at(row: &Row<'_>, at: At) -> Result<Self>;
}

impl<T: Stored> Column for T {
    fn read_at(row: &Row<'_>, at: At) -> Result<Self> {
        T::As::take(row, at)?.and_then(T::from_held).ok_or_else(|| at.unreadable())
    }
}

impl<T: Stored> Column for Option<T> {
    fn read_at(row: &Row<'_>, at: At) -> Result<Self> {
        let held = T::As::take(row, at)?;
        held.map(|held| T::from_held(held).ok_or_else(|| at.unreadable())).transpose()
    }
}

/// Readable from a row: from its first columns in order, or from columns that it names.
pub(super) trait Record: Sized + Send + 'static {
    fn read(row: &Row<'_>) -> Result<Self>;
}

impl<C: Column + Send + 'static> Record for C {
    fn read(row: &Row<'_>) -> Result<Self> {
        C::read_at(row, At::Place(0))
    }
}

/// How a type is read from a row: each field from the column of its name, `field: column` from another one, and
/// `field = value` from what the named row has: `row! { Stop from row { signature: tx_signature, what = stopped(row)? } }`.
macro_rules! row {
    ($record:ident { $($fields:tt)* }) => { $crate::row::row! { $record from row { $($fields)* } } };
    ($record:ident from $row:ident { $($field:ident $(: $column:ident)? $(= $value:expr)?),* $(,)? }) => {
        impl $crate::row::Record for $record {
            fn read($row: &$crate::row::Row<'_>) -> $crate::Result<Self> {
                Ok(Self { $($field: $crate::row::row!(@ $row $field $(: $column)? $(= $value)?)),* })
            }
        }
    };
    (@ $row:ident $field:ident) => { $row.get(stringify!($field))? };
    (@ $row:ident $field:ident: $column:ident) => { $row.get(stringify!($column))? };
    (@ $row:ident $field:ident = $value:expr) => { $value };
}
pub(super) use row;

macro_rules! tuple {
    ($($part:ident $place:literal),*) => {
        impl<$($part: Column + Send + 'static),*> Record for ($($part,)*) {
            fn read(row: &Row<'_>) -> Result<Self> {
                Ok(($($part::read_at(row, At::Place($place))?,)*))
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
