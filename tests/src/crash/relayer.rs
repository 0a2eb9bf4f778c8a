//! A relayer that dies as planned and is started again, as a service manager would.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::Phase;
use super::hazards::Restore;
use super::plan::Death;
use crate::binaries;
use crate::clock::HostClock;
use crate::network::path_text;
use crate::process::Process;

const READY_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(3);
const START_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The folder of the database with this number.
pub(super) fn database_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("database-{number}"))
}

/// A relayer's folder and configuration.
pub(super) struct Home {
    pub folder: PathBuf,
    pub config: PathBuf,
    /// Relayers with the same number share a database.
    pub database: usize,
    pub number: usize,
    /// Configuration overrides, as environment variables.
    pub environment: Vec<(&'static str, String)>,
    pub restore: Option<Restore>,
    /// The clock of its host.
    pub clock: HostClock,
    /// Every other death also deletes the database.
    pub forgets: bool,
    /// The database from before any transfer: file names and contents.
    pub pristine: Vec<(PathBuf, Vec<u8>)>,
}

impl Home {
    fn database_folder(&self) -> PathBuf {
        database_folder(&self.folder, self.database)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join(format!("relayer-{}.log", self.number))
    }

    /// Restores the database from before any transfer, and begins a new log.
    pub fn starts_over(&self) {
        self.forgets_everything();
        let _ = fs::remove_file(self.log());
    }

    fn forgets_everything(&self) {
        self.puts_back(&self.pristine);
    }

    fn puts_back(&self, files: &[(PathBuf, Vec<u8>)]) {
        let folder = self.database_folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder is writable");
        for (path, bytes) in files {
            let name = path.file_name().expect("a database file has a name");
            fs::write(folder.join(name), bytes).expect("the folder is writable");
        }
    }

    /// The database as a killed relayer left it, including its WAL.
    fn copies_database(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = fs::read_dir(self.database_folder()).expect("the folder is there").map_while(Result::ok);
        let read = |path: PathBuf| (path.clone(), fs::read(path).expect("the database can be read"));
        files.map(|file| read(file.path())).collect()
    }

    fn starts(&self, death: Option<Death>) -> Process {
        let database = format!("sqlite://{}/purser.db", self.database_folder().display());
        let mut environment = self.environment.clone();
        environment.push(("PURSER__DATABASE__URL", database));
        environment.push(("PURSER_HOST_CLOCK_AHEAD", path_text(&self.clock.file()).to_owned()));
        if let Some((point, arrival)) = death.and_then(|death| death.point) {
            environment.push(("PURSER_CRASH_AT", format!("{point}:{arrival}")));
        }
        let arguments = ["serve", "--config", path_text(&self.config)];
        Process::start_with(&binaries::fault_injection_relayer(), &arguments, &environment, &self.log(), None)
    }

    /// The crash point that the end of the log names.
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
    /// The phase in which it was last started; `None` while it is dead.
    born_in: watch::Sender<Option<Phase>>,
    over: watch::Sender<bool>,
}

impl Relayer {
    pub fn new(home: Home) -> Relayer {
        let (born_in, over) = (watch::Sender::new(None), watch::Sender::new(false));
        Relayer { home, url: Mutex::default(), born_in, over }
    }

    /// Its address while it lives.
    pub fn url(&self) -> Option<String> {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends its last life.
    pub fn ends(&self) {
        self.over.send_replace(true);
    }

    /// True when it was started again after the storm.
    pub fn has_risen(&self) -> bool {
        self.born_in.borrow().is_some_and(|phase| phase > Phase::Storm)
    }

    /// Lives and dies as planned, dies once more at dusk, and lives on in the calm. Returns how it died.
    pub async fn lives(self: Arc<Self>, deaths: Vec<Death>, phase: watch::Receiver<Phase>) -> Vec<String> {
        let mut met = Vec::new();
        let mut deaths = deaths.into_iter();
        let mut copies = Copies { due: self.home.restore, copy: None };
        for deaths_before in 0.. {
            let now = *phase.borrow();
            copies.after(&self.home, deaths_before, now);
            let death = if now == Phase::Storm { deaths.next() } else { None };
            let this = Arc::clone(&self);
            let born = spawn_blocking(move || {
                let process = this.home.starts(death);
                let ready = process.may_say("listening", READY_WITHIN);
                (process, ready.and_then(|ready| ready["listening"].as_str().map(str::to_owned)))
            });
            let (process, url) = born.await.expect("starting does not panic");
            if url.is_some() {
                self.sets_url(url);
                self.born_in.send_replace(Some(now));
                if self.survives(&process, death, now, &phase).await {
                    let stops_for = death.and_then(|death| death.stops_for);
                    let ends = move || {
                        let Some(time) = stops_for else {
                            process.dies();
                            return "kill -9";
                        };
                        if process.stops(time) { "stopped" } else { "killed while it stopped" }
                    };
                    met.push(spawn_blocking(ends).await.expect("ending does not panic").to_owned());
                }
                self.born_in.send_replace(None);
                self.sets_url(None);
            } else {
                met.push("start failed".to_owned());
            }
            met.extend(self.home.died_at().map(|point| format!("crash point {point}")));
            if self.home.forgets && met.len() % 2 == 1 {
                self.home.forgets_everything();
            }
            if *self.over.borrow() {
                break;
            }
            tokio::time::sleep(START_AGAIN_AFTER).await;
        }
        met
    }

    /// True when the process is still running when its time is over.
    async fn survives(
        &self,
        process: &Process,
        death: Option<Death>,
        born_in: Phase,
        phase: &watch::Receiver<Phase>,
    ) -> bool {
        let born = Instant::now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if process.has_ended() {
                return false;
            }
            let now = *phase.borrow();
            let due = death.is_some_and(|death| born.elapsed() >= death.killed_after);
            let nightfall = born_in == Phase::Storm && now == Phase::Dusk;
            if *self.over.borrow() || nightfall || (due && now == Phase::Storm) {
                return true;
            }
        }
    }

    fn sets_url(&self, url: Option<String>) {
        *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
    }
}

/// A copy of the database that is waiting to be put back.
struct Copies {
    due: Option<Restore>,
    copy: Option<Vec<(PathBuf, Vec<u8>)>>,
}

impl Copies {
    /// Copies the database or puts it back, depending on the number of deaths.
    fn after(&mut self, home: &Home, deaths: usize, phase: Phase) {
        let Some(Restore { copied_after, put_back_after }) = self.due else { return };
        if deaths >= put_back_after || phase > Phase::Storm {
            home.puts_back(self.copy.as_deref().unwrap_or(&home.pristine));
            self.due = None;
        } else if deaths == copied_after {
            self.copy = Some(home.copies_database());
        }
    }
}
