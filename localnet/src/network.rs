//! One running network: the engine on its thread, the driver on another, and the way to stop both.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, Sender};
use solana_clock::Clock;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use surfpool_core::surfnet::locker::SurfnetSvmLocker;
use surfpool_core::surfnet::svm::{SurfnetSvm, SurfnetSvmConfig};
use surfpool_types::{
    BlockProductionMode, RpcConfig, SimnetCommand, SimnetConfig, SimnetEvent, SurfpoolConfig,
    SvmFeatureConfig,
};

use crate::client::CLOCK_SYSVAR;
use crate::control::Faults;
use crate::driver::{Driver, Traveled, genesis_ms, set_genesis_ms};
use crate::error::{Context, Error, Result};
use crate::gate::{self, Inside};
use crate::genesis;
use crate::state::{NetworkRecord, StateDir, mint_authority};

const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Ports are free when they are chosen and may be taken when they are bound: then choose others.
const PORT_ATTEMPTS: u32 = 5;

/// What to run.
pub struct Plan {
    pub program_id: Pubkey,
    pub elf: Vec<u8>,
    pub funds: Vec<(Pubkey, u64)>,
    /// 0 = any free port.
    pub rpc_port: u16,
    pub ws_port: u16,
    pub slot_ms: u64,
    pub verbose: bool,
}

pub struct Network {
    pub rpc_url: String,
    pub ws_url: String,
    pub record: NetworkRecord,
    locker: SurfnetSvmLocker,
    pub faults: Arc<Faults>,
    requests: Sender<SimnetCommand>,
    traveled: Arc<Traveled>,
    engine: JoinHandle<std::result::Result<(), String>>,
}

enum StartError {
    PortTaken,
    Other(Error),
}

impl Network {
    /// Starts a network and returns when its RPC answers and its clock runs.
    pub fn start(plan: &Plan, state: &StateDir) -> Result<Self> {
        let chosen = plan.rpc_port != 0 && plan.ws_port != 0;
        for _ in 0..PORT_ATTEMPTS {
            match Self::try_start(plan, state) {
                Ok(network) => return Ok(network),
                Err(StartError::PortTaken) if !chosen => continue,
                Err(StartError::PortTaken) => break,
                Err(StartError::Other(error)) => return Err(error),
            }
        }
        Err(Error::new(format!(
            "port {} or {} is in use; leave them out to take free ones",
            plan.rpc_port, plan.ws_port
        )))
    }

    fn try_start(plan: &Plan, state: &StateDir) -> std::result::Result<Self, StartError> {
        let (rpc, ws) = (hold(HOST, plan.rpc_port)?, hold(HOST, plan.ws_port)?);
        let inside = Hidden::choose()?;
        let record = state.load(plan.slot_ms).map_err(StartError::Other)?;
        let built = build_svm(plan, state, record).map_err(StartError::Other)?;
        let (svm, events, geyser_events, record, catch_up) = built;

        let locker = SurfnetSvmLocker::new(svm);
        let (requests, requests_rx) = crossbeam_channel::unbounded();
        let (engine_tx, engine_rx) = crossbeam_channel::unbounded();
        let config = surfpool_config(plan, inside);
        let engine = {
            let (locker, requests) = (locker.clone(), requests.clone());
            spawn_engine(locker, config, requests, engine_rx, geyser_events).map_err(StartError::Other)?
        };
        wait_until_started(&events, &engine)?;
        let (rpc_port, ws_port) = (address(&rpc)?.port(), address(&ws)?.port());
        gate::open(rpc, Inside::Calls(inside.rpc)).map_err(StartError::Other)?;
        gate::open(ws, Inside::Subscriptions(inside.ws)).map_err(StartError::Other)?;
        drain(events, locker.clone(), plan.verbose);

        let traveled = Arc::new(Traveled::default());
        let faults = Arc::new(Faults::sparing(&mint_authority(&record.mint().pubkey()).pubkey()));
        Driver {
            locker: locker.clone(),
            slot_ms: plan.slot_ms,
            requests: requests_rx,
            engine: engine_tx,
            traveled: traveled.clone(),
            faults: faults.clone(),
        }
        .spawn()
        .map_err(|error| StartError::Other(Error::new(error)))?;

        let network = Self {
            rpc_url: format!("http://{HOST}:{rpc_port}"),
            ws_url: format!("ws://{HOST}:{ws_port}"),
            record,
            locker,
            faults,
            requests,
            traveled,
            engine,
        };
        if let Some(unix_timestamp) = catch_up {
            network.travel_to(unix_timestamp).map_err(StartError::Other)?;
        }
        Ok(network)
    }

