use super::*;

const WHOLE: &str = r#"
    [server]
    listen = "0.0.0.0:0"
    request_timeout_seconds = 20
    [database]
    url = "sqlite:///var/purser.db"
    [transfers]
    deadline_seconds = 5
    [networks.test]
    rpc_url = "http://127.0.0.1:8899/?api-key=hush"
    ws_url = "ws://127.0.0.1:8900"
    program_id = "11111111111111111111111111111111"
    usdc_mint = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
    policy_authority_keypair = "/keys/policy.json"
    transfer_authority_keypair = "/keys/transfer.json"
    commitment = "confirmed"
    priority_fee_micro_lamports = 7
    explorer_url = "https://explorer.example/{signature}"
    [rate_limit]
    requests_per_second = 5
    burst = 6
"#;

fn read(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let environment = environment.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Config::read_with(Some(file.path()), environment.collect())
}

#[test]
fn the_whole_file_is_read() {
    let config = read(WHOLE, &[]).expect("valid");
    let network = config.networks.get(Network::Test).expect("configured");
    assert_eq!(network.commitment, CommitmentConfig::Confirmed);
    assert_eq!(network.program_id, Some(Address::from_bytes([0; 32])));
    assert_eq!(network.priority_fee_micro_lamports, 7);
    assert_eq!((config.server.listen.port(), config.rate_limit.burst.get()), (0, 6));
    assert_eq!(config.networks.iter().count(), 1);
}

#[test]
fn the_environment_wins_over_the_file() {
    let environment = [
        ("PURSER__RATE_LIMIT__BURST", "99"),
        ("PURSER__SERVER__LISTEN", "127.0.0.1:1234"),
        ("PURSER__NETWORKS__TEST__COMMITMENT", "finalized"),
        ("PURSER_LOG", "debug"),
    ];
    let config = read(WHOLE, &environment).expect("valid");
    assert_eq!(config.rate_limit.burst.get(), 99);
    assert_eq!(config.server.listen.port(), 1234);
    let network = config.networks.get(Network::Test).expect("configured");
    assert_eq!(network.commitment, CommitmentConfig::Finalized);
}

#[test]
fn mistakes_are_reported_with_their_key() {
    for (wrong, key, problem) in [
        ("burst = 6", "burst = 0", "rate_limit.burst"),
        ("burst = 6", "bursts = 6", "rate_limit.bursts"),
        ("[transfers]", "[transfer]", "transfer"),
        ("\"confirmed\"", "\"processed\"", "networks.test.commitment"),
        ("4zMMC9", "4zMMC0", "networks.test.usdc_mint"),
        ("\"0.0.0.0:0\"", "\"nowhere\"", "server.listen"),
        ("deadline_seconds = 5", "deadline_seconds = 20", "transfers.deadline_seconds"),
        ("request_timeout_seconds = 20", "request_timeout_seconds = 0", "server.request_timeout_seconds"),
    ]
    .map(|(from, to, key)| (WHOLE.replace(from, to), key, to))
    {
        let error = read(&wrong, &[]).expect_err(problem);
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains("PURSER__") && !error.to_string().contains('\n'), "{error}");
    }
    let unknown = read(WHOLE, &[("PURSER__SERVER__LISTENN", "x")]).expect_err("unknown");
    assert_eq!(unknown.key, "server.listenn");
}

#[test]
fn missing_fields_are_named() {
    for (line, missing) in [
        ("url = \"sqlite:///var/purser.db\"", "url"),
        ("usdc_mint = \"4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU\"", "usdc_mint"),
    ] {
        let error = read(&WHOLE.replace(line, ""), &[]).expect_err(missing).to_string();
        assert!(error.contains(missing), "{error}");
    }
    let none = read("networks = {}\n[database]\nurl = \"sqlite::memory:\"", &[]).expect_err("no network");
    assert_eq!(none.key, "networks");
    let absent = Config::read_with(Some(Path::new("/nowhere/purser.toml")), Default::default());
    assert!(absent.expect_err("absent").to_string().contains("/nowhere/purser.toml"));
}

