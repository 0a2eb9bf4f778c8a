use std::process::{Command, Output, Stdio};

use purser_tests::binaries;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_purser-migrate")).args(arguments).output().unwrap()
}

#[test]
fn every_script_of_anchor_toml_is_a_command_with_help() {
    let text = std::fs::read_to_string(binaries::workspace().join("Anchor.toml")).unwrap();
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("= \"migrations/run ")?.1.strip_suffix('"')).collect();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = run(&words);
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}");
        assert!(help.contains("--json") && help.contains("--wallet"), "{command}: {help}");
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
    let agent = ["--agent", "11111111111111111111111111111111"];
    let cases: [(&[&str], &str); 5] = [
        (&["agent", "set-policy"], "required"),
        (&["agent", "set-policy", "--require-memo", "yes"], "[possible values: true, false]"),
        (&["agent", "set-policy", "--allow-anyone", "--allow-nobody"], "cannot be used with"),
        (
            &["agent", "withdraw", "--to", agent[1], "--amount", "1e3"],
            "neither a decimal like 12.5 nor \"all\"",
        ),
        (&["agent", "set-policy", "--max-daily", "-1"], "unexpected argument"),
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
