//! Paid tags against a plain list: every sequence of moves in small tables, and random ones in tables of any size.

use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use purser_policy::{grow, is_timely, record, shrink, PaidTags, TagBucket, BUCKET_SLOTS};

const DAY_SECONDS: i64 = 86_400;
const KEPT_SECONDS: i64 = 90_000;

/// A table and the plain list that it must agree with: each tag and the second of its newest payment.
#[derive(Clone, PartialEq, Eq)]
struct Checked {
    buckets: Vec<TagBucket>,
    paid: BTreeMap<u64, i64>,
}

impl Hash for Checked {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        bytemuck::cast_slice::<_, u8>(&self.buckets).hash(hasher);
        self.paid.hash(hasher);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Paid,
    AlreadyPaid,
    Full,
}

impl Checked {
    fn new(buckets: usize) -> Self {
        Self { buckets: vec![TagBucket::EMPTY; buckets], paid: BTreeMap::new() }
    }

    /// Pays `tag` unless it was paid already or the table is full for it. Asserts that the list gives the same answer, and
    /// that a full table has no free slot in either of the tag's buckets.
    fn pay(&mut self, tag: u64, asked_at: i64, now: i64) -> Answer {
        let paid_at = self.paid.get(&tag);
        let is_paid = paid_at.is_some_and(|at| asked_at - at < DAY_SECONDS);
        let has_slot = paid_at.is_some_and(|at| now - at < KEPT_SECONDS);
        let table = PaidTags(&self.buckets);
        assert_eq!(table.contains(tag, asked_at), is_paid, "{tag:#x} at {now}");
        let found = table.find(tag, asked_at, now);
        assert_eq!(found.is_err(), is_paid, "{tag:#x} at {now}");
        let Ok(place) = found else { return Answer::AlreadyPaid };
        assert_eq!(place, table.place(tag, now), "{tag:#x} at {now}");
        let has_room = || {
            buckets_of(tag, self.buckets.len()).iter().any(|at| self.kept_in(*at, now).len() < BUCKET_SLOTS)
        };
        assert_eq!(place.is_some(), has_slot || has_room(), "{tag:#x} at {now}");
        let Some(place) = place else { return Answer::Full };
        record(&mut self.buckets, place, tag, now);
        self.paid.insert(tag, now);
        Answer::Paid
    }

    fn grow(&mut self, to: usize) {
        let from = self.buckets.len();
        self.buckets.resize(to, TagBucket::EMPTY);
        grow(&mut self.buckets, from);
    }

    /// Shrinks to `to` buckets and returns true, or changes nothing. Asserts that it shrinks exactly if what is kept fits.
    fn shrink(&mut self, to: usize, now: i64) -> bool {
        let mut kept: Vec<_> = (0..self.buckets.len()).map(|at| self.kept_in(at, now).len()).collect();
        let fits = (to..kept.len()).rev().all(|last| {
            let parent = last - (1 << last.ilog2());
            kept[parent] += kept[last];
            kept[parent] <= BUCKET_SLOTS
        });
        let mut smaller = self.buckets.clone();
        assert_eq!(shrink(&mut smaller, to, now).is_some(), fits, "to {to} buckets at {now}");
        if fits {
            smaller.truncate(to);
            self.buckets = smaller;
        }
        fits
    }

    /// Asserts that the table keeps the list's payments of the last 25 hours and no others, each where it is looked up.
    fn assert_kept(&self, now: i64) {
        let mut kept = Vec::new();
        for bucket in 0..self.buckets.len() {
            for entry in self.kept_in(bucket, now) {
                let looked_up = buckets_of(entry.0, self.buckets.len());
                assert!(looked_up.contains(&bucket), "{entry:?} is in {bucket}, looked up in {looked_up:?}");
                kept.push(entry);
            }
        }
        kept.sort_unstable();
        let expected: Vec<_> =
            self.paid.iter().map(|(tag, at)| (*tag, *at)).filter(|(_, at)| now - at < KEPT_SECONDS).collect();
        assert_eq!(kept, expected, "at {now}");
        assert_eq!(PaidTags(&self.buckets).len(now), kept.len(), "at {now}");
    }

