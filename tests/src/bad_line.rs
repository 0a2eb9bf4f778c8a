//! A line between a client and a relayer that cuts, delays and answers for the relayer at random.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::random::Random;

/// Longest that a request or an answer is held.
const DELAY_MS_MAX: u64 = 1_500;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    None,
    /// The connection ends before the relayer has the request.
    CutBefore,
    /// The relayer answers, and nothing of it arrives.
    CutAfter,
    /// The relayer answers, and a part of it arrives.
    CutWithin,
    LateRequest,
    LateAnswer,
    /// Somebody on the way answers.
    Refused(u16),
}

impl Trouble {
    /// Half of all requests go well.
    const ALL: [Trouble; 24] = [
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::None,
        Trouble::CutBefore,
        Trouble::CutAfter,
        Trouble::CutWithin,
        Trouble::LateRequest,
        Trouble::LateAnswer,
        Trouble::Refused(200),
        Trouble::Refused(403),
        Trouble::Refused(404),
        Trouble::Refused(413),
        Trouble::Refused(429),
        Trouble::Refused(503),
        Trouble::Refused(504),
    ];
}

/// Forwards HTTP/1.1 whose messages have a length, on a port of its own.
pub struct BadLine {
    address: SocketAddr,
    line: Arc<Line>,
}

struct Line {
    target: String,
    state: Mutex<(Random, BTreeMap<Trouble, u64>)>,
}

impl BadLine {
    /// A line to the host and port of an `http://` address.
    pub fn to(url: &str, seed: u64) -> BadLine {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let target = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let state = Mutex::new((Random::from(seed), BTreeMap::new()));
        let line = Arc::new(Line { target, state });
        let accepted = Arc::clone(&line);
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                let line = Arc::clone(&accepted);
                thread::spawn(move || line.serves(&incoming));
            }
        });
        BadLine { address, line }
    }

    /// The address to give to the client.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often each happened.
    pub fn happened(&self) -> BTreeMap<Trouble, u64> {
        self.line.state().1.clone()
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, (Random, BTreeMap<Trouble, u64>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens next, and a random number for how much of it.
    fn draws(&self) -> (Trouble, u64) {
        let (random, happened) = &mut *self.state();
        let trouble = random.one_of(&Trouble::ALL).unwrap_or(Trouble::None);
        *happened.entry(trouble).or_default() += 1;
        (trouble, random.draw())
    }

    /// Serves one connection until either side ends it.
    fn serves(&self, mut incoming: &TcpStream) -> io::Result<()> {
        incoming.set_nodelay(true)?;
        let mut reader = BufReader::new(incoming);
        while let Some(request) = read_message(&mut reader)? {
            let (trouble, much) = self.draws();
            let delay = || thread::sleep(Duration::from_millis(much % DELAY_MS_MAX));
            match trouble {
                Trouble::CutBefore => return Ok(()),
                Trouble::Refused(status) => {
                    incoming.write_all(refusal(status, much).as_bytes())?;
                    continue;
                }
                Trouble::LateRequest => delay(),
                Trouble::None | Trouble::CutAfter | Trouble::CutWithin | Trouble::LateAnswer => {}
            }
            let mut relayer = TcpStream::connect(&self.target)?;
            relayer.write_all(&request)?;
            let Some(answer) = read_message(&mut BufReader::new(&relayer))? else { return Ok(()) };
            match trouble {
                Trouble::CutAfter => return Ok(()),
                Trouble::CutWithin => {
                    let part = usize::try_from(much % answer.len() as u64).unwrap_or_default();
                    return incoming.write_all(&answer[..part]);
                }
                Trouble::LateAnswer => delay(),
                Trouble::None | Trouble::CutBefore | Trouble::LateRequest | Trouble::Refused(_) => {}
            }
            incoming.write_all(&answer)?;
        }
        Ok(())
    }
}

/// As the service answers 429, and as somebody on the way answers the others.
fn refusal(status: u16, much: u64) -> String {
    let (kind, body) = match status {
        429 => ("application/json", r#"{"error":"rate_limited","message":"Too many.","request_id":"req_1"}"#),
        200 => ("application/json", "{}"),
        _ => ("text/html", "<html>Try again.</html>"),
    };
    let (seconds, length) = (much % 2, body.len());
    format!(
        "HTTP/1.1 {status} No\r\nretry-after: {seconds}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// The next message, byte by byte; `None` at the end of the connection.
fn read_message(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let (mut message, mut length) = (Vec::new(), 0);
    loop {
        let begins = message.len();
        if reader.read_until(b'\n', &mut message)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&message[begins..]).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    message.extend(body);
    Ok(Some(message))
}
