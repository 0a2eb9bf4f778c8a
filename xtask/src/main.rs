//! `cargo xtask`: every command that a person or CI types. `cargo dev` is short for `cargo xtask dev`.

mod bench;
mod build;
mod check;
mod circles;
mod crash;
mod cu;
mod dev;
mod frozen;
mod fuzz;
mod idl;
mod imports;
mod lines;
mod localnet;
mod mutants;
mod names;
mod page;
mod pages;
mod parts;
mod postgres;
mod prove;
mod release;
mod sbf;
mod simulate;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use workspace::Workspace;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Every command that a person or CI types")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the service and an embedded Solana network, then `purser dev`: both on this machine, with a funded demo agent
    Dev(dev::Args),
    /// Run the tests of money, truth, access and data, or with --full every test; end with `N passed, N failed`
    Test(test::Args),
    /// List the test groups that a change makes due, each with the tools that it needs
    Groups(test::groups::Args),
    /// Count the lines of every room, with and without its tests
    Lines(lines::Args),
    /// Check formatting, lints, the IDL, the direction of imports, released migrations and (if cargo-deny is installed) dependencies
    Check(check::Args),
    /// Build the on-chain program into programs/purser/idl/purser.so
    Sbf(sbf::Args),
    /// Build the audit of a browser tab into audit/page/built/purser_page.wasm
    Page(page::Args),
    /// Generate programs/purser/idl/purser.json and purser.ts from the program
    Idl(idl::Args),
    /// Let the relayer die at every step, and check by the chain that every payment was made exactly once
    Crash(crash::Args),
    /// Carry out payments in simulated worlds with the real payment engine, and judge each by its true chain
    Simulate(simulate::Args),
    /// Random transactions for the program and for an oracle of it, side by side; and mutants that this must catch
    Fuzz(fuzz::Args),
    /// Prove with z3 what is claimed of the spend window, and hold the proof's model to the Rust
    Prove(prove::Args),
    /// Build the archive for Linux on x86-64, which needs no toolchain, with its checksum and a list of its parts
    Release(release::Args),
    /// Pack the programs of an archive for npm, PyPI, hosts of MCP and containers
    Packages(release::packages::Args),
    /// Measure the compute units, bytes and rent of every instruction
    Cu(cu::Args),
    /// Measure what users wait for and what a machine carries; figures go into docs/trust/benchmarks.md
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = Workspace::find().and_then(|workspace| match cli.command {
        Command::Dev(args) => done(dev::run(&workspace, &args)),
        Command::Test(args) => test::run(&workspace, &args),
        Command::Groups(args) => done(test::groups::run(&workspace, &args)),
        Command::Lines(args) => done(lines::run(&workspace, &args)),
        Command::Check(args) => done(check::run(&workspace, &args)),
        Command::Sbf(args) => done(sbf::run(&workspace, &args)),
        Command::Page(args) => done(page::run(&workspace, &args)),
        Command::Idl(args) => done(idl::run(&workspace, &args)),
        Command::Crash(args) => done(crash::run(&workspace, &args)),
        Command::Simulate(args) => done(simulate::run(&workspace, &args)),
        Command::Fuzz(args) => done(fuzz::run(&workspace, &args)),
        Command::Prove(args) => done(prove::run(&workspace, &args)),
        Command::Release(args) => done(release::run(&workspace, &args)),
        Command::Packages(args) => done(release::packages::run(&workspace, &args)),
        Command::Cu(args) => done(cu::run(&workspace, &args)),
        Command::Bench(bench) => done(bench::run(&workspace, &bench)),
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn done(outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    outcome.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// A command that is not well-formed panics when it is typed.
    #[test]
    fn every_command_is_well_formed() {
        Cli::command().debug_assert();
    }
}
