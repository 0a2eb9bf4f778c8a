//! One relayer process with its own folder: configuration, keypairs, SQLite database.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::binaries;
use crate::client::Client;
use crate::network::{TestNetwork, path_text, temp_folder};
use crate::operator::Operator;
use crate::process::Process;
use crate::settings::AppSettings;

const READY_WITHIN: Duration = Duration::from_secs(60);

static SHARED: OnceCell<Arc<TestApp>> = OnceCell::const_new();

/// A running `purser serve`.
pub struct TestApp {
    folder: PathBuf,
    owned_folder: Option<TempDir>,
    networks: Vec<(&'static str, Arc<TestNetwork>)>,
    admin: Keypair,
    policy_authority: Keypair,
    transfer_authority: Keypair,
    second_keys: Option<[Keypair; 2]>,
    /// Signs refusals.
    denials_key: Keypair,
    next_operator: AtomicU64,
    server: Mutex<Option<Server>>,
    /// Restarts keep the database that these settings name.
    settings: AppSettings,
}

struct Server {
    process: Process,
    base_url: String,
    admin_url: Option<String>,
}

impl TestApp {
    /// The relayer that all tests of this process share, on the shared network. Make an [`Operator`] of your own on it.
    pub async fn shared() -> Arc<TestApp> {
        let start = || async {
            let folder = temp_folder().keep();
            let network = TestNetwork::shared().await;
            Arc::new(TestApp::start_in(folder, None, network, &AppSettings::default()).await)
        };
        SHARED.get_or_init(start).await.clone()
    }

    /// A relayer of the test's own on `network`.
    pub async fn start(network: Arc<TestNetwork>, settings: &AppSettings) -> Arc<TestApp> {
        let folder = temp_folder();
        let path = folder.path().to_path_buf();
        Arc::new(TestApp::start_in(path, Some(folder), network, settings).await)
    }

    /// The same in a folder that holds keypairs and a SQLite database already.
    pub async fn start_from(
        folder: TempDir,
        network: Arc<TestNetwork>,
        settings: &AppSettings,
    ) -> Arc<TestApp> {
        let path = folder.path().to_path_buf();
        Arc::new(TestApp::start_in(path, Some(folder), network, settings).await)
    }

    async fn start_in(
        folder: PathBuf,
        owned_folder: Option<TempDir>,
        network: Arc<TestNetwork>,
        settings: &AppSettings,
    ) -> TestApp {
        let mut networks = vec![("test", network)];
        networks.extend(settings.live.clone().map(|live| ("live", live)));
        let app = TestApp {
            admin: keypair_in(&folder, "admin"),
            policy_authority: keypair_in(&folder, "policy-authority"),
            transfer_authority: keypair_in(&folder, "transfer-authority"),
            second_keys: settings.second_keys.then(|| {
                ["policy-authority-2", "transfer-authority-2"].map(|name| keypair_in(&folder, name))
            }),
            denials_key: keypair_in(&folder, "denials-key"),
            next_operator: AtomicU64::new(0),
            server: Mutex::new(None),
            folder,
            owned_folder,
            networks,
            settings: settings.clone(),
        };
        for (_, network) in &app.networks {
            let chain = network.chain();
            let keys = [&app.admin, &app.policy_authority, &app.transfer_authority];
            for key in keys.into_iter().chain(app.second_keys.iter().flatten()) {
                chain.funds(&key.pubkey(), 1_000).await;
            }
        }
        fs::write(app.config(), settings.config_text(&app.folder, &app.networks))
            .expect("the folder is writable");
        app.runs(&["migrate"]);
        app.starts();
        app
    }

    /// A second relayer for the same operators, with the same keys and networks. It uses the database of `settings`; without one,
    /// and if this relayer is down, it gets a copy of its SQLite file.
    pub fn twin(&self, settings: &AppSettings) -> Arc<TestApp> {
        let folder = temp_folder();
        let second = ["policy-authority-2", "transfer-authority-2"];
        let second = second.into_iter().filter(|_| self.second_keys.is_some());
        let keypairs =
            ["admin", "policy-authority", "transfer-authority", "denials-key"].into_iter().chain(second);
        let keypairs = keypairs.map(|name| self.folder.join(format!("{name}.json")));
        let is_own = settings.database.is_none() && settings.database_url.is_none();
        let database = if is_own { self.database_files() } else { Vec::new() };
        for file in keypairs.chain(database) {
            let name = file.file_name().expect("files have names");
            fs::copy(&file, folder.path().join(name)).expect("the folder is writable");
        }
        let app = TestApp {
            admin: self.admin.insecure_clone(),
            policy_authority: self.policy_authority.insecure_clone(),
            transfer_authority: self.transfer_authority.insecure_clone(),
            second_keys: self.second_keys.as_ref().map(|keys| keys.each_ref().map(Keypair::insecure_clone)),
            denials_key: self.denials_key.insecure_clone(),
            // Only the first relayer makes operators.
            next_operator: AtomicU64::new(u64::MAX),
            server: Mutex::new(None),
            folder: folder.path().to_path_buf(),
            owned_folder: Some(folder),
            networks: self.networks.clone(),
            settings: settings.clone(),
        };
        fs::write(app.config(), settings.config_text(&app.folder, &app.networks))
            .expect("the folder is writable");
        app.starts();
        Arc::new(app)
    }

