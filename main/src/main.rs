mod doors;
mod version;

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Requests pass through several threads, so one thread frees what another allocated. See decision 13.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    purser_cli::run(version::VERSION, doors::Doors)
}
