use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// What one thread allocates, another frees: every request passes through several. See docs/decisions/0024.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    purser_relayer::cli::run()
}
