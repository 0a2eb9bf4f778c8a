use std::sync::OnceLock;

use anchor_lang::prelude::Pubkey;
use anchor_spl::token::{self, spl_token::state::Account as TokenState};
use litesvm::LiteSVM;
use purser::constants::{AGENT_SEED, DRAFT_SEED, OPERATOR_SEED};
use purser::state::{Agent, AgentView, Operator};
use purser::{OperatorKeys, OperatorUpdate, PolicyArgs};
use solana_account::Account;
use solana_clock::Clock;
use solana_program_pack::Pack;

use super::account_bytes::{account, mint_account, token_account, TokenAccountState};
use super::cast::Cast;
use super::policies::{only, open_policy, Proposal};
use super::{Place, Who};

pub const DAY: i64 = purser_policy::DAY_SECONDS;
/// The Unix second at which a world begins.
pub const NOON: i64 = 1_800_000_000;
/// The id of the agent that most tests use.
pub const AGENT_ID: [u8; 16] = *b"an agent account";
/// Micro-USDC in the token account of every agent at the beginning.
pub const BALANCE: u64 = 1_000_000_000;
pub const MINT: Pubkey = Pubkey::new_from_array([101; 32]);
/// Has six decimals, too, but is not the operator's mint.
pub const OTHER_MINT: Pubkey = Pubkey::new_from_array([102; 32]);
/// A recipient's token account.
pub const PAYEE: Pubkey = Pubkey::new_from_array([103; 32]);
/// The wallet that owns it.
pub const PAYEE_OWNER: Pubkey = Pubkey::new_from_array([104; 32]);
pub const TOKEN_2022: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");

pub fn operator_address(admin: &Pubkey, id: u64) -> Pubkey {
    Pubkey::find_program_address(&[OPERATOR_SEED, admin.as_ref(), &id.to_le_bytes()], &purser::ID).0
}

pub fn agent_address(operator: &Pubkey, agent_id: &[u8; 16]) -> Pubkey {
    Pubkey::find_program_address(&[AGENT_SEED, operator.as_ref(), agent_id], &purser::ID).0
}

pub fn draft_address(agent: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[DRAFT_SEED, agent.as_ref()], &purser::ID).0
}

pub fn token_account_address(owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    anchor_spl::associated_token::get_associated_token_address(owner, mint)
}

/// A chain that already contains every possible attacker.
#[derive(Clone)]
pub struct World {
    pub svm: LiteSVM,
    /// The operator and agent that most tests use.
    pub main: Place,
    /// Another agent of the same operator.
    pub sibling: Place,
    /// An agent of another operator with the same keys.
    pub twin: Place,
    /// An agent of an operator with different keys.
    pub foreign: Place,
    pub cast: Cast,
}

impl World {
    /// A fresh copy. The first one is built with the program itself.
    pub fn new() -> Self {
        static BUILT: OnceLock<World> = OnceLock::new();
        BUILT.get_or_init(Self::build).clone()
    }

    fn build() -> Self {
        // Without a history, since the blockhash differs for each transaction.
        let mut svm = LiteSVM::new().with_transaction_history(0);
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../idl/purser.so");
        let path = std::env::var("PURSER_PROGRAM_SO").unwrap_or_else(|_| built.to_owned());
        svm.add_program_from_file(purser::ID, &path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let main = Place::new(Who::Admin, 0, AGENT_ID);
        let mut world = Self {
            svm,
            main,
            sibling: Place::new(Who::Admin, 0, *b"a second account"),
            twin: Place::new(Who::Admin, 1, AGENT_ID),
            foreign: Place::new(Who::ForeignAdmin, 0, AGENT_ID),
            cast: Cast::default(),
        };
        world.set_clock(NOON);
        for who in Who::everyone() {
            world.put(who.key(), account(anchor_lang::system_program::ID, vec![]));
        }
        world.put(MINT, mint_account(token::ID, 6, true));
        world.put(OTHER_MINT, mint_account(token::ID, 6, true));
        world.put(PAYEE, token_account(token::ID, MINT, PAYEE_OWNER, 0, TokenAccountState::Initialized));

        world.accept(&Place::create_operator(Who::Admin, 0, Self::keys()));
        world.accept(&Place::create_operator(Who::Admin, 1, Self::keys()));
        let foreign_keys = OperatorKeys {
            policy_authority: Who::ForeignPolicyAuthority.key(),
            transfer_authorities: vec![Who::ForeignTransferAuthority.key()],
            guardian: None,
            loosening_delay_seconds: 0,
        };
        world.accept(&Place::create_operator(Who::ForeignAdmin, 0, foreign_keys));
        for (place, id, authority) in [
            (main, AGENT_ID, Who::PolicyAuthority),
            (world.sibling, *b"a second account", Who::PolicyAuthority),
            (world.twin, AGENT_ID, Who::PolicyAuthority),
            (world.foreign, AGENT_ID, Who::ForeignPolicyAuthority),
        ] {
            world.accept(&place.create_agent(id).signed_by(authority));
            world.fund(place.source, BALANCE);
            if place != main {
                let policy = PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() };
                world.seal(&Proposal::new(place, 1, policy), authority);
            }
        }
        world.cast = Cast::enter(&mut world);
        world
    }

