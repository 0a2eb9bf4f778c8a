use std::convert::Infallible;

use clap::{CommandFactory, Parser};

use super::*;

/// Of a build without extensions.
type Arguments = super::Arguments<Infallible>;

#[test]
fn every_argument_is_declared_consistently() {
    Arguments::command().debug_assert();
}

#[test]
fn config_and_json_may_stand_behind_any_command() {
    let operator = "op_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let key = "key_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let webhook = "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let event = "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for command in [
        &["serve"][..],
        &["init", "folder", "--network", "test", "--managed", "--guardian", "none"],
        &["init", "folder", "--network", "test", "--guardian", "11111111111111111111111111111111"],
        &["keygen", "one.json", "two.json"],
        &["doctor"],
        &["health"],
        &["migrate"],
        &["operator", "list"],
        &[
            "operator",
            "add",
            "--network",
            "live",
            "--name",
            "a",
            "--address",
            "11111111111111111111111111111111",
        ],
        &["operator", "add", "--address", "11111111111111111111111111111111"],
        &[
            "operator",
            "create",
            "--network",
            "test",
            "--name",
            "a",
            "--admin-keypair",
            "b",
            "--loosening-delay",
            "2d",
        ],
        &["halt", "--operator", operator],
        &["openapi"],
        &["key", "create", "--operator", operator],
        &["key", "create", "--operator", operator, "--scopes", "read,halt"],
        &["key", "list", "--operator", operator],
        &["key", "revoke", key],
        &["replay", "--webhook", webhook, "--event", event],
        &["audit", "--url", "http://127.0.0.1:8899", "--operator", "11111111111111111111111111111111"],
        &["audit", "--from", "saved", "--html", "report.html"],
        &["audit", "--from", "saved", "--sign", "key.json", "--attestation", "audit.dsse.json"],
        &[
            "audit",
            "--follow",
            "--url",
            "http://127.0.0.1:8899",
            "--operator",
            "11111111111111111111111111111111",
            "--save",
            "saved",
            "--interval",
            "5",
        ],
        &["attest", "verify", "audit.dsse.json", "--key", "11111111111111111111111111111111"],
        &["audit", "--denials", "denials.jsonl"],
        &[
            "audit",
            "--denials",
            "denials.jsonl",
            "--denials-key",
            "11111111111111111111111111111111",
            "--url",
            "http://127.0.0.1:8899",
            "--operator",
            "11111111111111111111111111111111",
        ],
        &["verify-program", "--url", "http://127.0.0.1:8899"],
        &["listen", "--forward-to", "http://localhost:3000/hook", "--events", "transfer.settled"],
        &["replay", "--webhook", webhook, "--since", "2026-01-31T12:00:00Z", "--all"],
    ] {
        let line = [&["purser"], command, &["--config", "other.toml", "--json"]].concat();
        let read = Arguments::try_parse_from(line).expect("parsed");
        assert!(
            read.common.json && read.common.config.as_deref() == Some(std::path::Path::new("other.toml"))
        );
    }
}

#[test]
fn ids_addresses_and_networks_are_checked_before_anything_runs() {
    for command in [
        &[
            "operator",
            "add",
            "--network",
            "main",
            "--name",
            "a",
            "--address",
            "11111111111111111111111111111111",
        ][..],
        &["operator", "add", "--network", "test", "--name", "a", "--address", "nobody"],
        &["operator", "create", "--network", "test", "--name", "a", "--admin-keypair", "b"],
        &["init", "folder", "--network", "test"],
        &["init", "folder", "--network", "test", "--guardian", "nobody"],
        &["key", "list", "--operator", "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["key", "revoke", "key_"],
        &["replay", "--webhook", "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["replay", "--webhook", "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV", "--since", "yesterday"],
        &["replay", "--since", "2026-01-31T12:00:00Z"],
        &["halt"],
        &["audit", "--url", "http://127.0.0.1:8899"],
        &["audit", "--operator", "11111111111111111111111111111111"],
        &["verify-program"],
        &["audit", "--url", "http://127.0.0.1:8899", "--operator", "nobody"],
        &["audit", "--from", "saved", "--api", "https://purser.example.com"],
        &["audit", "--from", "saved", "--denials", "denials.jsonl"],
        &["audit", "--from", "saved", "--denials-key", "11111111111111111111111111111111"],
        &[
            "operator",
            "create",
            "--network",
            "test",
            "--name",
            "a",
            "--admin-keypair",
            "b",
            "--loosening-delay",
            "soon",
        ],
    ] {
        assert!(Arguments::try_parse_from([&["purser"], command].concat()).is_err(), "{command:?}");
    }
}

#[test]
fn devnets_usdc_is_circles_mint_wherever_it_is_named() {
    for page in
        [include_str!("../../relayer/app/src/config/tests.rs"), include_str!("../../migrations/README.md")]
    {
        assert!(page.contains(init::DEVNET_USDC));
    }
}

#[test]
fn help_of_the_audit_has_groups_exit_codes_and_examples_that_it_takes() {
    let command = Arguments::command();
    let audit = command.find_subcommand("audit").expect("it is a command");
    for option in audit.get_arguments() {
        assert!(option.get_help_heading().is_some(), "{} is in no group", option.get_id());
    }
    let help = super::audit::HELP;
    assert!(["\n  0  ", "\n  1  ", "\n  2  "].iter().all(|status| help.contains(status)), "{help}");
    let examples = help.lines().map(str::trim).filter(|line| line.starts_with("purser audit "));
    let examples: Vec<&str> = examples.collect();
    assert!(examples.len() > 4, "{help}");
    for example in examples {
        let words = example.split_whitespace().map(|word| match word.trim_matches('"') {
            "$RPC_URL" | "$SECOND_RPC_URL" => "http://127.0.0.1:8899",
            "$OPERATOR" | "$KEY" => "11111111111111111111111111111111",
            word => word,
        });
        let parsed = Arguments::try_parse_from(words);
        assert!(parsed.is_ok(), "{example}: {:?}", parsed.err().map(|error| error.to_string()));
    }
}
