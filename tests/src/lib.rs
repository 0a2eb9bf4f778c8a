//! The support for the black-box tests in `it/`: a real network process, a real relayer process, and verbs to use both.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`binaries`] | where the processes under test are found |
//! | [`process`] | a child process that cannot outlive the tests |
//! | [`network`] | [`TestNetwork`]: one `purser-localnet`, its faucets and its clock |
//! | [`chain`] | [`Chain`]: what the chain itself says, and transfers sent straight to the program |
//! | [`app`] | [`TestApp`]: one `purser serve` with its own folder, database and keys |
//! | [`postgres`] | [`TestDatabase`]: a Postgres database for one test, if there is a server |
//! | [`settings`] | [`AppSettings`]: how a test's relayer differs from the usual one |
//! | [`operator`], [`agent`] | [`Operator`] and [`Agent`]: `agent.pays("12.50").to(&other).await` |
//! | [`anchor`] | what an operator types: `anchor run NAME -- ARGS` |
//! | [`page`] | what a page prints for people to type |
//! | [`client`] | [`Client`] and [`Answer`]: one HTTP request and what came back |
//! | [`foreign`] | third-party programs in Python and Node |
//! | [`bad_line`] | a line between a client and the relayer that cuts, delays and refuses at random |
//! | [`proxy`] | [`Proxy`]: a line to the network that a test can cut, or spoil by call or by payment |
//! | [`receiver`] | [`Receiver`]: the endpoint that webhooks are delivered to |
//! | [`keeper`] | [`Keeper`]: a service that keeps a key of the relayer and signs with it |
//! | [`request`] | [`Request`](request::Request): a request that one of those two received |
//! | [`node`] | [`Node`]: a counting proxy in front of the network, or a script that confirms everything at once |
//! | [`layout_3`] | a kept network of version 0.1.0 in the program's layout of today |
//! | [`saved`] | a node that has only what an audit saved |
//! | [`sbf`] | builds of the program, where its compiler is unpacked |
//! | [`crash`] | crashes, faults and retries by seed, and an independent reader of the chain that judges them |
//! | [`random`] | reproducible random numbers |
//! | [`wallet`] | [`Wallet`]: what anybody can do on the chain without the relayer |
//! | [`wire`] | [`Wire`]: a line to a websocket or a database that a test can cut, or make swallow everything |
//! | [`bench`] | how the loads of `cargo xtask bench` end |
//! | [`browser`] | [`Browser`]: a browser without scripts on the dashboard |
//! | [`clock`] | converts between Unix seconds and the API's timestamps |
//! | [`waits`] | waits until something holds |
//! | [`usage`] | CPU time and memory, as the kernel counts them |
//! | [`money`] | micro-USDC from text, without floats |
//!
//! Except for a node's script, nothing here is a mock. Nothing here uses the relayer's types: answers are read as JSON.

pub mod agent;
pub mod anchor;
pub mod app;
pub mod bad_line;
pub mod bench;
pub mod binaries;
pub mod browser;
pub mod chain;
pub mod client;
pub mod clock;
pub mod crash;
pub mod foreign;
pub mod keeper;
pub mod layout_3;
pub mod money;
pub mod network;
pub mod node;
pub mod operator;
pub mod page;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod random;
pub mod receiver;
pub mod request;
pub mod saved;
pub mod sbf;
pub mod settings;

pub mod turns;
pub mod usage;
pub mod waits;
pub mod wallet;
pub mod wire;

pub use agent::{Agent, Payment};
pub use app::TestApp;
pub use browser::Browser;
pub use chain::{Chain, DirectOutcome};
pub use client::{Answer, Client};
pub use keeper::Keeper;
pub use network::TestNetwork;
pub use node::Node;
pub use operator::Operator;
pub use postgres::TestDatabase;
pub use proxy::Proxy;
pub use receiver::Receiver;
pub use settings::AppSettings;
pub use waits::{awaited, until};
pub use wallet::Wallet;
pub use wire::Wire;
