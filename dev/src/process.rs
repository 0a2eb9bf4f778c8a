//! A child process that prints one line of JSON when it is ready, and never outlives this process.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a child may take to end by itself before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const LOG_TAIL_LINES: usize = 15;

pub struct Process {
    name: &'static str,
    child: Child,
    log_path: PathBuf,
    lines: Receiver<String>,
    /// Open as long as we live; a child started with `--exit-with-stdin` ends when it closes, even after a kill -9.
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts `command`; its stderr, and later its stdout, go to `log_path`.
    ///
    /// It gets a process group of its own, so that Ctrl-C on a terminal reaches us alone and we end the children in order.
    pub fn start(name: &'static str, mut command: Command, log_path: &Path) -> Result<Self> {
        let mut log =
            File::create(log_path).with_context(|| format!("cannot write {}", log_path.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone()?).process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().with_context(|| format!("{name} has no stdout"))?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A failing log must not leave the child blocked on a full pipe.
                let _ = writeln!(log, "{line}");
                let _ = sender.send(line);
            }
        });
        Ok(Self { name, child, log_path: log_path.to_path_buf(), lines, stdin })
    }

    /// The first line of stdout that is JSON and has `field`.
    pub fn ready(&mut self, field: &str, timeout: Duration, stop: &AtomicBool) -> Result<Value> {
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            if stop.load(Ordering::Relaxed) {
                bail!("stopped while {} was starting", self.name);
            }
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => match serde_json::from_str::<Value>(&line) {
                    Ok(value) if value.get(field).is_some() => return Ok(value),
                    Ok(_) | Err(_) => {}
                },
                Err(RecvTimeoutError::Timeout) => self.ensure_alive()?,
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(POLL_INTERVAL);
                    self.ensure_alive()?;
                }
            }
        }
        bail!("{} was not ready within {} s{}", self.name, timeout.as_secs(), self.log_tail())
    }

    pub fn ensure_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}){}", self.name, self.log_tail()),
        }
    }

    /// Asks the child to end and waits for it; kills it if it does not.
    pub fn stop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        if let Ok(raw) = i32::try_from(self.child.id())
            && let Some(pid) = Pid::from_raw(raw)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log_path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
        format!("; the log {} ends:\n{}", self.log_path.display(), tail.join("\n"))
    }
}

/// Runs a command to its end and returns its stdout. Its stderr only appears in the error.
pub fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let log = String::from_utf8_lossy(&output.stderr);
        bail!("{name} {} failed ({})\n{}", words.join(" "), output.status, log.trim_end());
    }
    Ok(String::from_utf8(output.stdout)?)
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// On Linux the kernel ends the child if we die without a chance to.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe system call, without allocating.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, log: &Path) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("the child", command, log).expect("sh starts")
    }

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn ready_line_is_found_among_other_output() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = shell(
            r#"echo hello; echo '{"other":1}'; echo '{"url":"here"}'; sleep 60"#,
            &folder.path().join("log"),
        );
        let ready = child.ready("url", SOON, &AtomicBool::new(false)).unwrap();
        assert_eq!(ready["url"], "here");
        child.ensure_alive().unwrap();
    }

    #[test]
    fn child_that_ends_early_is_reported_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = shell("echo no such thing >&2; exit 3", &folder.path().join("log"));
        let error = child.ready("url", SOON, &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("no such thing"), "{error}");
    }

    #[test]
    fn stop_asks_before_it_kills() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut child =
            shell(r#"trap 'echo bye >&2; exit 0' TERM; echo '{"up":1}'; while :; do sleep 0.05; done"#, &log);
        child.ready("up", SOON, &AtomicBool::new(false)).unwrap();
        child.stop();
        assert!(child.ensure_alive().is_err());
        assert!(fs::read_to_string(&log).unwrap().contains("bye"));
    }

    #[test]
    fn signal_ends_the_wait_for_a_child() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = shell("sleep 60", &folder.path().join("log"));
        let started = Instant::now();
        assert!(child.ready("url", SOON, &AtomicBool::new(true)).is_err());
        assert!(started.elapsed() < SOON);
    }
}
