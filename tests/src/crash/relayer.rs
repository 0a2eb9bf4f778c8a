//! A relayer that dies as planned and is started again, as a service manager would.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::plan::Death;
use crate::binaries;
use crate::network::path_text;
use crate::process::Process;

const READY_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(3);
const START_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Where a relayer lives.
pub(super) struct Home {
    pub folder: PathBuf,
    pub config: PathBuf,
    /// Relayers with the same number share a database.
    pub database: usize,
    pub number: usize,
    pub commitment: &'static str,
    /// Every other death takes the database along.
    pub forgets: bool,
    /// The database before any transfer: its files and what is in them.
    pub pristine: Vec<(PathBuf, Vec<u8>)>,
}

impl Home {
    fn database_folder(&self) -> PathBuf {
        self.folder.join(format!("database-{}", self.database))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join(format!("relayer-{}.log", self.number))
    }

    /// Puts the database as it was before any transfer in the place of whatever is there, and begins a new log.
    pub fn is_made_anew(&self) {
        self.forgets_everything();
        let _ = fs::remove_file(self.log());
    }

    fn forgets_everything(&self) {
        let folder = self.database_folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder is writable");
        for (path, bytes) in &self.pristine {
            let name = path.file_name().expect("a database file has a name");
            fs::write(folder.join(name), bytes).expect("the folder is writable");
        }
    }

    fn starts(&self, death: Option<Death>) -> Process {
        let database = format!("sqlite://{}/purser.db", self.database_folder().display());
        let mut environment = vec![
            ("PURSER__DATABASE__URL", database),
            ("PURSER__NETWORKS__TEST__COMMITMENT", self.commitment.to_owned()),
        ];
        if let Some((point, arrival)) = death.and_then(|death| death.point) {
            environment.push(("PURSER_CRASH_AT", format!("{point}:{arrival}")));
        }
        let arguments = ["serve", "--config", path_text(&self.config)];
        Process::start_with(&binaries::fault_injection_relayer(), &arguments, &environment, &self.log(), None)
    }

    /// The crash point that the log's last words name.
    fn died_at(&self) -> Option<String> {
        let log = fs::read_to_string(self.log()).ok()?;
        let last = log.lines().rev().find(|line| !line.trim().is_empty())?;
        last.strip_prefix("crash point ").map(str::to_owned)
    }
}

/// One relayer of a round.
pub(super) struct Relayer {
    pub home: Home,
    url: Mutex<Option<String>>,
    over: watch::Sender<bool>,
}

impl Relayer {
    pub fn new(home: Home) -> Relayer {
        Relayer { home, url: Mutex::default(), over: watch::Sender::new(false) }
    }

    /// Where it answers, while it lives.
    pub fn url(&self) -> Option<String> {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the last life.
    pub fn ends(&self) {
        self.over.send_replace(true);
    }

    /// Lives and dies as planned; in the calm it lives on. Returns how it died.
    pub async fn lives(self: Arc<Self>, deaths: Vec<Death>, calm: watch::Receiver<bool>) -> Vec<String> {
        let mut met = Vec::new();
        let mut deaths = deaths.into_iter();
        while !*self.over.borrow() {
            let death = if *calm.borrow() { None } else { deaths.next() };
            let this = Arc::clone(&self);
            let born = spawn_blocking(move || {
                let process = this.home.starts(death);
                let ready = process.may_say("listening", READY_WITHIN);
                (process, ready.and_then(|ready| ready["listening"].as_str().map(str::to_owned)))
            });
            let (process, url) = born.await.expect("starting does not panic");
            if url.is_some() {
                self.is_at(url);
                if self.survives(&process, death, &calm).await {
                    spawn_blocking(move || process.dies()).await.expect("killing does not panic");
                    met.push("kill -9".to_owned());
                }
                self.is_at(None);
            } else {
                met.push("start failed".to_owned());
            }
            met.extend(self.home.died_at().map(|point| format!("crash point {point}")));
            if self.home.forgets && met.len() % 2 == 1 {
                self.home.forgets_everything();
            }
            tokio::time::sleep(START_AGAIN_AFTER).await;
        }
        met
    }

    /// True when the process is still there at its end.
    async fn survives(&self, process: &Process, death: Option<Death>, calm: &watch::Receiver<bool>) -> bool {
        let born = Instant::now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if process.has_ended() {
                return false;
            }
            let due = death.is_some_and(|death| born.elapsed() >= death.killed_after);
            if *self.over.borrow() || (due && !*calm.borrow()) {
                return true;
            }
        }
    }

    fn is_at(&self, url: Option<String>) {
        *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
    }
}
