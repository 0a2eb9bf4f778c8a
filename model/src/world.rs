//! All of it together, and the steps from one state to the next.

use crate::Setting;
use crate::chain::{Bytes, Chain, Fate, View, up_to};
use crate::database::{Database, State, Transfer};
use crate::relayer::{Relayer, Step, Work};

/// One state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub chain: Chain,
    pub databases: Vec<Database>,
    /// A copy of each, if one was made.
    pub copies: Vec<Option<Database>>,
    pub relayers: Vec<Relayer>,
    pub crashes: u8,
    pub wipes: u8,
    pub restores: u8,
    /// Transfers, in all databases together.
    pub transfers: u8,
    pub told: Told,
}

/// What clients were told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Told {
    /// Transfers of which it was said that nothing was paid: a bit each.
    pub unpaid: u16,
    /// Requests that were answered as settled: a bit each.
    pub settled: u8,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The client asks a relayer for one of its requests.
    Ask {
        relayer: usize,
        request: u8,
    },
    /// A relayer goes on with what its database holds, as after a start, or because a lease has ended.
    TakeUp {
        relayer: usize,
    },
    /// A relayer reads the account as it was after so many landings, and decides.
    Read {
        relayer: usize,
        landings: usize,
        verdict: Verdict,
    },
    /// The same by a node whose clock is a day ahead.
    ReadWithWrongClock {
        relayer: usize,
    },
    /// A relayer stores what it signed, and sends it.
    Send {
        relayer: usize,
    },
    /// A relayer hears what became of its bytes.
    Hear {
        relayer: usize,
    },
    /// The node knows nothing of the bytes, and the block that they could land in at last is over.
    Expire {
        relayer: usize,
    },
    /// A database learns one landing out of the history; which ones a node tells of is open.
    LearnOne {
        database: usize,
        landing: usize,
    },
    /// A relayer waits, and its database learns all there is.
    Learn {
        relayer: usize,
    },
    Execute {
        bytes: usize,
    },
    OthersPay {
        burst: usize,
    },
    NextBlock,
    Crash {
        relayer: usize,
    },
    Copy {
        database: usize,
    },
    Restore {
        database: usize,
    },
    Wipe {
        database: usize,
    },
}

/// What the policy says, which may be another thing each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    Allows,
    Refuses,
}

impl World {
    pub fn new(setting: &Setting) -> Self {
        let databases = setting.database_of.iter().max().map_or(0, |last| last + 1);
        Self {
            chain: Chain::new(setting.others.clone()),
            databases: vec![Database::default(); databases],
            copies: vec![None; databases],
            relayers: vec![Relayer::default(); setting.database_of.len()],
            crashes: 0,
            wipes: 0,
            restores: 0,
            transfers: 0,
            told: Told::default(),
        }
    }

    /// Every step that may come next. One that changes nothing is no step.
    pub fn actions(&self, setting: &Setting, actions: &mut Vec<Action>) {
        for (relayer, process) in self.relayers.iter().enumerate() {
            self.actions_of(setting, relayer, process, actions);
        }
        for (database, knows) in self.databases.iter().enumerate() {
            let landings = self.chain.landings.iter().enumerate().filter(|_| setting.one_by_one);
            let unknown = landings.filter(|(_, landing)| landing.numbers() & !knows.known != 0);
            actions.extend(unknown.map(|(landing, _)| Action::LearnOne { database, landing }));
            if self.wipes < setting.wipes {
                actions.push(Action::Wipe { database });
            }
            if self.restores < setting.restores {
                let is_copied = self.copies.get(database).is_some_and(Option::is_some);
                let copy = Action::Copy { database };
                actions.push(if is_copied { Action::Restore { database } } else { copy });
            }
        }
        let can_land = (0..self.chain.bytes.len()).filter(|bytes| self.chain.can_land(*bytes));
        actions.extend(can_land.map(|bytes| Action::Execute { bytes }));
        // Two bursts of one size are one and the same.
        let is_first = |burst: &usize| {
            let size = self.chain.others.get(*burst);
            self.chain.others.iter().position(|other| Some(other) == size) == Some(*burst)
        };
        let bursts = (0..self.chain.others.len()).filter(is_first);
        actions.extend(bursts.map(|burst| Action::OthersPay { burst }));
        if self.chain.block < setting.blocks {
            actions.push(Action::NextBlock);
        }
    }

