//! What each action does. `None` if it cannot happen.

use super::*;

impl World {
    pub(super) fn ask(&mut self, setting: &Setting, relayer: usize, request: u8) -> Option<()> {
        let new = Transfer { id: self.transfers, request, state: State::Claimed };
        let rules = setting.rules;
        let database = self.database(setting, relayer)?;
        let earlier = database.claim.filter(|_| rules.claim);
        let same = earlier.filter(|transfer| transfer.request == request);
        match (earlier, same) {
            // A conflict: the key belongs to another request.
            (Some(_), None) => return None,
            (_, Some(Transfer { state: State::Settled, .. })) => {
                self.answers.settled |= 1 << request;
                return Some(());
            }
            // The same refusal again, or the transfer is still under way.
            (_, Some(Transfer { state: State::Rejected | State::Claimed | State::Signed(_), .. })) => {
                return None;
            }
            (None, _) | (_, Some(Transfer { state: State::Failed, .. })) => {}
        }
        // This many transfers are enough for every signature that is allowed.
        if usize::from(new.id) > setting.signatures {
            return None;
        }
        database.claim = Some(new);
        self.transfers += 1;
        self.relayers.get_mut(relayer)?.work = Some(Work::begins(new));
        Some(())
    }

    pub(super) fn take_up(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let transfer = self.database(setting, relayer)?.claim?;
        match transfer.state {
            State::Claimed | State::Signed(_) => {}
            State::Settled | State::Rejected | State::Failed => return None,
        }
        self.relayers.get_mut(relayer)?.work = Some(Work::begins(transfer));
        Some(())
    }

    pub(super) fn read(
        &mut self,
        setting: &Setting,
        relayer: usize,
        landings: usize,
        verdict: Verdict,
    ) -> Option<()> {
        let rules = setting.rules;
        let view = self.chain.view(landings);
        let work = self.relayers.get(relayer)?.work?;
        let Step::Reads { expired } = work.step else { return None };
        if let Some(expired) = expired.filter(|_| rules.newer_view) {
            let last_block = self.chain.bytes.get(expired)?.last_block;
            let at_its_end = *self.chain.at_end_of.get(usize::from(last_block))?;
            if landings < usize::from(at_its_end) {
                return None;
            }
        }
        let database = self.database(setting, relayer)?.clone();
        let paid = self.chain.paid_numbers();
        let process = self.relayers.get_mut(relayer)?;
        process.seen |= view.remembered;
        process.seen_tag |= view.has_tag;
        if rules.reads_database {
            process.known_up_to = 0;
        } else {
            process.known_up_to |= up_to(database.known_up_to());
        }
        let counted = up_to(database.known_up_to()) | process.known_up_to | process.seen;
        let is_complete = up_to(view.count) & !counted == 0;
        if rules.complete && !is_complete {
            // Waits for the indexer; what was seen stays.
            return Some(());
        }
        if process.seen_tag || database.known & paid != 0 {
            return self.settle(setting, relayer);
        }
        match verdict {
            Verdict::Refuses => self.end_unpaid(setting, relayer, State::Rejected),
            Verdict::Allows => match self.sign(setting, relayer, view) {
                Some(()) => Some(()),
                None if expired.is_some() => self.end_unpaid(setting, relayer, State::Failed),
                None => None,
            },
        }
    }

    pub(super) fn sign(&mut self, setting: &Setting, relayer: usize, view: View) -> Option<()> {
        if self.chain.bytes.len() == setting.signatures {
            return None;
        }
        let last_block = self.chain.block;
        let work = self.relayers.get_mut(relayer)?.work.as_mut()?;
        work.step = Step::HasSigned { sequence: view.sequence, last_block };
        Some(())
    }

    /// Writes only over the state that was read: a slow relayer finds out that another one went on.
    pub(super) fn write(&mut self, setting: &Setting, relayer: usize, state: State) -> Option<bool> {
        let seen = self.relayers.get(relayer)?.work?.transfer;
        let database = self.database(setting, relayer)?;
        let is_as_seen = database.claim == Some(seen) || !setting.rules.claim;
        if is_as_seen {
            database.claim = Some(Transfer { state, ..seen });
        }
        Some(is_as_seen)
    }

