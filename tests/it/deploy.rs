//! The files under `deploy/`, checked against the relayer, and with the tools that read them, if these are installed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use purser_tests::binaries::{self, workspace};
use purser_tests::foreign::node_modules;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{AppSettings, TestApp, TestNetwork};

use crate::admin::with_admin;
use crate::set_up::printed_once;

fn deploy(file: &str) -> PathBuf {
    workspace().join("deploy").join(file)
}

fn promtool() -> Option<Command> {
    tool("PURSER_PROMTOOL", "promtool")
}

/// A program that a variable names or that is on the path; `None`, with a note on standard error, if there is none.
fn tool(variable: &str, name: &str) -> Option<Command> {
    let program = std::env::var_os(variable).filter(|named| !named.is_empty()).unwrap_or_else(|| name.into());
    if Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(Command::new(program));
    }
    let _ = writeln!(std::io::stderr(), "skipped: what {name} checks, since there is none");
    None
}

#[test]
fn whom_alertmanager_wakes_holds_before_amtool() {
    let Some(mut command) = tool("PURSER_AMTOOL", "amtool") else { return };
    command.args(["check-config", "alertmanager.yml"]).current_dir(deploy("prometheus"));
    passes(command);
}

/// As `systemd` reads them. The units' program is not installed here, so another one takes its place.
#[test]
fn systemd_units_hold_before_systemd_and_leave_little_open() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: what systemd-analyze checks, since there is none");
        return;
    }
    let folder = temp_folder();
    for name in ["purser.service", "purser-audit.service"] {
        let unit = fs::read_to_string(deploy(&format!("systemd/{name}"))).expect("it is there");
        let copy = folder.path().join(name);
        fs::write(&copy, unit.replace("/usr/local/bin/purser", "/bin/true")).expect("the folder is writable");
        for arguments in [["verify"].as_slice(), &["security", "--offline=true", "--threshold=20"]] {
            let mut command = Command::new("systemd-analyze");
            command.args(arguments).arg(&copy);
            passes(command);
        }
    }
}

/// The unit's own line, with its variables, names options that there are.
#[test]
fn audits_unit_follows_with_options_that_the_program_knows() {
    let unit = fs::read_to_string(deploy("systemd/purser-audit.service")).expect("it is there");
    let (_, line) = unit.split_once("ExecStart=/usr/local/bin/purser ").expect("it starts purser");
    let line = line.lines().next().unwrap_or_default();
    let folder = temp_folder();
    // Nothing answers at this address.
    let line = line.replace("${RPC_URL}", "http://127.0.0.1:1").replace("${WEBHOOK}", "http://127.0.0.1:1");
    let line = line.replace("${OPERATOR}", "11111111111111111111111111111111").replace(":9465", ":0");
    let line = line.replace("/var/lib/purser-audit", path_text(folder.path()));
    let log = folder.path().join("log");
    let arguments: Vec<&str> = line.split(' ').collect();
    let started = Process::start(&binaries::relayer(), &arguments, &log, None);
    started.says("metrics", Duration::from_secs(60));
    assert!(started.stops(Duration::from_secs(60)), "{}", fs::read_to_string(&log).unwrap_or_default());
}

/// With third-party linters: one knows the schema of Compose, the other the instructions of a Dockerfile.
#[test]
fn image_and_compose_file_hold_before_linters_that_find_what_is_wrong() {
    let Some(modules) = node_modules() else { return };
    let folder = temp_folder();
    for (linter, file, right, wrong) in [
        (["dclint", "--quiet"], "compose.yml", "read_only:", "reed_only:"),
        (["dockerfile-utils", "lint"], "Dockerfile", "\nUSER ", "\nUSR "),
    ] {
        let [program, argument] = linter;
        let lints = |file: &Path| {
            let mut command = Command::new(modules.join(".bin").join(program));
            command.arg(argument).arg(file);
            command
        };
        passes(lints(&deploy(file)));
        let text = fs::read_to_string(deploy(file)).expect("it is there");
        assert!(text.contains(right), "{file}");
        let broken = folder.path().join(file);
        fs::write(&broken, text.replace(right, wrong)).expect("the folder is writable");
        let found = lints(&broken).output().expect("it starts");
        assert_eq!(found.status.code(), Some(1), "{program} finds nothing in {file}");
    }
}

