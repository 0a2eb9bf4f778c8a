//! CPU time and memory, as Linux counts them; `None` if there is no `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// One tick of `/proc/*/stat`: every Linux architecture shows 100 a second.
const TICK: Duration = Duration::from_millis(10);

/// CPU time of a process so far, system calls included.
pub fn cpu_of_process(pid: u32) -> Option<Duration> {
    cpu_in(&Path::new("/proc").join(pid.to_string()))
}

/// CPU time so far of all processes with this name.
pub fn cpu_of_programs(name: &str) -> Option<Duration> {
    let processes = fs::read_dir("/proc").ok()?.map_while(Result::ok).map(|process| process.path());
    let named = processes
        .filter(|process| fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.trim() == name));
    Some(named.filter_map(|process| cpu_in(&process)).sum())
}

/// CPU time so far of this process's threads with that name.
pub fn cpu_of_threads(name: &str) -> Option<Duration> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.map_while(Result::ok);
    let named = tasks
        .filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name));
    Some(named.filter_map(|task| cpu_in(&task.path())).sum())
}

/// Megabytes of memory that a process holds.
pub fn rss_mb(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn cpu_in(folder: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name in parentheses may hold anything; after it, fields 12 and 13 are user and system ticks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u32>().ok();
    Some(TICK * ticks(11)?.checked_add(ticks(12)?)?)
}
