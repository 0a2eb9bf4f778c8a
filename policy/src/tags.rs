//! The tags of an account's payments of the last 25 hours: they ensure that a payment happens once.
//!
//! A hash table of any number of buckets, each of [`BUCKET_SLOTS`] slots. A tag's two halves name the two buckets that may hold
//! it; it goes into the first free slot, counted from the front of both. A slot is kept for 25 hours and never given away
//! earlier, so the table can be full.
//!
//! A payment is refused while its tag stands here and is less than 24 hours old at the second at which the payment was asked
//! for ([`is_timely`] bounds that second). So every retry of one request is refused once it was paid: a request ends an hour
//! after `asked_at`, while its tag is still kept. A new request with the same tag may pay 24 hours after the payment.
//!
//! The table grows by a bucket at a time ([`grow`], linear hashing): a half `h` of a tag names, of `n` buckets, number `h`
//! modulo the power of two above `n`, or modulo that below where there is no such bucket. So one more bucket takes entries
//! from a single other one. It shrinks the same way back ([`shrink`]), while what is kept fits.
//!
//! `tests/tags.rs` holds it against a plain list.

use bytemuck::{Pod, Zeroable};

use crate::DAY_SECONDS;

/// Tags in a bucket.
pub const BUCKET_SLOTS: usize = 16;

/// How long a payment may land after it was asked for.
pub const REQUEST_SECONDS: i64 = 3_600;
/// How far ahead of the account's clock a payment may have been asked for: nodes and leaders disagree a little.
pub const REQUEST_AHEAD_SECONDS: i64 = 300;
/// How long a tag is kept.
pub const TAG_SECONDS: i64 = DAY_SECONDS + REQUEST_SECONDS;

/// Whether a payment that was asked for at Unix second `asked_at` may still land at `now`, by the account's clock.
#[inline(always)]
pub const fn is_timely(asked_at: u32, now: i64) -> bool {
    let age = now.saturating_sub(asked_at as i64);
    -REQUEST_AHEAD_SECONDS <= age && age < REQUEST_SECONDS
}

/// The tag of a transfer: the last eight bytes of its id, little endian.
#[inline]
pub const fn tag_of(transfer_id: &[u8; 16]) -> u64 {
    (u128::from_le_bytes(*transfer_id) >> 64) as u64
}

/// The transfer id that begins with `start` and has this tag.
pub const fn id_with_tag(start: [u8; 8], tag: u64) -> [u8; 16] {
    (u64::from_le_bytes(start) as u128 | (tag as u128) << 64).to_le_bytes()
}

/// Some of an account's tags with their seconds (Unix time). All zeros means empty; zero is not a tag.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct TagBucket {
    tags: [u64; BUCKET_SLOTS],
    seconds: [u32; BUCKET_SLOTS],
}

impl TagBucket {
    pub const EMPTY: Self = Self { tags: [0; BUCKET_SLOTS], seconds: [0; BUCKET_SLOTS] };

    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    /// Whether `tag` stands here, kept or not. On chain, every transfer pays for this loop.
    #[inline(always)]
    fn holds(&self, tag: u64) -> bool {
        self.tags.contains(&tag)
    }

    #[inline(always)]
    fn is_free(&self, slot: usize, free_until: i64) -> bool {
        self.seconds.get(slot).is_some_and(|second| i64::from(*second) <= free_until)
    }

    fn kept(&self, free_until: i64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let slots = self.tags.iter().copied().zip(self.seconds);
        slots.filter(move |(_, second)| i64::from(*second) > free_until)
    }

    fn entry(&self, slot: usize) -> Option<(u64, u32)> {
        Some((*self.tags.get(slot)?, *self.seconds.get(slot)?))
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, (tag, second): (u64, u32)) {
        if let (Some(known), Some(at)) = (self.tags.get_mut(slot), self.seconds.get_mut(slot)) {
            (*known, *at) = (tag, second);
        }
    }
}

