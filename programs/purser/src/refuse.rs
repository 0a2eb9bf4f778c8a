//! Refusals in few bytes. Anchor's `require!` and `require_keys_eq!` put file, line and both sides of a comparison into each place that
//! refuses, which makes a tenth of the program. The code and its text say enough.

use anchor_lang::error::Error;

use crate::error::PurserError;

/// The refusal with this error.
#[cold]
#[inline(never)]
pub fn refusal(error: PurserError) -> Error {
    Error::from(error)
}

macro_rules! ensure {
    ($holds:expr, $error:expr) => {
        if !$holds {
            return Err($crate::refuse::refusal($error));
        }
    };
}

macro_rules! ensure_same {
    ($one:expr, $other:expr, $error:expr) => {
        if $one != $other {
            return Err($crate::refuse::refusal($error));
        }
    };
}
