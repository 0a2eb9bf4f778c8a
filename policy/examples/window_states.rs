//! Runs the window on seeded schedules and prints one hash for each: what `prove/prove.py` holds its model to.
//!
//!     cargo run --release -p purser-policy --example window_states -- SCHEDULES STEPS_EACH

#[path = "../tests/random/mod.rs"]
mod random;
#[path = "../tests/schedule/mod.rs"]
mod schedule;

use purser_policy::{SpendWindow, UsdcAmount};
use random::Random;
use schedule::Schedule;

/// FNV-1a over words instead of bytes.
struct Hash(u64);

impl Hash {
    fn take(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }

    /// All that is kept: newest second, count and the spans.
    fn take_state(&mut self, window: &SpendWindow) {
        let (words, _) = bytemuck::bytes_of(window).as_chunks();
        let len = words.get(1).map_or(0, |word| u64::from_le_bytes(*word));
        // 12 bytes a span; half a word behind the last one is not zero when spans were forgotten.
        let halves = 4 + 3 * len as usize;
        let (parts, _) = bytemuck::bytes_of(window).as_chunks();
        parts.iter().take(halves).for_each(|part| self.take(u64::from(u32::from_le_bytes(*part))));
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|it| it.parse().ok()).collect();
    let [schedules, steps] = numbers[..] else {
        eprintln!("usage: window_states SCHEDULES STEPS_EACH");
        std::process::exit(2);
    };
    let mut seeds = Random(2);
    for _ in 0..schedules {
        let mut schedule = Schedule::new(&mut seeds);
        let mut window = SpendWindow::EMPTY;
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        for step in 0..steps {
            let (now, amount) = schedule.next();
            hash.take(window.spent(now).micros());
            window.record(now, UsdcAmount::from_micros(amount));
            if step % 16 == 0 {
                hash.take_state(&window);
            }
        }
        println!("{:016x}", hash.0);
    }
}