#[test]
fn refusals_are_signed_where_a_key_is_named() {
    let with = |lines: &str| read(&format!("{WHOLE}\n[denials]\n{lines}"), &[]);
    let none = read(WHOLE, &[]).expect("valid").denials;
    assert!(none.keypair.is_none() && none.head_interval_seconds == 3_600);
    let some = with("keypair = \"key.json\"\nhead_interval_seconds = 0").expect("valid").denials;
    assert_eq!((some.keypair, some.head_interval_seconds), (Some("key.json".into()), 0));
    for wrong in ["head_interval_seconds = 86401", "head_interval_seconds = -1", "keypairs = \"x\""] {
        assert!(with(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn secrets_do_not_print_themselves() {
    let config = read(WHOLE, &[]).expect("valid");
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn further_nodes_are_a_list_or_text_with_commas() {
    let list = WHOLE.replace(
        "program_id",
        "rpc_urls = [\"http://b\", \"http://c\"]\n    ws_urls = [\"\", \"ws://c\"]\n    program_id",
    );
    let text = [
        ("PURSER__NETWORKS__TEST__RPC_URLS", "http://b, http://c"),
        ("PURSER__NETWORKS__TEST__WS_URLS", ",ws://c"),
    ];
    for config in [read(&list, &[]), read(WHOLE, &text)] {
        let config = config.expect("valid");
        let network = config.networks.get(Network::Test).expect("configured");
        let exposed = |urls: &[SecretString]| -> Vec<String> {
            urls.iter().map(|url| url.expose_secret().to_owned()).collect()
        };
        assert_eq!(exposed(&network.rpc_urls), ["http://b", "http://c"]);
        assert_eq!(exposed(&network.ws_urls), ["", "ws://c"]);
    }
    let more = read(WHOLE, &text[1..]).expect_err("websockets of no node");
    assert_eq!(more.key, "networks.test.ws_urls");
}

#[test]
fn deposits_are_looked_for_at_a_sensible_pace() {
    let with = |interval: &str| read(&format!("{WHOLE}\n[indexer]\ninterval_ms = {interval}"), &[]);
    assert_eq!(read(WHOLE, &[]).expect("valid").indexer.interval_ms, 10_000);
    assert_eq!(with("100").expect("valid").indexer.interval_ms, 100);
    for interval in ["0", "99", "3600001", "-1", "\"soon\""] {
        let error = with(interval).expect_err(interval).to_string();
        assert!(error.contains("indexer.interval_ms"), "{error}");
    }
}

#[test]
fn keys_are_one_file_or_several_and_quotas_have_defaults() {
    let config = read(WHOLE, &[]).expect("valid");
    let network = config.networks.get(Network::Test).expect("configured");
    assert_eq!(network.policy_authority_keypair, [KeySource::File("/keys/policy.json".into())]);
    assert_eq!((network.rent_payers.len(), config.quotas.accounts_per_operator), (0, 1_000));
    let old = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
    let environment = [
        ("PURSER__NETWORKS__TEST__POLICY_AUTHORITY_KEYPAIR", "/keys/a.json, /keys/b.json"),
        ("PURSER__NETWORKS__TEST__RENT_PAYERS", old),
        ("PURSER__QUOTAS__ALLOWLIST_ENTRIES_PER_OPERATOR", "7"),
    ];
    let config = read(WHOLE, &environment).expect("valid");
    let network = config.networks.get(Network::Test).expect("configured");
    assert_eq!(
        network.policy_authority_keypair,
        ["/keys/a.json", "/keys/b.json"].map(|path| KeySource::File(path.into()))
    );
    assert_eq!(network.rent_payers.iter().map(Address::to_string).collect::<Vec<_>>(), [old]);
    assert_eq!(config.quotas.allowlist_entries_per_operator, 7);
}

/// Checks the page of all settings: each stands there once for the file and once for the environment.
#[test]
fn every_setting_of_the_page_can_be_said_by_the_environment_alone() {
    const PAGE: &str = include_str!("../../../docs/configuration.md");
    let text = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("settings");
    let values = config::Config::builder().add_source(File::from_str(text, FileFormat::Toml)).build();
    let values: serde_json::Value = values.expect("TOML").try_deserialize().expect("values");
    let mut environment = Vec::new();
    flatten("PURSER", &values, &mut environment);
    assert!(environment.len() > 35, "{environment:?}");
    let named: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let by_file = read(text, &[]).expect("the page is valid");
    let map = |named: &[(&str, &str)]| {
        named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let by_environment = Config::read_with(None, map(&named)).expect("the same");
    assert_eq!(format!("{by_environment:?}"), format!("{by_file:?}"));
    let (url, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(name, _)| *name == "PURSER__DATABASE__URL");
    let missing = Config::read_with(None, map(&others)).expect_err("a setting is missing").to_string();
    assert!(!url.is_empty() && missing.contains("database"), "{missing}");
    let wrong =
        [others, vec![("PURSER__DATABASE__URL", "x"), ("PURSER__WEBHOOKS__PORTS", "443,http")]].concat();
    let wrong = Config::read_with(None, map(&wrong)).expect_err("no port").to_string();
    assert!(wrong.contains("`http` is not a port") && wrong.contains("PURSER__WEBHOOKS__PORTS"), "{wrong}");
    let nothing = Config::read_with(None, Default::default()).expect_err("nothing").to_string();
    assert!(nothing.contains("purser init") && nothing.contains("--config"), "{nothing}");
}

fn flatten(name: &str, value: &serde_json::Value, into: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let text = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{name}__{}", key.to_uppercase()), value, into);
            }
            return;
        }
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text_of(value),
    };
    into.push((name.to_owned(), text));
}

fn text_of(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