    /// Whether the engine ended by itself.
    pub fn is_dead(&self) -> bool {
        self.engine.is_finished()
    }

    /// Takes over a time travel that happened since the last call; true = the record changed.
    pub fn record_travel(&mut self) -> bool {
        if !self.traveled.happened.swap(false, Ordering::AcqRel) {
            return false;
        }
        self.record.genesis_time_ms = Some(self.traveled.genesis_time_ms.load(Ordering::Acquire));
        let chain_time_ms = self.traveled.chain_time_ms.load(Ordering::Acquire);
        self.record.clock_ahead_ms = chain_time_ms as i64 - unix_now_ms() as i64;
        true
    }

    /// Stops the engine, flushes what is on disk and returns the record to save.
    pub fn stop(mut self) -> NetworkRecord {
        let (genesis_time_ms, chain_time_ms) = self.locker.with_svm_writer(|svm| {
            let slot = svm.get_latest_absolute_slot();
            if let Err(error) = svm.slot_checkpoint.store("latest_slot".into(), slot) {
                eprintln!("warning: the latest slot was not saved: {error}");
            }
            (genesis_ms(svm), svm.updated_at)
        });
        self.record.genesis_time_ms = Some(genesis_time_ms);
        self.record.clock_ahead_ms = chain_time_ms as i64 - unix_now_ms() as i64;
        let _ = self.requests.send(SimnetCommand::Terminate(None));
        let deadline = Instant::now() + STOP_TIMEOUT;
        while !self.engine.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.record
    }

    fn travel_to(&self, unix_timestamp: i64) -> Result<()> {
        let (reply, done) = crossbeam_channel::bounded(1);
        let clock =
            Clock { unix_timestamp, ..self.locker.with_svm_reader(|svm| svm.inner.get_sysvar::<Clock>()) };
        let command = SimnetCommand::UpdateInternalClockWithConfirmation(None, clock, reply);
        self.requests.send(command).context("the network stopped")?;
        done.recv_timeout(START_TIMEOUT).context("the clock did not start")?;
        Ok(())
    }
}

type Built = (
    SurfnetSvm,
    Receiver<SimnetEvent>,
    Receiver<surfpool_core::surfnet::GeyserEvent>,
    NetworkRecord,
    Option<i64>,
);

/// The chain as it is before its first (or next) block; the last part is the second to catch up to, if it lags.
fn build_svm(plan: &Plan, state: &StateDir, mut record: NetworkRecord) -> Result<Built> {
    let config = SurfnetSvmConfig {
        slot_time: plan.slot_ms,
        instruction_profiling_enabled: false,
        feature_config: SvmFeatureConfig::default(),
        ..Default::default()
    };
    let (mut svm, events, geyser_events) =
        SurfnetSvm::new_with_db(state.database().as_deref(), config).context("the engine did not start")?;
    svm.cached_genesis_hash = Some(record.genesis_hash());

    let slots_before = svm.get_latest_absolute_slot().saturating_sub(svm.genesis_slot);
    let now_ms = unix_now_ms();
    let mut catch_up = None;
    if let Some(genesis_time_ms) = record.genesis_time_ms {
        svm.updated_at = genesis_time_ms + slots_before * record.slot_ms;
        let due_ms = now_ms.saturating_add_signed(record.clock_ahead_ms);
        catch_up = (due_ms > svm.updated_at + 1_000).then_some((due_ms / 1_000) as i64);
    } else {
        svm.updated_at = now_ms;
    }
    let genesis_time_ms = svm.updated_at.saturating_sub(slots_before * plan.slot_ms);
    set_genesis_ms(&mut svm, genesis_time_ms);
    svm.reconstruct_sysvars();
    record.genesis_time_ms = Some(genesis_time_ms);
    record.slot_ms = plan.slot_ms;

    let authority = mint_authority(&record.mint().pubkey()).pubkey();
    genesis::deploy(&mut svm, &plan.program_id, &plan.elf, &authority)?;
    genesis::create_mint(&mut svm, &record)?;
    for (address, lamports) in &plan.funds {
        genesis::fund(&mut svm, address, *lamports)?;
    }
    state.save(&record)?;
    Ok((svm, events, geyser_events, record, catch_up))
}

/// Where the engine listens, behind the gate.
#[derive(Clone, Copy)]
struct Hidden {
    rpc: SocketAddr,
    ws: SocketAddr,
}

