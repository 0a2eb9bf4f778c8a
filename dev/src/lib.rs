//! `purser dev`: the whole service on this machine, with a funded agent to play with, and ways to steer its network.

mod api;
mod approve;
mod demo;
mod folder;
mod keys;
mod network;
mod process;
mod programs;
mod progress;
mod relayer;
mod report;
mod span;
mod steer;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use demo::Demo;
use folder::Folder;
use keys::Keys;
use network::Network;
use relayer::Relayer;
use report::Ready;
use steer::{Steer, Trigger};

pub use programs::Programs;
pub use progress::Progress;

/// The JSON-RPC port that Solana tools expect on a developer's machine.
const USUAL_RPC_PORT: u16 = 8899;
const STOP_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Forget everything that earlier runs left and start from nothing
    #[arg(long)]
    reset: bool,
    /// Port of the REST interface; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Port of the network's JSON-RPC, the next two being its websocket's and its control's; without it 8899 if they are free, else any
    #[arg(long)]
    rpc_port: Option<u16>,
    /// Folder that keeps keys, chain, database and logs
    #[arg(long, global = true, default_value = ".purser")]
    dir: PathBuf,
    #[command(subcommand)]
    steer: Option<Steer>,
}

/// `purser trigger`: the same as `purser dev trigger`.
#[derive(Debug, clap::Args)]
pub struct TriggerArgs {
    event: Trigger,
    /// Folder of the running `purser dev`
    #[arg(long, default_value = ".purser")]
    dir: PathBuf,
}

impl TriggerArgs {
    pub fn run(&self, json: bool) -> Result<()> {
        Steer::Trigger { event: self.event }.run(&self.dir, json)
    }
}

/// Starts everything, with programs that `programs` finds or builds; or steers what runs already. With `json`, it prints one JSON object.
pub fn run(args: &Args, json: bool, programs: impl FnOnce() -> Result<Programs>) -> Result<()> {
    if let Some(steer) = &args.steer {
        return steer.run(&args.dir, json);
    }
    let folder = Folder::open(&args.dir)?;
    ensure_free("--port", args.port)?;
    let rpc_port = match args.rpc_port {
        Some(port) => ensure_rpc_free(port).map(|()| port)?,
        None => ensure_rpc_free(USUAL_RPC_PORT).map_or(0, |()| USUAL_RPC_PORT),
    };
    let programs = programs()?;
    if args.reset {
        folder.clear()?;
    }

    // From here on there are children to stop: the first signal ends every wait below, a second one ends us at once.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in STOP_SIGNALS {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    match serve(&programs, args.port, rpc_port, json, &folder, &stop) {
        Err(_) if stop.load(Ordering::Relaxed) => Ok(()),
        outcome => outcome,
    }
}

/// Starts both processes, makes the demo, and stays until a signal comes or one of them ends.
fn serve(
    programs: &Programs,
    port: u16,
    rpc_port: u16,
    json: bool,
    folder: &Folder,
    stop: &AtomicBool,
) -> Result<()> {
    let keys = Keys::load_or_make(folder)?;
    let mut network = step("Starting the embedded Solana network (some seconds)", || {
        Network::start(programs, folder, &keys, rpc_port, stop)
    })?;
    // A demo that the chain or the database has forgotten is useless; then everything but the keys is made again.
    let kept = Demo::read(folder)?.filter(|demo| folder.has_database() && demo.is_on(&network));
    if kept.is_none() {
        folder.forget_service()?;
    }
    let relayer = step("Preparing the database (a second)", || {
        Relayer::prepare(programs, folder, &network, &keys, port)
    })?;
    let operator = match &kept {
        Some(demo) => demo.operator.clone(),
        None => step("Creating the demo operator (some seconds)", || relayer.create_operator())?,
    };
    let (base_url, mut service) = step("Starting the relayer (some seconds)", || relayer.serve(stop))?;
    let demo = match kept {
        Some(demo) => demo,
        None => step("Creating and funding the demo agent (some seconds)", || {
            let demo = demo::create(operator, &base_url, &keys, &network)?;
            demo.write(folder).map(|()| demo)
        })?,
    };
    let ready = Ready::new(&base_url, &network, &demo, folder);
    ready.write(folder, programs.folder())?;
    if json {
        println!("{}", serde_json::to_string(&ready)?);
    } else {
        println!("{ready}");
    }

    while !stop.load(Ordering::Relaxed) {
        service.ensure_alive()?;
        network.process.ensure_alive()?;
        thread::sleep(Duration::from_millis(50));
    }
    step("Stopping (at most 20 seconds)", || {
        // The relayer first: it drains what is in flight, and needs the network for that.
        service.stop();
        network.process.stop();
    });
    eprintln!("Stopped. The state is kept in {}; `--reset` forgets it.", folder.path().display());
    Ok(())
}

fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let _progress = Progress::begin(name);
    work()
}

/// Solana tools expect the websocket on the port after JSON-RPC's.
fn ensure_rpc_free(port: u16) -> Result<()> {
    ensure_free("--rpc-port", port)?;
    network::next_ports(port).into_iter().try_for_each(|port| ensure_free("--rpc-port", port))
}

/// Port 0 is always free.
fn ensure_free(option: &str, port: u16) -> Result<()> {
    TcpListener::bind(("127.0.0.1", port)).map(drop).with_context(|| {
        format!("port {port} is already in use; stop what uses it or choose another with {option}")
    })
}
