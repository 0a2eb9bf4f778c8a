use super::DAY;

/// Every spend ever made, in a plain list, without joining, dropping or rounding.
#[derive(Default)]
pub struct Spends(Vec<(i64, u64)>);

impl Spends {
    pub fn add(&mut self, now: i64, amount: u64) {
        let now = self.effective(now);
        self.0.push((now, amount));
    }

    /// The amount that left in the 24 hours up to `now`.
    pub fn spent(&self, now: i64) -> u128 {
        self.spent_for(now, DAY)
    }

    /// The same if each spend counted for `seconds`, inclusively.
    pub fn spent_for(&self, now: i64, seconds: i64) -> u128 {
        let now = i128::from(self.effective(now));
        let counts = |at: i64| now - i128::from(at) <= i128::from(seconds);
        self.0.iter().filter(|(at, _)| counts(*at)).map(|(_, amount)| u128::from(*amount)).sum()
    }

    /// How many different seconds had a spend in the 24 hours up to `now`.
    pub fn seconds(&self, now: i64) -> usize {
        let now = self.effective(now);
        let mut seconds: Vec<i64> = self.0.iter().map(|(at, _)| *at).filter(|at| now - at <= DAY).collect();
        seconds.dedup();
        seconds.len()
    }

    /// Time never goes back.
    fn effective(&self, now: i64) -> i64 {
        self.0.last().map_or(now, |(latest, _)| now.max(*latest))
    }
}
