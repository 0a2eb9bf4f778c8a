//! Shortens a history that diverges: what remains still diverges.

use crate::compare::Differences;
use crate::world::{Step, World};

/// How many shorter histories are tried. A count, not a time, so that a seed gives the same history on every machine.
const TRIES: u32 = 500;

/// Where and how `history` diverges, if it does.
fn divergence(fresh: &World, history: &[Step]) -> Option<(usize, Differences)> {
    let mut world = fresh.clone();
    history.iter().enumerate().find_map(|(at, step)| Some((at, world.step(step).err()?)))
}

/// A short history that still diverges, and its differences. `history` must diverge.
pub fn shrink(fresh: &World, history: Vec<Step>, differences: Differences) -> (Vec<Step>, Differences) {
    let mut best = (history, differences);
    let mut tries = TRIES;
    let mut part = best.0.len() / 2;
    while part > 0 {
        let mut from = 0;
        while from < best.0.len() && tries > 0 {
            tries -= 1;
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
