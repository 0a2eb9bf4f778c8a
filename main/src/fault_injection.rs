mod doors;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    purser_cli::run(version::VERSION, doors::Doors)
}
