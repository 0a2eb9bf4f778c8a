//! A service that keeps a key and signs with it, like the ones relayers use: behind TLS, in the real service's wire format, and
//! as strict about credentials. It runs on threads, so that a blocked test runtime cannot stop it.

mod aws_kms;
mod gcp_kms;
mod privy;
mod turnkey;
mod vault;

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::request::Request;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

use crate::network::path_text;

/// Which service it imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Vault,
    Turnkey,
    Privy,
    AwsKms,
    GcpKms,
}

/// How it reacts to a signing request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Signs,
    /// Signs something other than what it was given.
    SignsOther,
    /// Signs with a key that nobody asked for.
    SignsAsOther,
    /// Answers that it cannot sign.
    Fails,
    /// Accepts the request and never answers.
    Hangs,
}

/// The service.
pub struct Keeper {
    address: SocketAddr,
    folder: TempDir,
    desk: Arc<Desk>,
}

struct Desk {
    kind: Kind,
    keypair: Keypair,
    mood: Mutex<Mood>,
    signed: AtomicUsize,
    hung: Mutex<Vec<String>>,
    turned_away: Mutex<Vec<String>>,
}

/// A service's answer. `Err` says what is wrong with the request; the service answers it with 403.
type Answered = Result<Value, String>;

impl Request {
    fn header(&self, name: &str) -> Result<&str, String> {
        self.headers.get(name).map(String::as_str).ok_or_else(|| format!("no header {name}"))
    }

    fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.body).map_err(|error| format!("no JSON: {error}"))
    }

    fn route(&self) -> (&str, &str) {
        (&self.method, &self.path)
    }
}

/// An error unless both values are equal.
fn is<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{found:?} instead of {wanted:?}")) }
}

impl Keeper {
    /// Starts a service that keeps this key.
    pub fn start(kind: Kind, keypair: &Keypair) -> Keeper {
        let folder = crate::network::temp_folder();
        let tls = Arc::new(tls(&folder));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let desk = Arc::new(Desk {
            kind,
            keypair: keypair.insecure_clone(),
            mood: Mutex::new(Mood::Signs),
            signed: AtomicUsize::new(0),
            hung: Mutex::default(),
            turned_away: Mutex::default(),
        });
        let serving = Arc::clone(&desk);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (desk, tls) = (Arc::clone(&serving), Arc::clone(&tls));
                thread::spawn(move || desk.serves(stream, tls));
            }
        });
        Keeper { address, folder, desk }
    }

    /// Sets the mood from now on.
    pub fn is(&self, mood: Mood) {
        *lock(&self.desk.mood) = mood;
    }

    /// How many signatures it has made.
    pub fn signed(&self) -> usize {
        self.desk.signed.load(Ordering::SeqCst)
    }

    /// The paths of requests that it left without an answer.
    pub fn hung(&self) -> Vec<String> {
        lock(&self.desk.hung).clone()
    }

    /// Why it rejected requests.
    pub fn turned_away(&self) -> Vec<String> {
        lock(&self.desk.turned_away).clone()
    }

    /// Environment variables that make a relayer use this service for a setting's key: `TRANSFER_AUTHORITY_KEYPAIR`, or a
    /// numbered one, `TRANSFER_AUTHORITY_KEYPAIR__0`.
    pub fn environment(&self, setting: &str) -> Vec<(&'static str, String)> {
        let url = format!("https://{}", self.address);
        let mut settings = match self.desk.kind {
            Kind::Vault => vault::settings(&url, &self.secret("vault-token", vault::TOKEN)),
            Kind::Turnkey => turnkey::settings(&url, &self.secret("turnkey", turnkey::PRIVATE_KEY)),
            Kind::Privy => privy::settings(&url, &self.secret("privy", privy::SECRET)),
            Kind::AwsKms => aws_kms::settings(&url),
            Kind::GcpKms => gcp_kms::settings(&url, &self.secret("google.json", &gcp_kms::credentials(&url))),
        };
        settings.push(("PUBLIC_KEY", self.desk.keypair.pubkey().to_string()));
        settings.push(("TIME_LIMIT_MS", "1000".to_owned()));
        let names = |(name, value): (&'static str, String)| {
            let name = match name.strip_prefix('=') {
                Some(variable) => variable.to_owned(),
                None => format!("PURSER__NETWORKS__TEST__{setting}__{name}"),
            };
            // Leaked for the rest of the process: relayers take environments with static names.
            (&*Box::leak(name.into_boxed_str()), value)
        };
        let certificate = path_text(&self.folder.path().join("ca.pem")).to_owned();
        let around = [("SSL_CERT_FILE", certificate), ("NO_PROXY", "127.0.0.1".to_owned())];
        settings.into_iter().map(names).chain(around).collect()
    }

    fn secret(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
        path_text(&path).to_owned()
    }
}

