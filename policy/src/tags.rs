//! The tags of an account's most recent transfers: what makes a payment happen once.

use bytemuck::{Pod, Zeroable};

use crate::DAY_SECONDS;

/// How many transfers back a tag is remembered, for 24 hours at most.
pub const TAGS_MAX: usize = 16;

const DAY: u32 = DAY_SECONDS as u32;

/// The most recent tags with their seconds (the low 32 bits of Unix time). All zeros is the empty memory; zero is no tag.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RecentTags {
    /// Unix second of the newest tag.
    latest: i64,
    /// Where the next tag goes: over the oldest.
    next: u64,
    tags: [u64; TAGS_MAX],
    seconds: [u32; TAGS_MAX],
}

impl RecentTags {
    pub const EMPTY: Self = Self { latest: 0, next: 0, tags: [0; TAGS_MAX], seconds: [0; TAGS_MAX] };

    /// Whether `tag` was recorded less than 24 hours before Unix second `now` and is still remembered.
    /// A clock behind the newest tag is read as that tag's second.
    #[inline]
    pub fn contains(&self, tag: u64, now: i64) -> bool {
        let now = now.max(self.latest);
        let elapsed = (now as u64).wrapping_sub(self.latest as u64);
        // The comparison that is almost always false comes first: on chain, this loop is paid for by every transfer.
        self.tags.iter().zip(&self.seconds).any(|(known, second)| {
            *known == tag && tag != 0 && elapsed < u64::from(DAY) && (now as u32).wrapping_sub(*second) < DAY
        })
    }

    /// Remembers `tag` in place of the oldest one.
    #[inline]
    pub fn record(&mut self, tag: u64, now: i64) {
        let now = now.max(self.latest);
        let slot = (self.next as usize) % TAGS_MAX;
        if let (Some(known), Some(second)) = (self.tags.get_mut(slot), self.seconds.get_mut(slot)) {
            *known = tag;
            *second = now as u32;
        }
        self.latest = now;
        self.next = ((slot + 1) % TAGS_MAX) as u64;
    }
}