impl Hidden {
    fn choose() -> std::result::Result<Self, StartError> {
        let host = gate::hidden_host();
        // Both are held until both are known, so that they differ.
        let (rpc, ws) = (hold(host, 0)?, hold(host, 0)?);
        Ok(Self { rpc: address(&rpc)?, ws: address(&ws)? })
    }
}

fn surfpool_config(plan: &Plan, inside: Hidden) -> SurfpoolConfig {
    SurfpoolConfig {
        simnets: vec![SimnetConfig {
            offline_mode: true,
            remote_rpc_url: None,
            slot_time: plan.slot_ms,
            block_production_mode: BlockProductionMode::Manual,
            instruction_profiling_enabled: false,
            ..Default::default()
        }],
        rpc: RpcConfig {
            bind_host: inside.rpc.ip().to_string(),
            bind_port: inside.rpc.port(),
            ws_port: inside.ws.port(),
            ..Default::default()
        },
        ..Default::default()
    }
}

fn spawn_engine(
    locker: SurfnetSvmLocker,
    config: SurfpoolConfig,
    requests: Sender<SimnetCommand>,
    commands: Receiver<SimnetCommand>,
    geyser_events: Receiver<surfpool_core::surfnet::GeyserEvent>,
) -> Result<JoinHandle<std::result::Result<(), String>>> {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let engine = surfpool_core::runloops::start_local_surfnet_runloop(
            locker,
            config,
            requests,
            commands,
            geyser_events,
        );
        runtime.block_on(engine).map_err(|error| error.to_string())
    };
    std::thread::Builder::new().name("engine".into()).spawn(run).context("cannot start a thread")
}

fn wait_until_started(
    events: &Receiver<SimnetEvent>,
    engine: &JoinHandle<std::result::Result<(), String>>,
) -> std::result::Result<(), StartError> {
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        match events.recv_timeout(Duration::from_millis(20)) {
            Ok(SimnetEvent::CoreStarted(_)) => return Ok(()),
            Ok(SimnetEvent::Aborted(_)) => return Err(StartError::PortTaken),
            // Before it is started, the engine ends by itself only when it cannot bind.
            _ if engine.is_finished() => return Err(StartError::PortTaken),
            _ => {}
        }
    }
    Err(StartError::Other(Error::new("the engine did not start in time")))
}

/// The engine's events must be read for it to go on; what it reports goes to stderr.
fn drain(events: Receiver<SimnetEvent>, locker: SurfnetSvmLocker, verbose: bool) {
    let (clocks, to_report) = crossbeam_channel::unbounded();
    // Apart: the engine holds its lock while it reports.
    std::thread::spawn(move || to_report.iter().for_each(|clock| tell_time(&locker, &clock)));
    std::thread::spawn(move || {
        for event in events {
            match event {
                SimnetEvent::ErrorLog(_, text) | SimnetEvent::Aborted(text) => {
                    eprintln!("engine error: {text}")
                }
                // Whoever tells the time ends with the process.
                SimnetEvent::SystemClockUpdated(clock) => drop(clocks.send(clock)),
                SimnetEvent::WarnLog(_, text) if verbose => eprintln!("engine warning: {text}"),
                SimnetEvent::InfoLog(_, text) if verbose => eprintln!("engine: {text}"),
                _ => {}
            }
        }
    });
}

/// Tells those who subscribed to the clock's account, as a validator does with every slot and the engine does not. The
/// engine dates a block by the clock of the next one.
fn tell_time(locker: &SurfnetSvmLocker, clock: &Clock) {
    let (block, time) = (clock.slot.saturating_sub(1), clock.unix_timestamp);
    locker.with_svm_writer(move |svm| {
        let Ok(Some(mut account)) = svm.get_account(&CLOCK_SYSVAR) else { return };
        for (at, bytes) in [(0, block.to_le_bytes()), (32, time.to_le_bytes())] {
            if let Some(field) = account.data.get_mut(at..at + bytes.len()) {
                field.copy_from_slice(&bytes);
            }
        }
        svm.notify_account_subscribers(&CLOCK_SYSVAR, &account);
    });
}

fn hold(host: Ipv4Addr, port: u16) -> std::result::Result<TcpListener, StartError> {
    TcpListener::bind((host, port)).map_err(|_| StartError::PortTaken)
}

fn address(held: &TcpListener) -> std::result::Result<SocketAddr, StartError> {
    held.local_addr().map_err(|_| StartError::PortTaken)
}

fn unix_now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}
