//! Reads the signatures of one address, from the newest back to where the last walk began.

use std::collections::HashSet;

use super::{IndexError, Indexer};
use purser_chain::{SignatureLine, SignaturePage, SignatureStanding};
use purser_model::{Address, Timestamp, happened_at};
use purser_store::{Mark, Readings, StoreError, UnfinishedWalk, Walk, WalkOwner};

/// Signatures per page: the most that nodes return. Few in tests, so that there are many pages.
pub(super) const PAGE_LINES: usize = if cfg!(test) { 16 } else { 1_000 };
/// Steps that read something of an operator's address or a token account before others get their turn: anybody can name them in
/// transactions. The next walk resumes. Deposits wait for token accounts, so these have the shorter turn.
const OPERATOR_STEPS_MAX: usize = if cfg!(test) { 6 } else { 20 };
const ACCOUNT_STEPS_MAX: usize = if cfg!(test) { 6 } else { 4 };
/// Transactions that are written in one step, together with the cursor.
const STEP_LINES: usize = if cfg!(test) { 5 } else { 50 };

/// How far a walk has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walked {
    ToItsEnd,
    /// Its turn is over; the indexer has been woken to go on.
    PartOfTheWay,
}

impl Indexer {
    /// Reads what is new for an address, for one turn. Resumes after an interruption.
    pub(super) async fn walk(&self, address: Address, whose: WalkOwner) -> Result<Walked, IndexError> {
        let stored = self.parts.index.find_walk(self.network, &address).await?;
        let walk = stored.clone().unwrap_or(Walk::new(address));
        let walked = self.walk_from(stored, walk, whose, turn_of(whose)).await?;
        if let (Walked::PartOfTheWay, WalkOwner::Account(_)) = (walked, whose) {
            self.parts.history.look_again();
        }
        Ok(walked)
    }

    /// Reads what is new, and the `slots` before it again.
    pub(super) async fn walk_again(
        &self,
        address: Address,
        whose: WalkOwner,
        slots: u64,
    ) -> Result<(), IndexError> {
        let stored = self.parts.index.find_walk(self.network, &address).await?;
        let mut walk = stored.clone().unwrap_or(Walk::new(address));
        if let (Some(until), None) = (&mut walk.until, &walk.under_way) {
            *until = Mark { signature: String::new(), slot: until.slot.saturating_sub(slots) };
        }
        self.walk_from(stored, walk, whose, turn_of(whose)).await?;
        Ok(())
    }

    /// Reads the whole past of an address for one turn, back to its first transaction in the end. Ordinary walks go on with it
    /// meanwhile; ask again until it has come to its end.
    pub(super) async fn walk_all(&self, address: Address, whose: WalkOwner) -> Result<Walked, IndexError> {
        if self.memory.takes_past(&address) {
            return Ok(Walked::ToItsEnd);
        }
        let stored = self.parts.index.find_walk(self.network, &address).await?;
        let is_new = self.memory.wants_past(&address);
        let is_begun = |walk: &Walk| !is_new && walk.until.is_none() && walk.under_way.is_some();
        let walk = stored.clone().filter(is_begun).unwrap_or(Walk::new(address));
        self.walk_from(stored, walk, whose, turn_of(whose)).await?;
        if self.memory.takes_past(&address) {
            return Ok(Walked::ToItsEnd);
        }
        self.parts.history.look_again();
        Ok(Walked::PartOfTheWay)
    }

    async fn walk_from(
        &self,
        stored: Option<Walk>,
        walk: Walk,
        whose: WalkOwner,
        steps_max: usize,
    ) -> Result<Walked, IndexError> {
        match self.go(stored, walk, whose, steps_max).await {
            // Another process is already walking it.
            Err(IndexError::Store(StoreError::Superseded)) => Ok(Walked::ToItsEnd),
            done => done,
        }
    }

