//! Reproducible random numbers: the same seed gives the same numbers.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn from(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of item number `index` among many that share a seed.
    pub fn of(seed: u64, index: u64) -> Random {
        let mut random = Random(seed ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.draw();
        random
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these; `None` if there are none.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        let index = self.below(choices.len().max(1) as u64);
        choices.get(index as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_another_gives_others() {
        let numbers = |mut random: Random| [random.draw(), random.draw(), random.draw()];
        assert_eq!(numbers(Random::of(7, 1)), numbers(Random::of(7, 1)));
        assert_ne!(numbers(Random::of(7, 1)), numbers(Random::of(7, 2)));
        assert_ne!(numbers(Random::of(7, 1)), numbers(Random::of(8, 1)));
    }
}
