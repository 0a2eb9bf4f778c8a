use clap::Args;
use crate::ProgramArgs;
use crate::error::Result;

#[derive(Args)]
pub struct CuArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Answer with one JSON array of rows
    #[arg(long)]
    json: bool,
}

pub fn run(args: CuArgs) -> Result<()> { let _ = args.program.read()?; let _ = args.json; Ok(()) }
