mod extensions;
mod version;

use std::process::ExitCode;

/// Requests pass through several threads, so one thread frees memory that another allocated. See decision 13.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    purser_cli::run(version::VERSION, extensions::Extensions)
}
