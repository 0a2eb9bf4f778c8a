//! Serving: HTTP/1 and HTTP/2 on one listener, with bounds on what a client may send and a deadline for shutdown.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum_server::{Handle, Server};
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

use super::listener::BoundedListener;
use super::patience::CountRequests;
use super::{HEAD_BYTES_MAX, HEADERS_MAX};
use crate::web::Peer;

const STREAMS_MAX: u32 = 128;
/// How often an HTTP/2 client has to show that it is still there.
const PING_EVERY: Duration = Duration::from_secs(15);

/// Serves `router` on `listener`, to `connections_max` connections at once, until `stop` is cancelled. Answers under way
/// then get `drain` to finish.
///
/// Errors: the listener cannot be used.
pub async fn serve(
    listener: TcpListener,
    connections_max: usize,
    router: Router,
    stop: CancellationToken,
    drain: Duration,
) -> io::Result<()> {
    let handle: Handle<Peer> = Handle::new();
    let stopper = handle.clone();
    let stopping = async move {
        stop.cancelled().await;
        stopper.graceful_shutdown(Some(drain));
        std::future::pending::<Infallible>().await
    };
    let listener = BoundedListener::new(listener, connections_max)?;
    let mut server = Server::from_listener(listener).acceptor(CountRequests).handle(handle);
    let builder = server.http_builder();
    builder
        .http1()
        .timer(TokioTimer::new())
        // `patience` limits the time for the head.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    tokio::select! {
        served = server.serve(router.into_make_service_with_connect_info::<Peer>()) => served,
        never = stopping => match never {},
    }
}
