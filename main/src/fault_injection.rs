mod extensions;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    purser_cli::run(version::VERSION, extensions::Extensions)
}
