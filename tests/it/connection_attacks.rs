//! An attacker opens twice as many connections as there are places, and opens each again when it is closed. New clients
//! still get answers.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use purser_tests::{AppSettings, TestApp, TestNetwork};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const PLACES: &str = "connections_max = 100";
const ATTACKERS: usize = 200;
/// How long a newcomer may wait on a busy machine; 1 to 2 s on one that is not.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than all newcomers wait.
const TAKES_NOTHING_FOR: Duration = Duration::from_secs(90);

/// HTTP/1's request, but for the end of its head.
const ASKS: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n";
/// HTTP/2's opening: the preface, empty SETTINGS, and the same request on stream 1.
const ASKS_HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
    \0\0\x0f\x01\x05\0\0\0\x01\x82\x86\x04\x08/healthz\x01\x01x";

/// How an attacker holds a connection.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Sends what could become HTTP/1 or HTTP/2.
    Sends(&'static [u8]),
    /// Sends a head without end, a byte at a time, after this many whole requests.
    Drips { after: usize },
    /// Asks once over HTTP/2, and from then on only answers pings.
    AnswersPings,
    /// Asks for long answers, and takes none.
    TakesNothing,
}

impl Attack {
    /// Holds a connection for as long as the service lets it.
    async fn holds(self, address: SocketAddr) -> io::Result<()> {
        let socket = TcpSocket::new_v4()?;
        if matches!(self, Attack::TakesNothing) {
            socket.set_recv_buffer_size(2_048)?;
        }
        let stream = socket.connect(address).await?;
        match self {
            Attack::Sends(bytes) => sends(stream, bytes).await,
            Attack::Drips { after } => drips(stream, after).await,
            Attack::AnswersPings => answers_pings(stream).await,
            Attack::TakesNothing => takes_nothing(stream).await,
        }
    }
}

async fn sends(mut stream: TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.read_u8().await.map(drop)
}

async fn drips(mut stream: TcpStream, after: usize) -> io::Result<()> {
    let mut answer = [0; 4_096];
    for _ in 0..after {
        stream.write_all(&[ASKS, b"\r\n"].concat()).await?;
        if stream.read(&mut answer).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(&[ASKS, b"x: "].concat()).await?;
    loop {
        stream.write_all(b"x").await?;
        if let Ok(read) = timeout(Duration::from_millis(500), stream.read(&mut answer)).await {
            return read.map(drop);
        }
    }
}

async fn answers_pings(mut stream: TcpStream) -> io::Result<()> {
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    stream.write_all(ASKS_HTTP_2).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [_, high, low, kind, flags, ..] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        stream.read_exact(&mut payload).await?;
        match kind {
            SETTINGS if flags == 0 => stream.write_all(b"\0\0\0\x04\x01\0\0\0\0").await?,
            PING if flags == 0 => {
                stream.write_all(&[&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat()).await?;
            }
            _ => {}
        }
    }
}

async fn takes_nothing(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(&b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200)).await?;
    // Nothing shows from here that the service has closed it: another one is opened meanwhile.
    tokio::spawn(async move {
        sleep(TAKES_NOTHING_FOR).await;
        drop(stream);
    });
    sleep(Duration::from_secs(1)).await;
    Ok(())
}

/// Over a new connection.
async fn asks(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&[ASKS, b"connection: close\r\n\r\n"].concat()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_are_answered_while_an_attacker_opens_again_what_is_closed() {
    let settings = AppSettings { server: PLACES, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let address = app.base_url().trim_start_matches("http://").parse().expect("an address");
    for attack in [
        Attack::Sends(b""),
        Attack::Sends(b"PRI"),
        Attack::Drips { after: 0 },
        Attack::Drips { after: 1 },
        Attack::AnswersPings,
        Attack::TakesNothing,
    ] {
        let mut attackers = JoinSet::new();
        for _ in 0..ATTACKERS {
            attackers.spawn(async move {
                loop {
                    let _ = attack.holds(address).await;
                }
            });
        }
        sleep(Duration::from_secs(2)).await;
        let mut waits = Vec::new();
        for _ in 0..2 {
            let asked = Instant::now();
            let answer = timeout(PATIENCE, asks(address)).await;
            waits.push(asked.elapsed());
            let is_answered = matches!(answer, Ok(Ok(text)) if text.starts_with("HTTP/1.1 200 "));
            assert!(is_answered, "{attack:?}: {waits:?}");
        }
        attackers.shutdown().await;
    }
}
