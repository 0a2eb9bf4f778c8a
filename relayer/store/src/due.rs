//! Which stored times are due: of leases, retries and heads.

use std::time::Duration;

use super::query::{Piece, Sql, text};
use super::statement::Value;
use purser_model::Timestamp;

/// How far a clock that counts as right may be moved.
const SLACK: Duration = Duration::from_secs(60);

/// Due is what lies in the past, and what lies further ahead than any clock sets it now: a clock that was ahead and was
/// put right leaves such times behind, and nobody would wait for them to come.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    pub now: Timestamp,
    pub latest: Timestamp,
}

impl Due {
    /// Of times that are set at most `longest` ahead.
    pub fn within(now: Timestamp, longest: Duration) -> Self {
        Self { now, latest: now.after(longest).after(SLACK) }
    }

    /// Of leases like the one that is asked for.
    pub fn of_lease(now: Timestamp, expires_at: Timestamp) -> Self {
        Self::within(now, now.until(expires_at))
    }

    /// Of times at which something was done.
    pub fn since(now: Timestamp) -> Self {
        Self::within(now, Duration::ZERO)
    }

    /// How long ago something was done, at most `longest`; so long, too, if only a clock that was ahead can have written that.
    pub fn age(self, at: Timestamp, longest: Duration) -> Duration {
        if at > self.latest { longest } else { at.until(self.now).min(longest) }
    }

    pub fn has(self, at: Timestamp) -> bool {
        at <= self.now || at > self.latest
    }

    /// The same in SQL.
    pub(super) fn has_come(self, column: &'static str) -> Piece<impl Fn(&mut Vec<Value>) -> String> {
        let Self { now, latest } = self;
        Piece(move |values: &mut Vec<Value>| {
            text!(values, "({column} <= {now} OR {column} > {latest})", column = Sql(column), now, latest)
        })
    }
}