    fn actions_of(&self, setting: &Setting, relayer: usize, process: &Relayer, actions: &mut Vec<Action>) {
        if self.crashes < setting.crashes && *process != Relayer::default() {
            actions.push(Action::Crash { relayer });
        }
        let Some(work) = &process.work else {
            actions.push(Action::TakeUp { relayer });
            actions
                .extend((0..=u8::from(setting.two_requests)).map(|request| Action::Ask { relayer, request }));
            return;
        };
        match work.step {
            Step::Reads { .. } => {
                for landings in 0..=self.chain.landings.len() {
                    let read = |verdict| Action::Read { relayer, landings, verdict };
                    actions.push(read(Verdict::Allows));
                    actions.extend(setting.refusals.then(|| read(Verdict::Refuses)));
                }
                if !setting.one_by_one {
                    actions.push(Action::Learn { relayer });
                }
                if !setting.rules.agreed_clock {
                    actions.push(Action::ReadWithWrongClock { relayer });
                }
            }
            Step::HasSigned { .. } => actions.push(Action::Send { relayer }),
            Step::Follows(bytes) => {
                let Some(bytes) = self.chain.bytes.get(bytes) else { return };
                actions.extend((bytes.fate != Fate::Open).then_some(Action::Hear { relayer }));
                actions.extend((self.chain.block > bytes.last_block).then_some(Action::Expire { relayer }));
            }
        }
    }

    /// The state after `action`; `None` where it cannot come now.
    pub fn after(&self, setting: &Setting, action: Action) -> Option<Self> {
        let mut next = self.clone();
        let done = match action {
            Action::Ask { relayer, request } => next.ask(setting, relayer, request),
            Action::TakeUp { relayer } => next.take_up(setting, relayer),
            Action::Read { relayer, landings, verdict } => next.read(setting, relayer, landings, verdict),
            Action::ReadWithWrongClock { relayer } => {
                next.sign(setting, relayer, self.chain.view(usize::MAX))
            }
            Action::Send { relayer } => next.send(setting, relayer),
            Action::Hear { relayer } => next.hear(setting, relayer),
            Action::Expire { relayer } => next.expire(relayer),
            Action::LearnOne { database, landing } => next.learn(database, landing),
            Action::Learn { relayer } => {
                let all = up_to(self.chain.count());
                next.database(setting, relayer).map(|database| database.known = all)
            }
            Action::Execute { bytes } => next.execute(setting, bytes),
            Action::OthersPay { burst } => {
                next.chain.others_pay(burst);
                Some(())
            }
            Action::NextBlock => {
                next.chain.next_block();
                Some(())
            }
            Action::Crash { relayer } => {
                next.crashes += 1;
                next.relayers.get_mut(relayer).map(|process| *process = Relayer::default())
            }
            Action::Copy { database } => next.copy(database),
            Action::Restore { database } => next.restore(database),
            Action::Wipe { database } => next.wipe(database),
        };
        done.filter(|()| next != *self).map(|()| next)
    }

    /// With relayers, and their databases, in an order of their own: which of them is which makes no difference.
    pub fn in_order(mut self) -> Self {
        match &mut self.databases[..] {
            [_] => self.relayers.sort_unstable(),
            [one, two] => {
                let [first, second] = &mut self.relayers[..] else { return self };
                let [copy, other] = &mut self.copies[..] else { return self };
                if (&*first, &*one, &*copy) > (&*second, &*two, &*other) {
                    std::mem::swap(first, second);
                    std::mem::swap(one, two);
                    std::mem::swap(copy, other);
                }
            }
            _ => {}
        }
        self
    }

    fn database(&mut self, setting: &Setting, relayer: usize) -> Option<&mut Database> {
        self.databases.get_mut(*setting.database_of.get(relayer)?)
    }

    fn ask(&mut self, setting: &Setting, relayer: usize, request: u8) -> Option<()> {
        let new = Transfer { id: self.transfers, request, state: State::Claimed };
        let rules = setting.rules;
        let database = self.database(setting, relayer)?;
        let earlier = database.claim.filter(|_| rules.claim);
        let same = earlier.filter(|transfer| transfer.request == request);
        match (earlier, same) {
            // A conflict: the key stands for another request.
            (Some(_), None) => return None,
            (_, Some(Transfer { state: State::Settled, .. })) => {
                self.told.settled |= 1 << request;
                return Some(());
            }
            // The same refusal again; or somebody is at it.
            (_, Some(Transfer { state: State::Rejected | State::Claimed | State::Signed(_), .. })) => {
                return None;
            }
            (None, _) | (_, Some(Transfer { state: State::Failed, .. })) => {}
        }
        // So many transfers are enough to sign as often as may be signed.
        if usize::from(new.id) > setting.signatures {
            return None;
        }
        database.claim = Some(new);
        self.transfers += 1;
        self.relayers.get_mut(relayer)?.work = Some(Work::begins(new));
        Some(())
    }

