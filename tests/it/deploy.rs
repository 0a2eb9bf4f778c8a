//! The files under `deploy/`, checked against the relayer, and with the tools that read them, if these are installed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use purser_tests::binaries::{self, workspace};
use purser_tests::foreign::node_modules;
use purser_tests::network::temp_folder;
use purser_tests::{AppSettings, TestApp, TestNetwork};

use crate::admin::with_admin;
use crate::set_up::printed_once;

fn deploy(file: &str) -> PathBuf {
    workspace().join("deploy").join(file)
}

/// `promtool`, from `PURSER_PROMTOOL` or the path; `None`, with a note on standard error, if there is none.
fn promtool() -> Option<Command> {
    let program = std::env::var_os("PURSER_PROMTOOL").unwrap_or_else(|| "promtool".into());
    if Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(Command::new(program));
    }
    let _ = writeln!(std::io::stderr(), "skipped: what promtool checks, since there is none");
    None
}

/// As `systemd` reads it. The unit's program is not installed here, so another one takes its place.
#[test]
fn systemd_unit_holds_before_systemd_and_leaves_little_open() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: what systemd-analyze checks, since there is none");
        return;
    }
    let unit = fs::read_to_string(deploy("systemd/purser.service")).expect("it is there");
    let folder = temp_folder();
    let copy = folder.path().join("purser.service");
    fs::write(&copy, unit.replace("/usr/local/bin/purser", "/bin/true")).expect("the folder is writable");
    for arguments in [["verify"].as_slice(), &["security", "--offline=true", "--threshold=20"]] {
        let mut command = Command::new("systemd-analyze");
        command.args(arguments).arg(&copy);
        passes(command);
    }
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
