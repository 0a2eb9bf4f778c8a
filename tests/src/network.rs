//! One embedded Solana network with the program and a USDC mint, as a process of its own.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use solana_sdk::pubkey::Pubkey;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::agent::random_tag;
use crate::binaries;
use crate::chain::Chain;
use crate::process::Process;
use crate::turns::Turn;

/// Short slots: finality is 31 of them, and a blockhash lives 150.
const SLOT_MS: &str = "40";
const READY_WITHIN: Duration = Duration::from_secs(60);

static SHARED: OnceCell<Arc<TestNetwork>> = OnceCell::const_new();

/// A running `purser-localnet` and the addresses it announced.
pub struct TestNetwork {
    process: Process,
    folder: PathBuf,
    _owned_folder: Option<TempDir>,
    /// The shared network waits for nobody.
    _turn: Option<Turn>,
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: Pubkey,
    pub usdc_mint: Pubkey,
    pub genesis_hash: String,
    pub slot_ms: u32,
}

impl TestNetwork {
    /// The network that all tests of this process share. No test moves its clock.
    pub async fn shared() -> Arc<TestNetwork> {
        SHARED
            .get_or_init(|| async {
                let folder = temp_folder().keep();
                Arc::new(TestNetwork::start_in(&folder, SLOT_MS, None, None, Some(&folder)))
            })
            .await
            .clone()
    }

    /// A network for this test alone, which may move its clock.
    pub fn own() -> Arc<TestNetwork> {
        TestNetwork::own_with_slots_of(SLOT_MS)
    }

    /// A network for this test alone, with the program under another address, built for it.
    pub fn own_with_program_at(id: Pubkey) -> Arc<TestNetwork> {
        let folder = temp_folder();
        let path = folder.path().to_path_buf();
        Arc::new(TestNetwork::start_in(&path, SLOT_MS, Some(id), Some(folder), None))
    }

    /// A network for this test alone, with slots as long as on mainnet: finality takes 6 seconds.
    pub fn slow() -> Arc<TestNetwork> {
        TestNetwork::own_with_slots_of("200")
    }

    /// A network for this test alone, with a block every `slot_ms` milliseconds.
    pub(crate) fn own_with_slots_of(slot_ms: &str) -> Arc<TestNetwork> {
        let folder = temp_folder();
        let path = folder.path().to_path_buf();
        Arc::new(TestNetwork::start_in(&path, slot_ms, None, Some(folder), None))
    }

    /// A network for this test alone, with what is on its chain kept in `state`, or taken up from there.
    pub fn kept_in(state: &Path) -> Arc<TestNetwork> {
        let folder = temp_folder();
        let (path, state) = (folder.path().to_path_buf(), ["--state-dir", path_text(state)]);
        Arc::new(TestNetwork::start_with(&path, SLOT_MS, &state, None, Some(folder), None))
    }

    /// Gives the network no time for so long, as a busy machine does. It makes up for its blocks afterwards.
    pub async fn stands_still(&self, time: Duration) {
        self.process.signals("-STOP");
        tokio::time::sleep(time).await;
        self.process.signals("-CONT");
    }

    /// Stops a network that is kept, so that all of it is written.
    pub fn stops(&self) {
        self.process.begins_to_stop();
        assert!(self.process.ends(READY_WITHIN), "the network stops by itself");
    }

    fn start_in(
        folder: &Path,
        slot_ms: &str,
        other_id: Option<Pubkey>,
        owned: Option<TempDir>,
        sweep: Option<&Path>,
    ) -> TestNetwork {
        TestNetwork::start_with(folder, slot_ms, &[], other_id, owned, sweep)
    }

    fn start_with(
        folder: &Path,
        slot_ms: &str,
        more: &[&str],
        other_id: Option<Pubkey>,
        owned: Option<TempDir>,
        sweep: Option<&Path>,
    ) -> TestNetwork {
        let turn = sweep.is_none().then(|| Turn::wait(1));
        let program_so = match &other_id {
            None => binaries::program_so(),
            Some(id) => {
                let file = folder.join("program.so");
                fs::write(&file, binaries::program_that_declares(id)).expect("the folder is writable");
                file
            }
        };
        let program_id = other_id.unwrap_or(purser::ID).to_string();
        let arguments = [
            "start",
            "--program-so",
            path_text(&program_so),
            "--program-id",
            &program_id,
            "--slot-ms",
            slot_ms,
        ];
        let arguments = [&arguments[..], more].concat();
        let process = Process::start(&binaries::localnet(), &arguments, &folder.join("localnet.log"), sweep);
        let ready = process.says("rpc_url", READY_WITHIN);
        let text = |field: &str| {
            ready[field]
                .as_str()
                .unwrap_or_else(|| panic!("purser-localnet does not say {field}: {ready}"))
                .to_owned()
        };
        let address = |field: &str| text(field).parse().expect("purser-localnet announces base58 addresses");
        TestNetwork {
            rpc_url: text("rpc_url"),
            ws_url: text("ws_url"),
            program_id: address("program_id"),
            usdc_mint: address("usdc_mint"),
            genesis_hash: text("genesis_hash"),
            slot_ms: slot_ms.parse().expect("a number of milliseconds"),
            folder: folder.to_path_buf(),
            _owned_folder: owned,
            _turn: turn,
            process,
        }
    }

    /// A view of this chain for the calling test. Make one per test: connections live in the test's runtime.
    pub fn chain(&self) -> Chain {
        Chain::at(&self.rpc_url, self.program_id, self.usdc_mint)
    }

    /// The folder with its log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process id of the network.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}

/// A port for a program that cannot choose one itself. It is below those that the system gives to whoever asks for any
/// (32,768 and up), so that nobody gets it before that program does.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let any = || 20_000 + u16::try_from(random_tag() % 12_000).expect("small");
    std::iter::repeat_with(any).take(100).find(is_free).expect("a local port is free")
}

/// A temporary folder that is removed when dropped.
pub fn temp_folder() -> TempDir {
    tempfile::Builder::new().prefix("purser-tests-").tempdir().expect("a temporary folder can be made")
}

/// The path as text; temporary and target folders have printable names.
pub fn path_text(path: &Path) -> &str {
    path.to_str().expect("test folders have UTF-8 names")
}
