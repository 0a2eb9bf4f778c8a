//! What somebody does who has the archive and nothing else: unpack, start, pay. In a root that holds the archive alone, with
//! loopback for a network.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::{command, output_of, run as run_command};

/// What every container has: three devices and a list of processes. Then only the archive is there.
const IN_EMPTY_ROOT: &str = r#"set -e
ip link set lo up
for device in null random urandom; do : > "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mount -t proc proc "$1/proc"
exec chroot "$1" "/$2/purser" dev --json --dir /state"#;

/// The archive's README has this line.
const IN_PYTHON: &str =
    r#". "$1"; PYTHONPATH=python python3 -B python/pay.py "$PURSER_PAYEE" 0.25 invoice-4711"#;

pub fn run(archive: &Path, root: &Path) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for folder in ["dev", "proc"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let begun = Instant::now();
    run_command(command("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(root))?;
    let name =
        archive.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".tar.gz"));
    let name = name.context("an archive ends in .tar.gz")?;
    let unpacked = begun.elapsed();

    let mut start = command("unshare");
    start.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", IN_EMPTY_ROOT, "sh"]);
    start.arg(root).arg(name).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let mut dev =
        Running(start.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot unshare")?);
    let mut line = String::new();
    BufReader::new(dev.0.stdout.take().context("it has no stdout")?).read_line(&mut line)?;
    let ready: Value =
        serde_json::from_str(&line).context("`purser dev` did not become ready; it needs root")?;
    let started = begun.elapsed();

    // Who pays need not be in the empty root, only on its network. First with the line that it prints for people to paste.
    let typed = |line: &str| {
        let mut pay = command("nsenter");
        pay.arg(format!("--net=/proc/{}/ns/net", dev.0.id())).args(["sh", "-ec", line, "sh"]);
        output_of(pay.arg(root.join("state/env")).current_dir(root.join(name)))
    };
    let paste = ready["curl"]["transfer"].as_str().context("it names no transfer to try")?;
    let paid: Value = serde_json::from_str(&typed(paste)?).context("the answer is not JSON")?;
    ensure!(paid["status"] == "settled", "the payment was not made: {paid}");
    let all = begun.elapsed();
    let python = typed(IN_PYTHON)?;
    ensure!(python.starts_with("settled "), "the payment in Python was not made: {python}");
    println!(
        "unpacked after {:.1} s, ready after {:.1} s, paid after {:.1} s, in Python after {:.1} s: {paid}",
        unpacked.as_secs_f32(),
        started.as_secs_f32(),
        all.as_secs_f32(),
        begun.elapsed().as_secs_f32()
    );
    Ok(())
}

/// Ends, and everything in its root with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
