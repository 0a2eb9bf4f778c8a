//! Postgres behind a real PgBouncer that takes TLS only: what `docs/run/set-up.md` says of TLS and of poolers.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use purser_tests::agent::all_at_once;
use purser_tests::binaries;
use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{AppSettings, TestApp, TestDatabase, TestNetwork};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use reqwest::Url;
use tempfile::TempDir;

/// `pgbouncer`, from the path; `None`, with a note on standard error, if there is none.
fn pgbouncer() -> Option<PathBuf> {
    // Debian installs it outside of a normal user's path.
    for program in ["pgbouncer", "/usr/sbin/pgbouncer"] {
        if Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
            return Some(program.into());
        }
    }
    let _ = writeln!(std::io::stderr(), "skipped: Postgres behind a pooler, since there is no pgbouncer");
    None
}

/// A pooler in front of one database, with a certificate for `localhost`.
struct Pooler {
    port: u16,
    _process: Process,
    folder: TempDir,
}

impl Pooler {
    fn start(program: &Path, database: &str, mode: &str) -> Pooler {
        let folder = temp_folder();
        // It runs as another user when the test is root.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
        let path = |name: &str| folder.path().join(name);
        let writes = |name: &str, text: &str| fs::write(path(name), text).expect("the folder is writable");
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        for name in ["ca", "other-ca"] {
            let key = KeyPair::generate().expect("a key");
            writes(&format!("{name}.pem"), &authority.self_signed(&key).expect("a certificate").pem());
            let issuer = Issuer::from_params(&authority, key);
            let leaf_key = KeyPair::generate().expect("a key");
            let leaf = CertificateParams::new(["localhost".to_owned()]).expect("a name");
            let leaf = leaf.signed_by(&leaf_key, &issuer).expect("a certificate");
            writes(&format!("{name}-leaf.pem"), &leaf.pem());
            writes(&format!("{name}-leaf.key"), &leaf_key.serialize_pem());
        }
        let port = free_port();
        let server = Url::parse(database).expect("a URL");
        let host = server.host_str().expect("a host").replace("%2F", "/");
        let password = server.password().map(|password| format!(" password={password}")).unwrap_or_default();
        let text = format!(
            "[databases]\n{name} = host={host} port={server_port} user={user}{password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\nclient_tls_sslmode = require\nclient_tls_cert_file = {certificate}\n\
             client_tls_key_file = {key}\n",
            name = server.path().trim_start_matches('/'),
            server_port = server.port().unwrap_or(5432),
            user = server.username(),
            certificate = path_text(&path("ca-leaf.pem")),
            key = path_text(&path("ca-leaf.key")),
        );
        writes("pgbouncer.ini", &text);
        let (config, log) = (path("pgbouncer.ini"), path("pgbouncer.log"));
        let mut arguments = vec![path_text(&config)];
        // It refuses to be root. The socket of the tests' server belongs to this user.
        if fs::metadata(&config).expect("just written").uid() == 0 {
            arguments.extend(["-u", "postgres"]);
        }
        let process = Process::start(program, &arguments, &log, None);
        for _ in 0..100 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Pooler { port, _process: process, folder };
            }
            assert!(!process.has_ended(), "{}", process.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the pooler does not listen: {}", process.log());
    }

    /// The database's URL through the pooler.
    fn url(&self, host: &str, database: &TestDatabase, root: &str) -> String {
        let name = Url::parse(&database.url()).expect("a URL").path().to_owned();
        let root = path_text(&self.folder.path().join(root)).to_owned();
        format!("postgres://anybody@{host}:{}{name}?sslmode=verify-full&sslrootcert={root}", self.port)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_settle_through_a_pooler_whose_certificate_is_checked() {
    let Some(program) = pgbouncer() else { return };
    let Some(database) = TestDatabase::create().await else { return };
    let pooler = Pooler::start(&program, &database.url(), "session");
    let through = |url: String| AppSettings {
        database_url: Some(url),
        database: Some(database.clone()),
        ..AppSettings::default()
    };
    let settings = through(pooler.url("localhost", &database, "ca.pem"));
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "100").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    // At once, so that they share the pooler's connections.
    for payment in all_at_once((0..20).map(|_| agent.pays("1").to(&payee))).await {
        payment.is_settled();
    }

    for (host, root, why) in [
        ("localhost", "other-ca.pem", "invalid peer certificate"),
        // The certificate names `localhost` alone.
        ("127.0.0.1", "ca.pem", "not valid for name"),
    ] {
        let url = pooler.url(host, &database, root);
        let refusal = app.refuses_to_start_with(&[("PURSER__DATABASE__URL", &url)]);
        assert!(refusal.contains("cannot open the database"), "{refusal}");
        assert!(refusal.contains(why), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_a_pooler_that_mixes_the_sessions_of_its_clients() {
    let Some(program) = pgbouncer() else { return };
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database.clone()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    app.new_operator().await;
    for (mode, is_named) in [("session", false), ("transaction", true)] {
        let pooler = Pooler::start(&program, &database.url(), mode);
        let mut doctor = Command::new(binaries::relayer());
        doctor.args(["doctor", "--config", path_text(&app.config())]);
        doctor.env("PURSER__DATABASE__URL", pooler.url("localhost", &database, "ca.pem"));
        let said = String::from_utf8(doctor.output().expect("it starts").stdout).expect("text");
        assert_eq!(said.contains("not ok  database: pooler"), is_named, "{mode}: {said}");
        assert_eq!(said.contains("pool_mode = session"), is_named, "{mode}: {said}");
    }
}
