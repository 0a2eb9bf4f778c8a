use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Semaphore;

use super::*;

struct Scene {
    begun: Instant,
    silent: Arc<Notify>,
    requests: Arc<ConnectionRequests>,
    client: DuplexStream,
    server: IdleTimeoutStream<DuplexStream>,
}

fn scene() -> Scene {
    let (client, server) = duplex(64);
    let silent = Arc::<Notify>::default();
    let place = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a place");
    let server = IdleTimeoutStream::new(server, silent.clone(), place);
    Scene { begun: Instant::now(), silent, requests: server.requests.clone(), client, server }
}

impl Scene {
    /// How many seconds after its beginning the connection ends.
    async fn ends_after(&mut self) -> u64 {
        let mut bytes = [0; 64];
        loop {
            match self.server.read(&mut bytes).await {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    return self.begun.elapsed().as_secs();
                }
            }
        }
    }

    /// The connection is silent for this many seconds.
    async fn rests(&mut self, seconds: u64) {
        let mut bytes = [0; 64];
        let read = tokio::time::timeout(Duration::from_secs(seconds), self.server.read(&mut bytes));
        assert!(read.await.is_err(), "it rests");
    }

    /// A request that takes this many seconds.
    async fn serves(&mut self, seconds: u64, version: Version) {
        let answer = move |_: Request<()>| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, io::Error>(Response::new(Body::empty()))
        };
        let mut service = Counted { inner: tower::service_fn(answer), requests: self.requests.clone() };
        let request = Request::builder().version(version).body(()).expect("a request");
        let mut bytes = [0; 64];
        tokio::select! {
            biased;
            answer = service.call(request) => drop(answer.expect("answered")),
            read = self.server.read(&mut bytes) => panic!("the connection ended during a request: {read:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_asks_nothing_ends_after_15_seconds() {
    assert_eq!(scene().ends_after().await, 15);
    let mut dripping = scene();
    dripping.rests(10).await;
    dripping.client.write_all(b"GET / HTTP").await.expect("written");
    assert_eq!(dripping.ends_after().await, 15);
}

#[tokio::test(start_paused = true)]
async fn a_connection_rests_for_75_seconds_after_an_answer_however_long_that_took() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut scene = scene();
        scene.serves(100, version).await;
        assert_eq!(scene.ends_after().await, 175);
    }
    let mut twice = scene();
    twice.serves(1, Version::HTTP_11).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    twice.serves(1, Version::HTTP_11).await;
    assert_eq!(twice.ends_after().await, 1 + 60 + 1 + 75);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_has_begun_must_end_within_15_seconds_except_that_http_2_pings() {
    for (version, ends) in [(Version::HTTP_11, 1 + 30 + 15), (Version::HTTP_2, 1 + 75)] {
        let mut scene = scene();
        scene.serves(1, version).await;
        scene.rests(30).await;
        scene.client.write_all(b"G").await.expect("written");
        assert_eq!(scene.ends_after().await, ends, "{version:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_taken_ends_the_connection() {
    let mut scene = scene();
    scene.serves(1, Version::HTTP_11).await;
    let error = scene.server.write_all(&[0; 65]).await.expect_err("nobody reads");
    assert_eq!((error.kind(), scene.begun.elapsed().as_secs()), (ErrorKind::TimedOut, 76));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_pieces_goes_on_as_long_as_they_are_taken() {
    let mut scene = scene();
    let pieces = futures::stream::iter([1, 2, 3].map(|_| Ok::<_, io::Error>("piece")));
    let body = in_pieces(Body::from_stream(pieces), scene.requests.clone());
    scene.serves(1, Version::HTTP_11).await;
    let mut pieces = body.into_data_stream();
    while pieces.next().await.is_some() {
        scene.rests(60).await;
    }
    assert_eq!(scene.ends_after().await, 1 + 3 * 60 + 15);
}

#[tokio::test(start_paused = true)]
async fn the_longest_silent_connection_gives_way_after_a_second_and_one_under_way_does_not() {
    let mut scene = scene();
    scene.silent.notify_one();
    let mut early = [0; 1];
    let read = tokio::time::timeout(Duration::from_millis(900), scene.server.read(&mut early)).await;
    assert!(read.is_err(), "not within the first second");
    assert_eq!(scene.ends_after().await, 1);

    let mut busy = self::scene();
    busy.serves(5, Version::HTTP_11).await;
    busy.silent.notify_one();
    assert_eq!(busy.ends_after().await, 5 + 1);
}