/// Every system with glibc has these libraries: copying the one file is enough, and a static build links to nothing that has no archive.
#[test]
fn program_is_one_file_that_links_to_the_c_library_alone() {
    let output = Command::new("ldd").arg(binaries::relayer()).output().expect("ldd comes with the C library");
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains("libc.so.6"), "{listed}");
    let usual = [
        "linux-vdso.so.1",
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libpthread.so.0",
        "libdl.so.2",
        "librt.so.1",
    ];
    let more: Vec<_> =
        names.iter().filter(|name| !name.contains("ld-linux") && !usual.contains(name)).collect();
    assert!(more.is_empty(), "{listed}");
}

/// The image has this one and no C library. `PURSER_TEST_LONG=1` builds it, and runs it where there is nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn static_program_needs_no_library_to_run_and_to_look_up_a_name() {
    let build = printed_once("static");
    let image = fs::read_to_string(deploy("Dockerfile")).expect("it is there");
    assert!(image.contains(&format!("RUN {} \\\n", build.trim())), "{image}");
    assert!(image.contains("FROM gcr.io/distroless/static-debian12:nonroot\n"), "{image}");
    if std::env::var_os("PURSER_TEST_LONG").is_none() {
        return;
    }
    let mut shell = Command::new("sh");
    shell.args(["-ec", &build]).current_dir(workspace()).env("CARGO_TARGET_DIR", binaries::target_dir());
    passes(shell);
    let root = temp_folder();
    let path = |name: &str| root.path().join(name);
    fs::copy(binaries::target_dir().join("release/purser"), path("purser")).expect("it was built");
    fs::create_dir(path("etc")).expect("the folder is writable");
    fs::write(path("etc/hosts"), "127.0.0.1 localhost\n").expect("the folder is writable");
    let node = TestNetwork::shared().await.rpc_url.replace("127.0.0.1", "localhost");
    assert!(node.contains("localhost"), "{node}");
    for arguments in [&["--version"][..], &["verify-program", "--url", &node]] {
        let mut purser = match fs::metadata(root.path()).expect("just made").uid() {
            0 => Command::new("chroot"),
            _ => {
                let mut unshare = Command::new("unshare");
                unshare.args(["--map-root-user", "chroot"]);
                unshare
            }
        };
        purser.arg(root.path()).arg("/purser").args(arguments);
        passes(purser);
    }
}

fn passes(mut command: Command) {
    let output = command.output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn alert_rules_and_scrape_configuration_hold_before_promtool() {
    for arguments in [
        ["check", "rules", "alerts.yml"].as_slice(),
        &["test", "rules", "alerts.test.yml"],
        &["check", "config", "prometheus.yml"],
    ] {
        let Some(mut command) = promtool() else { return };
        command.args(arguments).current_dir(deploy("prometheus"));
        passes(command);
    }
}

#[tokio::test]
async fn metrics_are_of_good_form_and_have_all_that_rules_and_dashboard_ask_for() {
    let app = TestApp::start(TestNetwork::shared().await, &with_admin(AppSettings::default())).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    let text = app.admin_client().get("/metrics").await.has_status(200).text;
    let known: BTreeSet<&str> = text.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    for file in ["prometheus/alerts.yml", "prometheus/alerts.test.yml", "grafana/purser.json"] {
        let asked = fs::read_to_string(deploy(file)).expect("it is there");
        let words = asked.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        let series: BTreeSet<&str> = words.filter(|word| word.starts_with("purser_")).collect();
        assert!(series.len() > 5, "{file} asks for little: {series:?}");
        let missing: Vec<_> = series.iter().filter(|series| !known.contains(*series)).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}, which is not in:\n{text}");
    }
    let Some(mut check) = promtool() else { return };
    // It reads the older text format, which has no end line and names a counter like its series.
    let mut text = text.replace("# EOF\n", "");
    for (name, _) in
        text.clone().lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(" counter"))
    {
        for about in ["HELP", "TYPE"] {
            text = text.replace(&format!("# {about} {name} "), &format!("# {about} {name}_total "));
        }
    }
    let mut check = check.args(["check", "metrics"]).stdin(Stdio::piped()).spawn().expect("it starts");
    check.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    assert!(check.wait().expect("it ends").success(), "{text}");
}

