//! All parts together, and the steps from one state to the next.

mod steps;

use crate::Setting;
use crate::chain::{Bytes, Chain, Fate, View, up_to};
use crate::database::{Database, State, Transfer};
use crate::relayer::{Relayer, Step, Work};

/// One state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub chain: Chain,
    pub databases: Vec<Database>,
    /// A copy of each database, if one was made.
    pub copies: Vec<Option<Database>>,
    pub relayers: Vec<Relayer>,
    pub crashes: u8,
    pub wipes: u8,
    pub restores: u8,
    /// How many transfers there are in all databases together.
    pub transfers: u8,
    pub answers: Answers,
}

/// The answers that clients got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Answers {
    /// Transfers that were answered as unpaid: a bit each.
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
    /// A relayer resumes what its database holds, after a start or because a lease has ended.
    TakeUp {
        relayer: usize,
    },
    /// A relayer reads the account as it was after this many landings, and decides.
    Read {
        relayer: usize,
        landings: usize,
        verdict: Verdict,
    },
    /// The same, by a node whose clock is a day ahead.
    ReadWithWrongClock {
        relayer: usize,
    },
    /// A relayer stores what it signed, and sends it.
    Send {
        relayer: usize,
    },
    /// A relayer learns the outcome of its bytes.
    SeeOutcome {
        relayer: usize,
    },
    /// The node does not know the bytes, and the last block that they could land in is over.
    Expire {
        relayer: usize,
    },
    /// A database learns one landing from the history; which ones a node shows is open.
    LearnOne {
        database: usize,
        landing: usize,
    },
    /// A relayer waits, and its database learns everything.
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

/// The policy's answer, which may differ each time.
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
            answers: Answers::default(),
        }
    }

    /// Every step that may come next. A step that changes nothing is left out.
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
        // Two bursts of one size are interchangeable.
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
                actions.extend((bytes.fate != Fate::Open).then_some(Action::SeeOutcome { relayer }));
                actions.extend((self.chain.block > bytes.last_block).then_some(Action::Expire { relayer }));
            }
        }
    }

    /// The state after `action`; `None` if it cannot happen now.
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
            Action::SeeOutcome { relayer } => next.see_outcome(setting, relayer),
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

    /// With relayers and their databases in a canonical order: which of them is which makes no difference.
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

    /// Whether a database may know less than before.
    pub fn has_forgotten(&self) -> bool {
        self.wipes + self.restores > 0
    }

    /// Transfers whose bytes were paid: a bit each.
    pub fn paid_transfers(&self) -> u16 {
        let paid = self.chain.landings.iter().filter_map(|landing| self.chain.bytes.get(landing.bytes?));
        paid.fold(0, |transfers, bytes| transfers | 1 << bytes.transfer)
    }
}
