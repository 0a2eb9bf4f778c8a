//! A network under test: the real binary as a process, spoken to over JSON-RPC and websockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_rpc_client::rpc_client::RpcClient;
use solana_rpc_client_api::request::RpcRequest;
use solana_signer::Signer;
use solana_transaction::Transaction;

pub const PROGRAM_ID: &str = "PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx";
const SYSTEM_PROGRAM: Pubkey = Pubkey::from_str_const("11111111111111111111111111111111");
const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn binary() -> Command {
    Command::new(env!("CARGO_BIN_EXE_purser-localnet"))
}

pub fn program_so() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/purser/idl/purser.so")
}

/// A directory of its own for each test, empty at first.
pub fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

pub struct TestNetwork {
    pub process: Child,
    pub ready: Value,
    pub rpc: RpcClient,
}

impl TestNetwork {
    pub fn start(more: &[&str]) -> Self {
        let mut command = binary();
        command.arg("start").arg("--program-so").arg(program_so()).args(["--program-id", PROGRAM_ID]);
        command.args(["--exit-with-stdin", "--slot-ms", "20"]).args(more);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().expect("stdout is piped"))
            .read_line(&mut line)
            .expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("the ready line is JSON");
        let rpc_url = ready["rpc_url"].as_str().expect("rpc_url").to_string();
        let rpc = RpcClient::new_with_commitment(rpc_url, CommitmentConfig::confirmed());
        Self { process, ready, rpc }
    }

    pub fn fact(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {}", self.ready))
    }

    pub fn call(&self, method: &'static str, params: Value) -> Value {
        self.rpc
            .send(RpcRequest::Custom { method }, params)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Runs a subcommand against this network with `--json`.
    pub fn run(&self, args: &[&str]) -> Value {
        let mut command = binary();
        command.args(args).args(["--rpc-url", self.fact("rpc_url"), "--json"]);
        let Output { status, stdout, stderr } = command.output().expect("the binary runs");
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        serde_json::from_slice(&stdout).expect("the answer is JSON")
    }

    /// `Clock::unix_timestamp` as programs see it.
    pub fn second(&self) -> i64 {
        let data = self.rpc.get_account_data(&CLOCK.parse().expect("an address")).expect("the clock");
        i64::from_le_bytes(data[32..40].try_into().expect("eight bytes"))
    }

    pub fn funded(&self) -> Keypair {
        let keypair = Keypair::new();
        self.run(&["airdrop", "--to", &keypair.pubkey().to_string(), "--sol", "10"]);
        keypair
    }

    pub fn transfer_sol(&self, from: &Keypair, lamports: u64, blockhash: Hash) -> Transaction {
        // System program instruction 2: transfer lamports.
        let data = [&2u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
        let accounts = vec![
            AccountMeta::new(from.pubkey(), true),
            AccountMeta::new(Pubkey::new_from_array([9; 32]), false),
        ];
        let instruction = Instruction { program_id: SYSTEM_PROGRAM, accounts, data };
        Transaction::new_signed_with_payer(&[instruction], Some(&from.pubkey()), &[from], blockhash)
    }

    pub fn status(&self, signature: &str) -> Option<String> {
        let answer = self.call("getSignatureStatuses", json!([[signature]]));
        answer["value"][0]["confirmationStatus"].as_str().map(str::to_string)
    }

    /// Asks it to stop the way a shell does; returns how long it took.
    pub fn stop(mut self, signal: &str) -> Duration {
        let asked = Instant::now();
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
        let status = self.process.wait().expect("it ends");
        assert!(signal == "-KILL" || status.success(), "it ended with {status}");
        asked.elapsed()
    }
}

impl Drop for TestNetwork {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection to the port of this URL.
pub fn connected(url: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    BufReader::new(stream)
}

/// Posts as a browser would that shows a page of this origin.
pub fn sends(connection: &mut BufReader<TcpStream>, host: &str, headers: &str, body: &str) {
    let request = format!(
        "POST / HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.get_mut().write_all(request.as_bytes()).expect("it is sent");
}

/// The status of the next answer, whose body is read.
pub fn status_of(connection: &mut BufReader<TcpStream>) -> u16 {
    let mut line = String::new();
    connection.read_line(&mut line).expect("an answer");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let mut body_bytes = 0;
    while line != "\r\n" {
        line.clear();
        connection.read_line(&mut line).expect("a header");
        if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            body_bytes = length.trim().parse().expect("a number");
        }
    }
    connection.read_exact(&mut vec![0; body_bytes]).expect("a body");
    status
}

/// The status of one POST on a connection of its own.
pub fn posted(url: &str, host: &str, headers: &str, body: &str) -> u16 {
    let mut connection = connected(url);
    sends(&mut connection, host, headers, body);
    status_of(&mut connection)
}

/// Waits until `what` gives a value.
pub fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs the binary where it must fail: one line on stderr, nothing on stdout.
pub fn refused(args: &[&str]) -> String {
    let mut process = binary()
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let status = process.wait().expect("it ends");
    let (mut stdout, mut stderr) = (String::new(), String::new());
    process.stdout.take().expect("piped").read_to_string(&mut stdout).expect("text");
    process.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stderr}");
    stderr
}
