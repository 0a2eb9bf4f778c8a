//! A chain with operators and agents on it, calls of the program, and attacks on them.

mod account_bytes;
mod attacks;
mod call;
mod caller;
mod cast;
mod events;
mod expected;
mod grants;
mod oracle;
mod policies;
mod random;
mod send;
mod who;
mod world;

pub use account_bytes::{mint_account, token_account, TokenAccountState};
pub use attacks::{
    address, agent, any_signer, approver, attack, attack_layouts, draft, ignored, operator, program, raw,
    signer, WALLETS,
};
pub use call::{Call, Payment, Place, NOW};
pub use caller::vault;
pub use expected::Expected;
pub use grants::{memo, terms};
pub use oracle::Spends;
pub use policies::{
    all_rules, assert_policy, entries, hash, keys, many_keys, only, open_policy, record, stored, Proposal,
};
pub use random::Random;
pub use send::Outcome;
pub use who::Who;
pub use world::{
    agent_address, draft_address, operator_address, token_account_address, World, AGENT_ID, BALANCE, DAY,
    MINT, NOON, OTHER_MINT, PAYEE, PAYEE_OWNER, TOKEN_2022,
};
