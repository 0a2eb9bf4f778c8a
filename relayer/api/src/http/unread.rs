//! Bodies of requests that were answered before anybody read them: refusals, mostly. hyper closes such a connection and does not
//! say so, and the next request of the client's pool, which may be a payment, is sent into nothing. So a short rest is read
//! before the answer goes out, and an answer that leaves one unread says `Connection: close`.

use parking_lot::{Mutex, MutexGuard};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Version, header};
use futures::{Stream, StreamExt};
use tokio::time::timeout;

use crate::web::BODY_BYTES_MAX;

/// How long an answer waits for a body that nobody needs: clients send it right after the head.
const PATIENCE: Duration = Duration::from_secs(1);

/// What became of a request's body.
#[derive(Clone, Default)]
pub(super) struct Unread(Arc<Mutex<Rest>>);

#[derive(Default)]
enum Rest {
    #[default]
    None,
    /// Somebody may still read it.
    Held,
    Left(BodyDataStream),
    /// The client was not told to send it.
    NotSent,
}

/// The body on its way through the layers. Whoever drops it leaves the rest to [`Unread`].
struct WatchedBody {
    body: Option<BodyDataStream>,
    /// Whether the client sends it only once it is told to.
    is_awaited: bool,
    unread: Unread,
}

/// The same request, and what it leaves unread. Over HTTP/2 the rest of a body is no trouble to the next request.
pub(super) fn watch(request: Request) -> (Request, Unread) {
    let unread = Unread::default();
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return (request, unread);
    }
    *unread.lock() = Rest::Held;
    let is_awaited = request.headers().contains_key(header::EXPECT);
    let (head, body) = request.into_parts();
    let watched = WatchedBody { body: Some(body.into_data_stream()), is_awaited, unread: unread.clone() };
    (Request::from_parts(head, Body::from_stream(watched)), unread)
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, Rest> {
        self.0.lock()
    }

    /// Reads what is left, within bounds. `false` if the connection cannot take another request.
    pub async fn is_read(&self) -> bool {
        let rest = mem::take(&mut *self.lock());
        match rest {
            Rest::None => true,
            Rest::Held | Rest::NotSent => false,
            Rest::Left(body) => timeout(PATIENCE, is_short(body)).await.unwrap_or(false),
        }
    }
}

async fn is_short(mut body: BodyDataStream) -> bool {
    let mut left = BODY_BYTES_MAX;
    // Where the length is stated, nothing is read to find it out.
    if Stream::size_hint(&body).0 > left {
        return false;
    }
    while let Some(chunk) = body.next().await {
        match chunk.ok().and_then(|chunk| left.checked_sub(chunk.len())) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    true
}

impl Stream for WatchedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        // hyper tells the client at the first poll.
        this.is_awaited = false;
        let polled = body.poll_next_unpin(context);
        if let Poll::Ready(None) = polled {
            this.body = None;
            *this.unread.lock() = Rest::None;
        }
        polled
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            let rest = if self.is_awaited { Rest::NotSent } else { Rest::Left(body) };
            *self.unread.lock() = rest;
        }
    }
}
