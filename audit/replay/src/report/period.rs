//! Money in, money out and balances of each account in a period.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anchor_lang::prelude::Pubkey;
use serde::{Deserialize, Serialize};
use time::{Date, Month};

use super::{LedgerEntry, Report};
use crate::replay::usdc;

/// A calendar day, by UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalendarDay(Date);

impl CalendarDay {
    /// The Unix second in which it begins.
    fn begins(self) -> i64 {
        self.0.midnight().assume_utc().unix_timestamp()
    }

    /// The Unix second in which the next day begins.
    fn ends(self) -> i64 {
        self.0.next_day().map_or(i64::MAX, |next| Self(next).begins())
    }
}

impl FromStr for CalendarDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('-').collect();
        let date = match parts.as_slice() {
            [year, month, day] if is_digits(year, 4) && is_digits(month, 2) && is_digits(day, 2) => {
                date_of(year, month, day)
            }
            _ => None,
        };
        date.map(Self).ok_or_else(|| format!("{text:?} is not a day such as 2026-11-30"))
    }
}

fn is_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn date_of(year: &str, month: &str, day: &str) -> Option<Date> {
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year.parse::<u16>().ok()?.into(), month, day.parse().ok()?).ok()
}

impl fmt::Display for CalendarDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(date) = self;
        write!(f, "{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day())
    }
}

/// Whole days, both ends included. An end that is `None` is that of the audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    first: Option<CalendarDay>,
    last: Option<CalendarDay>,
}

impl Period {
    pub fn of_days(first: Option<CalendarDay>, last: Option<CalendarDay>) -> Result<Self, String> {
        match (first, last) {
            (Some(first), Some(last)) if last < first => {
                Err(format!("the period ends on {last}, before it begins on {first}"))
            }
            _ => Ok(Self { first, last }),
        }
    }

    fn is_before(&self, time: i64) -> bool {
        self.first.is_some_and(|first| time < first.begins())
    }

    fn is_after(&self, time: i64) -> bool {
        self.last.is_some_and(|last| time >= last.ends())
    }
}

/// The days that totals and ledger cover, as they are reported and signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodDays {
    /// By UTC; `None`: from the operator's creation on.
    pub first_day: Option<String>,
    /// Included; `None`: up to the end of what was read.
    pub last_day: Option<String>,
    /// True if the last day had ended when the chain was read, or if no day was named.
    pub is_over: bool,
}

impl PeriodDays {
    /// The period in words; `None`: it is all of the past.
    pub fn words(&self) -> Option<String> {
        let days = match (&self.first_day, &self.last_day) {
            (None, None) => return None,
            (Some(first), Some(last)) => format!("{first} to {last}, both days included"),
            (Some(first), None) => format!("{first} to the end of what was read"),
            (None, Some(last)) => format!("the operator's creation to {last}, that day included"),
        };
        let open = if self.is_over { "" } else { "; NOT OVER when it was read" };
        Some(format!("{days} (UTC){open}"))
    }
}

/// Totals of the days that were asked for. The checks always cover the whole past.
#[derive(Debug, Clone, Serialize)]
pub struct PeriodReport {
    #[serde(flatten)]
    pub days: PeriodDays,
    pub accounts: Vec<AccountSums>,
    /// All accounts together. What one of them pays to another counts on both sides.
    pub all: Sums,
    /// The balance of each account before its first movement, in micro-USDC.
    #[serde(skip)]
    held: Vec<(Pubkey, u64)>,
    /// The Unix second up to which the past was read.
    #[serde(skip)]
    until: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccountSums {
    pub account: String,
    #[serde(flatten)]
    pub sums: Sums,
}

/// The balance at the beginning, plus deposits, less payments and withdrawals, is the balance at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sums {
    pub opening_balance_usdc: String,
    pub deposited_usdc: String,
    pub payments: u64,
    pub paid_usdc: String,
    pub withdrawn_usdc: String,
    pub closing_balance_usdc: String,
}

/// In micro-USDC.
#[derive(Default, Clone, Copy)]
struct Counted {
    opening: i128,
    deposited: u128,
    payments: u64,
    paid: u128,
    withdrawn: u128,
}

