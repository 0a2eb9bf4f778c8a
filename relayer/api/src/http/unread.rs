//! Bodies of requests that were answered before anybody read them: refusals, mostly. hyper closes such a connection and does not
//! say so, and the next request of the client's pool, which may be a payment, is sent into nothing. So a short rest is read
//! before the answer goes out, and an answer that leaves one unread says `Connection: close`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{Version, header};
use futures::{Stream, StreamExt};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::timeout;

use crate::web::BODY_BYTES_MAX;

/// How long an answer waits for a body that nobody needs: clients send it right after the head.
const PATIENCE: Duration = Duration::from_secs(1);

/// The rest of a body; `None` if the client was not told to send it.
type Rest = Option<BodyDataStream>;

/// The unread rest of a request's body; `None` where no rest can trouble the next request.
pub(super) struct Unread(Option<oneshot::Receiver<Rest>>);

/// The body on its way through the layers. Whoever drops it before its end leaves the rest to [`Unread`].
struct WatchedBody {
    /// `None` at the body's end.
    body: Option<(BodyDataStream, oneshot::Sender<Rest>)>,
    /// Whether the client sends it only once it is told to.
    is_awaited: bool,
}

/// The same request, and what it leaves unread. Over HTTP/2 the rest of a body is no trouble to the next request.
pub(super) fn watch(request: Request) -> (Request, Unread) {
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return (request, Unread(None));
    }
    let (leaves, left) = oneshot::channel();
    let is_awaited = request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| {
        let body = Some((body.into_data_stream(), leaves));
        Body::from_stream(WatchedBody { body, is_awaited })
    });
    (request, Unread(Some(left)))
}

impl Unread {
    /// Reads what is left, within bounds. `false` if the connection cannot take another request.
    pub async fn read_rest(self) -> bool {
        match self.0.map(|mut left| left.try_recv()) {
            // Where the length is stated, nothing is read to find it out.
            Some(Ok(Some(rest))) if Stream::size_hint(&rest).0 <= BODY_BYTES_MAX => {
                let read = timeout(PATIENCE, to_bytes(Body::from_stream(rest), BODY_BYTES_MAX));
                read.await.is_ok_and(|bytes| bytes.is_ok())
            }
            // Too long, not sent, or somebody may still read it.
            Some(Ok(_) | Err(TryRecvError::Empty)) => false,
            Some(Err(TryRecvError::Closed)) | None => true,
        }
    }
}

impl Stream for WatchedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some((body, _)) = &mut self.body else { return Poll::Ready(None) };
        let polled = body.poll_next_unpin(context);
        // hyper tells the client at the first poll.
        self.is_awaited = false;
        if let Poll::Ready(None) = polled {
            self.body = None;
        }
        polled
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some((body, leaves)) = self.body.take() {
            let _ = leaves.send((!self.is_awaited).then_some(body));
        }
    }
}
