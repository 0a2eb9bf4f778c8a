//! What every world contains: people, mints, places for operators and agents, and recipient accounts.

use std::sync::LazyLock;

use anchor_lang::prelude::Pubkey;
use anchor_spl::associated_token::get_associated_token_address;
use anchor_spl::token;

use crate::oracle::Token;

/// USDC: six decimals.
pub const MINT: Pubkey = Pubkey::new_from_array([101; 32]);
pub const OTHER_MINT: Pubkey = Pubkey::new_from_array([102; 32]);
/// A mint that no operator accepts.
pub const NINE_DECIMALS: Pubkey = Pubkey::new_from_array([103; 32]);
pub const MINT_2022: Pubkey = Pubkey::new_from_array([104; 32]);
pub const TOKEN_2022: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
/// Pays transaction fees, and has no other role.
pub const FEE_PAYER: Pubkey = Pubkey::new_from_array([100; 32]);

/// The mints with their token programs and decimals.
pub const MINTS: [(Pubkey, Pubkey, u8); 4] = [
    (MINT, token::ID, 6),
    (OTHER_MINT, token::ID, 6),
    (NINE_DECIMALS, token::ID, 9),
    (MINT_2022, TOKEN_2022, 6),
];

const PEOPLE: usize = 24;
const WALLETS: usize = 6;

/// A place for an operator: the admin who creates it, and its id.
pub struct OperatorPlace {
    pub admin: Pubkey,
    pub id: u64,
    pub address: Pubkey,
    /// The addresses of its approvers, by the number of the person.
    pub approvers: Vec<Pubkey>,
    /// The addresses of its budgets with the ids 0 and 1.
    pub budgets: [Pubkey; 2],
}

/// A place for an agent, and its accounts.
#[derive(Clone)]
pub struct AgentPlace {
    pub operator: Pubkey,
    pub id: [u8; 16],
    pub address: Pubkey,
    pub source: Pubkey,
    pub draft: Pubkey,
    /// The addresses of its grants with the ids 0, 1 and 2.
    pub grants: [Pubkey; 3],
    /// Its other token accounts: USDC, another mint, Token-2022.
    pub others: [Pubkey; 3],
}

pub struct Cast {
    /// Whoever can sign.
    pub people: Vec<Pubkey>,
    pub operators: Vec<OperatorPlace>,
    pub agents: Vec<AgentPlace>,
    /// Accounts that can be paid, and some that cannot.
    pub recipients: Vec<(Pubkey, Token)>,
    /// Every address that an attacker could put in a slot.
    pub everything: Vec<Pubkey>,
}

pub static CAST: LazyLock<Cast> = LazyLock::new(Cast::new);

pub fn operator_address(admin: &Pubkey, id: u64) -> Pubkey {
    let known = CAST.operators.iter().find(|place| place.admin == *admin && place.id == id);
    known.map_or_else(|| derive(&[b"operator", admin.as_ref(), &id.to_le_bytes()]), |place| place.address)
}

pub fn agent_address(operator: &Pubkey, id: &[u8; 16]) -> Pubkey {
    let known = CAST.agents.iter().find(|place| place.operator == *operator && place.id == *id);
    known.map_or_else(|| derive(&[b"agent", operator.as_ref(), id]), |place| place.address)
}

pub fn draft_address(agent: &Pubkey) -> Pubkey {
    let known = CAST.agents.iter().find(|place| place.address == *agent);
    known.map_or_else(|| derive(&[b"draft", agent.as_ref()]), |place| place.draft)
}

pub fn grant_address(agent: &Pubkey, id: u64) -> Pubkey {
    let known = CAST.agents.iter().find(|place| place.address == *agent);
    let known = known.and_then(|place| place.grants.get(id as usize).copied());
    known.unwrap_or_else(|| derive(&[b"grant", agent.as_ref(), &id.to_le_bytes()]))
}

pub fn budget_address(operator: &Pubkey, id: u64) -> Pubkey {
    let place = CAST.operators.iter().find(|place| place.address == *operator);
    let known = place.and_then(|place| place.budgets.get(id as usize).copied());
    known.unwrap_or_else(|| derive(&[b"budget", operator.as_ref(), &id.to_le_bytes()]))
}

pub fn approver_address(operator: &Pubkey, key: &Pubkey) -> Pubkey {
    let place = CAST.operators.iter().find(|place| place.address == *operator);
    let person = CAST.people.iter().position(|person| person == key);
    let known = place.zip(person).map(|(place, person)| place.approvers[person]);
    known.unwrap_or_else(|| derive(&[b"approver", operator.as_ref(), key.as_ref()]))
}

pub fn token_account_address(owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    let known = CAST.agents.iter().find(|place| place.address == *owner && *mint == MINT);
    known.map_or_else(|| get_associated_token_address(owner, mint), |place| place.source)
}

fn derive(seeds: &[&[u8]]) -> Pubkey {
    Pubkey::find_program_address(seeds, &purser::ID).0
}

/// A member of an address family. Members differ in one byte: the last one, or the first one of a later word.
fn alike(family: u8, at: usize, member: u8) -> Pubkey {
    let mut bytes = [family; 32];
    bytes[at] = member;
    Pubkey::new_from_array(bytes)
}

