use std::path::Path;

use secrecy::ExposeSecret;

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

/// The sections of a build with one extension.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OneExtension {
    gate: Gate,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Gate {
    open_to: u8,
}

impl Sections for OneExtension {
    const NAMES: &'static [&'static str] = &["gate"];
}

fn read(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    read_whole(text, environment).map(|(config, _)| config)
}

fn read_whole(text: &str, environment: &[(&str, &str)]) -> Result<(Config, OneExtension), ConfigError> {
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
        (
            "[rate_limit]",
            "[quotas]\ntag_buckets_per_account = 291\n[rate_limit]",
            "quotas.tag_buckets_per_account",
        ),
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
    let absent =
        Config::read_with::<OneExtension>(Some(Path::new("/nowhere/purser.toml")), Default::default());
    assert!(absent.expect_err("absent").to_string().contains("/nowhere/purser.toml"));
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
    assert_eq!(config.quotas.approvals_per_operator_daily, 100);
    let with = |lines: &str| read(&format!("{WHOLE}\n[quotas]\n{lines}"), &[]);
    let never = with("approvals_per_operator_daily = 0").expect("never");
    assert_eq!(never.quotas.approvals_per_operator_daily, 0);
    for wrong in ["-1", "4294967296", "\"many\""] {
        let error = with(&format!("approvals_per_operator_daily = {wrong}")).expect_err(wrong).to_string();
        assert!(error.contains("quotas.approvals_per_operator_daily"), "{error}");
    }
}

#[test]
fn token_accounts_are_off_and_the_smallest_payment_is_an_exact_amount() {
    let config = read(WHOLE, &[]).expect("valid");
    assert_eq!(config.quotas.token_accounts_per_operator_daily, 0);
    assert!(config.quotas.token_account_min_payment.is_zero());
    let environment = [("PURSER__QUOTAS__TOKEN_ACCOUNT_MIN_PAYMENT", "0.50")];
    let config = read(WHOLE, &environment).expect("valid");
    assert_eq!(config.quotas.token_account_min_payment.micros(), 500_000);
    let with = |amount: &str| read(&format!("{WHOLE}\n[quotas]\ntoken_account_min_payment = {amount}"), &[]);
    assert_eq!(with("\"1.000001\"").expect("valid").quotas.token_account_min_payment.micros(), 1_000_001);
    for wrong in ["\"-1\"", "\"0.0000001\"", "\"many\"", "\"18446744073709.551616\""] {
        let error = with(wrong).expect_err(wrong).to_string();
        assert!(error.contains("quotas.token_account_min_payment"), "{error}");
    }
}

#[test]
fn section_of_a_extension_is_read_by_it_and_no_other_is_known() {
    let with = |lines: &str| read_whole(&format!("{WHOLE}\n{lines}"), &[]);
    assert_eq!(with("").expect("valid").1.gate.open_to, 0);
    assert_eq!(with("[gate]\nopen_to = 7").expect("valid").1.gate.open_to, 7);
    let environment = [("PURSER__GATE__OPEN_TO", "8")];
    assert_eq!(read_whole(WHOLE, &environment).expect("valid").1.gate.open_to, 8);
    for (lines, key) in
        [("[gate]\nopen = 7", "gate.open"), ("[gate]\nopen_to = 700", "gate.open_to"), ("[gates]", "gates")]
    {
        let error = with(lines).expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
    let unknown = with("[gates]\nopen_to = 7").expect_err("no such extension").to_string();
    assert!(unknown.contains("`quotas`, `gate`"), "what there is: {unknown}");
}
