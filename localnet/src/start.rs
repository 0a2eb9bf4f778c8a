//! `start`: run a network until told to stop.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

use crate::ProgramArgs;
use crate::address::parse_address;
use crate::amount::{self, SOL_DECIMALS};
use crate::control;
use crate::error::{Context, Error, Result};
use crate::network::{Network, Plan};
use crate::state::{StateDir, mint_authority};

#[derive(Args)]
pub struct StartArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// JSON-RPC port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    rpc_port: u16,
    /// Websocket port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    ws_port: u16,
    /// Port where tests steer the network (see the README); 0 takes a free one. Without it there is none
    #[arg(long)]
    control_port: Option<u16>,
    /// Time between blocks; confirmed is the next block, finalized 31 blocks later, a blockhash lives 150
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(5..=10_000))]
    slot_ms: u64,
    /// Give an address SOL at start (lifted to that balance); may be repeated
    #[arg(long, value_name = "PUBKEY=SOL")]
    fund: Vec<String>,
    /// Keep the network here between runs; without it everything is in memory
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Stop when stdin ends, as it does when the parent process goes away
    #[arg(long)]
    exit_with_stdin: bool,
    /// Report what the engine does on stderr
    #[arg(long)]
    verbose: bool,
    /// Accepted for symmetry: the ready line is JSON in any case
    #[arg(long)]
    json: bool,
}

pub fn run(args: StartArgs) -> Result<()> {
    let (program_id, elf) = args.program.read()?;
    let plan = Plan {
        program_id,
        elf,
        funds: args.fund.iter().map(|text| parse_fund(text)).collect::<Result<_>>()?,
        rpc_port: args.rpc_port,
        ws_port: args.ws_port,
        slot_ms: args.slot_ms,
        verbose: args.verbose,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let state = StateDir::open(args.state_dir.as_deref())?;
    // Listen for signals before the network exists, so that an early one is not lost.
    let stopping = runtime.block_on(async { stop_requested(args.exit_with_stdin) })?;
    let mut network = Network::start(&plan, &state)?;

    let mint = network.record.mint().pubkey();
    let control = args
        .control_port
        .map(|port| control::serve(port, network.rpc_url.clone(), mint, network.faults.clone()));
    let control = control.transpose()?;
    let ready = json!({
        "rpc_url": network.rpc_url,
        "ws_url": network.ws_url,
        "control_url": control.as_ref().map(|control| format!("http://{}", control.address())),
        "program_id": plan.program_id.to_string(),
        "usdc_mint": mint.to_string(),
        "mint_authority": mint_authority(&mint).pubkey().to_string(),
        "genesis_hash": network.record.genesis_hash().to_string(),
        "slot_ms": plan.slot_ms,
        "pid": std::process::id(),
    });
    println!("{ready}");

    let reason = runtime.block_on(watch(&mut network, &state, stopping));
    let record = network.stop();
    state.save(&record)?;
    runtime.shutdown_background();
    reason
}

/// Ends when a stop is asked for (Ok) or the engine died (Err); saves time travels as they happen.
async fn watch(
    network: &mut Network,
    state: &StateDir,
    mut stopping: tokio::sync::oneshot::Receiver<()>,
) -> Result<()> {
    let mut every = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            _ = &mut stopping => return Ok(()),
            _ = every.tick() => {}
        }
        if network.is_dead() {
            return Err(Error::new("the engine ended unexpectedly"));
        }
        if network.record_travel() {
            state.save(&network.record)?;
        }
    }
}

/// Resolves at SIGINT, SIGTERM or, if asked for, the end of stdin.
fn stop_requested(exit_with_stdin: bool) -> Result<tokio::sync::oneshot::Receiver<()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let (done, stopping) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = stdin_end(), if exit_with_stdin => {}
        }
        let _ = done.send(());
    });
    Ok(stopping)
}

async fn stdin_end() {
    let mut stdin = tokio::io::stdin();
    let mut buffer = [0; 1024];
    while matches!(stdin.read(&mut buffer).await, Ok(read) if read > 0) {}
}

fn parse_fund(text: &str) -> Result<(Pubkey, u64)> {
    let (address, sol) =
        text.split_once('=').ok_or_else(|| Error::new(format!("--fund {text}: write PUBKEY=SOL")))?;
    Ok((parse_address(address)?, amount::parse(sol, SOL_DECIMALS)?))
}

impl ProgramArgs {
    /// The program's address and bytes.
    pub fn read(&self) -> Result<(Pubkey, Vec<u8>)> {
        let elf =
            std::fs::read(&self.program_so).context(format!("cannot read {}", self.program_so.display()))?;
        if !elf.starts_with(b"\x7fELF") {
            return Err(Error::new(format!(
                "{} is not a program (no ELF header)",
                self.program_so.display()
            )));
        }
        let id = match &self.program_id {
            Some(id) => parse_address(id)?,
            None => self.id_from_idl()?,
        };
        Ok((id, elf))
    }

    fn id_from_idl(&self) -> Result<Pubkey> {
        let idl_path = self.program_so.with_extension("json");
        let text = std::fs::read_to_string(&idl_path)
            .context(format!("--program-id is needed: no IDL at {}", idl_path.display()))?;
        let idl: serde_json::Value =
            serde_json::from_str(&text).context(format!("{} is not JSON", idl_path.display()))?;
        match idl["address"].as_str() {
            Some(address) => parse_address(address),
            None => Err(Error::new(format!("--program-id is needed: {} has no address", idl_path.display()))),
        }
    }
}
