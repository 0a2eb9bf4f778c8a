//! What is logged, and how: to stderr, one line for each event, whatever its fields hold.

use std::io::{self, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use purser_base::traces::{self, Traces};

/// From this level on; `PURSER_LOG` takes the filters of tracing-subscriber. With `PURSER_LOG_FORMAT=json`, each line is
/// an object whose `span` names the request that it belongs to.
pub fn start(level: &str, traces: Option<&Traces>) {
    let filter = EnvFilter::try_from_env("PURSER_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // Step spans are for traces; a line logged within one belongs to the request.
    let filter = match format!("{}=off", traces::STEP).parse() {
        Ok(without_steps) => filter.add_directive(without_steps),
        Err(_) => filter,
    };
    let terminal = io::IsTerminal::is_terminal(&io::stderr());
    let log = tracing_subscriber::fmt::layer().with_writer(Lines { to: io::stderr, is_colored: terminal });
    let log = if std::env::var_os("PURSER_LOG_FORMAT").is_some_and(|format| format == "json") {
        log.json().flatten_event(true).with_span_list(false).boxed()
    } else {
        log.with_ansi(terminal).boxed()
    };
    tracing_subscriber::registry()
        .with(log.with_filter(filter.and(filter_fn(may_be_logged))))
        .with(traces.map(Traces::layer))
        .init();
}

/// Whether it may be logged, whatever `PURSER_LOG` asks for. At `trace` libraries log whole messages, with what clients sent; that of
/// MCP does in its spans as well.
fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let most = if target.starts_with("purser") {
        Level::TRACE
    } else if target.starts_with("rmcp") {
        Level::WARN
    } else {
        Level::DEBUG
    };
    *metadata.level() <= most
}

/// Keeps each event on one line: clients choose what stands in some fields, and must not write lines that look like ours.
struct Lines<M> {
    to: M,
    /// Whether tracing-subscriber writes colors. It escapes those in fields itself.
    is_colored: bool,
}

/// Takes one event at a time, as tracing-subscriber writes them.
struct Line<W> {
    to: W,
    is_colored: bool,
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Lines<M> {
    type Writer = Line<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { to: self.to.make_writer(), is_colored: self.is_colored }
    }
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        self.to.write_all((escaped(line, self.is_colored) + "\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Control characters and line separators, written as JSON writes them.
pub(super) fn escaped(line: &str, is_colored: bool) -> String {
    let mut escaped = String::with_capacity(line.len() + 1);
    for letter in line.chars() {
        match letter {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{1b}' if is_colored => escaped.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const FORGED: &str = "1\n2026-11-24T00:00:00Z  INFO purser: paid\r\u{1b}[2K\u{85}\u{2028}end";

    fn logged(is_json: bool) -> String {
        let written = Written::default();
        let to = written.clone();
        let log = tracing_subscriber::fmt::layer().with_ansi(false);
        let log = log.with_writer(Lines { to: move || to.clone(), is_colored: false });
        let log = if is_json { log.json().flatten_event(true).boxed() } else { log.boxed() };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
            let span = tracing::error_span!("request", id = FORGED);
            let _entered = span.enter();
            tracing::error!(shown = %FORGED, debugged = ?FORGED, "a message with {FORGED}");
        });
        let bytes = written.0.lock().clone();
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn no_library_logs_messages_whole() {
        let written = Written::default();
        let to = written.clone();
        let log = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || to.clone());
        let filter = EnvFilter::new("trace,rmcp=trace").and(filter_fn(may_be_logged));
        tracing::subscriber::with_default(
            tracing_subscriber::registry().with(log.with_filter(filter)),
            || {
                let span = tracing::info_span!(target: "rmcp::service", "call", id = "a secret");
                let _entered = span.enter();
                tracing::trace!(target: "rmcp::service", "a secret");
                tracing::debug!(target: "rmcp::transport", "a secret");
                tracing::trace!(target: "tungstenite::protocol", "a secret");
                tracing::trace!(target: "hyper::proto", "a secret");
                tracing::warn!(target: "rmcp::service", "a session ended");
                tracing::debug!(target: "hyper::proto", "a connection ended");
                tracing::trace!(target: "purser_chain", "a read");
            },
        );
        let text = String::from_utf8(written.0.lock().clone()).expect("UTF-8");
        assert!(!text.contains("secret"), "{text}");
        for kept in ["a session ended", "a connection ended", "a read"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_its_fields_hold() {
        for is_json in [false, true] {
            let text = logged(is_json);
            let line = text.strip_suffix('\n').expect("a line ends");
            assert!(!line.contains(|letter: char| letter.is_control() || letter == '\u{2028}'), "{line:?}");
            assert!(line.contains("end"), "{line}");
            if is_json {
                let event: serde_json::Value = serde_json::from_str(line).expect("still JSON");
                assert_eq!(event["shown"], FORGED);
            }
        }
    }
}
