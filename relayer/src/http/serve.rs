//! The listener: connections that are slow to speak are closed, and shutdown has a deadline.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

/// How long a client may take to send a request's head, and an idle connection may stay.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;
const STREAMS_MAX: u32 = 128;

/// Serves `router` on `listener` until `stop` is cancelled; then answers that are under way get `drain` to finish.
///
/// Errors: the listener cannot be used.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    drain: Duration,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let handle: Handle<SocketAddr> = Handle::new();
    let stopper = handle.clone();
    let stopping = async move {
        stop.cancelled().await;
        stopper.graceful_shutdown(Some(drain));
        std::future::pending::<Infallible>().await
    };
    let mut server = axum_server::from_tcp(listener)?.acceptor(NoDelayAcceptor::new()).handle(handle);
    let builder = server.http_builder();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEADER_TIMEOUT)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    tokio::select! {
        served = server.serve(router.into_make_service()) => served,
        never = stopping => match never {},
    }
}
