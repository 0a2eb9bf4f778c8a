//! HTTP requests that the stand-ins for third-party services receive.

use std::collections::HashMap;
use std::io::BufRead;

/// A request as received.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// The raw body.
    pub body: Vec<u8>,
}

impl Request {
    /// The next request of a connection; `None` at its end.
    pub fn next_of(connection: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = HashMap::new();
        loop {
            line.clear();
            connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        connection.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }
}
