//! Counting payments. An account numbers its payments from 1, so a missing number shows any payment that a node leaves
//! out.

use std::fmt;
use std::str::FromStr;

use super::Invalid;

/// Which payments of an account our records hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPayments {
    /// First and last numbers, ascending, with a gap between any two.
    ranges: Vec<(u64, u64)>,
    /// Payments in our records without a number, because the log was cut off.
    pub unnumbered: u64,
}

/// What a history entry knows of its payment's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentNumber {
    /// The first payment of an account is 1.
    Is(u64),
    /// The log was cut off before it.
    CutOff,
}

/// The earliest payment that views of an account show without a gap up to its newest one. Our records must hold this very payment, and all
/// before it: a number alone may belong to a payment that a fork dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joint {
    pub number: u64,
    pub tag: u64,
}

impl KnownPayments {
    /// Restores the stored form: the end of the first range if that begins at 1, and the other ranges.
    pub fn stored(up_to: u64, beyond: &str, unnumbered: u64) -> Result<Self, Invalid> {
        let mut known = Self { ranges: beyond.parse::<Ranges>()?.0, unnumbered };
        if up_to > 0 {
            known.ranges.insert(0, (1, up_to));
        }
        Ok(known)
    }

    /// The number up to which no payment is missing.
    pub fn up_to(&self) -> u64 {
        match self.ranges.first() {
            Some((1, last)) => *last,
            Some(_) | None => 0,
        }
    }

    /// The ranges beyond the first gap, as text.
    pub fn beyond(&self) -> String {
        let first = usize::from(self.up_to() > 0);
        Ranges(self.ranges.iter().skip(first).copied().collect()).to_string()
    }

    pub fn insert(&mut self, number: PaymentNumber) {
        match number {
            PaymentNumber::Is(number) => self.insert_range(number, number),
            PaymentNumber::CutOff => self.unnumbered = self.unnumbered.saturating_add(1),
        }
    }

    /// Removes a payment whose transaction was forked away.
    pub fn remove(&mut self, number: PaymentNumber) {
        let number = match number {
            PaymentNumber::Is(number) => number,
            PaymentNumber::CutOff => {
                self.unnumbered = self.unnumbered.saturating_sub(1);
                return;
            }
        };
        let split = |&(first, last): &(u64, u64)| {
            let before = (first, last.min(number.saturating_sub(1)));
            let after = (first.max(number.saturating_add(1)), last);
            [before, after].into_iter().filter(|(first, last)| first <= last)
        };
        self.ranges = self.ranges.iter().flat_map(split).collect();
    }

    /// `recorded`: how many payments the account has. If we hold as many, those without a number fill the gaps.
    pub fn count_unnumbered(&mut self, recorded: u64) {
        let numbered: u64 = self.ranges.iter().map(|(first, last)| last - first + 1).sum();
        let is_newest_known = self.ranges.last().is_none_or(|(_, last)| *last <= recorded);
        if is_newest_known && numbered.saturating_add(self.unnumbered) == recorded {
            *self = Self::default();
            self.insert_range(1, recorded);
        }
    }

    fn insert_range(&mut self, first: u64, last: u64) {
        if first == 0 || first > last {
            return;
        }
        let (mut first, mut last) = (first, last);
        self.ranges.retain(|(known_first, known_last)| {
            let touches = *known_first <= last.saturating_add(1) && first <= known_last.saturating_add(1);
            if touches {
                (first, last) = (first.min(*known_first), last.max(*known_last));
            }
            !touches
        });
        let place = self.ranges.partition_point(|(known_first, _)| *known_first < first);
        self.ranges.insert(place, (first, last));
    }
}

/// `3-9,12-12`
struct Ranges(Vec<(u64, u64)>);

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{first}-{last}")?;
        }
        Ok(())
    }
}

impl FromStr for Ranges {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid::new("payments", "is not a list of ranges");
        let read = |range: &str| {
            let (first, last) = range.split_once('-').ok_or_else(invalid)?;
            Ok((first.parse().map_err(|_| invalid())?, last.parse().map_err(|_| invalid())?))
        };
        text.split(',').filter(|range| !range.is_empty()).map(read).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn known(numbers: &[u64]) -> KnownPayments {
        let mut known = KnownPayments::default();
        numbers.iter().for_each(|number| known.insert(PaymentNumber::Is(*number)));
        known
    }

    proptest! {
        #[test]
        fn known_numbers_are_a_set_whatever_the_order(steps in prop::collection::vec((1u64..40, prop::bool::weighted(0.8)), 0..80)) {
            let (mut known, mut set) = (KnownPayments::default(), BTreeSet::new());
            for (number, is_added) in steps {
                if is_added {
                    known.insert(PaymentNumber::Is(number));
                    set.insert(number);
                } else {
                    known.remove(PaymentNumber::Is(number));
                    set.remove(&number);
                }
                let up_to = (1..).take_while(|number| set.contains(number)).count() as u64;
                prop_assert_eq!(known.up_to(), up_to);
                let held: BTreeSet<u64> = known.ranges.iter().flat_map(|(first, last)| *first..=*last).collect();
                prop_assert_eq!(&held, &set);
                prop_assert!(known.ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
                let stored = KnownPayments::stored(known.up_to(), &known.beyond(), known.unnumbered);
                prop_assert_eq!(stored, Ok(known.clone()));
            }
        }
    }

    #[test]
    fn gap_ends_the_known_payments() {
        assert_eq!(known(&[1, 2, 3, 5, 6]).up_to(), 3);
        assert_eq!(known(&[1, 2, 3, 5, 6]).beyond(), "5-6");
        assert_eq!(known(&[2, 3]).up_to(), 0);
        assert_eq!(known(&[1, 2, 3, 5, 6, 4]).beyond(), "");
        assert_eq!(known(&[1, 2, 3, 5, 6, 4]).up_to(), 6);
    }

    #[test]
    fn payments_without_a_number_fill_the_holes_only_when_nothing_else_is_missing() {
        let mut one_cut = known(&[1, 2, 4]);
        one_cut.insert(PaymentNumber::CutOff);
        let mut another_missing = one_cut.clone();
        one_cut.count_unnumbered(4);
        assert_eq!((one_cut.up_to(), one_cut.unnumbered), (4, 0));
        another_missing.count_unnumbered(5);
        assert_eq!((another_missing.up_to(), another_missing.unnumbered), (2, 1));
        // A count older than what is known: no account has payments beyond its count.
        another_missing.insert(PaymentNumber::Is(7));
        another_missing.count_unnumbered(5);
        assert_eq!(another_missing.up_to(), 2);
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["3", "3-", "-3", "a-b", "3-4;5-6"] {
            assert!(KnownPayments::stored(0, text, 0).is_err(), "{text}");
        }
    }
}
