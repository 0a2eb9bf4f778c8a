//! A service that speaks Vault's protocol, in this process.

use super::*;
use crate::sign::signer::{FileSigner, Signer};
use crate::sign::source::{Credential, KeySource, SigningService};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_model::Address;
use serde_json::{Value, json};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::{Keypair, Signer as _};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const LIMIT: Duration = Duration::from_secs(3);

/// How the service treats requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Signs,
    /// Signs something else than the message.
    SignsOther,
    Fails,
    Hangs,
}

struct Vault {
    keypair: Keypair,
    mood: Mutex<Mood>,
    token: Mutex<String>,
    asked: Mutex<Vec<String>>,
}

impl Vault {
    async fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let vault = Arc::new(Self {
            keypair: Keypair::new(),
            mood: Mutex::new(Mood::Signs),
            token: Mutex::new("first".into()),
            asked: Mutex::default(),
        });
        let serving = vault.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        (vault, url)
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        loop {
            let (mut line, mut length, mut token) = (String::new(), 0, String::new());
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let asked = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
            loop {
                line.clear();
                stream.read_line(&mut line).await.expect("a header");
                match line.trim_end().to_ascii_lowercase().split_once(": ") {
                    Some(("content-length", value)) => length = value.parse().expect("a number"),
                    Some(("x-vault-token", value)) => token = value.to_owned(),
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.expect("a body");
            self.asked.lock().push(asked.clone());
            let mood = *self.mood.lock();
            if mood == Mood::Hangs {
                std::future::pending::<()>().await;
            }
            let (status, answer) = self.answer(&asked, &token, &body, mood);
            let answer = answer.to_string();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
            stream.write_all(head.as_bytes()).await.expect("written");
        }
    }

    fn answer(&self, asked: &str, token: &str, body: &[u8], mood: Mood) -> (u16, Value) {
        if mood == Mood::Fails || token != *self.token.lock() {
            return (if mood == Mood::Fails { 503 } else { 403 }, json!({ "errors": ["no"] }));
        }
        match asked {
            "GET /v1/transit/keys/purser" => {
                let key = json!({ "public_key": STANDARD.encode(self.keypair.pubkey()) });
                (
                    200,
                    json!({ "data": { "type": "ed25519", "supports_signing": true, "latest_version": 1, "keys": { "1": key } } }),
                )
            }
            "POST /v1/transit/sign/purser" => {
                let body: Value = serde_json::from_slice(body).expect("JSON");
                let mut message = STANDARD.decode(body["input"].as_str().expect("a text")).expect("base64");
                if mood == Mood::SignsOther {
                    message.push(0);
                }
                let signature = STANDARD.encode(self.keypair.sign_message(&message));
                (200, json!({ "data": { "signature": format!("vault:v1:{signature}"), "key_version": 1 } }))
            }
            other => panic!("{other}"),
        }
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }

    fn times_asked(&self, what: &str) -> usize {
        self.asked.lock().iter().filter(|asked| asked.contains(what)).count()
    }
}

fn token_file(folder: &tempfile::TempDir, token: &str) -> PathBuf {
    let path = folder.path().join("token");
    std::fs::write(&path, format!("{token}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("set");
    path
}

fn signer(url: &str, public_key: Pubkey, token: PathBuf) -> Arc<dyn Signer> {
    let service =
        SigningService::Vault { url: url.into(), key: "purser".into(), token: Credential::File(token) };
    let public_key = Address::from_bytes(public_key.to_bytes());
    let key = RemoteKey { public_key, time_limit: LIMIT, service };
    KeySource::Remote(key).open("transfer authority").expect("opens")
}

/// A message for `payer` to sign.
fn message(payer: Pubkey) -> Vec<u8> {
    let instruction =
        Instruction { program_id: Pubkey::new_unique(), accounts: Vec::new(), data: vec![7; 40] };
    Message::new_with_blockhash(&[instruction], Some(&payer), &Hash::new_unique()).serialize()
}

#[tokio::test]
async fn a_vault_signs_what_a_file_of_the_same_key_would() {
    let (vault, url) = Vault::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let signer = signer(&url, vault.keypair.pubkey(), token_file(&folder, "first"));
    let message = message(vault.keypair.pubkey());
    let own = FileSigner::from_bytes(&vault.keypair.to_bytes()).expect("a keypair");
    assert_eq!(signer.sign(&message).await, own.sign(&message).await);
    assert_eq!((signer.public_key(), signer.is_away()), (own.public_key(), false));
    // The signature already proves that the service is there.
    signer.look().await;
    assert_eq!((vault.times_asked("sign"), vault.times_asked("keys")), (1, 0));
}

#[tokio::test]
async fn a_hanging_service_costs_the_limit_once_and_then_nothing_for_a_second() {
    let (vault, url) = Vault::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let signer = signer(&url, vault.keypair.pubkey(), token_file(&folder, "first"));
    let message = message(vault.keypair.pubkey());
    vault.is(Mood::Hangs);
    let begun = Instant::now();
    let unavailable = Err(ChainError::SignerUnavailable {
        address: Address::from_bytes(vault.keypair.pubkey().to_bytes()),
    });
    for _ in 0..20 {
        assert_eq!(signer.sign(&message).await, unavailable);
    }
    // On a busy machine the second may pass meanwhile.
    let most = 1 + begun.elapsed().as_millis() / (LIMIT + NOT_ASKED_FOR).as_millis();
    let asked = vault.times_asked("sign");
    assert!(asked >= 1 && asked as u128 <= most, "{asked} times, not {most}");
    assert!(signer.is_away());
    vault.is(Mood::Signs);
    // The periodic check finds the service back; no payment has to try it.
    signer.look().await;
    assert!(!signer.is_away());
    signer.sign(&message).await.expect("signed");
}

#[tokio::test]
async fn a_service_that_fails_signs_the_next_time() {
    let (vault, url) = Vault::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let signer = signer(&url, vault.keypair.pubkey(), token_file(&folder, "first"));
    let message = message(vault.keypair.pubkey());
    vault.is(Mood::Fails);
    signer.sign(&message).await.expect_err("fails");
    signer.look().await;
    assert!(signer.is_away());
    vault.is(Mood::Signs);
    signer.sign(&message).await.expect("signed");
    assert!(!signer.is_away());
}

#[tokio::test]
async fn a_token_that_was_renewed_is_taken_up_after_the_first_refusal() {
    let (vault, url) = Vault::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let signer = signer(&url, vault.keypair.pubkey(), token_file(&folder, "first"));
    let message = message(vault.keypair.pubkey());
    signer.sign(&message).await.expect("signed");
    *vault.token.lock() = "second".into();
    token_file(&folder, "second");
    signer.sign(&message).await.expect_err("the old one");
    signer.sign(&message).await.expect("the new one");
}

#[tokio::test]
async fn a_wrong_signature_and_another_key_are_found_before_anything_is_sent() {
    let (vault, url) = Vault::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let token = token_file(&folder, "first");
    let right = signer(&url, vault.keypair.pubkey(), token.clone());
    vault.is(Mood::SignsOther);
    right.sign(&message(vault.keypair.pubkey())).await.expect_err("of something else");
    assert!(right.is_away());
    vault.is(Mood::Signs);
    let other = Pubkey::new_unique();
    let wrong = signer(&url, other, token);
    wrong.look().await;
    assert!(wrong.is_away(), "said before anybody pays");
    wrong.sign(&message(other)).await.expect_err("of another key");
}

#[test]
fn a_kind_that_was_not_built_and_a_credential_that_is_not_there_are_said_at_the_start() {
    let key = |service| RemoteKey { public_key: Address::from_bytes([7; 32]), time_limit: LIMIT, service };
    let refused = |service| {
        let opened = KeySource::Remote(key(service)).open("policy authority");
        opened.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let aws = refused(SigningService::AwsKms { key: "k".into(), region: None });
    if !cfg!(feature = "signer-aws-kms") {
        assert!(aws.contains("`signer-aws-kms`") && aws.contains("policy authority"), "{aws}");
    }
    for token in
        [Credential::Variable("PURSER_TEST_NOT_SET".into()), Credential::File("/nowhere/token".into())]
    {
        let said = refused(SigningService::Vault { url: "http://127.0.0.1".into(), key: "k".into(), token });
        assert!(said.contains("PURSER_TEST_NOT_SET") || said.contains("/nowhere/token"), "{said}");
    }
    let missing = KeySource::Variable("PURSER_TEST_NOT_SET".into()).open("policy authority");
    let missing = missing.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(missing.contains("PURSER_TEST_NOT_SET is not set"), "{missing}");
}
