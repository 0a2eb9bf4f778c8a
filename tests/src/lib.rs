//! What the black-box tests in `it/` stand on: a real network process, a real relayer process, and verbs to speak with both.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`binaries`] | where the processes under test are found |
//! | [`process`] | a child process that cannot outlive the tests |
//! | [`network`] | [`TestNetwork`]: one `purser-localnet`, its faucets and its clock |
//! | [`chain`] | [`Chain`]: what the chain itself says, and transfers sent straight to the program |
//! | [`app`] | [`TestApp`]: one `purser serve` with its own folder, database and keys |
//! | [`postgres`] | [`TestDatabase`]: a database of the test's own on Postgres, when there is one |
//! | [`settings`] | [`AppSettings`]: what a test may want otherwise |
//! | [`operator`], [`agent`] | [`Operator`] and [`Agent`]: `agent.pays("12.50").to(&other).await` |
//! | [`anchor`] | what an operator types: `anchor run NAME -- ARGS` |
//! | [`client`] | [`Client`] and [`Answer`]: one HTTP request and what came back |
//! | [`foreign`] | programs of Python and Node that other people wrote |
//! | [`proxy`] | [`Proxy`]: a line to the network that can be cut, and spoiled call by call or payment by payment |
//! | [`receiver`] | [`Receiver`]: where webhooks are delivered to |
//! | [`keeper`] | [`Keeper`]: a service that keeps a key of the relayer and signs with it |
//! | [`request`] | [`Request`](request::Request): a request as it arrives at one of those two |
//! | [`node`] | [`Node`]: the network behind a door that counts calls, or a script that confirms everything at once |
//! | [`crash`] | crashes, faults and retries by seed, and the reading of the chain that judges them |
//! | [`random`] | chance that can be had again |
//! | [`wallet`] | [`Wallet`]: what anybody may do on the chain without the relayer |
//! | [`wire`] | [`Wire`]: a line to a websocket or a database that can be cut, or swallow everything |
//! | [`browser`] | [`Browser`]: what a browser without scripts does on the dashboard |
//! | [`clock`] | unix seconds from and to the timestamps of the API |
//! | [`usage`] | CPU time and memory, as the kernel counts them |
//! | [`money`] | micro-USDC from text, without floats |
//!
//! But for the script of a node, nothing here is a mock. Nothing here knows the relayer's types: answers are read as JSON.

pub mod agent;
pub mod anchor;
pub mod app;
pub mod binaries;
pub mod browser;
pub mod chain;
pub mod client;
pub mod clock;
pub mod crash;
pub mod foreign;
pub mod keeper;
pub mod money;
pub mod network;
pub mod node;
pub mod operator;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod random;
pub mod receiver;
pub mod request;
pub mod settings;
pub mod usage;
pub mod wallet;
pub mod wire;

pub use agent::{Agent, Payment};
pub use app::TestApp;
pub use browser::Browser;
pub use chain::{Chain, Landing};
pub use client::{Answer, Client};
pub use keeper::Keeper;
pub use network::TestNetwork;
pub use node::Node;
pub use operator::Operator;
pub use postgres::TestDatabase;
pub use proxy::Proxy;
pub use receiver::Receiver;
pub use settings::AppSettings;
pub use wallet::Wallet;
pub use wire::Wire;
