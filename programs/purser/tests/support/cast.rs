use anchor_lang::prelude::Pubkey;
use anchor_lang::system_program;
use anchor_spl::token::spl_token::state::Multisig;
use anchor_spl::{associated_token, token};
use purser::state::{Agent, Operator, PolicyDraft};
use solana_program_pack::Pack;
use solana_sdk_ids::sysvar;

use super::account_bytes::{account, mint_account, token_account, TokenAccountState};
use super::{Place, Who, World, MINT, OTHER_MINT, PAYEE, PAYEE_OWNER, TOKEN_2022};

/// A program that belongs to an attacker.
const FORGER: Pubkey = Pubkey::new_from_array([200; 32]);

/// Every account that an attacker might pass, by name.
#[derive(Clone, Default)]
pub struct Cast(Vec<(&'static str, Pubkey)>);

impl Cast {
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Pubkey)> + '_ {
        self.0.iter().copied()
    }

    pub fn get(&self, name: &str) -> Pubkey {
        self.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("nobody is called {name}")).1
    }

    /// Creates those that are not in `world` yet.
    pub fn enter(world: &mut World) -> Self {
        let mut cast = Self::default();
        for (name, who) in [
            ("admin", Who::Admin),
            ("policy_authority", Who::PolicyAuthority),
            ("transfer_authority", Who::TransferAuthority),
            ("guardian", Who::Guardian),
            ("stranger", Who::Stranger),
            ("new_admin", Who::NewAdmin),
            ("foreign_admin", Who::ForeignAdmin),
            ("foreign_policy_authority", Who::ForeignPolicyAuthority),
            ("foreign_transfer_authority", Who::ForeignTransferAuthority),
            ("payer", Who::Payer),
            ("draft_payer", Who::DraftPayer),
        ] {
            cast.0.push((name, who.key()));
        }
        let Place { operator, agent, source, draft } = world.main;
        cast.0.extend([("operator", operator), ("agent", agent), ("source", source), ("draft", draft)]);
        let Place { agent, source, draft, .. } = world.sibling;
        cast.0.extend([("sibling_agent", agent), ("sibling_source", source), ("sibling_draft", draft)]);
        let Place { operator, agent, source, draft } = world.twin;
        cast.0.extend([("twin_operator", operator), ("twin_agent", agent)]);
        cast.0.extend([("twin_source", source), ("twin_draft", draft)]);
        let Place { operator, agent, source, draft } = world.foreign;
        cast.0.extend([("foreign_operator", operator), ("foreign_agent", agent)]);
        cast.0.extend([("foreign_source", source), ("foreign_draft", draft)]);
        cast.0.extend([("payee", PAYEE), ("mint", MINT), ("other_mint", OTHER_MINT)]);
        cast.forge(world);
        cast.enter_tokens(world);
        cast.0.extend([
            ("nobody", Pubkey::new_from_array([250; 32])),
            ("closed_agent", Self::closed_agent(world)),
            ("token_program", token::ID),
            ("token_2022_program", TOKEN_2022),
            ("associated_token_program", associated_token::ID),
            ("system_program", system_program::ID),
            ("purser_program", purser::ID),
            ("clock", sysvar::clock::ID),
        ]);
        cast
    }

    /// The right bytes with the wrong owner program, and wrong bytes with the right one.
    fn forge(&mut self, world: &mut World) {
        for (name, original) in [
            ("forged_operator", world.main.operator),
            ("forged_agent", world.main.agent),
            ("forged_source", world.main.source),
            ("forged_draft", world.sibling.draft),
            ("forged_mint", MINT),
        ] {
            let data = world.account(&original).data;
            self.put(world, name, account(FORGER, data));
        }
        self.put(world, "agent_under_system_program", {
            let data = world.account(&world.main.agent).data;
            account(system_program::ID, data)
        });
        self.put(world, "zeroed", account(purser::ID, vec![0; Agent::BYTES]));
        self.put(world, "stub", account(purser::ID, vec![1; 4]));
        for (name, original, bytes) in [
            ("truncated_operator", world.main.operator, Operator::BYTES),
            ("truncated_agent", world.main.agent, Agent::BYTES),
            ("truncated_draft", world.sibling.draft, PolicyDraft::BYTES),
        ] {
            let mut data = world.account(&original).data;
            data.truncate(bytes - 1);
            self.put(world, name, account(purser::ID, data));
        }
    }

    fn enter_tokens(&mut self, world: &mut World) {
        use TokenAccountState::{Frozen, Initialized, Uninitialized};
        let owned = |program, mint, state| token_account(program, mint, PAYEE_OWNER, 0, state);
        self.put(world, "frozen", owned(token::ID, MINT, Frozen));
        self.put(world, "uninitialised", owned(token::ID, MINT, Uninitialized));
        self.put(world, "other_mint_account", owned(token::ID, OTHER_MINT, Initialized));
        self.put(world, "other_mint_frozen", owned(token::ID, OTHER_MINT, Frozen));
        self.put(world, "token_2022_account", owned(TOKEN_2022, MINT, Initialized));
        self.put(world, "forged_token_account", owned(FORGER, MINT, Initialized));
        // A token account of the agent that is not the one it pays from.
        let second = token_account(token::ID, MINT, world.main.agent, 1_000_000_000, Initialized);
        self.put(world, "second_source", second);
        let mut multisig = owned(token::ID, MINT, Initialized);
        multisig.data.resize(Multisig::LEN, 1);
        self.put(world, "multisig", multisig);
        let mut short = owned(token::ID, MINT, Initialized);
        short.data.truncate(164);
        self.put(world, "short_token_account", short);
        self.put(world, "token_2022_mint", mint_account(TOKEN_2022, 6, true));
        self.put(world, "uninitialised_mint", mint_account(token::ID, 6, false));
        self.put(world, "nine_decimals_mint", mint_account(token::ID, 9, true));
    }

    fn closed_agent(world: &mut World) -> Pubkey {
        let id = *b"a closed account";
        let place = Place::new(Who::Admin, 0, id);
        world.accept(&place.create_agent(id));
        world.accept(&place.close_agent());
        place.agent
    }

    fn put(&mut self, world: &mut World, name: &'static str, account: solana_account::Account) {
        let address = Pubkey::new_from_array([110 + self.0.len() as u8; 32]);
        world.put(address, account);
        self.0.push((name, address));
    }
}
