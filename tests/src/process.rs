//! A child process that cannot outlive the tests, however they end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Starts the program, prints its process id, and kills it when our end of the pipe closes: on drop, on panic, on kill -9.
/// Then it removes the folder, if it was given one: Rust never drops folders that a `static` owns.
/// `PURSER_TEST_FILES` limits how many files the program may have open, `PURSER_TEST_SOFT_FILES` how many until it asks for more.
const GUARD: &str = r#"ulimit -c 0; [ -z "$PURSER_TEST_FILES" ] || ulimit -n "$PURSER_TEST_FILES"; [ -z "$PURSER_TEST_SOFT_FILES" ] || ulimit -S -n "$PURSER_TEST_SOFT_FILES"; "$@" 2>>"$PURSER_TEST_LOG" & child=$!; echo $child; exec >&-; cat >/dev/null
kill -9 $child; wait $child; [ -z "$PURSER_TEST_SWEEP" ] || rm -rf "$PURSER_TEST_SWEEP""#;

/// A running program with its process id, its standard output by lines, and a log file of its standard error.
pub struct Process {
    pid: u32,
    lines: Mutex<Receiver<String>>,
    log: PathBuf,
    guard: Child,
    lifeline: Option<ChildStdin>,
}

impl Process {
    /// Starts `program` with `arguments`. Its standard error goes to `log`; `sweep` is a folder to remove after it ends.
    pub fn start(program: &Path, arguments: &[&str], log: &Path, sweep: Option<&Path>) -> Process {
        Process::start_with(program, arguments, &[], log, sweep)
    }

    /// As `start`, with additional environment variables.
    pub fn start_with(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, String)],
        log: &Path,
        sweep: Option<&Path>,
    ) -> Process {
        let mut guard = Command::new("sh")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .args(["-c", GUARD, "guard"])
            .arg(program)
            .args(arguments)
            .env("PURSER_TEST_LOG", log)
            .env("PURSER_TEST_SWEEP", sweep.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let lifeline = guard.stdin.take();
        let mut output = BufReader::new(guard.stdout.take().expect("standard output is piped"));
        let mut first = String::new();
        output.read_line(&mut first).expect("the guard says the process id");
        let pid = first.trim().parse().expect("the guard's first line is a process id");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Process { pid, lines: Mutex::new(lines), log: log.to_path_buf(), guard, lifeline }
    }

    /// The process id of the program itself.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The first JSON line with `field` on standard output; panics with the end of the log when it does not come in time.
    pub fn says(&self, field: &str, timeout: Duration) -> Value {
        self.may_say(field, timeout).unwrap_or_else(|| {
            panic!("no {field:?} on standard output within {timeout:?}; the log ends:\n{}", self.log_tail())
        })
    }

    /// The first JSON line with `field` on standard output; `None` when it does not come in time or the program ends.
    pub fn may_say(&self, field: &str, timeout: Duration) -> Option<Value> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(left).ok()?;
            if let Ok(value) = serde_json::from_str::<Value>(&line)
                && value.get(field).is_some()
            {
                return Some(value);
            }
        }
    }

    /// The first line of standard output with this text; panics with the end of the log when it does not come in time.
    pub fn prints(&self, text: &str, timeout: Duration) -> String {
        let deadline = Instant::now() + timeout;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(_) => {
                    panic!("it did not print {text:?} within {timeout:?}; the log ends:\n{}", self.log_tail())
                }
            }
        }
    }

    /// True when the program has ended by itself.
    pub fn has_ended(&self) -> bool {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match lines.try_recv() {
                Ok(_) => {}
                Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => return false,
            }
        }
    }

    /// Asks the program to stop, as a service manager does, and does not wait.
    pub fn begins_to_stop(&self) {
        self.signals("-TERM");
    }

    pub(crate) fn signals(&self, signal: &str) {
        let asked = Command::new("kill").args([signal, &self.pid.to_string()]).status();
        assert!(asked.is_ok_and(|status| status.success()), "the program can be signalled");
    }

    /// Kills the program at once, as a crash would, and waits until it is gone.
    pub fn dies(mut self) {
        self.end();
    }

    /// Asks the program to stop, as a service manager does, and waits for its end. False when it did not end in time.
    pub fn stops(self, within: Duration) -> bool {
        self.begins_to_stop();
        self.ends(within)
    }

    /// Waits for the program's end. False when it does not end in time.
    pub fn ends(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    /// All of the standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of the standard error.
    pub fn log_tail(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    fn end(&mut self) {
        drop(self.lifeline.take());
        let _ = self.guard.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("{}", self.log_tail());
        }
    }
}