    async fn go(
        &self,
        mut stored: Option<Walk>,
        mut walk: Walk,
        whose: WalkOwner,
        mut steps_left: usize,
    ) -> Result<Walked, IndexError> {
        let (address, until) = (walk.address, walk.until.clone());
        let was_under_way = walk.under_way.is_some();
        let mut under_way = walk.under_way.take().unwrap_or_default();
        loop {
            let page = SignaturePage {
                address: &address,
                before: under_way.before.as_deref(),
                until: until
                    .as_ref()
                    .map(|mark| mark.signature.as_str())
                    .filter(|signature| !signature.is_empty()),
                lines_max: PAGE_LINES,
            };
            let lines = self.parts.history.signatures(page).await?;
            if lines.is_empty() && !self.knows(under_way.before.as_deref()).await? {
                let anew = Walk { under_way: Some(UnfinishedWalk::default()), ..walk };
                self.step(&mut stored, &anew, whose, &[]).await?;
                return Err(IndexError::LostPlace);
            }
            let full = lines.len() >= PAGE_LINES;
            // A node that does not know `until` goes on past it.
            let floor = until.as_ref().map_or(0, |mark| mark.slot);
            let beyond = lines.iter().any(|line| line.slot < floor);
            let lines = in_order(lines, floor);
            let first_page = under_way.before.is_none();
            if first_page {
                under_way.top = lines.iter().find(|line| line.finalized).map(mark_of);
            }
            let last_page = !full || beyond;
            if first_page && last_page && lines.is_empty() && !was_under_way {
                if until.is_none() {
                    self.memory.past_was_read(&address);
                }
                return Ok(Walked::ToItsEnd);
            }
            let mut steps = lines.chunks(STEP_LINES).peekable();
            while let Some(step) = steps.next() {
                if steps.peek().is_none() && last_page {
                    break;
                }
                under_way.before = step.last().map(|line| line.signature.clone());
                let here = Walk { under_way: Some(under_way.clone()), ..walk.clone() };
                if self.step(&mut stored, &here, whose, step).await? == 0 {
                    continue;
                }
                steps_left -= 1;
                if steps_left == 0 {
                    return Ok(Walked::PartOfTheWay);
                }
            }
            if last_page {
                let last = lines.chunks(STEP_LINES).next_back().unwrap_or_default();
                let is_whole = until.is_none();
                walk.until = under_way.top.or(until);
                self.step(&mut stored, &walk, whose, last).await?;
                if is_whole {
                    self.memory.past_was_read(&address);
                }
                return Ok(Walked::ToItsEnd);
            }
        }
    }

    /// Reads some transactions, and writes what they did together with the walk's cursor. Returns how many it had to read.
    async fn step(
        &self,
        stored: &mut Option<Walk>,
        walk: &Walk,
        whose: WalkOwner,
        lines: &[SignatureLine],
    ) -> Result<usize, IndexError> {
        let wanted = self.unread(&walk.address, whose, lines).await?;
        let readings = match &wanted[..] {
            [] => Readings::default(),
            // The node has just answered, so one unanswered transaction is no reason to stop.
            [only] => match self.read(&wanted).await {
                Err(IndexError::Chain(_)) => self.pending_alone(only),
                read => read?,
            },
            _ => self.read(&wanted).await?,
        };
        let moved = stored.as_ref() != Some(walk);
        let count = wanted.len();
        if count == 0 && !moved {
            return Ok(0);
        }
        let progress = moved.then_some((&*stored, walk));
        self.write(&readings, progress).await?;
        self.memory.mark_read(&walk.address, wanted);
        *stored = Some(walk.clone());
        Ok(count)
    }

    /// The transactions that may have done something and that history does not have yet, or has differently from this line.
    async fn unread(
        &self,
        address: &Address,
        whose: WalkOwner,
        lines: &[SignatureLine],
    ) -> Result<Vec<Mark>, IndexError> {
        let candidates = || lines.iter().filter(|line| line.reached && !line.failed);
        let marks: Vec<Mark> = candidates().map(mark_of).collect();
        let known = self.parts.index.find_known(self.network, whose, &marks).await?;
        let is_read = |line: &SignatureLine, mark: &Mark| match known.get(mark) {
            Some(entries) => line.block_time.is_none_or(|second| {
                let block = Timestamp::from_unix_seconds(second);
                entries.iter().all(|(time, transfer)| happened_at(block, *transfer) == *time)
            }),
            None => self.memory.was_read(address, mark),
        };
        let unread = candidates().zip(marks).filter(|(line, mark)| !is_read(line, mark));
        Ok(unread.map(|(_, mark)| mark).collect())
    }

    /// Whether the node knows the walk's cursor. If it does not, its empty page means nothing.
    async fn knows(&self, signature: Option<&str>) -> Result<bool, IndexError> {
        let Some(signature) = signature else { return Ok(true) };
        let standings = self.parts.history.standings(&[signature.to_owned()]).await?;
        Ok(standings.each.iter().any(|standing| *standing != SignatureStanding::Unknown))
    }
}

const fn turn_of(whose: WalkOwner) -> usize {
    match whose {
        WalkOwner::Operator(_) => OPERATOR_STEPS_MAX,
        WalkOwner::Account(_) => ACCOUNT_STEPS_MAX,
    }
}

/// Newest first, each once, none before `floor`, even if a balancer mixed several nodes' answers.
fn in_order(mut lines: Vec<SignatureLine>, floor: u64) -> Vec<SignatureLine> {
    let mut met = HashSet::new();
    lines.retain(|line| line.slot >= floor && met.insert(line.signature.clone()));
    lines.sort_by_key(|line| std::cmp::Reverse(line.slot));
    lines
}

pub(super) fn mark_of(line: &SignatureLine) -> Mark {
    Mark { signature: line.signature.clone(), slot: line.slot }
}
