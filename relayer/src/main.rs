use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Requests pass through several threads, so one thread frees what another allocated. See docs/decisions/0024.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    purser_relayer::cli::run()
}