    fn take_up(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let transfer = self.database(setting, relayer)?.claim?;
        match transfer.state {
            State::Claimed | State::Signed(_) => {}
            State::Settled | State::Rejected | State::Failed => return None,
        }
        self.relayers.get_mut(relayer)?.work = Some(Work::begins(transfer));
        Some(())
    }

    fn read(&mut self, setting: &Setting, relayer: usize, landings: usize, verdict: Verdict) -> Option<()> {
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
            process.believed = 0;
        } else {
            process.believed |= up_to(database.known_up_to());
        }
        let counted = up_to(database.known_up_to()) | process.believed | process.seen;
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

    fn sign(&mut self, setting: &Setting, relayer: usize, view: View) -> Option<()> {
        if self.chain.bytes.len() == setting.signatures {
            return None;
        }
        let last_block = self.chain.block;
        let work = self.relayers.get_mut(relayer)?.work.as_mut()?;
        work.step = Step::HasSigned { sequence: view.sequence, last_block };
        Some(())
    }

    /// Over what was read, and over nothing else: whoever was slow finds that another went on.
    fn write(&mut self, setting: &Setting, relayer: usize, state: State) -> Option<bool> {
        let seen = self.relayers.get(relayer)?.work?.transfer;
        let database = self.database(setting, relayer)?;
        let is_as_seen = database.claim == Some(seen) || !setting.rules.claim;
        if is_as_seen {
            database.claim = Some(Transfer { state, ..seen });
        }
        Some(is_as_seen)
    }

    fn send(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
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

    fn hear(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
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

    fn expire(&mut self, relayer: usize) -> Option<()> {
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
    fn settle(&mut self, setting: &Setting, relayer: usize) -> Option<()> {
        let request = self.relayers.get(relayer)?.work?.transfer.request;
        if self.write(setting, relayer, State::Settled)? {
            self.told.settled |= 1 << request;
        }
        self.relayers.get_mut(relayer)?.work = None;
        Some(())
    }

    fn end_unpaid(&mut self, setting: &Setting, relayer: usize, state: State) -> Option<()> {
        let transfer = self.relayers.get(relayer)?.work?.transfer;
        if self.write(setting, relayer, state)? {
            self.told.unpaid |= 1 << transfer.id;
        }
        self.relayers.get_mut(relayer)?.work = None;
        Some(())
    }

    fn learn(&mut self, database: usize, landing: usize) -> Option<()> {
        let numbers = self.chain.landings.get(landing)?.numbers();
        self.databases.get_mut(database)?.known |= numbers;
        Some(())
    }

    fn execute(&mut self, setting: &Setting, bytes: usize) -> Option<()> {
        self.chain.can_land(bytes).then(|| self.chain.execute(bytes, setting.rules.sequence))
    }

    fn copy(&mut self, database: usize) -> Option<()> {
        let copy = self.databases.get(database)?.clone();
        *self.copies.get_mut(database)? = Some(copy);
        Some(())
    }

    /// Under its relayers: whether they die of it is open, a crash is a step of its own.
    fn restore(&mut self, database: usize) -> Option<()> {
        let copy = self.copies.get_mut(database)?.take()?;
        self.restores += 1;
        *self.databases.get_mut(database)? = copy;
        Some(())
    }

    fn wipe(&mut self, database: usize) -> Option<()> {
        self.wipes += 1;
        *self.databases.get_mut(database)? = Database::default();
        Some(())
    }

    /// Whether a database may know less than it did.
    pub fn has_forgotten(&self) -> bool {
        self.wipes + self.restores > 0
    }

    /// Transfers whose bytes were paid: a bit each.
    pub fn paid_transfers(&self) -> u16 {
        let paid = self.chain.landings.iter().filter_map(|landing| self.chain.bytes.get(landing.bytes?));
        paid.fold(0, |transfers, bytes| transfers | 1 << bytes.transfer)
    }
}
