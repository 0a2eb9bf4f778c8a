//! How a payment is made once: a model small enough to walk through all its states.
//!
//! A client asks two relayers for one idempotency key, again and again. Others pay from the same account. Everything that can
//! go wrong is a step that may come at any time: a relayer dies or pauses; bytes are lost, late, sent twice or expire; a node
//! serves an old view of the account or leaves payments out of its history; a database is wiped or restored.
//! The program's decision is the real [`purser_policy::RecentTags`].
//!
//! | Room | What it is for |
//! |---|---|
//! | [`chain`] | the account, its payments, and bytes on their way |
//! | [`database`] | what a relayer keeps, and what of it may be lost |
//! | [`relayer`] | what a relayer knows and does |
//! | [`world`] | all of it together, and the steps from one state to the next |
//!
//! Not modelled: forks (a payment that was seen and is gone again), nodes that make up payments or accounts, and the end
//! of the day after which a key is free again.
#![forbid(unsafe_code)]

pub mod chain;
pub mod database;
pub mod relayer;
pub mod world;

/// The rules that the protocol depends on; each can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The program refuses a transfer if more payments came since its signer's view than an account remembers.
    pub sequence: bool,
    /// A key is claimed before anything is done, and belongs to one request.
    pub claim: bool,
    /// Signed bytes are stored before they are sent, and only over the state that was seen.
    pub stored_bytes: bool,
    /// Nothing is decided unless every payment of the account up to the view's count is known.
    pub complete: bool,
    /// To learn whether expired bytes have landed, a relayer uses a view that is not older than their expiry.
    pub newer_view: bool,
    /// No single node's clock makes anything expire.
    pub agreed_clock: bool,
    /// A process drops what it remembers of its database when that changes under it.
    pub reads_database: bool,
}

impl Rules {
    pub const ALL: Rules = Rules {
        sequence: true,
        claim: true,
        stored_bytes: true,
        complete: true,
        newer_view: true,
        agreed_clock: true,
        reads_database: true,
    };
}

/// The size of a world, and how often each thing may happen in it.
#[derive(Debug, Clone)]
pub struct Setting {
    pub rules: Rules,
    /// The database of each relayer.
    pub database_of: Vec<usize>,
    /// Whether the client uses the key for two different payments.
    pub two_requests: bool,
    /// Whether the policy may refuse.
    pub refusals: bool,
    /// The sizes of the bursts that others pay, each in one step, in any order.
    pub others: Vec<u8>,
    /// Blocks after the first one; bytes live for the block in which they are signed.
    pub blocks: u8,
    /// A database learns payments one by one, in any order. Otherwise it learns all at once, when a relayer waits for them:
    /// what it does not know yet is the same, with fewer states.
    pub one_by_one: bool,
    /// How many transactions are sent in all.
    pub signatures: usize,
    pub crashes: u8,
    pub wipes: u8,
    /// How many databases are restored from an earlier copy.
    pub restores: u8,
}