/// The image's program is run here, on the folder that would be mounted; the rest of what it is told is not done.
const DOCKER: &str = r#"#!/bin/sh
if [ "$1 $2 $3 $4 $5" = "compose -f deploy/compose.yml exec purser" ]; then shift 5; exec "$@" --help >/dev/null; fi
[ "$1" = run ] || exit 0
[ "$2 $3 $5" = "--rm -v purser" ] || exit 1
here=${4%%:*} there=${4#*:}
shift 5
exec purser $(echo "$@" | sed "s#$there#$here#g")
"#;

/// The commands in the comment above a file.
fn commands_above(text: &str) -> String {
    let comment = text.lines().take_while(|line| line.starts_with('#'));
    comment.filter_map(|line| line.strip_prefix("#   ")).map(|line| format!("{line}\n")).collect()
}

/// With stand-ins for what needs a daemon or changes this machine. `purser init` runs, and makes what the files go on to use.
#[tokio::test(flavor = "multi_thread")]
async fn commands_above_compose_file_and_unit_make_what_these_use() {
    let mut scene = crate::set_up::Scene::set().await;
    let folder = scene.folder.path().to_path_buf();
    let there = |name: &str| folder.join(name).display().to_string();
    for (name, script) in [
        ("docker", DOCKER),
        ("sudo", "#!/bin/sh\nexec \"$@\"\n"),
        ("chown", "#!/bin/sh\n"),
        ("useradd", "#!/bin/sh\n"),
    ] {
        let file = folder.join("bin").join(name);
        fs::write(&file, script).expect("the folder is writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
    // What the steps after `up` take from what others printed.
    scene.variables.push(("OPERATOR", "1".repeat(32)));
    scene.variables.push(("OPERATOR_ID", "op_01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned()));
    let compose = fs::read_to_string(deploy("compose.yml")).expect("it is there");
    let password = scene.types(&format!("{}echo \"$POSTGRES_PASSWORD\"", commands_above(&compose)));
    let password = password.lines().last().expect("it was made");
    assert_eq!(password.len(), 32, "{password}");
    let made = fs::read_to_string(folder.join("purser/purser.toml")).expect("init made it");
    assert!(made.contains(&format!("\nurl = \"postgres://purser:{password}@postgres/purser\"\n")), "{made}");
    for used in [
        "\n  volumes: [\"../purser:/etc/purser:ro\"]\n",
        "\n    PURSER_CONFIG: /etc/purser/purser.toml\n",
        "\n  postgres:\n",
        "\n      POSTGRES_USER: purser\n      POSTGRES_DB: purser\n      POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:",
    ] {
        assert!(compose.contains(used), "{used} is not in {compose}");
    }

    let unit = fs::read_to_string(deploy("systemd/purser.service")).expect("it is there");
    scene.types(&commands_above(&unit).replace("/etc/purser", &there("etc")));
    let (_, url) = unit.split_once("[database] url = ").expect("it says where the database is");
    let url = url.lines().next().unwrap_or_default().replace("/var/lib/purser", &there("state"));
    crate::rotation::configures(&folder.join("etc"), &format!("url = {url}"));
    fs::create_dir(folder.join("state")).expect("the folder is writable");
    let (_, config) = unit.split_once("/usr/local/bin/purser serve --config ").expect("it serves");
    let config = config.lines().next().unwrap_or_default().replace("/etc/purser", &there("etc"));
    scene.types(&format!("purser migrate --config {config}"));
    assert!(folder.join("state/purser.db").is_file());
    assert!(unit.contains("\nStateDirectory=purser\n"), "{unit}");
}