impl Cast {
    fn new() -> Self {
        let people: Vec<_> =
            (0..PEOPLE).map(|person| Pubkey::new_from_array([1 + person as u8; 32])).collect();
        let operator = |admin: Pubkey, id: u64| {
            let address = derive(&[b"operator", admin.as_ref(), &id.to_le_bytes()]);
            let approver = |key: &Pubkey| derive(&[b"approver", address.as_ref(), key.as_ref()]);
            let budgets = [0u64, 1].map(|id| derive(&[b"budget", address.as_ref(), &id.to_le_bytes()]));
            OperatorPlace { admin, id, address, approvers: people.iter().map(approver).collect(), budgets }
        };
        let operators = vec![operator(people[0], 0), operator(people[0], 1), operator(people[1], 0)];
        let ids = [[7; 16], *b"an agent account", *b"an agent accounu"];
        let agents: Vec<_> = operators
            .iter()
            .flat_map(|place| ids.iter().map(|id| AgentPlace::new(place.address, *id)))
            .enumerate()
            .map(|(number, place)| place.with_others(number as u8))
            .collect();
        let recipients = recipients(&agents);
        let mut everything = people.clone();
        everything.extend(MINTS.iter().map(|(mint, ..)| *mint));
        everything.extend(operators.iter().map(|place| place.address));
        everything.extend(operators.iter().map(|place| place.approvers[2]));
        everything.extend(operators.iter().flat_map(|place| place.budgets));
        everything.extend(agents.iter().flat_map(|place| [place.address, place.source, place.draft]));
        everything.extend(agents.iter().flat_map(|place| place.grants));
        everything.extend(agents.iter().flat_map(|place| place.others));
        everything.extend(recipients.iter().map(|(address, _)| *address));
        Self { people, operators, agents, recipients, everything }
    }

    /// `text` with addresses replaced by names.
    pub fn name(&self, text: &str) -> String {
        let mut names = vec![(purser::ID, "the program".to_owned()), (MINT, "USDC".to_owned())];
        let numbered = |what: &'static str| move |(at, key): (usize, Pubkey)| (key, format!("{what} {at}"));
        names.extend(self.people.iter().copied().enumerate().map(numbered("person")));
        names.extend(self.operators.iter().map(|place| place.address).enumerate().map(numbered("operator")));
        for (at, place) in self.agents.iter().enumerate() {
            let own = [(place.address, "agent"), (place.source, "source"), (place.draft, "draft")];
            names.extend(own.map(|(key, what)| (key, format!("{what} {at}"))));
            names.extend(place.grants.map(|key| (key, format!("a grant of {at}"))));
        }
        names.extend(self.recipients.iter().map(|(key, _)| *key).enumerate().map(numbered("recipient")));
        let owners = self.recipients.iter().map(|(_, token)| token.owner).enumerate();
        names.extend(owners.map(numbered("owner of recipient")));
        names.iter().fold(text.to_owned(), |text, (key, name)| text.replace(&key.to_string(), name))
    }
}

impl AgentPlace {
    fn new(operator: Pubkey, id: [u8; 16]) -> Self {
        let address = derive(&[b"agent", operator.as_ref(), &id]);
        let source = get_associated_token_address(&address, &MINT);
        let draft = derive(&[b"draft", address.as_ref()]);
        let grants = [0u64, 1, 2].map(|id| derive(&[b"grant", address.as_ref(), &id.to_le_bytes()]));
        Self { operator, id, address, source, draft, grants, others: [Pubkey::default(); 3] }
    }

    fn with_others(self, number: u8) -> Self {
        let others = [0, 1, 2].map(|which| alike(120 + which, 31, number));
        Self { others, ..self }
    }

    /// Its tokens outside its own USDC account.
    pub fn other_tokens(&self) -> [(Pubkey, Token); 3] {
        let kinds = [(token::ID, MINT), (token::ID, OTHER_MINT), (TOKEN_2022, MINT_2022)];
        let mut kinds = kinds.into_iter();
        self.others.map(|address| {
            let (program, mint) = kinds.next().expect("three kinds");
            (address, Token { program, mint, owner: self.address, amount: 1_000_000, frozen: false })
        })
    }
}

/// Wallets whose addresses share a word or all but one byte, each with two token accounts of the same kind; and accounts that
/// must not pass for these.
fn recipients(agents: &[AgentPlace]) -> Vec<(Pubkey, Token)> {
    let of = |owner: Pubkey| Token { program: token::ID, mint: MINT, owner, amount: 0, frozen: false };
    let mut all = Vec::new();
    for wallet in 0..WALLETS as u8 {
        // The first half differs in the last byte, the other half in the first byte of the second word.
        let at = if wallet < 3 { 31 } else { 8 };
        let owner = alike(150, at, wallet);
        all.push((alike(160, at, wallet), of(owner)));
        all.push((alike(161, 31, wallet), of(owner)));
    }
    let listed = all[0].0;
    let wallet = all[0].1.owner;
    // One account whose owner is listed as a token account, and one whose address is listed as a wallet.
    all.push((alike(170, 31, 0), of(listed)));
    all.push((wallet, of(alike(171, 31, 0))));
    all.push((alike(172, 31, 0), Token { frozen: true, ..of(wallet) }));
    all.push((alike(173, 31, 0), Token { mint: OTHER_MINT, ..of(wallet) }));
    all.push((alike(174, 31, 0), Token { program: TOKEN_2022, mint: MINT_2022, ..of(wallet) }));
    all.push((alike(175, 31, 0), Token { program: TOKEN_2022, ..of(wallet) }));
    all.extend(agents.iter().flat_map(AgentPlace::other_tokens));
    all
}
