//! How long a connection may be silent. hyper's own limits begin after it has told HTTP/1 from HTTP/2, which takes as long
//! as the client likes. It has none for a connection over HTTP/2 that asks nothing, and none for an answer that is not taken.
//!
//! A connection without a request under way ends 15 s after it was made, if no request has come, and 75 s after the last answer.
//! A request is under way once its head is complete. Each piece of a streamed answer counts as an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

/// How long a client may take for its first request.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection may be idle: longer than the 60 s after which proxies commonly close theirs, so that they close first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// When places run out, a connection that has been silent this long gives way.
const GIVES_WAY_AFTER: Duration = Duration::from_secs(1);

/// How many requests of a connection are under way.
#[derive(Clone)]
pub(super) struct Requests(watch::Sender<usize>);

impl Requests {
    pub fn none() -> Self {
        Self(watch::Sender::new(0))
    }

    fn begins(&self) -> UnderWay {
        self.0.send_modify(|count| *count += 1);
        UnderWay(self.clone())
    }

    /// Ends when the connection has been silent for too long, or when it is the longest silent one as `silent` is notified.
    /// Counts the requests from this call on, not from the first poll.
    pub fn silence(&self, silent: Arc<Notify>) -> impl Future<Output = ()> + use<> {
        let mut requests = self.0.subscribe();
        async move {
            let mut limit = FIRST_REQUEST_TIMEOUT;
            loop {
                let gives_way = async {
                    sleep(GIVES_WAY_AFTER).await;
                    silent.notified().await;
                };
                tokio::select! {
                    biased;
                    _ = requests.changed() => {}
                    _ = timeout(limit, gives_way) => return,
                }
                let _ = requests.wait_for(|count| *count == 0).await;
                limit = IDLE_TIMEOUT;
            }
        }
    }
}

/// One request, until it is answered or given up.
struct UnderWay(Requests);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// Middleware: tells the connection about its requests.
pub(super) async fn count_requests(
    Extension(requests): Extension<Requests>,
    request: Request,
    next: Next,
) -> Response {
    let under_way = requests.begins();
    let answer = next.run(request).await;
    drop(under_way);
    answer.map(|body| in_pieces(body, requests))
}

/// Counts the pieces of a body of unknown length.
fn in_pieces(body: Body, Requests(requests): Requests) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    Body::from_stream(body.into_data_stream().inspect(move |_| requests.send_modify(|_| ())))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::pin;

    use futures::FutureExt;
    use tokio::time::Instant;

    use super::*;

    struct Scene {
        begun: Instant,
        requests: Requests,
        silent: Arc<Notify>,
    }

    fn scene() -> Scene {
        Scene { begun: Instant::now(), requests: Requests::none(), silent: Arc::default() }
    }

    impl Scene {
        /// How many seconds after its beginning the connection ends, while its client does this.
        async fn ends_after(&self, does: impl Future<Output = ()>) -> u64 {
            let both = async {
                does.await;
                std::future::pending().await
            };
            tokio::select! {
                // The connection may be polled before its silence is.
                biased;
                never = both => match never {},
                () = self.requests.silence(self.silent.clone()) => self.begun.elapsed().as_secs(),
            }
        }

        /// A request that takes this many seconds.
        async fn serves(&self, seconds: u64) {
            let _under_way = self.requests.begins();
            sleep(Duration::from_secs(seconds)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_asks_nothing_ends_after_15_seconds() {
        assert_eq!(scene().ends_after(async {}).await, 15);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_rests_for_75_seconds_after_an_answer_however_long_that_took() {
        let scene = scene();
        let twice = async {
            scene.serves(100).await;
            sleep(Duration::from_secs(60)).await;
            scene.serves(1).await;
        };
        assert_eq!(scene.ends_after(twice).await, 100 + 60 + 1 + 75);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_pieces_goes_on_as_long_as_they_are_taken() {
        let scene = scene();
        let pieces = futures::stream::iter([1, 2, 3].map(|_| Ok::<_, Infallible>("piece")));
        let taking = async {
            scene.serves(1).await;
            let body = in_pieces(Body::from_stream(pieces), scene.requests.clone());
            let mut pieces = body.into_data_stream();
            while pieces.next().await.is_some() {
                sleep(Duration::from_secs(60)).await;
            }
        };
        assert_eq!(scene.ends_after(taking).await, 1 + 3 * 60 + 15);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_silent_connection_gives_way_after_a_second_and_one_under_way_does_not() {
        let busy = scene();
        busy.silent.notify_one();
        assert_eq!(busy.ends_after(busy.serves(5)).await, 5 + 1);

        let (one, other) = (Requests::none(), Requests::none());
        let silent = Arc::<Notify>::default();
        let mut first = pin!(one.silence(silent.clone()));
        let mut second = pin!(other.silence(silent.clone()));
        for _ in 0..3 {
            assert!((&mut first).now_or_never().is_none(), "nobody is to give way yet");
            assert!((&mut second).now_or_never().is_none(), "nobody is to give way yet");
            tokio::time::advance(GIVES_WAY_AFTER).await;
        }
        silent.notify_one();
        tokio::select! {
            biased;
            () = second => panic!("it has been silent for less long"),
            () = first => {}
        }
    }
}
