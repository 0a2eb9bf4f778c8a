//! Random schedules of spends. `prove/schedule.py` makes the same ones.

use crate::random::Random;

/// One payer: how long it waits, how much it spends, and whether its clock is right.
pub struct Schedule {
    random: Random,
    now: i64,
    wait_below: u64,
    /// Amounts are shifted right by this and up to ten more.
    amount_shift: u64,
    /// One clock in so many goes astray; 0 is none.
    astray: u64,
}

impl Schedule {
    pub fn new(seeds: &mut Random) -> Self {
        let mut random = Random(seeds.next());
        let starts = [1_700_000_000, 0, -100_000, (1 << 32) - 40_000, i64::MAX - 3_000_000];
        let now = starts[random.below(5) as usize];
        let wait_below = [3, 60, 300, 2_000, 4_000, 12_000, 100_000][random.below(7) as usize];
        let amount_shift = [0, 4, 20, 34, 44, 62][random.below(6) as usize];
        let astray = [0, 0, 8, 500][random.below(4) as usize];
        Self { random, now, wait_below, amount_shift, astray }
    }

    /// The next spend: its second, as the payer's clock has it, and its amount.
    pub fn next(&mut self) -> (i64, u64) {
        let random = &mut self.random;
        let wait = random.below(self.wait_below) as i64;
        self.now = self.now.saturating_add(wait);
        if self.astray > 0 && random.below(self.astray) == 0 {
            let by = (random.next() >> 44) as i64;
            match random.below(8) {
                0..6 => return (self.now.saturating_sub(by), 1 + random.below(1_000)),
                6 => self.now = self.now.saturating_add(86_399 + (by & 3)),
                _ => self.now = self.now.saturating_add(by << 12),
            }
        }
        let shift = (self.amount_shift + random.below(11)).min(63);
        (self.now, random.next() >> shift)
    }
}
