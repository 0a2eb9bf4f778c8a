//! The gate before JSON-RPC and its websocket. Any page in a browser on this machine can reach a local port: one of another site may read
//! the chain, as explorers and the page of `purser audit` do, and change nothing; one that got here by a name of its own (DNS rebinding)
//! gets nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use serde::Deserialize;
use solana_keypair::Keypair;
use solana_signer::Signer;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy, sink};
use tokio::net::TcpStream;

use crate::error::{Context, Result};

const HEAD_BYTES_MAX: u64 = 16 * 1024;
/// Of a call by another site's page, which is read before it is passed on.
const FOREIGN_BODY_BYTES_MAX: u64 = 1024 * 1024;
/// How long a refused client may go on sending.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(1);

/// Where a request's page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// No page, or one that this machine serves.
    Local,
    /// Any other.
    Foreign,
}

/// What is behind a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// Calls, one after another.
    Calls(SocketAddr),
    /// One request, and then subscriptions, which only read.
    Subscriptions(SocketAddr),
}

/// Why a request is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Malformed,
    LengthRequired,
    TooLarge,
    ForeignHost,
    ForeignPage,
}

impl Refusal {
    fn answer(self) -> String {
        let (status, message) = match self {
            Self::Malformed => ("400 Bad Request", "This is no request that the network reads."),
            Self::LengthRequired => ("411 Length Required", "Send a Content-Length."),
            Self::TooLarge => ("413 Content Too Large", "The call is too large."),
            Self::ForeignHost => {
                ("403 Forbidden", "Ask at localhost or 127.0.0.1: other host names are refused.")
            }
            Self::ForeignPage => {
                ("403 Forbidden", "A page of another site may only read: it called another method.")
            }
        };
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{message}",
            message.len()
        )
    }
}

/// Says where a request comes from, by its headers `Host` and `Origin`.
pub fn origin(host: Option<&str>, origin: Option<&str>) -> std::result::Result<Origin, Refusal> {
    if !host.is_some_and(is_local) {
        return Err(Refusal::ForeignHost);
    }
    let Some(origin) = origin else { return Ok(Origin::Local) };
    let served = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    Ok(if served.is_some_and(is_local) { Origin::Local } else { Origin::Foreign })
}

/// Whether `localhost` or a loopback address is named, with or without a port.
fn is_local(authority: &str) -> bool {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (name, port) = match bracketed {
        Some((name, "")) => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix(':').unwrap_or("no port"))),
        None => authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port))),
    };
    let is_loopback = match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() && bracketed.is_none(),
        Ok(IpAddr::V6(address)) => address.is_loopback() && bracketed.is_some(),
        Err(_) => name.eq_ignore_ascii_case("localhost") && bracketed.is_none(),
    };
    is_loopback && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// What follows a request's head.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    origin: Origin,
    body_bytes: u64,
}

impl Head {
    fn read(bytes: &[u8]) -> std::result::Result<Self, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refusal::Malformed)?;
        let lines = text.strip_suffix("\r\n\r\n").ok_or(Refusal::Malformed)?.split("\r\n").skip(1);
        let (mut host, mut page, mut length) = (None, None, None);
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(Refusal::Malformed)?;
            if name.is_empty()
                || !name.bytes().all(|byte| byte.is_ascii_graphic())
                || value.contains(['\r', '\n'])
            {
                return Err(Refusal::Malformed);
            }
            let field = match name.to_ascii_lowercase().as_str() {
                "host" => &mut host,
                "origin" => &mut page,
                "content-length" => &mut length,
                "transfer-encoding" => return Err(Refusal::LengthRequired),
                _ => continue,
            };
            if field.replace(value.trim()).is_some() {
                return Err(Refusal::Malformed);
            }
        }
        let origin = origin(host, page)?;
        let digits = length.unwrap_or("0");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refusal::Malformed);
        }
        let body_bytes = digits.parse().map_err(|_| Refusal::TooLarge)?;
        Ok(Self { origin, body_bytes })
    }
}