    pub(super) fn send(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let Transfer { id, request, .. } = self.relayers.get(relayer)?.work?.transfer;
        let Step::HasSigned { sequence, last_block } = self.relayers.get(relayer)?.work?.step else {
            return None;
        };
        let bytes = self.chain.bytes.len();
        let stores = setting.rules.stored_bytes;
        if stores && !self.write(setting, relayer, State::Signed(bytes))? {
            self.relayers.get_mut(relayer)?.work = None;
            return Some(());
        }
        if bytes == setting.signatures {
            return None;
        }
        self.chain.bytes.push(Bytes { transfer: id, request, sequence, last_block, fate: Fate::Open });
        let work = self.relayers.get_mut(relayer)?.work.as_mut()?;
        work.step = Step::Follows(bytes);
        if stores {
            work.transfer.state = State::Signed(bytes);
        }
        Some(())
    }

    pub(super) fn see_outcome(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let work = self.relayers.get_mut(relayer)?.work.as_mut()?;
        let Step::Follows(bytes) = work.step else { return None };
        match self.chain.bytes.get(bytes)?.fate {
            Fate::Open => None,
            Fate::Paid => {
                let landing = self.chain.landings.iter().find(|landing| landing.bytes == Some(bytes))?;
                let numbers = landing.numbers();
                self.database(setting, relayer)?.known |= numbers;
                self.settle(setting, relayer)
            }
            Fate::Duplicate => self.settle(setting, relayer),
            Fate::Stale => {
                work.step = Step::Reads { expired: None };
                Some(())
            }
        }
    }

    pub(super) fn expire(&mut self, relayer: usize) -> Option<()> {
        let work = self.relayers.get_mut(relayer)?.work.as_mut()?;
        let Step::Follows(bytes) = work.step else { return None };
        // Whether they landed or not: a node may deny it.
        if self.chain.block <= self.chain.bytes.get(bytes)?.last_block {
            return None;
        }
        work.step = Step::Reads { expired: Some(bytes) };
        Some(())
    }

    /// The key was paid, by these bytes or by others.
    pub(super) fn settle(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let request = self.relayers.get(relayer)?.work?.transfer.request;
        if self.write(setting, relayer, State::Settled)? {
            self.answers.settled |= 1 << request;
        }
        self.relayers.get_mut(relayer)?.work = None;
        Some(())
    }

    pub(super) fn end_unpaid(&mut self, setting: &Setting, relayer: usize, state: State) -> Option<()> {
        let transfer = self.relayers.get(relayer)?.work?.transfer;
        if self.write(setting, relayer, state)? {
            self.answers.unpaid |= 1 << transfer.id;
        }
        self.relayers.get_mut(relayer)?.work = None;
        Some(())
    }

    pub(super) fn learn(&mut self, database: usize, landing: usize) -> Option<()> {
        let numbers = self.chain.landings.get(landing)?.numbers();
        self.databases.get_mut(database)?.known |= numbers;
        Some(())
    }

    pub(super) fn execute(&mut self, setting: &Setting, bytes: usize) -> Option<()> {
        self.chain.can_land(bytes).then(|| self.chain.execute(bytes, setting.rules.sequence))
    }

    pub(super) fn copy(&mut self, database: usize) -> Option<()> {
        let copy = self.databases.get(database)?.clone();
        *self.copies.get_mut(database)? = Some(copy);
        Some(())
    }

    /// Restores a database under its relayers. Whether they die of it is open: a crash is a step of its own.
    pub(super) fn restore(&mut self, database: usize) -> Option<()> {
        let copy = self.copies.get_mut(database)?.take()?;
        self.restores += 1;
        *self.databases.get_mut(database)? = copy;
        Some(())
    }

    pub(super) fn wipe(&mut self, database: usize) -> Option<()> {
        self.wipes += 1;
        *self.databases.get_mut(database)? = Database::default();
        Some(())
    }
}
