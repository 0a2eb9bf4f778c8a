//! How often each hazard is drawn.

use std::fmt;
use std::str::FromStr;

/// How many of 100 rounds have each hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// A node's clock is off by hours.
    pub clock: u64,
    /// A node's history has holes, or ends early.
    pub history: u64,
    /// A database is put back to an earlier copy.
    pub restore: u64,
    /// A database's disk is full for a while.
    pub disk: u64,
    /// The operator replaces its transfer authority.
    pub rotation: u64,
    /// A relayer's host has a wrong clock.
    pub skew: u64,
    /// A node's block height is off by a thousand or so.
    pub height: u64,
    /// One of two nodes accepts transactions and forwards none.
    pub deaf: u64,
    /// One of two nodes says that transactions landed, or failed, which never landed.
    pub landings: u64,
    /// A fork shows payments as confirmed, and drops them.
    pub fork: u64,
    /// Another operator copies what accounts were made from.
    pub copy: u64,
    /// People are asked about payments above the limit.
    pub people: u64,
    /// The clocks move on by about a day, and keys are used again.
    pub reuse: u64,
    /// All relayers are away for 70 minutes, amid payments in flight.
    pub away: u64,
}

impl Weights {
    pub const NONE: Weights = Weights::all_at(0);

    /// Each hazard in this many of 100 rounds.
    pub const fn all_at(percent: u64) -> Weights {
        Weights {
            clock: percent,
            history: percent,
            restore: percent,
            disk: percent,
            rotation: percent,
            skew: percent,
            height: percent,
            deaf: percent,
            landings: percent,
            fork: percent,
            copy: percent,
            people: percent,
            reuse: percent,
            away: percent,
        }
    }

    /// Each weight by the name that the command line knows.
    fn named(&mut self) -> [(&'static str, &mut u64); 14] {
        [
            ("clock", &mut self.clock),
            ("history", &mut self.history),
            ("restore", &mut self.restore),
            ("disk", &mut self.disk),
            ("rotation", &mut self.rotation),
            ("skew", &mut self.skew),
            ("height", &mut self.height),
            ("deaf", &mut self.deaf),
            ("landings", &mut self.landings),
            ("fork", &mut self.fork),
            ("copy", &mut self.copy),
            ("people", &mut self.people),
            ("reuse", &mut self.reuse),
            ("away", &mut self.away),
        ]
    }
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            clock: 25,
            history: 25,
            restore: 20,
            disk: 15,
            rotation: 10,
            skew: 20,
            height: 20,
            deaf: 15,
            landings: 15,
            fork: 20,
            copy: 15,
            people: 35,
            reuse: 15,
            away: 10,
        }
    }
}

/// `clock=100,history=0`: hazards that are not named keep their default; after `none`, as in `none,clock=100`, they are off.
impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Weights, String> {
        let mut weights = Weights::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            if part == "none" {
                weights = Weights::NONE;
                continue;
            }
            let (name, percent) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not name=percent"))?;
            let percent = percent.parse().map_err(|_| format!("`{percent}` is not a number"))?;
            let named = weights.named();
            let names = named.each_ref().map(|(name, _)| *name).join(", ");
            let weight = named.into_iter().find(|(known, _)| *known == name);
            let (_, weight) = weight.ok_or_else(|| format!("`{name}` is none of {names}"))?;
            *weight = percent;
        }
        Ok(weights)
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut weights = *self;
        let weights = weights.named().map(|(name, percent)| format!("{name}={percent}"));
        f.write_str(&weights.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_as_they_are_written() {
        let weights: Weights = "clock=100,disk=0".parse().unwrap();
        assert_eq!(weights, Weights { clock: 100, disk: 0, ..Weights::default() });
        assert_eq!("none".parse(), Ok(Weights::NONE));
        assert_eq!("none,disk=7".parse(), Ok(Weights { disk: 7, ..Weights::NONE }));
        assert_eq!(weights.to_string().parse(), Ok(weights));
        for bad in ["clock", "clock=x", "weather=1"] {
            assert!(bad.parse::<Weights>().is_err(), "{bad}");
        }
    }
}
