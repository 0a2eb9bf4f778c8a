//! Time. The engine does not advance by itself here: this thread sits between the RPC servers and the engine and
//! asks for one block per slot, counted on a monotonic clock, so that the chain's clock never drifts from real time.
//!
//! The invariant: a slot begins at genesis time + (slot - genesis slot) x slot_ms, for every slot ever produced, and its
//! block is dated by its end. The engine computes block times of past slots that way; time travel therefore jumps slots
//! as well as seconds.
//!
//! What it does with the clock's RPC methods:
//! - `surfnet_timeTravel`: lands on the very second asked for, at its beginning;
//! - `surfnet_pauseClock`: holds `Clock::unix_timestamp`, while blocks, confirmation and finality go on;
//! - `surfnet_resumeClock`: lets it run again from where it stands.
//!
//! What is sent to the chain passes here too, so faults that were asked for happen here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use solana_clock::Clock;
use surfpool_core::surfnet::locker::SurfnetSvmLocker;
use surfpool_core::surfnet::svm::SurfnetSvm;
use surfpool_types::{ClockCommand, SimnetCommand};

use crate::control::{Fate, Faults};

/// Blocks that may wait for a busy engine; beyond it the driver falls behind instead of flooding the queue.
const QUEUED_COMMANDS_MAX: usize = 64;
/// How long a paused or travelling clock waits for the engine to finish what is queued.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(10);

/// Written by the driver, read by whoever saves the network's record.
#[derive(Default)]
pub struct Traveled {
    pub happened: AtomicBool,
    pub genesis_time_ms: AtomicU64,
    pub chain_time_ms: AtomicU64,
}

pub struct Driver {
    pub locker: SurfnetSvmLocker,
    pub slot_ms: u64,
    /// Commands as the RPC servers send them.
    pub requests: Receiver<SimnetCommand>,
    /// Commands as the engine gets them.
    pub engine: Sender<SimnetCommand>,
    pub traveled: Arc<Traveled>,
    pub faults: Arc<Faults>,
}

impl Driver {
    pub fn spawn(self) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("clock".into()).spawn(move || self.run())
    }

    fn run(self) {
        let slot = Duration::from_millis(self.slot_ms);
        let mut paused = false;
        let mut next_slot = Instant::now() + slot;
        loop {
            match self.requests.recv_deadline(next_slot) {
                Ok(SimnetCommand::CommandClock(_, command)) => {
                    paused = match command {
                        ClockCommand::Resume => false,
                        ClockCommand::Pause => true,
                        ClockCommand::Toggle => !paused,
                        ClockCommand::PauseWithConfirmation(reply) => {
                            self.wait_until_engine_is_idle();
                            let _ = reply.send(self.locker.get_epoch_info());
                            true
                        }
                        // The slot time of a network is fixed: block times of the past depend on it.
                        ClockCommand::UpdateSlotInterval(_) => paused,
                    };
                }
                Ok(SimnetCommand::UpdateInternalClockWithConfirmation(key, clock, reply)) => {
                    self.wait_until_engine_is_idle();
                    let (done, finished) = crossbeam_channel::bounded(1);
                    let clock = self.landing(clock);
                    let command =
                        SimnetCommand::UpdateInternalClockWithConfirmation(key, clock.clone(), done);
                    if self.engine.send(command).is_err() {
                        return;
                    }
                    if let Ok(epoch) = finished.recv_timeout(ENGINE_TIMEOUT) {
                        self.settle_after_travel(&clock);
                        let _ = reply.send(epoch);
                    }
                    next_slot = Instant::now() + slot;
                }
                Ok(SimnetCommand::ProcessTransaction(
                    key,
                    transaction,
                    reply,
                    skip_preflight,
                    skip_verify,
                )) => {
                    let payer = transaction.message.static_account_keys().first().map(|key| key.to_bytes());
                    let fate = self.faults.fate_of_transaction(payer);
                    let command = SimnetCommand::ProcessTransaction(
                        key,
                        transaction,
                        reply,
                        skip_preflight,
                        skip_verify,
                    );
                    match fate {
                        Fate::Passes => {
                            if self.engine.send(command).is_err() {
                                return;
                            }
                        }
                        // Whoever sent it is answered with an error, because nobody will reply.
                        Fate::Fails => drop(command),
                        Fate::Waits(time) => {
                            let engine = self.engine.clone();
                            std::thread::spawn(move || {
                                std::thread::sleep(time);
                                let _ = engine.send(command);
                            });
                        }
                    }
                }
                Ok(command) => {
                    let last = matches!(command, SimnetCommand::Terminate(_));
                    if self.engine.send(command).is_err() || last {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.engine.len() >= QUEUED_COMMANDS_MAX {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    if paused {
                        self.hold_back_one_slot();
                    }
                    if self.engine.send(SimnetCommand::SlotForward(None)).is_err() {
                        return;
                    }
                    next_slot += slot;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The block about to be produced adds one slot to the clock: take it away beforehand, from the past as well.
    fn hold_back_one_slot(&self) {
        let slot_ms = self.slot_ms;
        self.locker.with_svm_writer(move |svm| {
            svm.updated_at -= slot_ms;
            svm.genesis_updated_at -= slot_ms;
        });
    }

    /// Where a travel to `clock` lands: the same second, at the slot that the invariant gives it.
    fn landing(&self, clock: Clock) -> Clock {
        let slot_ms = self.slot_ms;
        let target_ms = clock.unix_timestamp.max(0) as u64 * 1_000;
        let slot = self.locker.with_svm_reader(|svm| {
            let slots = target_ms.saturating_sub(genesis_ms(svm)).div_ceil(slot_ms);
            (svm.genesis_slot + slots).max(svm.get_latest_absolute_slot() + 2)
        });
        Clock { slot, ..clock }
    }

    /// Moves the origin by the fraction of a slot that the landing was off, so that the invariant holds again.
    fn settle_after_travel(&self, clock: &Clock) {
        let slot_ms = self.slot_ms;
        let slot = clock.slot;
        let (genesis_time_ms, chain_time_ms) = self.locker.with_svm_writer(move |svm| {
            let elapsed_ms = slot.saturating_sub(svm.genesis_slot) * slot_ms;
            set_genesis_ms(svm, svm.updated_at.saturating_sub(elapsed_ms));
            (genesis_ms(svm), svm.updated_at)
        });
        self.traveled.genesis_time_ms.store(genesis_time_ms, Ordering::Release);
        self.traveled.chain_time_ms.store(chain_time_ms, Ordering::Release);
        self.traveled.happened.store(true, Ordering::Release);
    }

    /// Everything sent so far is done once a block command that follows it would be next; polled, rarely needed.
    fn wait_until_engine_is_idle(&self) {
        let deadline = Instant::now() + ENGINE_TIMEOUT;
        while !self.engine.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// When the first slot began. The engine keeps the time of its block, which is that of its end: only so do
/// `getSignaturesForAddress`, which computes times, and `getBlockTime`, which has them stored, say the same.
pub fn genesis_ms(svm: &SurfnetSvm) -> u64 {
    svm.genesis_updated_at.saturating_sub(svm.slot_time)
}

pub fn set_genesis_ms(svm: &mut SurfnetSvm, genesis_ms: u64) {
    svm.genesis_updated_at = genesis_ms + svm.slot_time;
}
