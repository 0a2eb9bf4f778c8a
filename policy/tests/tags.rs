//! Recent tags against a plain list.

use proptest::prelude::*;
use purser_policy::{RecentTags, DAY_SECONDS, TAGS_MAX};

proptest! {
    #[test]
    fn a_tag_among_the_last_of_a_day_is_known_and_no_other(
        steps in prop::collection::vec((-1_000i64..20_000, 1u64..40), 1..200),
    ) {
        let mut tags = RecentTags::EMPTY;
        let mut list: Vec<(u64, i64)> = Vec::new();
        let mut now = 1_700_000_000i64;
        for (forward, tag) in steps {
            now += forward;
            let time = list.last().map_or(now, |(_, latest)| now.max(*latest));
            let recent = list.iter().rev().take(TAGS_MAX);
            let expected = recent.clone().any(|(known, at)| *known == tag && time - at < DAY_SECONDS);
            // The tags keep no clock: they are asked at the spend window's, which never goes back.
            prop_assert_eq!(tags.contains(tag, time), expected);
            if !expected {
                tags.record(tag, time);
                list.push((tag, time));
            }
        }
    }

    #[test]
    fn no_clock_makes_it_panic(tag in any::<u64>(), times in prop::collection::vec(any::<i64>(), 1..50)) {
        let mut tags = RecentTags::EMPTY;
        for now in times {
            let _ = tags.contains(tag, now);
            tags.record(tag, now);
            prop_assert!(tag == 0 || tags.contains(tag, now));
        }
    }
}

#[test]
fn tag_is_known_for_24_hours_and_not_a_second_longer() {
    let mut tags = RecentTags::EMPTY;
    tags.record(9, 1_000);
    assert!(tags.contains(9, 1_000 + DAY_SECONDS - 1));
    assert!(!tags.contains(9, 1_000 + DAY_SECONDS));
    assert!(!tags.contains(8, 1_000));
}

#[test]
fn zero_is_no_tag() {
    let mut tags = RecentTags::EMPTY;
    assert!(!tags.contains(0, 0));
    tags.record(0, 0);
    assert!(!tags.contains(0, 0));
}

#[test]
fn sequence_is_covered_while_every_later_tag_and_one_more_are_remembered() {
    let mut tags = RecentTags::EMPTY;
    let sequence = tags.sequence();
    for tag in 1..TAGS_MAX as u64 {
        tags.record(tag, 0);
        assert!(tags.covers(sequence) && tags.contains(1, 0), "{tag}");
    }
    tags.record(TAGS_MAX as u64, 0);
    assert!(!tags.covers(sequence) && tags.covers(sequence + 1) && tags.covers(tags.sequence()));
    assert!(!tags.covers(tags.sequence() + 1) && !tags.covers(sequence.wrapping_sub(1)));
}

#[test]
fn remembered_tags_are_listed_with_their_numbers() {
    let mut tags = RecentTags::EMPTY;
    assert_eq!(tags.numbered().count(), 0);
    for tag in 1..=20 {
        tags.record(100 + tag, 1_000);
        let first = tag.saturating_sub(TAGS_MAX as u64 - 1).max(1);
        assert!(tags.numbered().eq((first..=tag).map(|number| (number, 100 + number))), "{tag}");
    }
}
