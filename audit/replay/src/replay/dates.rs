//! When things happened. A date is the node's word: it is held against the dates around it, and against the seconds that the
//! program itself wrote into accounts.

use purser::state::Agent;
use purser_policy::TAGS_MAX;

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

/// The newest payment whose second in the account is not that of its block: its number, and both.
pub(super) fn misdated(chain: &Agent, replayed: &Agent) -> Option<(u64, u32, u32)> {
    let numbers = chain.tags().numbered().zip(replayed.tags().numbered());
    let mut wrong = numbers.filter(|(one, other)| one == other).filter_map(|((number, _), _)| {
        let (stands, dated) = (second(chain, number)?, second(replayed, number)?);
        (u64::from(stands.abs_diff(dated)) > SECONDS_OFF_MAX).then_some((number, stands, dated))
    });
    wrong.next()
}

/// When the account says that a payment was made, in the low 32 bits of Unix seconds. They stand behind the tags.
fn second(agent: &Agent, number: u64) -> Option<u32> {
    let seconds: &[u32] = bytemuck::cast_slice(agent.tags.get(1 + TAGS_MAX..)?);
    let place = usize::try_from(number.checked_sub(1)? % TAGS_MAX as u64).ok()?;
    seconds.get(place).copied()
}