/// Whether calls only read, one or several of them. An empty body calls nothing.
fn only_reads(body: &[u8]) -> bool {
    // One call with two methods is no such value.
    #[derive(Deserialize)]
    struct Call {
        method: String,
    }
    let reads = |call: &Call| {
        call.method
            .strip_prefix("get")
            .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_uppercase()))
    };
    match serde_json::from_slice::<Vec<Call>>(body) {
        Ok(calls) => calls.iter().all(reads),
        Err(_) => body.is_empty() || serde_json::from_slice(body).is_ok_and(|call| reads(&call)),
    }
}

/// An address of this machine that no page can find: of 16 million, where the system has them.
pub fn hidden_host() -> Ipv4Addr {
    let [a, b, c, ..] = Keypair::new().pubkey().to_bytes();
    let hidden = Ipv4Addr::new(127, a, b, c.clamp(1, 254));
    if TcpListener::bind((hidden, 0)).is_ok() { hidden } else { Ipv4Addr::LOCALHOST }
}

/// Passes requests from `listener` on to `inside`, until the process ends.
pub fn open(listener: TcpListener, inside: Inside) -> Result<()> {
    listener.set_nonblocking(true).context("cannot listen")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start")?;
    let serve = move || {
        runtime.block_on(async {
            let listener = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(error) => return eprintln!("error: the gate: {error}"),
            };
            loop {
                match listener.accept().await {
                    Ok((client, _)) => drop(tokio::spawn(pass(client, inside))),
                    // Out of files, for example.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
    };
    std::thread::Builder::new().name("gate".into()).spawn(serve).context("cannot start a thread")?;
    Ok(())
}

/// Serves one connection.
async fn pass(client: TcpStream, behind: Inside) -> io::Result<()> {
    let inside = match behind {
        Inside::Calls(address) | Inside::Subscriptions(address) => TcpStream::connect(address).await?,
    };
    client.set_nodelay(true)?;
    inside.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (mut from_inside, mut to_inside) = inside.into_split();
    let mut from_client = BufReader::new(from_client);
    let asked = {
        let mut answers = std::pin::pin!(copy(&mut from_inside, &mut to_client));
        tokio::select! {
            ended = &mut answers => return ended.map(drop),
            asked = requests(&mut from_client, &mut to_inside, behind) => match asked? {
                Ok(()) => {
                    to_inside.shutdown().await?;
                    return answers.await.map(drop);
                }
                Err(refusal) => refusal,
            },
        }
    };
    to_client.write_all(asked.answer().as_bytes()).await?;
    to_client.shutdown().await?;
    // What is not read would take the answer away.
    let mut rest = from_client.take(FOREIGN_BODY_BYTES_MAX);
    let _ = tokio::time::timeout(REFUSED_TIMEOUT, copy(&mut rest, &mut sink())).await;
    Ok(())
}

/// Passes requests on, one after another, until the client sends no more or one is refused.
async fn requests(
    client: &mut (impl AsyncBufRead + Unpin),
    inside: &mut (impl AsyncWriteExt + Unpin),
    behind: Inside,
) -> io::Result<std::result::Result<(), Refusal>> {
    loop {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            let left = HEAD_BYTES_MAX.saturating_sub(bytes.len() as u64);
            if (&mut *client).take(left).read_until(b'\n', &mut bytes).await? == 0 {
                return Ok(if bytes.is_empty() { Ok(()) } else { Err(Refusal::Malformed) });
            }
        }
        let head = match Head::read(&bytes) {
            Ok(head) => head,
            Err(refusal) => return Ok(Err(refusal)),
        };
        match (behind, head.origin) {
            (Inside::Subscriptions(_), Origin::Local | Origin::Foreign) => {
                inside.write_all(&bytes).await?;
                copy(client, inside).await?;
                return Ok(Ok(()));
            }
            (Inside::Calls(_), Origin::Local) => {
                inside.write_all(&bytes).await?;
                copy(&mut (&mut *client).take(head.body_bytes), inside).await?;
            }
            (Inside::Calls(_), Origin::Foreign) if head.body_bytes > FOREIGN_BODY_BYTES_MAX => {
                return Ok(Err(Refusal::TooLarge));
            }
            (Inside::Calls(_), Origin::Foreign) => {
                let mut body = Vec::new();
                (&mut *client).take(head.body_bytes).read_to_end(&mut body).await?;
                if !only_reads(&body) {
                    return Ok(Err(Refusal::ForeignPage));
                }
                inside.write_all(&bytes).await?;
                inside.write_all(&body).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_of_this_machine_alone_are_local() {
        for host in [
            "localhost",
            "LOCALHOST:8899",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.9.8.7:65535",
            "[::1]:80",
            "[::1]",
        ] {
            assert_eq!(origin(Some(host), None), Ok(Origin::Local), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example:8899",
            "evil.example:127.0.0.1",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "localhost:",
            "localhost:99999",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "::1",
            "[127.0.0.1]",
            "[::1]x",
            "[localhost]",
            "2130706433",
            "localhost ",
            "localhost.",
        ] {
            assert_eq!(origin(Some(host), None), Err(Refusal::ForeignHost), "{host}");
        }
        assert_eq!(origin(None, None), Err(Refusal::ForeignHost));
    }

    #[test]
    fn pages_of_this_machine_are_local_and_all_others_foreign() {
        let of = |page| origin(Some("127.0.0.1:8899"), Some(page));
        for page in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173"] {
            assert_eq!(of(page), Ok(Origin::Local), "{page}");
        }
        for page in [
            "null",
            "",
            "https://evil.example",
            "http://localhost.evil.example",
            "file://localhost",
            "localhost",
        ] {
            assert_eq!(of(page), Ok(Origin::Foreign), "{page}");
        }
        // Rebound: the page's own name leads here, and it asks its own origin.
        let rebound = origin(Some("evil.example:8899"), Some("http://evil.example:8899"));
        assert_eq!(rebound, Err(Refusal::ForeignHost));
    }

    #[test]
    fn pages_of_other_sites_only_read() {
        let reads = |body: &str| only_reads(body.as_bytes());
        assert!(reads(""));
        assert!(reads(r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["a"]}"#));
        assert!(reads(r#"[{"method":"getSlot"},{"method":"getBlockTime"}]"#));
        for body in [
            r#"{"method":"surfnet_resetNetwork"}"#,
            r#"{"method":"\u0073urfnet_timeTravel"}"#,
            r#"{"method":"sendTransaction"}"#,
            r#"{"method":"requestAirdrop"}"#,
            r#"[{"method":"getSlot"},{"method":"surfnet_setAccount"}]"#,
            r#"{"method":"getSlot","method":"surfnet_setAccount"}"#,
            r#"{"method":"get_surfnet"}"#,
            r#"{"method":7}"#,
            "[[]]",
            "getSlot",
        ] {
            assert!(!reads(body), "{body}");
        }
    }

    #[test]
    fn head_that_can_be_read_in_two_ways_is_refused() {
        let read = |lines: &str| Head::read(format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n").as_bytes());
        assert_eq!(
            read("Host: localhost\r\nContent-Length: 12"),
            Ok(Head { origin: Origin::Local, body_bytes: 12 })
        );
        for lines in [
            "host: localhost\r\nhost: localhost",
            "host: localhost\r\ncontent-length: 1\r\ncontent-length: 2",
            "host: localhost\r\ncontent-length: +1",
            "host: localhost\r\ncontent-length:",
            "host: localhost\nx: y",
            "host: localhost\r\n folded: x",
            "host : localhost",
            "host: localhost\r\norigin: null\r\nOrigin: http://localhost",
        ] {
            assert_eq!(read(lines), Err(Refusal::Malformed), "{lines}");
        }
        assert_eq!(read("host: localhost\r\nTransfer-Encoding: chunked"), Err(Refusal::LengthRequired));
        assert_eq!(read("accept: */*"), Err(Refusal::ForeignHost));
    }
}
