//! How long a connection may be silent. hyper's own limits begin after it has told HTTP/1 from HTTP/2, which takes as long
//! as the client likes. They also do not distinguish a request that does not end from a connection that is idle.
//!
//! A connection without a request under way ends 15 s after it was made, if no request has come; 75 s after the last answer;
//! and, over HTTP/1, 15 s after the first byte of a request whose head is still incomplete. This also holds when the client
//! does not read an answer: each piece of a streamed answer counts as an answer. HTTP/2 sends pings in between, so its bytes
//! do not show a request.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{Request, Response, Version};
use axum_server::accept::Accept;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{Instant, Sleep, sleep_until};
use tower::Service;

/// How long a client may take for its first request, and for the head of each later one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection may be idle: longer than the 60 s after which proxies commonly close theirs, so that they close first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// When places run out, a connection that has been silent this long gives way.
const GIVES_WAY_AFTER: Duration = Duration::from_secs(1);

/// A connection that ends after too long a silence.
pub(crate) struct IdleTimeoutStream<S> {
    stream: S,
    requests: Arc<ConnectionRequests>,
    silent: Arc<Notify>,
    silence: Option<Silence>,
    timer: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

/// The requests of a connection.
#[derive(Default)]
struct ConnectionRequests {
    under_way: AtomicUsize,
    answered: AtomicU64,
    /// Whether bytes may be pings rather than a request.
    pings: AtomicBool,
}

struct Silence {
    /// How many answers there were when it began; another number means another silence.
    answered: u64,
    ends: Instant,
    /// Fires when the connection is to give way; armed after the first second.
    called: Option<Pin<Box<OwnedNotified>>>,
}

impl<S> IdleTimeoutStream<S> {
    pub fn new(stream: S, silent: Arc<Notify>, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            requests: Arc::default(),
            silent,
            silence: None,
            timer: Box::pin(sleep_until(Instant::now())),
            _place: place,
        }
    }

    /// Ready when patience has run out.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.requests.under_way.load(Ordering::Acquire) > 0 {
            self.silence = None;
            return Poll::Pending;
        }
        let answered = self.requests.answered.load(Ordering::Acquire);
        let silence = match &mut self.silence {
            Some(silence) if silence.answered == answered => silence,
            silence => {
                let now = Instant::now();
                self.timer.as_mut().reset(now + GIVES_WAY_AFTER);
                let limit = if answered == 0 { HEAD_TIMEOUT } else { IDLE_TIMEOUT };
                silence.insert(Silence { answered, ends: now + limit, called: None })
            }
        };
        loop {
            if let Some(called) = &mut silence.called
                && called.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(());
            }
            ready!(self.timer.as_mut().poll(context));
            if Instant::now() >= silence.ends {
                return Poll::Ready(());
            }
            silence.called.get_or_insert_with(|| Box::pin(self.silent.clone().notified_owned()));
            self.timer.as_mut().reset(silence.ends);
        }
    }

    /// The first byte of a request came: its head must follow within the limit.
    fn on_first_byte(&mut self) {
        let pings = self.requests.pings.load(Ordering::Acquire);
        let Some(silence) = self.silence.as_mut().filter(|_| !pings) else { return };
        silence.ends = silence.ends.min(Instant::now() + HEAD_TIMEOUT);
        if silence.called.is_some() {
            self.timer.as_mut().reset(silence.ends);
        }
    }

    /// The stream's result, or a time-out if patience runs out while the stream is pending.
    fn or_patience<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match polled {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => self.poll_patience(context).map(|()| Err(ErrorKind::TimedOut.into())),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.on_first_byte();
        }
        self.or_patience(polled, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.or_patience(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.or_patience(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.or_patience(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.or_patience(polled, context)
    }
}

/// Tells each connection about its requests.
#[derive(Clone)]
pub(super) struct CountRequests;

impl<S: AsyncRead + AsyncWrite, R> Accept<IdleTimeoutStream<S>, R> for CountRequests {
    type Stream = IdleTimeoutStream<S>;
    type Service = Counted<R>;
    type Future = std::future::Ready<io::Result<(IdleTimeoutStream<S>, Counted<R>)>>;

    fn accept(&self, stream: IdleTimeoutStream<S>, inner: R) -> Self::Future {
        let requests = stream.requests.clone();
        std::future::ready(Ok((stream, Counted { inner, requests })))
    }
}

/// The service of one connection.
#[derive(Clone)]
pub(super) struct Counted<R> {
    inner: R,
    requests: Arc<ConnectionRequests>,
}

/// One request, until it is answered or given up.
struct UnderWay(Arc<ConnectionRequests>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::AcqRel);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<R, B> Service<Request<B>> for Counted<R>
where
    R: Service<Request<B>, Response = Response<Body>, Future: Send + 'static>,
{
    type Response = Response<Body>;
    type Error = R::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, R::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), R::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.requests.pings.store(request.version() == Version::HTTP_2, Ordering::Release);
        self.requests.under_way.fetch_add(1, Ordering::AcqRel);
        let (requests, under_way) = (self.requests.clone(), UnderWay(self.requests.clone()));
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            drop(under_way);
            answer.map(|answer| answer.map(|body| in_pieces(body, requests)))
        }
        .boxed()
    }
}

/// Counts the pieces of a body of unknown length.
fn in_pieces(body: Body, requests: Arc<ConnectionRequests>) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    Body::from_stream(body.into_data_stream().inspect(move |_| {
        requests.answered.fetch_add(1, Ordering::AcqRel);
    }))
}

#[cfg(test)]
mod tests;
