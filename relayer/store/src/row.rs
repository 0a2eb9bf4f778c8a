//! Rows of either database, and our types as rows: a record says once which column each of its fields has.

use std::fmt;

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::statement::{Columns, Sql};
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

    /// A record that stands in this row, maybe beside others.
    pub fn record<R: Record>(&self) -> Result<R> {
        R::read(self, 0)
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

/// Readable from a row: a value from the column at a place, a tuple from as many as it has parts, and a record of [`row`]
/// from the columns that it names, wherever it stands.
pub(super) trait Record: Sized + Send + 'static {
    fn read(row: &Row<'_>, place: usize) -> Result<Self>;
}

impl<C: Column + Send + 'static> Record for C {
    fn read(row: &Row<'_>, place: usize) -> Result<Self> {
        C::read_at(row, At::Place(place))
    }
}

/// A record whose columns are listed, by [`row`].
pub(super) trait Listed: Record {
    /// For a `SELECT`.
    const COLUMNS: Sql<&'static str>;
    /// For an `INSERT`.
    fn columns(&self) -> Columns;
}

/// The one declaration of a record and its columns: how it is read, selected and inserted.
/// - `field`, `field: column`: a column. `field as other`: a column that is selected under another name.
/// - `field(first, second: column) = value`: made of columns, which the value finds under these names.
/// - `field[first, second] = value`: made of columns, which the value itself reads from the row that is named.
/// - `field = value`: made of earlier fields, or of what a statement selects beside the columns.
///
/// Only columns of the first kind are inserted; an insert adds the others. `row! { ApiKey of api_keys { ... } }` selects
/// `api_keys.key_id`, for statements with several tables; `row! { Event from row { ... } }` names the row.
macro_rules! row {
    ($record:ident $(of $table:ident)? { $($fields:tt)* }) => {
        $crate::row::row! { $record $(of $table)? from row { $($fields)* } }
    };
    ($record:ident $(of $table:ident)? from $row:ident { $($fields:tt)* }) => {
        $crate::row::row! { @declare $record [$($table)?] $row $($fields)* }
    };
    (@declare $record:ident $of:tt $row:ident $(
        $field:ident $(: $column:ident)? $(as $other:ident)? $(($($part:tt)*))? $([$($listed:ident),*])? $(= $value:expr)?
    ),* $(,)?) => {
        impl $crate::row::Record for $record {
            fn read($row: &$crate::row::Row<'_>, _: usize) -> $crate::Result<Self> {
                $(let $field = $crate::row::row!(
                    @read $row $field $(: $column)? $(as $other)? $(($($part)*))? $([$($listed),*])? $(= $value)?
                );)*
                Ok(Self { $($field),* })
            }
        }

        impl $crate::row::Listed for $record {
            const COLUMNS: $crate::statement::Sql<&'static str> = $crate::statement::Sql(concat!($($crate::row::row!(
                @listed $of $field $(: $column)? $(as $other)? $(($($part)*))? $([$($listed),*])? $(= $value)?
            )),*).split_at(", ".len()).1);

            fn columns(&self) -> $crate::statement::Columns {
                let columns = [$($crate::row::row!(
                    @insert self $field $(: $column)? $(as $other)? $(($($part)*))? $([$($listed),*])? $(= $value)?
                )),*];
                $crate::statement::Columns(columns.into_iter().flatten().collect())
            }
        }
    };

    // The value of a field.
    (@read $row:ident $field:ident) => { $row.get(stringify!($field))? };
    (@read $row:ident $field:ident: $column:ident) => { $row.get(stringify!($column))? };
    (@read $row:ident $field:ident $(: $column:ident)? as $other:ident) => { $row.get(stringify!($other))? };
    (@read $row:ident $field:ident ($($name:ident $(: $column:ident)? $(as $other:ident)?),*) = $value:expr) => {{
        $(let $name = $crate::row::row!(@read $row $name $(: $column)? $(as $other)?);)*
        $value
    }};
    (@read $row:ident $field:ident $([$($listed:ident),*])? = $value:expr) => { $value };

    // Its columns in a `SELECT`, each after a comma.
    (@listed [$($table:ident)?] $field:ident: $column:ident $(as $other:ident)?) => {
        concat!(", ", $(stringify!($table), ".",)? stringify!($column) $(, " AS ", stringify!($other))?)
    };
    (@listed $of:tt $field:ident $(as $other:ident)?) => {
        $crate::row::row!(@listed $of $field: $field $(as $other)?)
    };
    (@listed $of:tt $field:ident ($($name:ident $(: $column:ident)? $(as $other:ident)?),*) = $value:expr) => {
        concat!($($crate::row::row!(@listed $of $name $(: $column)? $(as $other)?)),*)
    };
    (@listed $of:tt $field:ident [$($listed:ident),*] = $value:expr) => {
        concat!($($crate::row::row!(@listed $of $listed)),*)
    };
    (@listed $of:tt $field:ident = $value:expr) => { "" };

    // Its column in an `INSERT`.
    (@insert $self:ident $field:ident $(as $other:ident)?) => {
        $crate::row::row!(@insert $self $field: $field)
    };
    (@insert $self:ident $field:ident: $column:ident $(as $other:ident)?) => {
        Some((stringify!($column), $crate::statement::Bound::value(&$self.$field)))
    };
    (@insert $self:ident $field:ident $($rest:tt)*) => { None };
}
pub(super) use row;

macro_rules! tuple {
    ($($part:ident $place:literal),*) => {
        impl<$($part: Record),*> Record for ($($part,)*) {
            fn read(row: &Row<'_>, _: usize) -> Result<Self> {
                Ok(($($part::read(row, $place)?,)*))
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
