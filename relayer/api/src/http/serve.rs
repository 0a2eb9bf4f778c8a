//! Serving: HTTP/1 and HTTP/2 on one listener, with bounds on what a client may send and a deadline for shutdown.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router, middleware};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceBuilder;

use super::listener::BoundedListener;
use super::silence::{Requests, count_requests};
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
    let listener = BoundedListener::new(listener, connections_max)?;
    let router = router.layer(middleware::from_fn(count_requests));
    let builder = http();
    let (draining, connections) = (GracefulShutdown::new(), TaskTracker::new());
    // They end with this future, if it is dropped.
    let end = CancellationToken::new();
    let ends = end.clone().drop_guard();
    loop {
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let requests = Requests::none();
        let service = ServiceBuilder::new()
            .layer(Extension(ConnectInfo(Peer(accepted.address))))
            .layer(Extension(requests.clone()))
            .service(router.clone());
        let io = TokioIo::new(accepted.stream);
        let connection = builder.serve_connection(io, TowerToHyperService::new(service)).into_owned();
        let connection = draining.watch(connection);
        let (end, silent) = (end.clone(), listener.silent());
        connections.spawn(async move {
            tokio::select! {
                // First, so that a request that comes in the last moment is read.
                biased;
                _ = connection => {}
                () = requests.silence(silent) => {}
                () = end.cancelled() => {}
            }
            drop(accepted.place);
        });
    }
    // New connections are refused from now on.
    drop(listener);
    let _ = timeout(drain, draining.shutdown()).await;
    drop(ends);
    connections.close();
    connections.wait().await;
    Ok(())
}

fn http() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // `silence` limits the time for the head.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    builder
}