impl Counted {
    fn count(&mut self, entry: &LedgerEntry, is_before: bool) {
        if is_before {
            self.opening = self.opening.saturating_add(entry.change());
            return;
        }
        let sum = match entry.kind {
            "payment" => {
                self.payments += 1;
                &mut self.paid
            }
            "withdrawal" => &mut self.withdrawn,
            _ => &mut self.deposited,
        };
        *sum = sum.saturating_add(entry.amount.micros().into());
    }

    fn add(self, other: Self) -> Self {
        Self {
            opening: self.opening.saturating_add(other.opening),
            deposited: self.deposited.saturating_add(other.deposited),
            payments: self.payments.saturating_add(other.payments),
            paid: self.paid.saturating_add(other.paid),
            withdrawn: self.withdrawn.saturating_add(other.withdrawn),
        }
    }

    fn sums(self) -> Sums {
        let signed = |micros: u128| i128::try_from(micros).unwrap_or(i128::MAX);
        let out = signed(self.paid).saturating_add(signed(self.withdrawn));
        let closing = self.opening.saturating_add(signed(self.deposited)).saturating_sub(out);
        Sums {
            opening_balance_usdc: signed_usdc(self.opening),
            deposited_usdc: usdc(self.deposited),
            payments: self.payments,
            paid_usdc: usdc(self.paid),
            withdrawn_usdc: usdc(self.withdrawn),
            closing_balance_usdc: signed_usdc(closing),
        }
    }
}

/// An amount of micro-USDC, in USDC; less than nothing where movements were hidden: a check says so.
pub fn signed_usdc(micros: i128) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", usdc(micros.unsigned_abs()))
}

impl PeriodReport {
    /// For the whole past. `held` has the balance of each account before its first movement.
    pub(super) fn whole(held: Vec<(Pubkey, u64)>, until: Option<i64>, ledger: &[LedgerEntry]) -> Self {
        Self::of(Period::default(), held, until, ledger)
    }

    fn of(period: Period, held: Vec<(Pubkey, u64)>, until: Option<i64>, ledger: &[LedgerEntry]) -> Self {
        let begin = |(agent, held): &(Pubkey, u64)| {
            (*agent, Counted { opening: i128::from(*held), ..Counted::default() })
        };
        let mut counted: BTreeMap<Pubkey, Counted> = held.iter().map(begin).collect();
        for entry in ledger.iter().filter(|entry| !period.is_after(entry.time)) {
            counted.entry(entry.account).or_default().count(entry, period.is_before(entry.time));
        }
        let of = |agent: &Pubkey| counted.get(agent).copied().unwrap_or_default();
        let row =
            |(agent, _): &(Pubkey, u64)| AccountSums { account: agent.to_string(), sums: of(agent).sums() };
        Self {
            days: PeriodDays {
                first_day: period.first.map(|day| day.to_string()),
                last_day: period.last.map(|day| day.to_string()),
                is_over: period.last.is_none_or(|last| until.is_some_and(|until| until >= last.ends())),
            },
            accounts: held.iter().map(row).collect(),
            all: held.iter().map(|(agent, _)| of(agent)).fold(Counted::default(), Counted::add).sums(),
            held,
            until,
        }
    }
}

impl Report {
    /// Narrows totals and ledger to a period. The checks stay those of all of the past.
    pub fn narrow_to(&mut self, period: Period) {
        let PeriodReport { held, until, .. } = &self.period;
        self.period = PeriodReport::of(period, held.clone(), *until, &self.ledger);
        self.ledger.retain(|entry| !period.is_before(entry.time) && !period.is_after(entry.time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (text, expected) in [
            ("2026-11-30", Some(1_795_996_800..1_796_083_200)),
            ("2024-02-29", Some(1_709_164_800..1_709_251_200)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-01", None),
            ("+026-01-01", None),
            ("2026-11", None),
            ("", None),
        ] {
            let day = text.parse::<CalendarDay>().ok();
            assert_eq!(day.map(|day| day.begins()..day.ends()), expected, "{text}");
            assert!(day.is_none_or(|day| day.to_string() == text));
        }
        let [first, last] = ["2026-11-02", "2026-11-01"].map(|day| day.parse().ok());
        assert!(Period::of_days(first, last).is_err());
        assert!(Period::of_days(first, first).is_ok());
    }
}
