use std::process::{Command, Output, Stdio};

use purser_tests::binaries;

use crate::room::Room;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_purser-migrate")).args(arguments).output().unwrap()
}

/// The words of every command, as the help lists them.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = above.iter().map(String::as_str).chain(["--help"]).collect();
    let help = String::from_utf8(run(&words).stdout).unwrap();
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return vec![above.to_vec()] };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.flat_map(|name| commands(&[above, &[name.to_string()]].concat())).collect()
}

#[test]
fn every_command_is_a_script_of_anchor_toml_with_help_and_json() {
    let text = std::fs::read_to_string(binaries::workspace().join("Anchor.toml")).unwrap();
    let mut scripts: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once("= \"migrations/run ")?.1.strip_suffix('"').map(str::to_string))
        .collect();
    let mut found: Vec<String> = commands(&[]).iter().map(|words| words.join(" ")).collect();
    assert!(found.len() > 20, "{found:?}");
    for command in &found {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = run(&words);
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}");
        for option in ["--json", "--wallet", "--yes", "--unsigned", "--program-id"] {
            assert!(help.contains(option), "{command}: {option} is not in {help}");
        }
    }
    scripts.sort_unstable();
    found.sort_unstable();
    assert_eq!(scripts, found);
}

/// Anchor puts the arguments behind the script's line and gives all of it to a shell: what a shell would split needs
/// quotes of its own. It hands on the exit status, and what it sets itself is what counts.
#[tokio::test(flavor = "multi_thread")]
async fn anchor_reads_arguments_by_a_shell_and_hands_on_the_exit_status() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let file = room.folder.path().join("two words.json");
    let quoted = room.anchor_runs(&admin, "new-key", &format!("'{}'", file.display()));
    assert_eq!((quoted.status.code(), file.exists()), (Some(0), true), "{quoted:?}");
    let split = room.anchor_runs(&admin, "new-key", &format!("{}", file.display()));
    assert_eq!(split.status.code(), Some(2), "{split:?}");

    let update = format!("--operator {operator} --loosening-delay 1h");
    for (arguments, status) in [(update.clone(), 3), (format!("{update} --yes"), 0)] {
        let output = room.anchor_runs(&admin, "operator-update", &arguments);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
    let failed = room.anchor_runs(&policy, "operator-update", &format!("{update} --yes"));
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(said.contains("may not do this") && said.contains(&policy.address()), "{said}");
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn contradictions_are_wrong_command_lines() {
    let address = "11111111111111111111111111111111";
    let cases: [(&[&str], &str); 3] = [
        (&["--unsigned", "--yes"], "nothing that --yes could allow"),
        (&["--signer", address, "--yes"], "print the transaction with --unsigned"),
        (&["--nonce", address], "goes with --unsigned"),
    ];
    for (words, expected) in cases {
        let output = run(&[&["operator", "halt", "--url", "http://127.0.0.1:9"], words].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
}

/// By the file that `anchor run` runs: the binary that is named, then the one on the path.
#[test]
fn scripts_run_a_binary_that_is_built_already() {
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_purser-migrate");
    std::os::unix::fs::symlink(binary, folder.path().join("purser-migrate")).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    for (name, value) in [("PURSER_MIGRATE", binary), ("PATH", path.as_str())] {
        let mut command = Command::new("migrations/run");
        command.current_dir(binaries::workspace()).env_remove("PURSER_MIGRATE").env("PATH", "/usr/bin:/bin");
        let output = command.env(name, value).args(["new-key", "--help"]).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && help.contains("keypair file"), "{name}: {help}");
    }
}

#[test]
fn cluster_that_is_down_is_named_in_one_line() {
    let operator = "11111111111111111111111111111111";
    let output = run(&["operator", "show", "--url", "http://127.0.0.1:9", "--operator", operator]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: http://127.0.0.1:9 does not answer") && text.lines().count() == 1,
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn words_that_make_no_sense_are_refused_before_anything_is_asked() {
    let agent = ["--account", "11111111111111111111111111111111"];
    let cases: [(&[&str], &str); 5] = [
        (&["account", "set-policy"], "required"),
        (&["account", "set-policy", "--require-memo", "yes"], "[possible values: true, false]"),
        (&["account", "set-policy", "--allow-anyone", "--allow-nobody"], "cannot be used with"),
        (
            &["account", "withdraw", "--to", agent[1], "--amount", "1e3"],
            "neither a decimal like 12.5 nor \"all\"",
        ),
        (&["account", "set-policy", "--max-daily-spend", "-1"], "unexpected argument"),
    ];
    for (words, expected) in cases {
        let output = run(&[words, &agent[..]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
    let delay = run(&["operator", "update", "--loosening-delay", "31d"]);
    assert!(String::from_utf8(delay.stderr).unwrap().contains("at most 30 days"));
}

/// As `anchor run new-key -- FILE | head -0` has it.
#[test]
fn reader_that_closes_the_pipe_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_purser-migrate"));
    command.args(["new-key", file.to_str().unwrap()]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(file.exists());
}

#[test]
fn new_key_is_written_for_its_owner_alone_and_over_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.json");
    let words = ["new-key", file.to_str().unwrap(), "--json"];
    let output = run(&words);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keypair = solana_sdk::signature::read_keypair_file(&file).unwrap();
    assert_eq!(answer["address"], solana_sdk::signer::Signer::pubkey(&keypair).to_string());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let again = run(&words);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8(again.stderr).unwrap().starts_with("error: cannot make"));
    let kept = solana_sdk::signature::read_keypair_file(&file).unwrap();
    assert_eq!(kept.to_bytes(), keypair.to_bytes());
}
