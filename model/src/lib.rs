//! How a payment is made once, small enough that all its states can be walked through.
//!
//! One idempotency key is asked for, of two relayers, again and again. Others pay from the same account. Everything that
//! may go wrong is a step that may come at any time: a relayer dies or is paused, bytes are lost, late or sent twice, they
//! expire, a node serves an old view of the account or leaves payments out of its history, a database is wiped or put back.
//! What the program decides by is the real [`purser_policy::RecentTags`].
//!
//! | Room | What it is for |
//! |---|---|
//! | [`chain`] | the account, its payments, and bytes on their way |
//! | [`database`] | what a relayer keeps, and what of it may be lost |
//! | [`relayer`] | what a relayer knows and does |
//! | [`world`] | all of it together, and the steps from one state to the next |
//!
//! Not in here: forks (a payment that was seen and is gone again), nodes that make up payments or accounts, and the passing
//! of the day after which a key is free again.
#![forbid(unsafe_code)]

pub mod chain;
pub mod database;
pub mod relayer;
pub mod world;

/// What the protocol rests on; each can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The program refuses what was signed by a view with more payments since than an account remembers.
    pub sequence: bool,
    /// A key is claimed before anything is done, and stands for one request.
    pub claim: bool,
    /// Signed bytes are stored before they are sent, over the state that was seen.
    pub stored_bytes: bool,
    /// Nothing is decided unless every payment of the account up to the view's count is known.
    pub complete: bool,
    /// Whether expired bytes have landed is looked for in a view that is not older than their expiry.
    pub newer_view: bool,
    /// Nothing is forgotten by one node's clock.
    pub agreed_clock: bool,
    /// What a process remembers of its database it drops when that is another one.
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

/// How large a world is, and what may happen how often.
#[derive(Debug, Clone)]
pub struct Setting {
    pub rules: Rules,
    /// Which database each relayer has.
    pub database_of: Vec<usize>,
    /// The client asks under the key for two different payments.
    pub two_requests: bool,
    /// The policy may refuse.
    pub refusals: bool,
    /// So many payments others make in one step each, in any order.
    pub others: Vec<u8>,
    /// Blocks after the first; bytes live for the block that they are signed in.
    pub blocks: u8,
    /// A database learns payments one by one, in any order. Otherwise all at once, when somebody waits for them: what it
    /// does not know yet is the same, with fewer states.
    pub one_by_one: bool,
    /// Transactions that are sent in all.
    pub signatures: usize,
    pub crashes: u8,
    pub wipes: u8,
    /// Databases that are put back as they were copied before.
    pub restores: u8,
}