    fn kept_in(&self, bucket: usize, now: i64) -> Vec<(u64, i64)> {
        let entries = PaidTags(&self.buckets[bucket..=bucket]);
        let entries = entries.entries().map(|(tag, second)| (tag, i64::from(second)));
        entries.filter(|(_, second)| now - second < KEPT_SECONDS).collect()
    }
}

/// The buckets, of `count`, that the two halves of a tag name.
fn buckets_of(tag: u64, count: usize) -> [usize; 2] {
    let above = (count + 1).next_power_of_two();
    [tag as u32, (tag >> 32) as u32].map(|half| {
        let at = half as usize % above;
        if at < count {
            at
        } else {
            at % (above / 2)
        }
    })
}

const START: i64 = 1_700_000_000;

/// Payments of the first of these seconds are 24 hours old at the third and 25 at the fifth.
const SECONDS: [i64; 5] = [0, DAY_SECONDS - 1, DAY_SECONDS, KEPT_SECONDS - 1, KEPT_SECONDS];

/// Makes every move in every state that moves lead to, and lets time pass in each, so it covers sequences of any length.
#[test]
fn every_sequence_of_payments_growth_and_shrinking_of_up_to_four_buckets_agrees_with_a_plain_list() {
    // Of one to three buckets, all of them name the same one. Of four, each names two.
    let tags = [(1, 2), (3, 0), (1, 3)].map(|(high, low)| high << 32 | low);
    // Payments are asked for now, or as long ago as is allowed.
    let requests = tags.map(|tag| [(tag, 0), (tag, 3_599)]);
    let [mut states, mut paid, mut refused, mut full, mut grown, mut shrunk, mut crowded] = [0; 7];
    // How many slots of each bucket are taken at first, by tags that name no other bucket.
    for taken in [[16, 16, 16, 15], [15, 0, 0, 0], [15, 15, 1, 0]] {
        let mut first = Checked::new(taken.len());
        let halves =
            (0..).zip(taken).flat_map(|(bucket, count)| (1..=count).map(move |number| number * 4 + bucket));
        let halves: Vec<u64> = halves.collect();
        for half in &halves {
            // The last one is an hour older, so its slot becomes free before the others.
            let at = START - if Some(half) == halves.last() { 3_600 } else { 0 };
            assert_eq!(first.pay(half << 32 | half, at, at), Answer::Paid);
        }
        let mut reached = HashSet::from([first]);
        for now in SECONDS.map(|second| START + second) {
            let mut todo: Vec<_> = reached.drain().collect();
            // The list drops payments that no longer count, so that equal tables are one state.
            todo.iter_mut().for_each(|state| state.paid.retain(|_, at| now - *at < KEPT_SECONDS));
            while let Some(state) = todo.pop() {
                if !reached.insert(state.clone()) {
                    continue;
                }
                state.assert_kept(now);
                let mut next = state.clone();
                for (tag, ago) in requests.as_flattened() {
                    match next.pay(*tag, now - ago, now) {
                        Answer::Paid => {
                            paid += 1;
                            todo.push(std::mem::replace(&mut next, state.clone()));
                        }
                        Answer::AlreadyPaid => refused += 1,
                        Answer::Full => full += 1,
                    }
                }
                let count = state.buckets.len();
                if count > 1 {
                    if next.shrink(count - 1, now) {
                        shrunk += 1;
                        todo.push(std::mem::replace(&mut next, state));
                    } else {
                        crowded += 1;
                    }
                }
                if count < taken.len() {
                    grown += 1;
                    next.grow(count + 1);
                    todo.push(next);
                }
            }
            states += reached.len();
        }
    }
    let moves = [paid, refused, full, grown, shrunk, crowded];
    assert!(states > 50_000 && moves.iter().all(|made| *made > 1_000), "{states} states, {moves:?} moves");
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
        let mut table = Checked::new(buckets);
        let (mut clock, mut latest) = (start, start);
        for step in steps {
            match step {
                Step::Pay(forward, ago, tag) => {
                    clock += forward;
                    let now = clock.max(latest);
                    if table.pay(tag, now.min(now - ago), now) == Answer::Paid {
                        latest = now;
                    }
                }
                Step::Grow(more) => table.grow(table.buckets.len() + more),
                Step::Shrink(fewer) => {
                    table.shrink(table.buckets.len().saturating_sub(fewer).max(1), latest);
                }
            }
            table.assert_kept(latest);
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