    /// The keys of the main operator.
    pub fn keys() -> OperatorKeys {
        OperatorKeys {
            policy_authority: Who::PolicyAuthority.key(),
            transfer_authorities: vec![Who::TransferAuthority.key()],
            guardian: Some(Who::Guardian.key()),
            loosening_delay_seconds: 0,
        }
    }

    /// Sets the chain's clock, in Unix seconds.
    pub fn now(&self) -> i64 {
        self.svm.get_sysvar::<Clock>().unix_timestamp
    }

    pub fn set_clock(&mut self, unix_timestamp: i64) {
        let clock = Clock { unix_timestamp, ..self.svm.get_sysvar::<Clock>() };
        self.svm.set_sysvar(&clock);
    }

    pub fn put(&mut self, address: Pubkey, account: Account) {
        self.svm.set_account(address, account).expect("no sysvar and no program");
    }

    /// The account at `address`, which must exist.
    #[track_caller]
    pub fn account(&self, address: &Pubkey) -> Account {
        self.svm.get_account(address).unwrap_or_else(|| panic!("no account at {address}"))
    }

    /// Changes an account without the program.
    #[track_caller]
    pub fn edit(&mut self, address: Pubkey, change: impl FnOnce(&mut Account)) {
        let mut account = self.account(&address);
        change(&mut account);
        self.put(address, account);
    }

    /// Lamports at `address`; 0 if there is no account.
    pub fn lamports(&self, address: &Pubkey) -> u64 {
        self.svm.get_balance(address).unwrap_or(0)
    }

    pub fn rent(&self, bytes: usize) -> u64 {
        self.svm.minimum_balance_for_rent_exemption(bytes)
    }

    #[track_caller]
    pub fn token(&self, address: &Pubkey) -> TokenState {
        TokenState::unpack_unchecked(&self.account(address).data).expect("a token account")
    }

    /// Micro-USDC in the token account `address`.
    #[track_caller]
    pub fn balance(&self, address: &Pubkey) -> u64 {
        self.token(address).amount
    }

    /// Rewrites a token account.
    #[track_caller]
    pub fn edit_token(&mut self, address: Pubkey, change: impl FnOnce(&mut TokenState)) {
        let mut state = self.token(&address);
        change(&mut state);
        self.edit(address, |account| state.pack_into_slice(&mut account.data));
    }

    /// Makes the token account `address` hold `amount` micro-USDC.
    #[track_caller]
    pub fn fund(&mut self, address: Pubkey, amount: u64) {
        self.edit_token(address, |state| state.amount = amount);
    }

    #[track_caller]
    pub fn operator(&self) -> Operator {
        Operator::read(&self.account(&self.main.operator).data).expect("an operator")
    }

    #[track_caller]
    pub fn agent(&self) -> Agent {
        self.agent_view().agent
    }

    #[track_caller]
    pub fn agent_view(&self) -> AgentView {
        Agent::read(&self.account(&self.main.agent).data).expect("an agent")
    }

    /// The version of the main agent's policy.
    #[track_caller]
    pub fn version(&self) -> u32 {
        self.agent().policy_version
    }

    /// Gives the main agent this policy; rules that it leaves out stay open.
    #[track_caller]
    pub fn policy(&mut self, change: impl FnOnce(&mut PolicyArgs)) {
        let mut policy = open_policy();
        change(&mut policy);
        let call = self.main.set_policy(self.version(), policy).signed_by(Who::Admin);
        self.accept(&call);
    }

    /// Changes the main operator as its admin.
    #[track_caller]
    pub fn update(&mut self, update: OperatorUpdate) {
        let call = self.main.update_operator(update);
        self.accept(&call);
    }

    /// Sets the main operator's loosening delay.
    #[track_caller]
    pub fn delay(&mut self, seconds: u32) {
        self.update(OperatorUpdate { loosening_delay_seconds: Some(seconds), ..OperatorUpdate::default() });
    }
}