/// At Unix second `now`, the latest second whose slots are free. Never less than 0, the second of an empty slot. A slot of a later
/// second is kept: a clock that is behind frees nothing.
#[inline(always)]
fn free_until(now: i64) -> i64 {
    now.saturating_sub(TAG_SECONDS).max(0)
}

/// A second as slots store it. Payments end in 2106, because `asked_at` ends.
#[inline(always)]
fn stored(now: i64) -> u32 {
    now.clamp(0, i64::from(u32::MAX)) as u32
}

/// A payment with this tag was made within the last 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyPaid;

/// Where a tag may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagPlace {
    bucket: usize,
    slot: usize,
}

/// The buckets of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaidTags<'a>(pub &'a [TagBucket]);

impl PaidTags<'_> {
    /// Whether a payment with `tag` that was asked for at Unix second `asked_at` was made already: a payment with this tag is
    /// less than 24 hours older than that, or later. Pass the account's clock where it is before `asked_at`.
    pub fn contains(&self, tag: u64, asked_at: i64) -> bool {
        self.paid_before(tag, places(tag, self.0.len()), asked_at).is_err()
    }

    /// A slot for `tag` at Unix second `now`, by the account's clock: the one that it has, or a free one. `None`: the table is
    /// full.
    pub fn place(&self, tag: u64, now: i64) -> Option<TagPlace> {
        let places = places(tag, self.0.len());
        self.slot_of(tag, places).map(|(place, _)| place).or_else(|| self.free(places, now))
    }

    /// A slot for `tag`, if no payment with it was made; see [`Self::contains`] and [`Self::place`].
    #[inline(always)]
    pub fn find(&self, tag: u64, asked_at: i64, now: i64) -> Result<Option<TagPlace>, AlreadyPaid> {
        let places = places(tag, self.0.len());
        if self.holds(tag, places) {
            if let Some(place) = self.paid_before(tag, places, asked_at)? {
                return Ok(Some(place));
            }
        }
        Ok(self.free(places, now))
    }

    #[inline(always)]
    fn holds(&self, tag: u64, [first, second]: [usize; 2]) -> bool {
        let holds = |bucket: usize| self.0.get(bucket).is_some_and(|bucket| bucket.holds(tag));
        holds(first) || first != second && holds(second)
    }

    /// The slot of an older payment with this tag. Almost always, there is none.
    #[cold]
    #[inline(never)]
    fn paid_before(
        &self,
        tag: u64,
        places: [usize; 2],
        asked_at: i64,
    ) -> Result<Option<TagPlace>, AlreadyPaid> {
        let Some((place, paid_at)) = self.slot_of(tag, places) else { return Ok(None) };
        if asked_at.saturating_sub(i64::from(paid_at)) < DAY_SECONDS {
            return Err(AlreadyPaid);
        }
        Ok(Some(place))
    }

    /// Where `tag` stands, kept or not, and its second.
    fn slot_of(&self, tag: u64, places: [usize; 2]) -> Option<(TagPlace, u32)> {
        let in_bucket = |bucket: usize| {
            let slots = self.0.get(bucket)?;
            let slot = slots.tags.iter().position(|known| *known == tag)?;
            Some((TagPlace { bucket, slot }, *slots.seconds.get(slot)?))
        };
        // Zero is no tag.
        places.into_iter().find_map(in_bucket).filter(|_| tag != 0)
    }

    #[inline(always)]
    fn free(&self, [first, second]: [usize; 2], now: i64) -> Option<TagPlace> {
        let free_until = free_until(now);
        let one = self.0.get(first)?;
        if first == second {
            let slot = (0..BUCKET_SLOTS).find(|slot| one.is_free(*slot, free_until))?;
            return Some(TagPlace { bucket: first, slot });
        }
        let other = self.0.get(second)?;
        for slot in 0..BUCKET_SLOTS {
            if one.is_free(slot, free_until) {
                return Some(TagPlace { bucket: first, slot });
            }
            if other.is_free(slot, free_until) {
                return Some(TagPlace { bucket: second, slot });
            }
        }
        None
    }

    /// Every tag with its second, kept or not.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let slots = self.0.iter().flat_map(|bucket| bucket.tags.iter().copied().zip(bucket.seconds));
        slots.filter(|(tag, _)| *tag != 0)
    }

    /// How many slots are kept.
    pub fn len(&self, now: i64) -> usize {
        self.0.iter().map(|bucket| bucket.kept(free_until(now)).count()).sum()
    }

    pub fn is_empty(&self, now: i64) -> bool {
        self.len(now) == 0
    }
}

