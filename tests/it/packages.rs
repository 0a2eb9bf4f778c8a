//! What `cargo xtask packages` makes of an archive, installed from its files and paid with: packages of npm and PyPI, the image, and the
//! bundle for hosts of MCP with its entry for registries. The archive of these tests has scripts that start the programs of this
//! build, so that nothing large is packed; `PURSER_ARCHIVE` names a real one. A test that finds no Node or no Python with the packages of
//! `.ci/run` says so and skips.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{Client, TestNetwork, binaries, foreign, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

use crate::set_up::word;

const READY_WITHIN: Duration = Duration::from_secs(120);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder of the packages, which are made once; `None` without what makes them.
fn packages() -> Option<&'static Path> {
    static PACKAGES: OnceLock<Option<PathBuf>> = OnceLock::new();
    PACKAGES.get_or_init(packed).as_deref()
}

fn packed() -> Option<PathBuf> {
    foreign::node_modules()?;
    let python = foreign::python()?;
    for program in ["uvx", "skillsaw"] {
        if !python.join(program).exists() {
            eprintln!("not run: there is no {program} beside PURSER_PYTHON, as `.ci/run` installs it");
            return None;
        }
    }
    let folder = temp_folder().keep();
    let archive = std::env::var_os("PURSER_ARCHIVE").map_or_else(|| stand_in(&folder), PathBuf::from);
    let out = folder.join("out");
    let mut xtask = Command::new(binaries::relayer().with_file_name("xtask"));
    let done = xtask.arg("packages").arg(archive).arg("--out").arg(&out).output().expect("xtask is built");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

/// An archive whose programs are scripts.
fn stand_in(folder: &Path) -> PathBuf {
    let name = format!("purser-{VERSION}-x86_64-linux");
    let root = folder.join(&name);
    fs::create_dir(&root).expect("the folder is writable");
    let writes = |name: &str, text: &str| fs::write(root.join(name), text).expect("the folder is writable");
    let script = |name: &str, text: String| {
        writes(name, &format!("#!/bin/sh\n{text}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(root.join(name), executable).expect("the file is ours");
    };
    let (purser, localnet) = (binaries::relayer(), binaries::localnet());
    let beside = "PURSER_LOCALNET_BIN=\"$here/purser-localnet\" PURSER_PROGRAM_SO=\"$here/purser.so\"";
    let here = "here=$(dirname \"$(readlink -f \"$0\")\")";
    script("purser", format!("{here}\n{beside} exec '{}' \"$@\"", path_text(&purser)));
    script("purser-localnet", format!("exec '{}' \"$@\"", path_text(&localnet)));
    for name in ["purser.so", "purser.json"] {
        let from = binaries::program_so().with_file_name(name);
        fs::copy(from, root.join(name)).expect("the program is built");
    }
    for name in ["LICENSE", "LICENSES-THIRD-PARTY.txt", "sbom.cdx.json"] {
        writes(name, "a text");
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--gzip").arg("--file").arg(&archive).arg("--directory").arg(folder).arg(name);
    assert!(tar.status().is_ok_and(|status| status.success()));
    archive
}

fn package(packages: &Path, begin: &str, end: &str) -> PathBuf {
    let files = fs::read_dir(packages).expect("they were made").map_while(Result::ok);
    let mut found: Vec<PathBuf> = files.map(|file| file.path()).collect();
    found.retain(|path| {
        path.file_name()
            .and_then(|it| it.to_str())
            .is_some_and(|it| it.starts_with(begin) && it.ends_with(end))
    });
    let [found] = &found[..] else { panic!("one {begin}...{end}: {found:?}") };
    found.clone()
}

/// Types a line in `folder` with the programs of these folders.
async fn types(folder: &TempDir, programs: &[PathBuf], line: &str) -> String {
    let mut shell = foreign::shell(folder.path(), programs, line);
    // What a registry would answer is not what is tested.
    shell.env("UV_OFFLINE", "1").env("UV_CACHE_DIR", folder.path().join("uv")).env("PIP_NO_INDEX", "1");
    shell.env("npm_config_offline", "true").env("npm_config_cache", folder.path().join("npm"));
    foreign::printed(shell).await
}

/// `PROGRAM dev` starts network, service and agent, and the agent pays.
async fn develops_and_pays(program: &Path, folder: &TempDir, path: &Path) {
    let state = folder.path().join("state");
    let arguments = ["dev", "--dir", path_text(&state), "--port", "0", "--rpc-port", "0", "--json"];
    let usual = std::env::var("PATH").unwrap_or_default();
    let environment = [("PATH", format!("{}:{usual}", path_text(path)))];
    let log = folder.path().join("dev.log");
    let process = Process::start_with(program, &arguments, &environment, &log, None);
    let ready = process.says("base_url", READY_WITHIN);
    let fact = |name: &str| ready[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {ready}"));
    let agent = Client::new(fact("base_url").trim_end_matches("/v1"), Some(fact("agent_key")));
    let order = json!({ "from": fact("account_id"), "to": fact("payee_token_account"), "amount": "1.5", "idempotency_key": "one" });
    agent.post("/v1/transfers", &order).await.is_settled();
    assert!(process.stops(READY_WITHIN), "what is typed becomes the program, so a signal reaches it");
}

#[tokio::test]
async fn npm_installs_the_program_with_the_sdk_and_it_pays() {
    let (Some(packages), Some(modules)) = (packages(), foreign::node_modules()) else { return };
    let folder = temp_folder();
    let sdk = package(packages, &format!("purser-pay-{VERSION}"), ".tgz");
    let carrier = package(packages, "purser-pay-linux-x64", ".tgz");
    let bin = modules.join(".bin");
    let line =
        format!("npm install --silent --no-audit --no-fund '{}' '{}'", path_text(&sdk), path_text(&carrier));
    types(&folder, std::slice::from_ref(&bin), &line).await;
    let said = types(&folder, std::slice::from_ref(&bin), "npx purser-pay --version").await;
    assert!(said.starts_with(&format!("purser {VERSION} ")), "{said}");
    let import =
        r#"node --input-type=module -e 'import { Purser } from "purser-pay"; console.log(typeof Purser)'"#;
    assert_eq!(types(&folder, std::slice::from_ref(&bin), import).await, "function\n");
    develops_and_pays(&folder.path().join("node_modules/.bin/purser-pay"), &folder, &bin).await;
}

/// Where there is no package for the platform, or somebody left it out, the SDK is there and the command says why it does nothing.
#[tokio::test]
async fn npm_package_without_its_program_says_so() {
    let (Some(packages), Some(modules)) = (packages(), foreign::node_modules()) else { return };
    let folder = temp_folder();
    let sdk = package(packages, &format!("purser-pay-{VERSION}"), ".tgz");
    let line = format!(
        "npm install --silent --no-audit --no-fund --omit=optional '{}'\nif npx purser-pay dev 2>said; then exit 1; fi; cat said",
        path_text(&sdk)
    );
    let said = types(&folder, &[modules.join(".bin")], &line).await;
    assert!(said.contains("@purser-pay/linux-x64 is not installed"), "{said}");
}

#[tokio::test]
async fn pip_and_uvx_install_the_program_with_the_sdk_and_it_pays() {
    let (Some(packages), Some(python)) = (packages(), foreign::python()) else { return };
    let folder = temp_folder();
    let place = path_text(packages);
    let line = format!("uvx --no-index --find-links '{place}' purser-pay --version");
    let said = types(&folder, std::slice::from_ref(&python), &line).await;
    assert!(said.starts_with(&format!("purser {VERSION} ")), "{said}");
    let line = format!(
        "python -m venv own && own/bin/pip install --quiet --disable-pip-version-check --no-index --find-links '{place}' purser-pay
        own/bin/python -c 'from purser_pay import Purser; print(Purser.__name__)'"
    );
    assert_eq!(types(&folder, std::slice::from_ref(&python), &line).await, "Purser\n");
    develops_and_pays(&folder.path().join("own/bin/purser-pay"), &folder, &python).await;
    // Elsewhere than on Linux with x86-64, the other wheel is taken.
    let line = format!(
        "pip download --quiet --no-deps --only-binary=:all: --platform=macosx_14_0_arm64 --find-links '{place}' --dest mac purser-pay && ls mac"
    );
    let taken = types(&folder, &[python], &line).await;
    assert_eq!(taken, format!("purser_pay-{VERSION}-py3-none-any.whl\n"));
}

/// By a linter that has the registry's schemas and rules in it, and finds what is wrong.
#[tokio::test]
async fn entry_for_registries_is_valid_and_names_the_bundle_by_its_hash() {
    let (Some(packages), Some(python)) = (packages(), foreign::python()) else { return };
    let entry: Value =
        serde_json::from_slice(&fs::read(packages.join("server.json")).expect("it was made")).expect("JSON");
    let bundle = package(packages, "purser-", ".mcpb");
    let bytes = fs::read(&bundle).expect("it was made");
    let hash = hex::encode(Sha256::digest(&bytes));
    let named = &entry["packages"][0];
    assert_eq!(named["fileSha256"], hash);
    let file = bundle.file_name().and_then(|name| name.to_str()).expect("a name");
    assert_eq!(named["identifier"], format!("https://example.com/purser/{file}"));
    assert_eq!(entry["version"], VERSION);
    let lint =
        "skillsaw lint --rule mcp-registry-server-json-valid --rule mcp-registry-version-semver server.json";
    for (change, is_valid) in [(None, true), (Some("fileSha256"), false)] {
        let folder = temp_folder();
        let mut entry = entry.clone();
        if let Some(field) = change {
            entry["packages"][0][field] = "no hash".into();
        }
        fs::write(folder.path().join("server.json"), entry.to_string()).expect("the folder is writable");
        let line = format!("{lint} && echo valid || echo invalid");
        let said = types(&folder, std::slice::from_ref(&python), &line).await;
        assert_eq!(said.trim_end().ends_with("\nvalid"), is_valid, "{change:?}: {said}");
    }
}

/// What a runtime of containers does, as far as it matters here: the image's files for a root, three devices, `/proc`, its user and
/// its environment, and no other.
struct Container {
    root: TempDir,
    config: Value,
}

const ENTERS: &str = r#"set -e
root=$1 wd=$2 user=$3 group=$4
shift 4
for device in null random urandom; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -t proc proc "$root/proc"
# No exec: a change of the user takes `--kill-child` from a process, so the shell stays as the first one, with which all others end.
unshare --root "$root" --wd "$wd" --setgid "$group" --setuid "$user" "$@"
exit"#;

impl Container {
    fn of(image: &Path) -> Container {
        let (root, layout) = (temp_folder(), temp_folder());
        unpacks(image, layout.path());
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().expect("a digest");
            let path = layout.path().join("blobs").join(digest.replace(':', "/"));
            let bytes = fs::read(&path).expect("every part is there");
            assert_eq!(digest, format!("sha256:{}", hex::encode(Sha256::digest(&bytes))));
            assert_eq!(descriptor["size"], bytes.len());
            (path, bytes)
        };
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
        let index = json(&fs::read(layout.path().join("index.json")).expect("an OCI layout"));
        let manifest = json(&blob(&index["manifests"][0]).1);
        let config = json(&blob(&manifest["config"]).1);
        for layer in manifest["layers"].as_array().expect("layers") {
            unpacks(&blob(layer).0, root.path());
        }
        for folder in ["dev", "proc"] {
            fs::create_dir(root.path().join(folder)).expect("the folder is writable");
        }
        Container { root, config: config["config"].clone() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn words(&self, field: &str) -> Vec<String> {
        let words = self.config[field].as_array().unwrap_or_else(|| panic!("no {field} in {}", self.config));
        words.iter().map(|word| word.as_str().expect("text").to_owned()).collect()
    }

    /// A command in it, as words of one outside.
    fn enters(&self, more: &[(&str, String)], command: &[&str]) -> Vec<String> {
        let text = |field: &str| self.config[field].as_str().expect("text").to_owned();
        let user = text("User");
        let (user, group) = user.split_once(':').expect("user and group");
        let mut words = vec!["-i".to_owned(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned()];
        words.extend(self.words("Env"));
        words.extend(more.iter().map(|(name, value)| format!("{name}={value}")));
        words.extend(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTERS, "sh"]
                .map(str::to_owned),
        );
        words.extend([
            path_text(self.root.path()).to_owned(),
            text("WorkingDir"),
            user.to_owned(),
            group.to_owned(),
        ]);
        words.extend(command.iter().map(|word| (*word).to_owned()));
        words
    }

    fn tries(&self, more: &[(&str, String)], command: &[&str]) -> Output {
        Command::new("env").args(self.enters(more, command)).output().expect("env is there")
    }

    fn runs(&self, more: &[(&str, String)], arguments: &[&str]) -> String {
        let entry = self.words("Entrypoint");
        let command: Vec<&str> = entry.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        let output = self.tries(more, &command);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }
}

fn unpacks(file: &Path, folder: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--same-owner").arg("--file").arg(file).arg("--directory").arg(folder);
    assert!(tar.status().is_ok_and(|status| status.success()), "{} is no tar file", file.display());
}

/// The program of this build and the libraries that it wants, in the place of a script.
fn puts_real_program(container: &Container) {
    let program = container.path("usr/local/bin/purser");
    if fs::read(&program).expect("the image has it").starts_with(b"\x7fELF") {
        return;
    }
    fs::copy(binaries::relayer(), &program).expect("the folder is writable");
    let listed = Command::new("ldd").arg(&program).output().expect("ldd comes with the C library");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = container.path(library.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().expect("a folder")).expect("the folder is writable");
        fs::copy(library, copy).expect("the library is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn image_serves_as_nobody_says_how_it_is_and_pays() {
    let Some(packages) = packages() else { return };
    if fs::metadata(packages).expect("just made").uid() != 0 {
        eprintln!("not run: a root for the image needs root");
        return;
    }
    let container = Container::of(&package(packages, "purser-", "-image.tar.gz"));
    let files = ["usr/local/bin/purser", "usr/share/doc/purser/LICENSES-THIRD-PARTY.txt", "etc/passwd"];
    for file in files {
        assert_eq!(fs::metadata(container.path(file)).expect("it is there").uid(), 0, "{file}");
    }
    let state = fs::metadata(container.path("var/lib/purser")).expect("it is there");
    assert_eq!((state.uid(), state.mode() & 0o777), (65532, 0o700));
    puts_real_program(&container);
    // What would be mounted there.
    std::os::unix::fs::chown(container.path("etc/purser"), Some(65532), Some(65532)).expect("it is ours");

    let network = TestNetwork::shared().await;
    let (rpc, websocket, mint) = (&network.rpc_url, &network.ws_url, network.usdc_mint.to_string());
    let places = ["--rpc-url", rpc, "--ws-url", websocket, "--usdc-mint", &mint];
    let guardian = Keypair::new().pubkey().to_string();
    let mut init = vec!["init", "/etc/purser", "--network", "test", "--managed", "--guardian", &guardian];
    init.extend(places);
    let made = container.runs(&[], &init);
    for line in made.lines() {
        // The addresses that need SOL.
        for address in line.split_whitespace().filter_map(|word| word.parse::<Pubkey>().ok()) {
            network.chain().funds(&address, 1).await;
        }
    }
    let port = free_port();
    let environment = [
        ("PURSER_CONFIG", "/etc/purser/purser.toml".to_owned()),
        ("PURSER__DATABASE__URL", "sqlite:///var/lib/purser/purser.db".to_owned()),
        ("PURSER__SERVER__LISTEN", format!("0.0.0.0:{port}")),
        ("PURSER__SERVER__ADMIN_LISTEN", "127.0.0.1:0".to_owned()),
    ];
    container.runs(&environment, &["migrate"]);
    let admin =
        ["--admin-keypair", "/etc/purser/admin.json", "--guardian", &guardian, "--loosening-delay", "0"];
    let mut create = vec!["operator", "create", "--network", "test", "--name", "Example"];
    create.extend(admin);
    container.runs(&environment, &create);
    let operator = word(&container.runs(&environment, &["operator", "list"]), |word| word.starts_with("op_"));
    let key = container.runs(&environment, &["key", "create", "--operator", &operator]);
    let key = word(&key, |word| word.starts_with("psr_"));

    let health = container.config["Healthcheck"]["Test"].as_array().expect("a command").clone();
    let health: Vec<&str> = health.iter().skip(1).map(|word| word.as_str().expect("text")).collect();
    assert_eq!(container.tries(&environment, &health).status.code(), Some(1), "nobody serves yet");
    let entry: Vec<String> =
        container.words("Entrypoint").into_iter().chain(container.words("Cmd")).collect();
    let entry: Vec<&str> = entry.iter().map(String::as_str).collect();
    let served = container.enters(&environment, &entry);
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    let log = container.path("log");
    let process = Process::start(Path::new("env"), &served, &log, None);
    process.says("listening", READY_WITHIN);
    let output = container.tries(&environment, &health);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("\"status\":"), "{said}");

    let client = Client::new(&format!("http://127.0.0.1:{port}"), Some(&key));
    let account = client.post("/v1/accounts", &json!({ "name": "Ada" })).await.has_status(201);
    let (id, chain) = (account.text_of("account_id").to_owned(), network.chain());
    let owner = account.text_of("solana_address").parse().expect("an address");
    chain.sets_usdc(&owner, 5_000_000).await;
    let policy = json!({ "max_single_transfer": "5", "max_daily_spend": "10" });
    client.put(&format!("/v1/accounts/{id}/policy"), &policy).await.has_status(200);
    let (payee, _) = chain.new_payee().await;
    let order = json!({ "from": id, "to": payee.to_string(), "amount": "1.5", "idempotency_key": "first" });
    client.post("/v1/transfers", &order).await.is_settled();
    assert_eq!(chain.usdc_micros(&payee).await, 1_500_000);
    drop(process);
    let port_is_free = async || std::net::TcpListener::bind(("0.0.0.0", port)).is_ok();
    until("what served in it ended", port_is_free).await;
    assert!(container.path("var/lib/purser/purser.db").is_file());
}
