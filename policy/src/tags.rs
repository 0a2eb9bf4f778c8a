//! The tags of an account's most recent transfers: they ensure that a payment happens once.

use bytemuck::{Pod, Zeroable};

use crate::DAY_SECONDS;

/// How many transfers back a tag is remembered, for 24 hours at most.
pub const TAGS_MAX: usize = 16;

const DAY: i32 = DAY_SECONDS as i32;

/// The tag of a transfer: the last eight bytes of its id, little endian.
#[inline]
pub const fn tag_of(transfer_id: &[u8; 16]) -> u64 {
    (u128::from_le_bytes(*transfer_id) >> 64) as u64
}

/// The transfer id that begins with `start` and has this tag.
pub const fn id_with_tag(start: [u8; 8], tag: u64) -> [u8; 16] {
    (u64::from_le_bytes(start) as u128 | (tag as u128) << 64).to_le_bytes()
}

/// The most recent tags with their seconds (the low 32 bits of Unix time). All zeros means empty; zero is not a tag.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RecentTags {
    /// How many tags were ever recorded. The next one goes to this index, modulo the size, over the oldest.
    recorded: u64,
    tags: [u64; TAGS_MAX],
    seconds: [u32; TAGS_MAX],
}

impl RecentTags {
    pub const EMPTY: Self = Self { recorded: 0, tags: [0; TAGS_MAX], seconds: [0; TAGS_MAX] };

    /// Whether `tag` was recorded less than 24 hours before Unix second `now` and is still remembered.
    ///
    /// A tag of a later second counts too: a clock that is behind frees nothing. 32 bits distinguish ages of up to 68 years;
    /// an account that was idle for longer may refuse its last tags once more, and no others.
    #[inline]
    pub fn contains(&self, tag: u64, now: i64) -> bool {
        // The comparison that is almost always false comes first: on chain, this loop is paid for by every transfer.
        self.tags.iter().zip(&self.seconds).any(|(known, second)| {
            *known == tag && tag != 0 && ((now as u32).wrapping_sub(*second) as i32) < DAY
        })
    }

    /// The remembered tags of any age, oldest first, each with the number of its payment (the first of all is 1).
    pub fn numbered(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let before = self.recorded.saturating_sub(TAGS_MAX as u64)..self.recorded;
        before.filter_map(|before| {
            let tag = self.tags.get((before as usize) % TAGS_MAX)?;
            Some((before.saturating_add(1), *tag))
        })
    }

    /// How many tags were ever recorded, which is the number of the newest payment.
    #[inline]
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The low 32 bits of [`Self::recorded`]. A transfer is signed with them, so that [`Self::covers`] can tell whether
    /// everything since is still remembered.
    #[inline]
    pub fn sequence(&self) -> u32 {
        self.recorded as u32
    }

    /// Whether every tag recorded since `sequence` is remembered, and still would be after one more. Then a tag that was
    /// missing at `sequence`, and is missing now, was not recorded in between.
    #[inline]
    pub fn covers(&self, sequence: u32) -> bool {
        self.sequence().wrapping_sub(sequence) < TAGS_MAX as u32
    }

    /// Remembers `tag` in place of the oldest one. `now` must not be before the newest one's second; the spend window's
    /// clock never is.
    #[inline]
    pub fn record(&mut self, tag: u64, now: i64) {
        let slot = (self.recorded as usize) % TAGS_MAX;
        if let (Some(known), Some(second)) = (self.tags.get_mut(slot), self.seconds.get_mut(slot)) {
            *known = tag;
            *second = now as u32;
        }
        self.recorded = self.recorded.wrapping_add(1);
    }
}
