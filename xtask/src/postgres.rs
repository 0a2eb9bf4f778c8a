//! A Postgres for the tests: the one in `PURSER_TEST_POSTGRES_URL`, or their own in a temporary folder.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::workspace::{command, run};

/// The variable that names the server for the tests.
pub const VARIABLE: &str = "PURSER_TEST_POSTGRES_URL";
/// Where Debian and Ubuntu keep the server's programs, by version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The server refuses to run as root, so root runs it as the package's user.
const USER: &str = "postgres";
const READY_WITHIN: Duration = Duration::from_secs(60);
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// A running server; dropping it ends the server and deletes its folder.
pub struct Postgres {
    server: Child,
    folder: PathBuf,
}

/// The server to test on.
pub enum Found {
    /// The environment names one.
    Named,
    Own(Postgres),
    /// None, with one line on how to get one.
    Missing(&'static str),
}

impl Postgres {
    /// Starts a server unless one is named. Fails if the programs exist but do not work.
    pub fn find() -> Result<Found> {
        if env::var_os(VARIABLE).is_some() {
            return Ok(Found::Named);
        }
        match programs() {
            Some(programs) => Self::start(&programs).context("cannot start Postgres").map(Found::Own),
            None => Ok(Found::Missing(
                "no Postgres: its tests are skipped (`apt-get install postgresql` to have them, or name a server in \
                 PURSER_TEST_POSTGRES_URL)",
            )),
        }
    }

    /// The server's URL: a socket in its folder, which only root and its own user can reach.
    pub fn url(&self) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{USER}@{folder}/postgres")
    }

    fn start(programs: &Path) -> Result<Self> {
        let folder = env::temp_dir().join(format!("purser-postgres-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        if geteuid().is_root() {
            run(command("chown").arg(USER).arg(&folder))?;
        }
        let started = Self::start_in(programs, &folder);
        if started.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        started
    }

    fn start_in(programs: &Path, folder: &Path) -> Result<Self> {
        let data = folder.join("data");
        let initdb = |locale: &[&str]| {
            let mut initdb = as_user(&programs.join("initdb"));
            initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]);
            initdb.args(locale).stdout(Stdio::null());
            initdb
        };
        // An order other than by bytes exposes columns that forgot to ask for that. Postgres 14 only has the byte order.
        let mut in_english = initdb(&["--locale-provider=icu", "--icu-locale=en"]);
        if !in_english.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            run(&mut initdb(&[]))?;
        }
        // Tests make users of their own, who need their passwords.
        let who = format!("local all {USER} trust\nlocal all all scram-sha-256\n");
        fs::write(data.join("pg_hba.conf"), who)?;
        let log = folder.join("log");
        let output = File::create(&log)?;
        let mut server = as_user(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(folder);
        server.args(["-c", "listen_addresses=", "-c", "max_connections=400"]);
        server.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut postgres = Self { server: server.spawn()?, folder: folder.to_path_buf() };
        let deadline = Instant::now() + READY_WITHIN;
        while !postgres.is_ready(programs)? {
            if Instant::now() > deadline || postgres.server.try_wait()?.is_some() {
                bail!("it does not get ready:\n{}", fs::read_to_string(&log).unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(postgres)
    }

    fn is_ready(&self, programs: &Path) -> Result<bool> {
        let mut asking = command(programs.join("pg_isready"));
        let asked =
            asking.arg("-q").arg("-h").arg(&self.folder).status().context("cannot start pg_isready")?;
        Ok(asked.success())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // "Fast shutdown": it ends its sessions and writes everything down.
        let _ = kill_process(Pid::from_child(&self.server), Signal::INT);
        let deadline = Instant::now() + GONE_WITHIN;
        while matches!(self.server.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().map_while(Result::ok).map(|entry| entry.path());
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter(|folder| folder.join("bin/initdb").is_file()).max_by_key(number);
    let in_path = || {
        let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
        folders
            .into_iter()
            .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
    };
    newest.map(|folder| folder.join("bin")).or_else(in_path)
}

/// The program under a user who may run it; the kernel stops it if this process dies.
fn as_user(program: &Path) -> Command {
    let mut command = command("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if geteuid().is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command.arg("--").arg(program).current_dir("/");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_of_the_tests_answers_and_leaves_nothing_behind() {
        let Some(programs) = programs() else {
            eprintln!("skipped: no Postgres is installed");
            return;
        };
        let postgres = Postgres::start(&programs).expect("started");
        let (folder, pid) = (postgres.folder.clone(), Pid::from_child(&postgres.server));
        assert!(folder.join(".s.PGSQL.5432").exists(), "{}", postgres.url());
        drop(postgres);
        assert!(!folder.exists());
        assert!(rustix::process::test_kill_process(pid).is_err(), "it still runs");
    }
}
