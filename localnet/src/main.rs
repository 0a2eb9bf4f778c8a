//! `purser-localnet`: an embedded Solana network for development and tests.
//!
//! `start` runs the network; `mint`, `airdrop` and `travel` act on a running one over its JSON-RPC.

mod address;
mod amount;
mod client;
mod control;
mod driver;
mod error;
mod gate;
mod genesis;
mod network;
mod start;
mod state;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// An embedded Solana network with the Purser program and a USDC mint.
#[derive(Parser)]
#[command(name = "purser-localnet", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a network until interrupted; prints one line of JSON when it is ready
    Start(start::StartArgs),
    /// Mint USDC to a token account, or to a wallet (its associated token account is created)
    Mint(client::MintArgs),
    /// Give SOL to an address
    Airdrop(client::AirdropArgs),
    /// Move the network's clock forward
    Travel(client::TravelArgs),
}

/// The program to run: its bytes and the address it lives at.
#[derive(Args)]
struct ProgramArgs {
    /// The built program (an sBPF .so file)
    #[arg(long, value_name = "PATH")]
    program_so: PathBuf,
    /// The program's address [default: "address" of the IDL beside the .so, same name with .json]
    #[arg(long, value_name = "ID")]
    program_id: Option<String>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Start(args) => start::run(args),
        Command::Mint(args) => client::mint(args),
        Command::Airdrop(args) => client::airdrop(args),
        Command::Travel(args) => client::travel(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
