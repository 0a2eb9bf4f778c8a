//! The clock and the generator that the processes on a database go by.

use std::time::SystemTime;

use purser_base::crash_point::host_clock;
use purser_core::Clock;
use purser_model::{SeededRandom, Timestamp};
use rand::RngCore;

use super::{ServerClock, Store};

/// Time and randomness, as arguments.
#[derive(Debug, Clone)]
pub struct SystemClock {
    /// The host's clock.
    pub now: fn() -> Timestamp,
    /// The database's clock, if it has one that other hosts share: then the host's is not used.
    pub server: Option<ServerClock>,
    pub fill_random: fn(&mut [u8]),
}

impl SystemClock {
    /// The system's clock and generator.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub const SYSTEM: Self = Self {
        now: || Timestamp::from(host_clock(SystemTime::now())),
        server: None,
        fill_random: |bytes| rand::rng().fill_bytes(bytes),
    };

    /// What the processes on this database share.
    pub fn of(store: &Store) -> Self {
        Self { server: store.clock(), ..Self::SYSTEM }
    }

    /// The time by the clock that the processes on a database share.
    pub fn now(&self) -> Timestamp {
        self.server.as_ref().map_or_else(self.now, ServerClock::now)
    }

    /// Random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.fill_random)(&mut bytes);
        bytes
    }

    /// The time, id bits and secret of something new, drawn at random.
    pub fn draw(&self) -> SeededRandom {
        SeededRandom { at: self.now(), id_bits: self.id_bits(), secret: self.random().into() }
    }

    /// The random bits that make an id unique.
    pub fn id_bits(&self) -> u128 {
        u128::from_le_bytes(self.random())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        SystemClock::now(self)
    }

    fn id_bits(&self) -> u128 {
        SystemClock::id_bits(self)
    }
}
