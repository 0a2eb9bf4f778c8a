use super::*;
use crate::config::{Config, ConfigError, Sections};
use purser_model::Network;

const KEY: &str = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
const NAMES: &str = "PURSER__NETWORKS__TEST__TRANSFER_AUTHORITY_KEYPAIR";

/// The sections of a build without extensions.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WithoutExtensions {}

impl Sections for WithoutExtensions {
    const NAMES: &'static [&'static str] = &[];
}

/// The transfer authorities of a file with these lines, under this environment.
fn read(lines: &str, environment: &[(&str, &str)]) -> Result<Vec<KeySource>, ConfigError> {
    let text = format!(
        r#"
        [database]
        url = "sqlite:///var/purser.db"
        [networks.test]
        rpc_url = "http://127.0.0.1:8899"
        usdc_mint = "{KEY}"
        policy_authority_keypair = "/keys/policy.json"
        {lines}
        "#
    );
    let environment =
        environment.iter().map(|(name, value)| (format!("{NAMES}{name}"), (*value).to_owned())).collect();
    let (config, WithoutExtensions {}) = Config::of(None, &text, environment)?;
    Ok(config.networks.get(Network::Test).expect("configured").transfer_authority_keypair.clone())
}

fn table(lines: &str) -> Result<Vec<KeySource>, ConfigError> {
    read(&format!("[networks.test.transfer_authority_keypair]\n{lines}"), &[])
}

fn vault(limit: u64) -> KeySource {
    KeySource::Remote(RemoteKey {
        public_key: KEY.parse().expect("an address"),
        time_limit: Duration::from_millis(limit),
        service: SigningService::Vault {
            url: "https://vault.internal:8200".into(),
            key: "purser-transfer".into(),
            token: Credential::File("/run/vault-token".into()),
        },
    })
}

const VAULT: &str = r#"kind = "vault"
    url = "https://vault.internal:8200"
    key = "purser-transfer"
    credential_file = "/run/vault-token"
    public_key = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU""#;

