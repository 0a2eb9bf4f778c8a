//! The command line: parses arguments, calls the other parts, prints text or JSON.

mod attest;
mod audit;
mod doctor;
mod follow;
mod halt;
mod health;
mod init;
mod key;
mod keygen;
mod listen;
mod log;
mod migrate;
mod operator;
mod output;
mod replay;
mod serve;
mod verify_program;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use utoipa::openapi::OpenApi;

use self::output::Format;
use purser_api::Version;
use purser_api::http;
use purser_base::traces;
use purser_relayer::app;
use purser_relayer::config::Config;

/// The extensions beside REST that a build has: whoever composes it says which.
pub trait Extensions: Copy {
    /// Commands of their own.
    type Command: Subcommand;
    /// What the configuration says of them, which opens them.
    type Sections: app::Extensions;

    fn run(self, command: Self::Command) -> impl Future<Output = Result<()>>;

    /// Their part of the OpenAPI document.
    fn described(self) -> OpenApi;
}

/// USDC accounts for AI agents on Solana, spending only within rules that the chain enforces.
#[derive(Debug, Parser)]
#[command(name = "purser", version, arg_required_else_help = true)]
struct Arguments<C: Subcommand> {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command<C>,
}

#[derive(Debug, Args)]
struct Common {
    /// Configuration file, by default purser.toml if there is one; PURSER__SECTION__KEY in the environment wins over it
    #[arg(long, global = true, value_name = "FILE", env = "PURSER_CONFIG")]
    config: Option<PathBuf>,
    /// Answer with one line of JSON
    #[arg(long, global = true)]
    json: bool,
    /// `env`: print what init, keygen, operator and key make as variables of a shell: eval "$(purser key create ... -o env)"
    #[arg(short, long, global = true, value_name = "FORM", conflicts_with = "json")]
    output: Option<Output>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Output {
    Env,
}

#[derive(Debug, Subcommand)]
enum Command<C: Subcommand> {
    /// Make a folder with keys and a configuration, and say what to fund and what to do next
    Init(init::Init),
    /// Write new keypair files, readable by their owner alone, and print their addresses
    Keygen(keygen::Keygen),
    /// Check configuration, files, database, nodes, program, keys, SOL and clocks, and say how to mend what is wrong. Changes
    /// nothing. Status 1: something is wrong
    Doctor,
    /// Ask the relayer that serves with this configuration how it is. Status 1: send requests to another, or nobody answers
    Health,
    /// Serve the REST interface until SIGINT or SIGTERM
    Serve,
    /// Bring the database up to date
    Migrate,
    /// Operators: the tenants that own accounts
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    /// Halt every account of an operator; only its admin resumes them, with its own wallet
    Halt(halt::HaltArgs),
    /// API keys of operators
    #[command(subcommand)]
    Key(key::KeyCommand),
    #[command(flatten)]
    Extension(C),
    /// Print an operator's events as they happen, and post them to a receiver as a webhook would be sent them. Needs no
    /// configuration; the operator's key is in PURSER_OPERATOR_KEY
    Listen(listen::Listen),
    /// Print the OpenAPI document of the REST interface
    Openapi,
    /// Try it on this machine: an embedded Solana network, this service and a funded agent, in seconds. Money is play money
    Dev(Box<purser_dev::Args>),
    /// Make an event really happen to the agent of a running `purser dev`
    Trigger(purser_dev::TriggerArgs),
    /// Deliver webhook events once more: one, or those of a span of time
    Replay(replay::ReplayArgs),
    /// Audit an operator or an account from the chain alone: every signed instruction, replayed. Needs no configuration.
    /// Status 1: something does not hold; 2: it could not be done
    #[command(after_help = audit::HELP)]
    Audit(Box<audit::Audit>),
    /// Signed verdicts of audits. Needs no configuration
    #[command(subcommand)]
    Attest(attest::AttestCommand),
    /// Compare the program on chain with the committed build; say who may replace it, and when it was last changed. Needs no
    /// configuration. Status 1: it is another one; 2: it could not be found out
    VerifyProgram(verify_program::VerifyProgram),
}

/// Runs the command that the process was started with. An error is one line on stderr.
pub fn run<D: Extensions>(version: Version, extensions: D) -> ExitCode {
    let matches = Arguments::<D::Command>::command().version(version.text).get_matches();
    let Arguments { common, command } =
        Arguments::<D::Command>::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match execute(&common, command, version, extensions) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn execute<D: Extensions>(
    common: &Common,
    command: Command<D::Command>,
    version: Version,
    extensions: D,
) -> Result<ExitCode> {
    let format = match (common.output, common.json) {
        (Some(Output::Env), _) => Format::Env,
        (None, true) => Format::Json,
        (None, false) => Format::Text,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let traces = match command {
        Command::Serve => traces::of_environment(runtime.handle())?,
        _ => None,
    };
    // Commands print their results, so they log warnings only.
    let level = if matches!(command, Command::Serve) { "info" } else { "warn" };
    log::start(level, traces.as_ref());
    let done = runtime.block_on(async {
        // An extension's command may run where there is no configuration.
        let whole = || Config::read::<D::Sections>(common.config.as_deref());
        let config = || whole().map(|(config, _)| config);
        match command {
            Command::Init(arguments) => init::run::<D::Sections>(format, &arguments),
            Command::Keygen(arguments) => keygen::run(format, &arguments),
            Command::Doctor => return doctor::run::<D::Sections>(format, common.config.as_deref()).await,
            Command::Health => return health::run(&config()?).await,
            Command::Serve => {
                let (config, extensions) = whole()?;
                serve::run(&config, traces, version, &extensions).await
            }
            Command::Migrate => migrate::run(&config()?, format).await,
            Command::Operator(command) => operator::run(&config()?, format, command).await,
            Command::Halt(arguments) => halt::run(&config()?, format, arguments).await,
            Command::Key(command) => key::run(&config()?, format, command).await,
            Command::Extension(command) => extensions.run(command).await,
            Command::Listen(arguments) => listen::run(format, arguments).await,
            Command::Openapi => print_openapi(extensions.described()),
            Command::Dev(arguments) => {
                purser_dev::run(&arguments, common.json, purser_dev::Programs::installed)
            }
            Command::Trigger(arguments) => arguments.run(common.json),
            Command::Replay(arguments) => replay::run(&config()?, format, arguments).await,
            Command::VerifyProgram(arguments) => return Ok(verify_program::run(format, arguments).await),
            Command::Attest(command) => return Ok(attest::run(format, command)),
            Command::Audit(arguments) => return Ok(audit::run(format, *arguments).await),
        }?;
        Ok(ExitCode::SUCCESS)
    });
    // All work that a stop has to wait for is done.
    runtime.shutdown_background();
    done
}

fn print_openapi(of_extensions: OpenApi) -> Result<()> {
    output::print_line(&http::document(of_extensions).to_pretty_json()?)
}

#[cfg(test)]
mod tests;
