//! A history made short: what is left out still ends in a divergence.

use std::time::{Duration, Instant};

use crate::compare::Differences;
use crate::world::{Step, World};

/// Longest time spent on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where `history` diverges, if it does, and how.
fn divergence(fresh: &World, history: &[Step]) -> Option<(usize, Differences)> {
    let mut world = fresh.clone();
    history.iter().enumerate().find_map(|(at, step)| Some((at, world.step(step).err()?)))
}

/// A short history that still diverges, and its differences. `history` does.
pub fn shrink(fresh: &World, history: Vec<Step>, differences: Differences) -> (Vec<Step>, Differences) {
    let begun = Instant::now();
    let mut best = (history, differences);
    let mut part = best.0.len() / 2;
    while part > 0 && begun.elapsed() < PATIENCE {
        let mut from = 0;
        while from < best.0.len() && begun.elapsed() < PATIENCE {
            let to = (from + part).min(best.0.len());
            let without: Vec<_> = best.0[..from].iter().chain(&best.0[to..]).cloned().collect();
            match divergence(fresh, &without) {
                Some((at, differences)) => best = (without[..=at].to_vec(), differences),
                None => from = to,
            }
        }
        part /= 2;
    }
    best
}
