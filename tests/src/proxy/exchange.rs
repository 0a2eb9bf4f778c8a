//! As much HTTP/1.1 as JSON-RPC needs: a head, a length, a body.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

/// The largest accepted body.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);

/// A request or an answer, read completely.
pub(super) struct Message {
    pub body: Vec<u8>,
}

/// The next message of a connection; `None` at its end.
pub(super) fn read_message(reader: &mut impl BufRead) -> io::Result<Option<Message>> {
    let (mut length, mut chunked, mut lines) = (0, false, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() && lines > 0 {
            break;
        }
        lines += 1;
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        } else if let Some(value) = line.strip_prefix("transfer-encoding:") {
            chunked = value.contains("chunked");
        }
    }
    let body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    Ok(Some(Message { body }))
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let length = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        body.extend(read_exactly(reader, length)?);
        reader.read_line(&mut size)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_BYTES_MAX {
        return Err(io::Error::other("body too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// A 200 answer with this JSON.
pub(super) fn response(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// An error answer, as load balancers send them.
pub(super) fn failure(status: u16) -> Vec<u8> {
    format!("HTTP/1.1 {status} No\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>").into_bytes()
}

/// A provider's answer with this status and this JSON-RPC error code.
pub(super) fn refusal(status: u16, code: i64) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": "not from here" } })
        .to_string();
    let head = format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// Makes the connection end with a reset instead of an orderly close.
pub(super) fn resets(stream: &TcpStream) {
    // Closing with unread data makes the kernel send a reset; this always does.
    let _ = socket_lingers_not(stream);
}

#[cfg(unix)]
fn socket_lingers_not(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_linger(Some(Duration::ZERO))
}

/// A keep-alive connection to the network.
pub(super) struct Upstream {
    target: String,
    kept: Option<BufReader<TcpStream>>,
}

impl Upstream {
    pub fn new(target: &str) -> Upstream {
        Upstream { target: target.to_owned(), kept: None }
    }

    /// The body of the network's answer; `None` if the network cannot be reached.
    pub fn asks(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        // The network may have closed a kept connection meanwhile: retry once on a new one.
        self.tries(body).or_else(|| self.tries(body))
    }

    fn tries(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut connection = match self.kept.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(&self.target).ok()?;
                stream.set_nodelay(true).ok()?;
                stream.set_read_timeout(Some(NETWORK_TIMEOUT)).ok()?;
                BufReader::new(stream)
            }
        };
        let length = body.len();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.target
        );
        connection.get_mut().write_all(&[head.as_bytes(), body].concat()).ok()?;
        let answer = read_message(&mut connection).ok()??;
        self.kept = Some(connection);
        Some(answer.body)
    }
}