#[test]
fn a_key_is_a_path_or_a_table_and_several_are_a_list_of_both() {
    let file = |path: &str| KeySource::File(path.into());
    let one = read(r#"transfer_authority_keypair = "/keys/a.json""#, &[]);
    assert_eq!(one.expect("valid"), [file("/keys/a.json")]);
    assert_eq!(table(VAULT).expect("valid"), [vault(3_000)]);
    assert_eq!(table(&format!("{VAULT}\ntime_limit_ms = 500")).expect("valid"), [vault(500)]);
    let both = format!(
        r#"transfer_authority_keypair = ["/keys/a.json", {{ kind = "environment", variable = "KEY" }}, {{ {} }}]"#,
        VAULT.replace('\n', ",")
    );
    assert_eq!(
        read(&both, &[]).expect("valid"),
        [file("/keys/a.json"), KeySource::Variable("KEY".into()), vault(3_000)]
    );
    assert_eq!(table("kind = \"file\"\npath = \"/a\"").expect("valid"), [file("/a")]);
}

#[test]
fn the_environment_alone_says_one_key_or_several_and_wins_over_the_file() {
    let said = [
        ("__KIND", "vault"),
        ("__URL", "https://vault.internal:8200"),
        ("__KEY", "purser-transfer"),
        ("__CREDENTIAL_FILE", "/run/vault-token"),
        ("__PUBLIC_KEY", KEY),
        ("__TIME_LIMIT_MS", "250"),
    ];
    assert_eq!(read("", &said).expect("valid"), [vault(250)]);
    let over = read(r#"transfer_authority_keypair = "/keys/a.json""#, &said);
    assert_eq!(over.expect("valid"), [vault(250)]);
    let numbered: Vec<_> =
        said.iter().map(|(name, value)| (format!("__10{name}"), (*value).to_owned())).collect();
    let mut numbered: Vec<_> = numbered.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    numbered.push(("__2", "/keys/b.json"));
    assert_eq!(read("", &numbered).expect("valid"), [KeySource::File("/keys/b.json".into()), vault(250)]);
    let files = read("", &[("", "/keys/a.json, /keys/b.json")]).expect("valid");
    assert_eq!(files, ["/keys/a.json", "/keys/b.json"].map(|path| KeySource::File(path.into())));
}

#[test]
fn each_kind_has_what_its_service_asks_for() {
    let service =
        |lines: &str| match table(&format!("{lines}\npublic_key = \"{KEY}\"")).expect("valid").remove(0) {
            KeySource::Remote(key) => key.service,
            other => panic!("{other:?}"),
        };
    assert_eq!(
        service("kind = \"aws-kms\"\nkey = \"alias/purser\"\nregion = \"eu-central-1\""),
        SigningService::AwsKms { key: "alias/purser".into(), region: Some("eu-central-1".into()) }
    );
    let name = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1";
    assert_eq!(
        service(&format!("kind = \"gcp-kms\"\nkey = \"{name}\"")),
        SigningService::GcpKms { key: name.into(), url: None }
    );
    assert_eq!(
        service(
            "kind = \"turnkey\"\norganization = \"o\"\nkey = \"k\"\napi_public_key = \"02ab\"\ncredential_variable = \"TURNKEY\""
        ),
        SigningService::Turnkey {
            url: None,
            organization: "o".into(),
            key: "k".into(),
            api_public_key: "02ab".into(),
            api_private_key: Credential::Variable("TURNKEY".into()),
        }
    );
    assert_eq!(
        service("kind = \"privy\"\napp = \"a\"\nwallet = \"w\"\ncredential_file = \"/s\""),
        SigningService::Privy {
            url: None,
            app: "a".into(),
            wallet: "w".into(),
            app_secret: Credential::File("/s".into())
        }
    );
}

#[test]
fn mistakes_in_a_key_are_reported() {
    for (lines, problem) in [
        ("url = \"x\"".to_owned(), "has no `kind`, which is file, environment, vault"),
        (
            "kind = \"hsm\"\npublic_key = \"11111111111111111111111111111111\"".into(),
            "`hsm` is not a kind of key",
        ),
        ("kind = \"vault\"".into(), "missing configuration field \"public_key\""),
        (VAULT.replace("credential_file", "token"), "either credential_file or credential_variable"),
        (format!("{VAULT}\ncredential_variable = \"V\""), "either credential_file or credential_variable"),
        (format!("{VAULT}\nregion = \"x\""), "unknown field `region`"),
        (format!("{VAULT}\ntime_limit_ms = 60000"), "time_limit_ms must be from 100 to 10000"),
        (VAULT.replace("https:", "http:"), "url must begin with https://"),
        (VAULT.replace("https://", "https://me:secret@"), "url must hold no user and no password"),
        (VAULT.replace("\"purser-transfer\"", "\"../../sys/seal\""), "key must be the name of a transit key"),
        (VAULT.replace(KEY, "0xabc"), "public_key"),
        ("kind = \"environment\"".into(), "variable"),
    ] {
        let error = table(&lines).expect_err(&lines).to_string();
        assert!(error.contains(problem), "{error}\n{problem}");
        assert!(
            error.contains("networks.test.transfer_authority_keypair") && !error.contains("secret@"),
            "{error}"
        );
    }
    // On the same machine, Vault may do without TLS.
    table(&VAULT.replace("https://vault.internal", "http://127.0.0.1")).expect("valid");
}

/// Every table of docs/run/keys.md, as it is printed and with what it leaves to be chosen.
#[test]
fn each_kind_of_the_page_is_read_as_it_is_printed() {
    const PAGE: &str = include_str!("../../../../../docs/run/keys.md");
    let section = PAGE.split("\n## Keys that another service keeps\n").nth(1).expect("a section");
    let section = section.split("\n## ").next().expect("it ends");
    let printed = section.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut kinds = Vec::new();
    for block in printed {
        let lines = block.trim_start_matches("[networks.live.transfer_authority_keypair]\n");
        let kind = lines.lines().next().and_then(|line| line.split('"').nth(1)).expect("the kind is first");
        kinds.push(kind);
        // An address stands where the page has dots.
        let lines = lines.replace("\"...\"", &format!("\"{KEY}\"")).replace("7rN1...base58", KEY);
        for lines in [lines.replace("\n# ", "\n"), lines] {
            assert_eq!(table(&lines).unwrap_or_else(|error| panic!("{lines}{error}")).len(), 1);
        }
    }
    assert_eq!(kinds, ["vault", "environment", "vault", "turnkey", "privy", "aws-kms", "gcp-kms"]);
}
