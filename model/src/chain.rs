//! The account on the chain, and signed bytes in flight to it.

use std::hash::{Hash, Hasher};

use purser_policy::{RecentTags, TAGS_MAX};

/// The tag of the requested key. The tags of others are all different, and greater.
const TAG: u64 = 1;
/// Everything happens within one second, so time frees nothing.
const NOW: i64 = 1_700_000_000;

/// A set of payment numbers: the lowest bit is the first payment.
pub type Numbers = u64;

/// What landed at once: one payment under the key, or several of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LandedBatch {
    /// Payments before it.
    pub after: u8,
    pub count: u8,
    /// The bytes that made it, if it is under the key.
    pub bytes: Option<usize>,
}

impl LandedBatch {
    pub fn numbers(&self) -> Numbers {
        numbers(self.after, self.after + self.count)
    }
}

/// The numbers above `after`, up to `last`.
pub fn numbers(after: u8, last: u8) -> Numbers {
    up_to(last) & !up_to(after)
}

pub fn up_to(last: u8) -> Numbers {
    Numbers::MAX.checked_shr(64 - u32::from(last)).unwrap_or(0)
}

/// Signed bytes that were sent. They may land late or never, and however often they are sent, they are one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bytes {
    /// The transfer that they were signed for.
    pub transfer: u8,
    pub request: u8,
    pub sequence: u32,
    pub last_block: u8,
    pub fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    Open,
    Paid,
    /// The program already has the tag.
    Duplicate,
    /// Too many payments came since.
    Stale,
}

/// The chain.
#[derive(Debug, Clone)]
pub struct Chain {
    pub landings: Vec<LandedBatch>,
    pub block: u8,
    /// How many payments there were at the end of each block.
    pub at_end_of: Vec<u8>,
    pub bytes: Vec<Bytes>,
    /// The bursts of others that are yet to come.
    pub others: Vec<u8>,
    /// Derived from the landings.
    tags: RecentTags,
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Chain {}

impl Hash for Chain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// The account as a node serves it: what it remembers, and which of that is under the key.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub count: u8,
    pub sequence: u32,
    pub remembered: Numbers,
    pub has_tag: bool,
}

impl Chain {
    pub fn new(others: Vec<u8>) -> Self {
        let (landings, at_end_of, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Self { landings, block: 0, at_end_of, bytes, others, tags: RecentTags::EMPTY }
    }

    fn parts(&self) -> (&[LandedBatch], u8, &[u8], &[Bytes], &[u8]) {
        (&self.landings, self.block, &self.at_end_of, &self.bytes, &self.others)
    }

    pub fn count(&self) -> u8 {
        self.landings.last().map_or(0, |landing| landing.after + landing.count)
    }

    /// How often the key was paid.
    pub fn payments(&self) -> usize {
        self.landings.iter().filter(|landing| landing.bytes.is_some()).count()
    }

    /// The numbers of the payments under the key.
    pub fn paid_numbers(&self) -> Numbers {
        let paid = self.landings.iter().filter(|landing| landing.bytes.is_some());
        paid.fold(0, |numbers, landing| numbers | landing.numbers())
    }

    /// The request that the key was spent on: that of the bytes that landed first.
    pub fn paid_request(&self) -> Option<u8> {
        let bytes = self.landings.iter().find_map(|landing| landing.bytes)?;
        self.bytes.get(bytes).map(|bytes| bytes.request)
    }

    /// The account after this many landings.
    pub fn view(&self, landings: usize) -> View {
        let before = self.landings.get(..landings).unwrap_or(&self.landings);
        let mut tags = RecentTags::EMPTY;
        before.iter().for_each(|landing| record(&mut tags, landing));
        let count = before.last().map_or(0, |landing| landing.after + landing.count);
        let remembered = numbers(count.saturating_sub(TAGS_MAX as u8), count);
        View { count, sequence: tags.sequence(), remembered, has_tag: tags.contains(TAG, NOW) }
    }

    /// Whether these bytes can reach the program now.
    pub fn can_land(&self, bytes: usize) -> bool {
        let bytes = self.bytes.get(bytes);
        bytes.is_some_and(|bytes| bytes.fate == Fate::Open && self.block <= bytes.last_block)
    }

    /// Others make the payments of one burst.
    pub fn others_pay(&mut self, burst: usize) {
        let count = self.others.remove(burst);
        self.land(LandedBatch { after: self.count(), count, bytes: None });
    }

    /// The program executes `bytes`, and checks in its order: the sequence, then the tag.
    pub fn execute(&mut self, bytes: usize, checks_sequence: bool) {
        let Some(signed) = self.bytes.get_mut(bytes) else { return };
        signed.fate = if checks_sequence && !self.tags.covers(signed.sequence) {
            Fate::Stale
        } else if self.tags.contains(TAG, NOW) {
            Fate::Duplicate
        } else {
            Fate::Paid
        };
        if signed.fate == Fate::Paid {
            self.land(LandedBatch { after: self.count(), count: 1, bytes: Some(bytes) });
        }
    }

    pub fn next_block(&mut self) {
        self.at_end_of.push(self.landings.len() as u8);
        self.block += 1;
    }

    fn land(&mut self, landing: LandedBatch) {
        record(&mut self.tags, &landing);
        self.landings.push(landing);
    }
}

fn record(tags: &mut RecentTags, landing: &LandedBatch) {
    for place in 0..landing.count {
        let tag = if landing.bytes.is_some() { TAG } else { TAG + 1 + u64::from(landing.after + place) };
        tags.record(tag, NOW);
    }
}