    /// Runs a subcommand of the relayer binary to its end and returns the JSON it printed; panics when it fails.
    pub fn runs(&self, arguments: &[&str]) -> Value {
        let output = Command::new(binaries::relayer())
            .args(arguments)
            .args(["--config", path_text(&self.config()), "--json"])
            .output()
            .expect("the relayer binary starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "purser {}: {printed}{complaint}", arguments.join(" "));
        serde_json::from_str(printed.trim()).unwrap_or(Value::Null)
    }

    /// Starts the server, for the first time or after it was killed.
    pub fn starts(&self) {
        let (config, log) = (self.config(), self.folder.join("relayer.log"));
        let sweep = self.owned_folder.is_none().then_some(self.folder.as_path());
        let mut environment = self.settings.environment.clone();
        let clock = self.settings.host_clock.as_ref();
        environment
            .extend(clock.map(|clock| ("PURSER_HOST_CLOCK_AHEAD", path_text(&clock.file()).to_owned())));
        environment.extend(self.settings.panic_at.map(|point| ("PURSER_PANIC_AT", point.to_owned())));
        let is_broken = clock.is_some() || self.settings.panic_at.is_some();
        let program = match (is_broken, self.settings.without_extensions) {
            (true, _) => binaries::fault_injection_relayer(),
            (false, true) => binaries::relayer_without_extensions(),
            (false, false) => binaries::relayer(),
        };
        let arguments = ["serve", "--config", path_text(&config)];
        let process = Process::start_with(&program, &arguments, &environment, &log, sweep);
        let ready = process.says("listening", READY_WITHIN);
        let base_url =
            ready["listening"].as_str().expect("`listening` is a text").trim_end_matches('/').to_owned();
        let admin_url = ready["admin"].as_str().map(str::to_owned);
        *self.server() = Some(Server { process, base_url, admin_url });
    }

    /// Tries to start the server, and returns its message when it refuses.
    pub fn refuses_to_start(&self) -> String {
        self.refuses_to_start_with(&[])
    }

    /// The same with additional environment variables.
    pub fn refuses_to_start_with(&self, environment: &[(&str, &str)]) -> String {
        let mut serve = Command::new(binaries::relayer());
        serve.envs(environment.iter().copied()).args(["serve", "--config", path_text(&self.config())]);
        let output = serve.output().expect("the relayer binary starts");
        assert!(!output.status.success(), "it was to refuse");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Kills the server as `kill -9` does.
    pub fn crashes(&self) {
        let server = self.server().take().expect("the server runs");
        server.process.dies();
    }

    /// Asks the server to stop, as a service manager does. False when it had to be killed.
    pub async fn stops(&self, within: Duration) -> bool {
        let server = self.server().take().expect("the server runs");
        // On its own thread, so that the test's requests go on meanwhile.
        tokio::task::spawn_blocking(move || server.process.stops(within))
            .await
            .expect("waiting does not panic")
    }

    /// Asks the server to stop and does not wait for it.
    pub fn begins_to_stop(&self) {
        self.server().as_ref().expect("the server runs").process.begins_to_stop();
    }

    /// The database's files; the server must not be running.
    pub fn saved_database(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let read = |path: PathBuf| (path.clone(), fs::read(path).expect("the database can be read"));
        self.database_files().into_iter().map(read).collect()
    }

    /// Replaces the database with saved files; the server must not be running.
    pub fn restores_database(&self, saved: &[(PathBuf, Vec<u8>)]) {
        for path in self.database_files() {
            fs::remove_file(path).expect("the folder is writable");
        }
        for (path, bytes) in saved {
            fs::write(path, bytes).expect("the folder is writable");
        }
    }

    fn database_files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.folder).expect("the folder is there").map_while(Result::ok);
        let is_database = |path: &PathBuf| path.to_string_lossy().contains("purser.db");
        files.map(|file| file.path()).filter(is_database).collect()
    }

    /// Makes a new operator on the test network, with an API key.
    pub async fn new_operator(self: &Arc<TestApp>) -> Operator {
        self.new_operator_on("test").await
    }

