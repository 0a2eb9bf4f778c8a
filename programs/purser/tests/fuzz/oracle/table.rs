//! The table of paid tags, as lists: which slots it keeps, and where a tag may stand.

/// How long a tag is kept.
pub const KEPT: i64 = 25 * 3_600;
const SLOTS: usize = 16;

/// A tag and its second in each slot that was ever taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table(pub Vec<[Option<(u64, i64)>; SLOTS]>);

impl Table {
    pub fn new() -> Self {
        Self(vec![[None; SLOTS]])
    }

    /// Entries of at most 25 hours.
    pub fn kept(&self, now: i64) -> impl Iterator<Item = (u64, i64)> + '_ {
        self.0.iter().flatten().flatten().copied().filter(move |(_, at)| now - at < KEPT)
    }

    /// When the payment with this tag was made that stands here.
    pub fn paid_at(&self, tag: u64) -> Option<i64> {
        self.0.iter().flatten().flatten().find(|(known, _)| *known == tag).map(|(_, at)| *at)
    }

    /// Puts the tag into its own slot, or the first free one of its two buckets. `false`: there is none.
    pub fn put(&mut self, tag: u64, now: i64) -> bool {
        let [first, second] = buckets_of(tag, self.0.len());
        let slots = (0..SLOTS).flat_map(|slot| [(first, slot), (second, slot)]);
        let own = slots
            .clone()
            .find(|(bucket, slot)| self.0[*bucket][*slot].is_some_and(|(known, _)| known == tag));
        let free = slots
            .into_iter()
            .find(|(bucket, slot)| self.0[*bucket][*slot].is_none_or(|(_, at)| now - at >= KEPT));
        let Some((bucket, slot)) = own.or(free) else { return false };
        self.0[bucket][slot] = Some((tag, now));
        true
    }

    /// Gives it this many buckets, one after the other. `false`: what is kept does not fit.
    pub fn resize(&mut self, buckets: usize, now: i64) -> bool {
        while self.0.len() < buckets {
            let count = self.0.len();
            let mut new = [None; SLOTS];
            let parent = split_from(count);
            for (from, to) in self.0[parent].iter_mut().zip(&mut new) {
                let Some((tag, _)) = *from else { continue };
                // It stands here by its first half that names this bucket.
                let at =
                    buckets_of(tag, count).iter().position(|bucket| *bucket == parent).expect("its bucket");
                if buckets_of(tag, count + 1)[at] == count {
                    *to = from.take();
                }
            }
            self.0.push(new);
        }
        while self.0.len() > buckets {
            let last = self.0.pop().expect("more than one");
            let parent = split_from(self.0.len());
            for entry in last.into_iter().flatten().filter(|(_, at)| now - at < KEPT) {
                let free = self.0[parent].iter().position(|slot| slot.is_none_or(|(_, at)| now - at >= KEPT));
                let Some(free) = free else { return false };
                self.0[parent][free] = Some(entry);
            }
        }
        true
    }
}

/// The bucket that was split to make the one with number `count`.
fn split_from(count: usize) -> usize {
    let mut power = 1;
    while power * 2 <= count {
        power *= 2;
    }
    count - power
}

/// Linear hashing of either half.
fn buckets_of(tag: u64, count: usize) -> [usize; 2] {
    let mut power = 1;
    while power <= count {
        power *= 2;
    }
    [tag % (1 << 32), tag >> 32].map(|half| {
        let at = half as usize % power;
        if at < count {
            at
        } else {
            half as usize % (power / 2)
        }
    })
}
