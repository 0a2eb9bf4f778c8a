//! Paid tags against a plain list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use purser_policy::{
    grow, is_timely, record, shrink, AlreadyPaid, PaidTags, TagBucket, BUCKET_SLOTS, DAY_SECONDS, TAG_SECONDS,
};

/// What the buckets should hold: each tag and the second of its newest payment.
#[derive(Default)]
struct Plain(BTreeMap<u64, i64>);

impl Plain {
    fn has(&self, tag: u64, asked_at: i64) -> bool {
        self.0.get(&tag).is_some_and(|at| asked_at - at < DAY_SECONDS)
    }

    fn kept(&self, now: i64) -> usize {
        self.0.values().filter(|at| now - *at < TAG_SECONDS).count()
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The clock moves, and a tag is paid that was asked for so long before: of a few that are often the same and meet in few
    /// buckets, or of all.
    Pay(i64, i64, u64),
    Grow(usize),
    Shrink(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let clock = prop_oneof![Just(0i64), 0..20i64, -400..4_000i64, -90_000..90_000i64];
    let few = (1u64..6, 1u64..60).prop_map(|(high, low)| high << 32 | low);
    let ago = prop_oneof![Just(0i64), -300..3_600i64, Just(-300i64), Just(3_599i64)];
    let pay = |(forward, ago, tag)| Step::Pay(forward, ago, tag);
    prop_oneof![
        20 => (clock.clone(), ago.clone(), few).prop_map(pay),
        20 => (clock, ago, 1..u64::MAX).prop_map(pay),
        2 => (1usize..9).prop_map(Step::Grow),
        1 => (1usize..9).prop_map(Step::Shrink),
    ]
}

proptest! {
    /// The clock that is asked goes by the newest tag's second at the least, as the spend window's does; the chain's own may go
    /// back.
    #[test]
    fn a_tag_of_the_last_day_is_refused_and_no_other_and_every_slot_is_kept_for_25_hours(
        start in prop_oneof![Just(1_700_000_000i64), Just(i64::from(u32::MAX) - 40_000_000), Just(1)],
        buckets in 1usize..6,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut buckets = vec![TagBucket::EMPTY; buckets];
        let (mut plain, mut clock, mut latest) = (Plain::default(), start, start);
        for step in steps {
            match step {
                Step::Pay(forward, ago, tag) => {
                    clock += forward;
                    let now = clock.max(latest);
                    let asked_at = now.min(now - ago);
                    let table = PaidTags(&buckets);
                    prop_assert_eq!(table.contains(tag, asked_at), plain.has(tag, asked_at));
                    prop_assert_eq!(table.len(now), plain.kept(now));
                    match table.find(tag, asked_at, now) {
                        Err(AlreadyPaid) => prop_assert!(plain.has(tag, asked_at)),
                        Ok(Some(place)) => {
                            prop_assert!(!plain.has(tag, asked_at));
                            let kept = plain.kept(now);
                            record(&mut buckets, place, tag, now);
                            let own = plain.0.insert(tag, now).is_some_and(|at| now - at < TAG_SECONDS);
                            // It took its own slot, or a free one.
                            prop_assert_eq!(PaidTags(&buckets).len(now), kept + usize::from(!own));
                            latest = now;
                        }
                        Ok(None) => {
                            prop_assert!(!plain.has(tag, asked_at));
                            prop_assert!(plain.kept(now) >= BUCKET_SLOTS, "full while a bucket cannot be");
                        }
                    }
                }
                Step::Grow(more) => {
                    let from = buckets.len();
                    buckets.resize(from + more, TagBucket::EMPTY);
                    grow(&mut buckets, from);
                }
                Step::Shrink(fewer) => {
                    let to = buckets.len().saturating_sub(fewer).max(1);
                    let mut smaller = buckets.clone();
                    if shrink(&mut smaller, to, latest).is_some() {
                        smaller.truncate(to);
                        buckets = smaller;
                    }
                }
            }
            for tag in plain.0.keys() {
                prop_assert_eq!(PaidTags(&buckets).contains(*tag, latest), plain.has(*tag, latest));
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(
        words in prop::collection::vec(any::<u64>(), 0..200),
        (tag, now) in (any::<u64>(), any::<i64>()),
        (from, to) in (0usize..12, 0usize..12),
    ) {
        let mut words = words;
        words.truncate(words.len() / 24 * 24);
        let mut buckets: Vec<TagBucket> = words.as_chunks::<24>().0.iter().map(|words| bytemuck::cast(*words)).collect();
        let _ = PaidTags(&buckets).contains(tag, now);
        if let Some(place) = PaidTags(&buckets).place(tag, now) {
            record(&mut buckets, place, tag, now);
            prop_assert!(tag == 0 || PaidTags(&buckets).contains(tag, now.min(i64::from(u32::MAX))));
        }
        grow(&mut buckets, from);
        let _ = shrink(&mut buckets, to, now);
    }
}

fn paid(buckets: &mut [TagBucket], tag: u64, now: i64) {
    let place = PaidTags(buckets).place(tag, now).expect("room");
    record(buckets, place, tag, now);
}

#[test]
fn tag_is_refused_for_24_hours_and_not_a_second_longer() {
    let mut buckets = [TagBucket::EMPTY];
    paid(&mut buckets, 9, 1_000);
    let has = |tag, now| PaidTags(&buckets).contains(tag, now);
    assert!(has(9, 1_000 + DAY_SECONDS - 1));
    assert!(!has(9, 1_000 + DAY_SECONDS) && !has(8, 1_000));
}

#[test]
fn slot_is_kept_for_25_hours_and_not_a_second_longer_and_its_own_tag_takes_it_after_24() {
    let mut buckets = [TagBucket::EMPTY];
    for tag in 1..=16 {
        paid(&mut buckets, tag, 1_000);
    }
    let day = 1_000 + DAY_SECONDS;
    assert_eq!(PaidTags(&buckets).find(1, day - 1, day + 3_599), Err(AlreadyPaid));
    paid(&mut buckets, 1, day);
    assert_eq!(PaidTags(&buckets).len(day), 16);
    assert_eq!(PaidTags(&buckets).find(17, day + 3_599, day + 3_599), Ok(None));
    assert_eq!(PaidTags(&buckets).len(day + 3_600), 1);
    paid(&mut buckets, 17, day + 3_600);
    assert!(PaidTags(&buckets).contains(1, day + 3_600));
}

#[test]
fn request_lands_from_300_seconds_before_its_second_until_an_hour_after() {
    for (ahead, timely) in [(-301, false), (-300, true), (0, true), (3_599, true), (3_600, false)] {
        assert_eq!(is_timely(1_000_000, 1_000_000 + ahead), timely, "{ahead}");
    }
    assert!(!is_timely(u32::MAX, i64::MIN) && !is_timely(0, i64::MAX) && !is_timely(0, i64::MIN));
}

#[test]
fn zero_is_no_tag() {
    let mut buckets = [TagBucket::EMPTY];
    assert!(!PaidTags(&buckets).contains(0, 0));
    paid(&mut buckets, 0, 0);
    assert!(!PaidTags(&buckets).contains(0, 0));
}

#[test]
fn empty_slots_are_free_at_every_second() {
    for now in [1, 90_000, i64::from(i32::MAX), i64::from(u32::MAX), i64::from(u32::MAX) + 3_599] {
        let mut buckets = [TagBucket::EMPTY; 3];
        for tag in 1..=16 {
            paid(&mut buckets, tag << 32 | tag, now);
        }
        assert_eq!(PaidTags(&buckets).len(now), 16, "{now}");
    }
}

/// A tag is spread by both of its halves, and every number of buckets takes three quarters of its slots.
#[test]
fn three_quarters_of_any_number_of_buckets_fill_before_one_is_refused() {
    let mut random = 1u64;
    for count in [1, 2, 3, 5, 8, 13, 31, 32, 48, 100, 255, 256, 384, 1_000] {
        let mut buckets = vec![TagBucket::EMPTY; count];
        let mut filled = 0;
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let tag = (random ^ random >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1;
            let Some(place) = PaidTags(&buckets).place(tag ^ tag >> 32, 1) else { break };
            record(&mut buckets, place, tag ^ tag >> 32, 1);
            filled += 1;
        }
        assert!(filled * 4 >= count * BUCKET_SLOTS * 3, "{filled} of {}", count * BUCKET_SLOTS);
    }
}