/// A certificate for this machine, from our own authority, which is in `ca.pem`. All keepers of a process share the authority.
fn tls(folder: &TempDir) -> ServerConfig {
    static AUTHORITY: Mutex<Option<(String, String)>> = Mutex::new(None);
    let mut authority = lock(&AUTHORITY);
    let of = || {
        let mut parameters = CertificateParams::new(Vec::<String>::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters
    };
    let (key, certificate) = authority.get_or_insert_with(|| {
        let key = KeyPair::generate().expect("a key");
        let certificate = of().self_signed(&key).expect("a certificate");
        (key.serialize_pem(), certificate.pem())
    });
    fs::write(folder.path().join("ca.pem"), certificate.as_bytes()).expect("the folder is writable");
    let issuer = Issuer::new(of(), KeyPair::from_pem(key).expect("our key"));
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that ring has")
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("the key is the certificate's")
}

impl Desk {
    /// Serves one connection, request after request.
    fn serves(&self, stream: TcpStream, tls: Arc<ServerConfig>) {
        let Ok(connection) = ServerConnection::new(tls) else { return };
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        while let Some(asked) = Request::next_of(&mut stream) {
            let mood = *lock(&self.mood);
            let (status, answer) = match mood {
                Mood::Hangs => {
                    lock(&self.hung).push(asked.path.clone());
                    // Until the client hangs up.
                    let _ = stream.read(&mut [0]);
                    return;
                }
                Mood::Fails => (500, Value::Null),
                Mood::Signs | Mood::SignsOther | Mood::SignsAsOther => match self.answers(&asked) {
                    Ok(answer) => (200, answer),
                    Err(problem) => {
                        lock(&self.turned_away).push(format!("{} {}: {problem}", asked.method, asked.path));
                        (403, Value::Null)
                    }
                },
            };
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status} Status\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
                if self.kind == Kind::AwsKms { "application/x-amz-json-1.1" } else { "application/json" },
                answer.len()
            );
            let writer = stream.get_mut();
            let written =
                writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(answer.as_bytes()));
            if written.and_then(|()| writer.flush()).is_err() {
                return;
            }
        }
    }

    fn answers(&self, asked: &Request) -> Answered {
        match self.kind {
            Kind::Vault => vault::answers(self, asked),
            Kind::Turnkey => turnkey::answers(self, asked),
            Kind::Privy => privy::answers(self, asked),
            Kind::AwsKms => aws_kms::answers(self, asked),
            Kind::GcpKms => gcp_kms::answers(self, asked),
        }
    }

    fn address(&self) -> String {
        self.keypair.pubkey().to_string()
    }

    fn signs(&self, message: &[u8]) -> [u8; 64] {
        self.signed.fetch_add(1, Ordering::SeqCst);
        let mood = *lock(&self.mood);
        match mood {
            Mood::SignsOther => self.keypair.sign_message(&[message, &[0]].concat()).into(),
            Mood::SignsAsOther => Keypair::new().sign_message(message).into(),
            Mood::Signs | Mood::Fails | Mood::Hangs => self.keypair.sign_message(message).into(),
        }
    }

    /// Puts the signature into the slot that the transaction has for it.
    fn signs_transaction(&self, wire: &[u8]) -> Result<Vec<u8>, String> {
        let short = || "a transaction that ends early".to_owned();
        let (count, rest) = wire.split_first().ok_or_else(short)?;
        let (mut signatures, message) = rest
            .split_at_checked(usize::from(*count) * 64)
            .map(|(own, rest)| (own.to_vec(), rest))
            .ok_or_else(short)?;
        let keys = message.get(4..).ok_or_else(short)?;
        let ours = self.keypair.pubkey().to_bytes();
        let place = keys.chunks(32).take(usize::from(*count)).position(|key| key == ours);
        let place = place.ok_or("not among those who sign")? * 64;
        signatures[place..place + 64].copy_from_slice(&self.signs(message));
        Ok([&[*count], &signatures[..], message].concat())
    }

    /// The public key in X.509 encoding.
    fn public_key_der(&self) -> Vec<u8> {
        const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        [&ED25519[..], &self.keypair.pubkey().to_bytes()].concat()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
