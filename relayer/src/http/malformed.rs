//! Requests that are not HTTP, or whose head is too long. hyper answers them itself, with a status and no body, before our code
//! runs. Every answer of ours has an id, so an answer without one is hyper's: it is replaced on its way out by one with our error
//! body. Over HTTP/2 such a request ends its stream and has no answer to replace.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::dress::every_answers_headers;
use super::error::{ApiError, ErrorAnswer};
use super::request_id::RequestId;

/// How much of a refused request is still read, so that the client gets to read why.
const LEFT_BYTES_MAX: usize = 1024 * 1024;

/// A connection that gives hyper's bare refusals a body.
pub(super) struct RewordingStream<S> {
    stream: S,
    /// The refusal still to be written, in place of `replaces` bytes of hyper's.
    refusal: Option<BufferedRefusal>,
    /// How much may still be read after a refusal; 0 without one.
    left: usize,
}

struct BufferedRefusal {
    bytes: Vec<u8>,
    written: usize,
    replaces: usize,
}

impl<S> RewordingStream<S> {
    pub const fn new(stream: S) -> Self {
        Self { stream, refusal: None, left: 0 }
    }
}

impl<S: AsyncWrite + Unpin> RewordingStream<S> {
    /// Writes the refusal to its end, and returns how many of hyper's bytes it replaces.
    fn poll_refusal(
        &mut self,
        context: &mut Context<'_>,
        mut refusal: BufferedRefusal,
    ) -> Poll<io::Result<usize>> {
        while let Some(rest) = refusal.bytes.get(refusal.written..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => refusal.written += count,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.refusal = Some(refusal);
                    return Poll::Pending;
                }
            }
        }
        self.left = LEFT_BYTES_MAX;
        Poll::Ready(Ok(refusal.replaces))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RewordingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RewordingStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.refusal.take().or_else(|| reword(bytes)) {
            Some(refusal) => self.poll_refusal(context, refusal),
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        match self.refusal.take().or_else(|| reword(first?)) {
            Some(refusal) => self.poll_refusal(context, refusal),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closing a connection with unread bytes resets it, and the client may lose an answer that it has not read yet.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        let mut bytes = [0; 8 * 1024];
        while self.left > 0 {
            let mut into = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut into))?;
            let read = into.filled().len();
            self.left = if read == 0 { 0 } else { self.left.saturating_sub(read) };
        }
        Poll::Ready(Ok(()))
    }
}

/// Our answer in place of one that hyper gave itself.
fn reword(bytes: &[u8]) -> Option<BufferedRefusal> {
    let head = bytes.strip_prefix(b"HTTP/1.")?;
    let (error, line) = match head.get(2..5)? {
        b"400" => (ApiError::MalformedHead, "HTTP/1.1 400 Bad Request"),
        b"431" => (ApiError::HeadTooLarge, "HTTP/1.1 431 Request Header Fields Too Large"),
        _ => return None,
    };
    // A bare head and nothing else. Our own bodies never contain such lines.
    let text = std::str::from_utf8(bytes).ok()?;
    if !text.ends_with("\r\n\r\n")
        || !text.contains("\r\ncontent-length: 0\r\n")
        || text.contains("x-request-id")
    {
        return None;
    }
    let id = RequestId::generate();
    let mut headers = HeaderMap::new();
    every_answers_headers(&mut headers, id);
    let body = ErrorAnswer::of(error).into_json(id);
    let mut answer = format!(
        "{line}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in &headers {
        answer.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
    }
    for kept in text.lines().filter(|line| line.starts_with("date: ")) {
        answer.push_str(&format!("{kept}\r\n"));
    }
    tracing::info!(request_id = %id, answer = line, "refused a malformed request");
    let bytes = [answer.as_bytes(), b"\r\n", &body].concat();
    Some(BufferedRefusal { bytes, written: 0, replaces: text.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str =
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";

    #[test]
    fn a_bare_refusal_gets_a_body_and_nothing_else_does() {
        let refusal = reword(BARE.as_bytes()).expect("bare");
        let text = String::from_utf8(refusal.bytes).expect("text");
        assert_eq!(refusal.replaces, BARE.len());
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n") && text.contains("\r\ndate: Thu, 01 Jan"));
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!((&body["error"], &body["param"]), (&"invalid_request".into(), &"head".into()));
        let id = body["request_id"].as_str().expect("an id");
        assert!(head.contains(&format!("x-request-id: {id}")));

        let long = BARE.replace("400 Bad Request", "431 Request Header Fields Too Large");
        assert!(reword(long.as_bytes()).is_some());
        let ours = BARE.replace("date:", "x-request-id: req_1\r\ndate:");
        let well = BARE.replace("400 Bad Request", "200 OK");
        let with_body = format!("{BARE}{{}}");
        for other in [ours.as_str(), &well, &with_body, "", "{\"a\":\"HTTP/1.1 400 Bad Request\"}"] {
            assert!(reword(other.as_bytes()).is_none(), "{other}");
        }
    }
}
