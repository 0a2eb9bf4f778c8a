//! Lists by day.

use purser_model::{Timestamp, UsdcAmount};

/// The entries of one UTC day.
pub struct Day<T> {
    pub day: String,
    pub entries: Vec<T>,
    /// The list may go on with the same day on its next page.
    pub is_cut: bool,
}

/// Groups a list that is sorted by time. `has_more`: another page follows.
pub fn by_day<T>(list: Vec<T>, at: impl Fn(&T) -> Timestamp, has_more: bool) -> Vec<Day<T>> {
    let mut days: Vec<Day<T>> = Vec::new();
    for entry in list {
        let day = day_text(at(&entry));
        match days.last_mut() {
            Some(last) if last.day == day => last.entries.push(entry),
            Some(_) | None => days.push(Day { day, entries: vec![entry], is_cut: false }),
        }
    }
    if let Some(last) = days.last_mut() {
        last.is_cut = has_more;
    }
    days
}

/// `2026-11-22`, in UTC.
pub fn day_text(at: Timestamp) -> String {
    at.to_string().get(..10).unwrap_or_default().to_owned()
}

/// The sum of amounts, at most what fits.
pub fn total(amounts: impl Iterator<Item = UsdcAmount>) -> UsdcAmount {
    amounts.fold(UsdcAmount::ZERO, UsdcAmount::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_day_stand_together_and_the_last_day_may_go_on() {
        const MIDNIGHT: i64 = 1_800_000_000 - 1_800_000_000 % 86_400;
        let at = |second: &i64| Timestamp::from_unix_seconds(MIDNIGHT + second);
        let days = by_day(vec![90_000, 86_400, 86_399, 0, -1], at, true);
        let seen: Vec<_> = days.iter().map(|day| (day.day.as_str(), day.entries.len(), day.is_cut)).collect();
        assert_eq!(seen, [("2027-01-16", 2, false), ("2027-01-15", 2, false), ("2027-01-14", 1, true)]);
        assert!(!by_day(vec![0], at, false)[0].is_cut);
        assert!(by_day(Vec::new(), at, true).is_empty());
    }
}
