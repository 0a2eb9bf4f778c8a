use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use purser_audit::attest::{Statement, verify};
use purser_audit::exit_status;
use purser_audit::folder::saved_in;
use solana_sdk::pubkey::Pubkey;

use super::audit::NOT_DONE;
use super::output::{Format, print_line, print_one};

/// Longer than any attestation.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum AttestCommand {
    /// Say what an attestation of `purser audit --sign` proves. Status 0: the key signed that everything holds; 1: it signed
    /// that something does not; 2: it signed an audit that is not complete, or nothing that can be verified
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The attestation
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The auditor's key, as you know it from elsewhere
    #[arg(long, value_name = "ADDRESS")]
    key: Pubkey,
    /// The operator that it has to be about, with all its accounts
    #[arg(long, value_name = "ADDRESS")]
    operator: Option<Pubkey>,
    /// The one account that it has to be about
    #[arg(long, value_name = "ADDRESS")]
    account: Option<Pubkey>,
    /// The directory that it has to be about: its Merkle root is computed again
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// Verifies, prints what was signed, and returns the signed verdict as the exit status.
pub(super) fn run(format: Format, command: AttestCommand) -> ExitCode {
    let AttestCommand::Verify(arguments) = command;
    let verified = look(&arguments).and_then(|statement| print(format, &statement).map(|()| statement));
    match verified.map(|statement| statement.predicate) {
        Ok(audited) => ExitCode::from(exit_status(audited.holds, audited.complete)),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(NOT_DONE)
        }
    }
}

fn look(arguments: &Verify) -> Result<Statement> {
    let Verify { file, key, operator, account, from } = arguments;
    let named = || format!("{}", file.display());
    let mut envelope = Vec::new();
    // A link may lead to what never ends.
    let read = File::open(file).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut envelope));
    ensure!(read.with_context(named)? as u64 <= BYTES_MAX, "{}: is too long for an attestation", named());
    let statement = verify(&envelope, key).with_context(named)?;
    statement.is_about(operator.as_ref(), account.as_ref()).with_context(named)?;
    if let Some(folder) = from {
        let root = saved_in(folder)?.root()?;
        let is_same = statement.archive_sha256() == Some(root.as_str());
        ensure!(
            is_same,
            "{}: is about another directory than {}, whose root is {root}",
            named(),
            folder.display()
        );
    }
    Ok(statement)
}

fn print(format: Format, statement: &Statement) -> Result<()> {
    if let Format::Json = format {
        return print_line(&statement.json()?);
    }
    print_one(format, &statement.shown())
}