/// Writes `tag` to the `place` that was found for it.
#[inline(always)]
pub fn record(buckets: &mut [TagBucket], place: TagPlace, tag: u64, now: i64) {
    if let Some(bucket) = buckets.get_mut(place.bucket) {
        bucket.put(place.slot, (tag, stored(now)));
    }
}

/// Takes the last buckets, which are empty, into use: before, there were `from`, one or more.
pub fn grow(buckets: &mut [TagBucket], from: usize) {
    for count in from.max(1)..buckets.len() {
        let (Some((parent, new)), at) = (parent_and_last(buckets, count), parent_of(count)) else { return };
        for slot in 0..BUCKET_SLOTS {
            let Some(entry) = parent.entry(slot) else { return };
            // It stands here by the half that names this bucket; both may.
            let mut by = halves(entry.0).into_iter().filter(|half| place_of(*half, count) == at);
            if entry.0 != 0 && by.next().is_some_and(|half| place_of(half, count.wrapping_add(1)) == count) {
                new.put(slot, entry);
                parent.put(slot, (0, 0));
            }
        }
    }
}

/// Takes the last buckets out of use: `to`, one or more, are left. `None`, and some may be empty by then: what is kept at Unix
/// second `now` does not fit.
pub fn shrink(buckets: &mut [TagBucket], to: usize, now: i64) -> Option<()> {
    let free_until = free_until(now);
    for count in (to.max(1)..buckets.len()).rev() {
        let (parent, last) = parent_and_last(buckets, count)?;
        for slot in 0..BUCKET_SLOTS {
            if !last.is_free(slot, free_until) {
                let free = (0..BUCKET_SLOTS).find(|slot| parent.is_free(*slot, free_until))?;
                parent.put(free, last.entry(slot)?);
            }
        }
        *last = TagBucket::EMPTY;
    }
    Some(())
}

/// The bucket from which the one behind the first `count` takes its entries, and that one.
fn parent_and_last(buckets: &mut [TagBucket], count: usize) -> Option<(&mut TagBucket, &mut TagBucket)> {
    let (used, rest) = buckets.split_at_mut_checked(count)?;
    Some((used.get_mut(parent_of(count))?, rest.first_mut()?))
}

/// `count` without its highest bit.
fn parent_of(count: usize) -> usize {
    count & mask(count) >> 1
}

#[inline(always)]
fn halves(tag: u64) -> [u32; 2] {
    [tag as u32, (tag >> 32) as u32]
}

/// The buckets, of `count`, in which `tag` may stand.
#[inline(always)]
fn places(tag: u64, count: usize) -> [usize; 2] {
    halves(tag).map(|half| place_of(half, count))
}

#[inline(always)]
fn place_of(half: u32, count: usize) -> usize {
    let mask = mask(count);
    let at = half as usize & mask;
    if at < count {
        at
    } else {
        at & mask >> 1
    }
}

/// The next power of two above `count`, less one. An account has room for fewer than 2^16 buckets.
#[inline(always)]
fn mask(count: usize) -> usize {
    let mask = count | count >> 1;
    let mask = mask | mask >> 2;
    let mask = mask | mask >> 4;
    mask | mask >> 8
}