    /// Makes a new operator on a network, with an API key.
    pub async fn new_operator_on(self: &Arc<TestApp>, network: &'static str) -> Operator {
        let id = self.next_operator.fetch_add(1, Ordering::SeqCst).to_string();
        let admin = self.folder.join("admin.json");
        let name = format!("Operator {id}");
        let created = self.runs(&[
            "operator",
            "create",
            "--network",
            network,
            "--name",
            &name,
            "--admin-keypair",
            path_text(&admin),
            "--id",
            &id,
            "--loosening-delay",
            "0",
        ]);
        let operator_id =
            created["operator_id"].as_str().expect("operator create prints operator_id").to_owned();
        let address = created["address"].as_str().expect("operator create prints address");
        let address: Pubkey = address.parse().expect("the operator's address is base58");
        let key = self.new_operator_key(&operator_id);
        Operator::new(Arc::clone(self), network, operator_id, address, &key)
    }

    /// Makes one more API key for an operator and returns its text.
    pub fn new_operator_key(&self, operator_id: &str) -> String {
        let created = self.runs(&["key", "create", "--operator", operator_id]);
        created["key"].as_str().expect("key create prints the key").to_owned()
    }

    /// A client without a key.
    pub fn client(&self) -> Client {
        Client::new(&self.base_url(), None)
    }

    /// The same, unless the server was killed.
    pub fn client_while_it_runs(&self) -> Option<Client> {
        self.server().as_ref().map(|server| Client::new(&server.base_url, None))
    }

    /// Where the server listens, without `/v1`.
    pub fn base_url(&self) -> String {
        self.server().as_ref().expect("the server runs").base_url.clone()
    }

    /// A client without a key for the admin listener (`admin_listen`), which the settings must turn on.
    pub fn admin_client(&self) -> Client {
        let url = self.server().as_ref().expect("the server runs").admin_url.clone();
        Client::new(&url.expect("`admin_listen` is set"), None)
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.server().as_ref().expect("the server runs").process.pid()
    }

    /// The network that keys with this name (`test` or `live`) use.
    pub fn network(&self, name: &str) -> &Arc<TestNetwork> {
        let found = self.networks.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("no network {name}")).1
    }

    /// The operators' cold key.
    pub fn admin(&self) -> &Keypair {
        &self.admin
    }

    /// The key that may change policies.
    pub fn policy_authority(&self) -> &Keypair {
        &self.policy_authority
    }

    /// The hot key that may transfer within policy.
    pub fn transfer_authority(&self) -> &Keypair {
        &self.transfer_authority
    }

    /// The key that signs refusals.
    pub fn denials_key(&self) -> &Keypair {
        &self.denials_key
    }

    /// The second policy key and the second transfer key.
    pub fn second_keys(&self) -> &[Keypair; 2] {
        self.second_keys.as_ref().expect("the settings ask for second keys")
    }

    /// Another hot key, with SOL, besides the configured one.
    pub async fn further_authority(&self) -> Pubkey {
        let key = keypair_in(&self.folder, "further-transfer-authority").pubkey();
        for (_, network) in &self.networks {
            network.chain().funds(&key, 1_000).await;
        }
        key
    }

    /// The files of both hot keys.
    pub fn transfer_keypairs(&self) -> [PathBuf; 2] {
        ["transfer-authority.json", "further-transfer-authority.json"].map(|name| self.folder.join(name))
    }

    /// The server's whole log.
    pub fn log(&self) -> String {
        self.server().as_ref().map(|server| server.process.log()).unwrap_or_default()
    }

    /// Moves the clock of the relayer's host; the settings must provide that clock.
    pub fn host_stands_at(&self, unix_seconds: i64) {
        self.settings.host_clock.as_ref().expect("the settings ask for a clock").stands_at(unix_seconds);
    }

    /// The end of the server's log, for failure messages.
    pub fn log_tail(&self) -> String {
        self.server().as_ref().map(|server| server.process.log_tail()).unwrap_or_default()
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.folder.join("purser.toml")
    }

    /// The folder with configuration, keys, database and log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn server(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keypair in the folder. Where there is none, makes one and writes it as Solana's tools do: a JSON array of 64 bytes, readable
/// by its owner only.
fn keypair_in(folder: &Path, name: &str) -> Keypair {
    let path = folder.join(format!("{name}.json"));
    if let Ok(text) = fs::read(&path) {
        let bytes: Vec<u8> = serde_json::from_slice(&text).expect("a JSON array of bytes");
        return Keypair::try_from(&bytes[..]).expect("64 bytes of a keypair");
    }
    let keypair = Keypair::new();
    let bytes = serde_json::to_string(&keypair.to_bytes().to_vec()).expect("bytes are JSON");
    fs::write(&path, bytes).expect("the folder is writable");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("own files can be protected");
    }
    keypair
}
