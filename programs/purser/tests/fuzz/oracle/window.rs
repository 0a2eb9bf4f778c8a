//! The rule of the spending window as documented, in lists and integers that neither wrap nor overflow.

/// A spend counts while its age is at most this, inclusively.
pub const DAY: i64 = 86_400;
/// Different seconds with spends that the window keeps apart.
pub const SPANS: usize = 40;
/// Beyond those, a spend may count for less than this many seconds longer.
pub const STRETCH: i64 = 2 * DAY / 31;

#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The second of the newest spend. Time never goes back before it.
    pub latest: i64,
    /// Each span's last second and total spend, oldest first.
    pub spans: Vec<(i64, u128)>,
    /// Every single spend that can still matter.
    spends: Vec<(i64, u64)>,
}

impl Window {
    /// Empty, with a clock that is not before this second.
    pub fn beginning(latest: i64) -> Self {
        Self { latest, ..Self::default() }
    }

    pub fn effective(&self, now: i64) -> i64 {
        now.max(self.latest)
    }

    /// The sum that counts at `now`.
    pub fn spent(&self, now: i64) -> u64 {
        let now = self.effective(now);
        let counts = self.spans.iter().filter(|(last, _)| now - last <= DAY);
        as_u64(counts.map(|(_, amount)| amount).sum())
    }

    pub fn is_empty(&self, now: i64) -> bool {
        let now = self.effective(now);
        self.spans.iter().all(|(last, _)| now - last > DAY)
    }

    pub fn record(&mut self, now: i64, amount: u64) {
        let now = self.effective(now);
        self.latest = now;
        self.spans.retain(|(last, _)| now - last <= DAY);
        self.spends.retain(|(at, _)| now - at <= DAY + STRETCH);
        self.spends.push((now, amount));
        match self.spans.last_mut() {
            Some((last, newest)) if *last == now => *newest += u128::from(amount),
            _ => self.spans.push((now, u128::from(amount))),
        }
        if self.spans.len() > SPANS {
            let at = self.least_that_may_join();
            let (_, least) = self.spans.remove(at);
            self.spans[at].1 += least;
        }
    }

    /// Of the spans with a neighbour on each side that is close enough: the smallest, and of equal ones the oldest.
    fn least_that_may_join(&self) -> usize {
        let mut least: Option<usize> = None;
        for at in 1..self.spans.len() - 1 {
            let close = self.spans[at + 1].0 - self.spans[at - 1].0 <= STRETCH;
            let less = least.is_none_or(|least| as_u64(self.spans[at].1) < as_u64(self.spans[least].1));
            if close && less {
                least = Some(at);
            }
        }
        least.expect("the rule says that there always is one")
    }

    /// What really left in the `seconds` up to the newest spend, inclusively.
    pub fn left_within(&self, seconds: i64) -> u128 {
        let left = self.spends.iter().filter(|(at, _)| self.latest - at <= seconds);
        left.map(|(_, amount)| u128::from(*amount)).sum()
    }

    /// How many different seconds of the last day had a spend.
    pub fn seconds_of_the_day(&self) -> usize {
        let mut seconds: Vec<_> = self.spends.iter().map(|(at, _)| *at).collect();
        seconds.retain(|at| self.latest - at <= DAY);
        seconds.dedup();
        seconds.len()
    }
}

pub fn as_u64(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}
