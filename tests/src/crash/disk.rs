//! A small file system for one database, so that a test can fill it up.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Room for a round's database and its WAL; the test fills up the rest.
const SIZE: &str = "size=24m";
const BALLAST: &str = "ballast";

/// A mounted file system; unmounted when dropped.
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at `folder`. `None` if this process may not mount; `cargo xtask crash` gives itself that right.
    pub fn at(folder: &Path) -> Option<SmallDisk> {
        let _ = fs::create_dir_all(folder);
        let disk = SmallDisk(folder.to_path_buf());
        let mounted = run("mount", &["-t", "tmpfs", "-o", SIZE, "tmpfs"], folder);
        if !mounted {
            std::mem::forget(disk);
            return None;
        }
        Some(disk)
    }

    /// Fills up the disk to the last byte.
    pub fn fills_up(&self) {
        let Ok(mut ballast) = fs::File::create(self.0.join(BALLAST)) else { return };
        let block = vec![1; 1 << 16];
        while ballast.write_all(&block).is_ok() {}
        while ballast.write_all(&block[..1]).is_ok() {}
    }

    /// Frees the space again.
    pub fn empties(&self) {
        let _ = fs::remove_file(self.0.join(BALLAST));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A process that was just killed may still keep it busy for a moment.
        for _ in 0..50 {
            if run("umount", &[], &self.0) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
