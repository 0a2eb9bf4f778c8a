//! When things happened. A date is the node's word: it is held against the dates around it, and against the seconds that the
//! program itself wrote into accounts.

use std::collections::BTreeMap;

use purser::state::AgentView;

use super::{Place, Replay, date};
use crate::check::Check;

/// Networks for development may date a block by its end.
const SECONDS_OFF_MAX: u64 = 1;

impl Replay {
    /// A block is dated no earlier than the one before, and once.
    pub(super) fn check_date(&mut self, place: &Place) {
        self.examined(Check::Dates, 1);
        let Place { slot, time, .. } = *place;
        if let Some((before, then)) = self.dated {
            let is_wrong = match slot == before {
                true => time.abs_diff(then) > SECONDS_OFF_MAX,
                false => time < then.saturating_sub(SECONDS_OFF_MAX.cast_signed()),
            };
            if is_wrong {
                let text = format!(
                    "The node dates the block of slot {slot} at {}, and that of slot {before} at {}.",
                    date(time),
                    date(then)
                );
                self.mismatch(Check::Dates, None, Some(place), text);
            }
        }
        self.dated = Some((slot, time));
        self.outcome.last_time = self.outcome.last_time.max(Some(time));
    }
}

/// A payment whose second in the account is not that of its block: its tag, and both.
pub(super) fn misdated(chain: &AgentView, replayed: &AgentView) -> Option<(u64, u32, u32)> {
    let seconds = |view: &AgentView| view.tags().map(|tags| tags.entries().collect::<BTreeMap<_, _>>());
    let (stands, dated) = (seconds(chain)?, seconds(replayed)?);
    let both = stands.into_iter().filter_map(|(tag, stands)| Some((tag, stands, *dated.get(&tag)?)));
    both.into_iter().find(|(_, stands, dated)| u64::from(stands.abs_diff(*dated)) > SECONDS_OFF_MAX)
}
