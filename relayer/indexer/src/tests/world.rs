//! A simulated chain: who is on it, what they do, its forks, and what histories must show in the end.

mod wire;

use std::collections::BTreeMap;

use anchor_lang::{Event, InstructionData};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::events::{self, AllowlistRecord, PolicyRecord};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

use super::address;
use purser_chain::SolanaHistory;
use purser_client::Deployment;
use purser_model::{AccountId, Address, OperatorId, SpendingPolicy, Timestamp};

pub const MINT: Address = Address::from_bytes([200; 32]);
const TOKEN_PROGRAM: Pubkey = anchor_spl::token::ID;
const OTHER_PROGRAM: Pubkey = Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
/// Wallets that are no accounts of ours and have plenty of money.
const OUTSIDERS: u8 = 3;
const WEALTH: u64 = 1_000_000_000_000;
/// What every account gets first: more than it will spend.
const BEGINNING: u64 = 1_000_000;

/// The program that a deed calls, the accounts and data of the call, and its logged events.
type Called = (Address, Vec<Address>, Vec<u8>, Vec<Vec<u8>>);

#[derive(Debug, Clone)]
pub struct WorldOperator {
    pub id: OperatorId,
    pub address: Address,
    pub is_registered: bool,
}

#[derive(Debug, Clone)]
pub struct WorldAgent {
    pub id: AccountId,
    /// Of which its id on the chain is made.
    pub number: u8,
    pub operator: usize,
    pub address: Address,
    pub token_account: Address,
    /// The database has it from the start.
    pub is_known: bool,
    /// It exists on the chain.
    pub exists: bool,
}

/// What an instruction does.
#[derive(Debug, Clone)]
enum Deed {
    Pay {
        agent: usize,
        to: Address,
        micros: u64,
        transfer_id: [u8; 16],
    },
    Withdraw {
        agent: usize,
        to: Address,
        micros: u64,
    },
    /// From a wallet, from another program, or minted: the history shows no difference.
    Give {
        from: Option<Address>,
        to: Address,
        micros: u64,
    },
    Create {
        agent: usize,
    },
    Pause {
        agent: usize,
    },
    /// Another program forges our event, as if `agent` had paid.
    Forge {
        agent: usize,
        micros: u64,
    },
}

#[derive(Debug, Clone)]
pub struct Transaction {
    pub signature: String,
    pub slot: u64,
    pub failed: bool,
    deeds: Vec<Deed>,
}

/// One line that a history must have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    pub account: AccountId,
    pub signature: String,
    pub slot: u64,
    pub kind: &'static str,
    pub micros: u64,
    pub transfer_id: Option<[u8; 16]>,
    pub created_at: Timestamp,
}

pub struct World {
    pub operators: Vec<WorldOperator>,
    pub agents: Vec<WorldAgent>,
    /// In the order of the chain.
    pub transactions: Vec<Transaction>,
    pub tip: u64,
    pub finalized: u64,
    /// How many slots a block takes to become final.
    pub lag: std::ops::Range<u64>,
    random: StdRng,
}

/// Where an agent of the operator and its USDC are.
fn addresses_of(operator: &WorldOperator, number: u8) -> [Address; 2] {
    let usdc_mint = Pubkey::new_from_array(MINT.bytes());
    let deployment = Deployment { program: purser::ID, usdc_mint };
    let operator = Pubkey::new_from_array(operator.address.bytes());
    let agent = deployment.agent_address(&operator, &[number; 16]);
    [agent, deployment.token_account(&agent)].map(|address| Address::from_bytes(address.to_bytes()))
}

pub fn time_of(slot: u64) -> i64 {
    1_800_000_000 + i64::try_from(slot / 2).expect("small")
}

impl World {
    /// Three operators, the last of them not registered; some accounts exist, others are created later.
    pub fn new(seed: u64, agents: u8) -> Self {
        let operators: Vec<WorldOperator> = (0..3)
            .map(|number| WorldOperator {
                id: OperatorId::from_bytes([100 + number; 16]),
                address: address(1, number),
                is_registered: number < 2,
            })
            .collect();
        let agents: Vec<WorldAgent> = (0..agents)
            .map(|number| {
                let operator = usize::from(number % 3);
                let [agent, token_account] = addresses_of(&operators[operator], number);
                WorldAgent {
                    id: SolanaHistory::told_id_of(&agent),
                    number,
                    operator,
                    address: agent,
                    token_account,
                    is_known: number % 3 < 2 && number < 6,
                    exists: number < 6,
                }
            })
            .collect();
        let mut world = Self {
            operators,
            agents,
            transactions: Vec::new(),
            tip: 100,
            finalized: 100,
            lag: 2..12,
            random: StdRng::seed_from_u64(seed),
        };
        for agent in 0..6 {
            let to = world.agents[agent].token_account;
            world.lands(vec![Deed::Give { from: None, to, micros: BEGINNING }], false);
        }
        world.finalized = world.tip;
        world
    }

    /// Some slots pass, with and without blocks, and things happen in them.
    pub fn goes_on(&mut self) {
        for _ in 0..self.random.random_range(0..5) {
            // Skipped slots.
            self.tip += self.random.random_range(0..3);
            let deeds: Vec<Deed> = (0..self.random.random_range(1..4)).flat_map(|_| self.deeds()).collect();
            let failed = self.random.random_bool(0.1);
            self.lands(deeds, failed);
        }
        self.tip += self.random.random_range(1..4);
        let lag = self.random.random_range(self.lag.clone());
        self.finalized = self.finalized.max(self.tip.saturating_sub(lag));
    }

    /// Some transactions that are not final vanish or land again in another slot, and unseen ones land in between.
    pub fn forks(&mut self) {
        let cut = self.random.random_range(self.finalized..=self.tip);
        let (mut kept, gone): (Vec<_>, Vec<_>) =
            self.transactions.drain(..).partition(|transaction| transaction.slot <= cut);
        let mut slot = cut + 1;
        for transaction in gone {
            if self.random.random_bool(0.4) {
                let deed = Deed::Pay {
                    agent: self.random.random_range(0..6),
                    to: address(4, 0),
                    micros: self.random.random_range(1..500),
                    transfer_id: self.random.random(),
                };
                kept.push(Transaction {
                    signature: self.signature(),
                    slot,
                    failed: false,
                    deeds: vec![deed],
                });
            }
            let creates = transaction.deeds.iter().any(|deed| matches!(deed, Deed::Create { .. }));
            if creates || self.random.random_bool(0.5) {
                kept.push(Transaction { slot, ..transaction });
                slot += self.random.random_range(0..2);
            }
        }
        self.transactions = kept;
        self.tip = self.tip.max(slot);
    }

    /// Everything becomes final.
    pub fn comes_to_rest(&mut self) {
        self.tip += 100;
        self.finalized = self.tip;
    }

    fn lands(&mut self, deeds: Vec<Deed>, failed: bool) {
        if !failed {
            for deed in &deeds {
                if let Deed::Create { agent } = deed {
                    self.agents[*agent].exists = true;
                }
            }
        }
        let signature = self.signature();
        self.transactions.push(Transaction { signature, slot: self.tip, failed, deeds });
    }

    fn signature(&mut self) -> String {
        let bytes: [u8; 64] = std::array::from_fn(|_| self.random.random());
        bs58::encode(bytes).into_string()
    }

    /// Usually one deed; a new account gets its money in the same transaction.
    fn deeds(&mut self) -> Vec<Deed> {
        let micros = self.random.random_range(1..500);
        let existing: Vec<usize> =
            (0..self.agents.len()).filter(|index| self.agents[*index].exists).collect();
        let agent = existing[self.random.random_range(0..existing.len())];
        let own = self.agents[agent].token_account;
        let other = existing[self.random.random_range(0..existing.len())];
        let outsider = address(4, self.random.random_range(0..OUTSIDERS));
        let to = match self.agents[other].token_account {
            same if same == own => outsider,
            _ if self.random.random_bool(0.5) => outsider,
            other => other,
        };
        vec![match self.random.random_range(0..20) {
            0..7 => Deed::Pay { agent, to, micros, transfer_id: self.random.random() },
            7..9 => Deed::Withdraw { agent, to, micros },
            9..14 => Deed::Give { from: self.random.random_bool(0.7).then_some(outsider), to: own, micros },
            14..16 => Deed::Pause { agent },
            16..18 => Deed::Forge { agent, micros },
            _ => match self.agents.iter().position(|agent| !agent.exists) {
                Some(agent) => {
                    let to = self.agents[agent].token_account;
                    return vec![Deed::Create { agent }, Deed::Give { from: None, to, micros: BEGINNING }];
                }
                None => Deed::Give { from: Some(outsider), to: own, micros },
            },
        }]
    }

    /// The exact lines that the histories of registered operators must have.
    pub fn expected(&self) -> Vec<Expected> {
        let mut all = Vec::new();
        for transaction in self.transactions.iter().filter(|transaction| !transaction.failed) {
            for agent in self.agents.iter().filter(|agent| self.operators[agent.operator].is_registered) {
                let line = |kind, micros, transfer_id| Expected {
                    account: agent.id,
                    signature: transaction.signature.clone(),
                    slot: transaction.slot,
                    kind,
                    micros,
                    transfer_id,
                    created_at: Timestamp::from_unix_seconds(time_of(transaction.slot)),
                };
                let mut came = 0;
                // Transfers into this account, for a deposit that one transfer made.
                let mut transfers = Vec::new();
                for deed in &transaction.deeds {
                    match deed {
                        Deed::Pay { agent: payer, to, micros, transfer_id } => {
                            if self.agents[*payer].id == agent.id {
                                all.push(line("transfer", *micros, Some(*transfer_id)));
                            }
                            if *to == agent.token_account {
                                came += *micros;
                                transfers.push((*micros, *transfer_id));
                            }
                        }
                        Deed::Withdraw { agent: payer, to, micros } => {
                            if self.agents[*payer].id == agent.id {
                                all.push(line("withdrawal", *micros, None));
                            }
                            came += if *to == agent.token_account { *micros } else { 0 };
                        }
                        Deed::Give { to, micros, .. } => {
                            came += if *to == agent.token_account { *micros } else { 0 };
                        }
                        Deed::Create { .. } | Deed::Pause { .. } | Deed::Forge { .. } => {}
                    }
                }
                if came > 0 {
                    let sole = match transfers[..] {
                        [(micros, transfer_id)] if micros == came => Some(transfer_id),
                        _ => None,
                    };
                    all.push(line("deposit", came, sole));
                }
            }
        }
        all
    }

    fn moves(&self, transaction: &Transaction) -> BTreeMap<Address, i64> {
        let mut moves = BTreeMap::new();
        for deed in &transaction.deeds {
            let (from, to, micros) = match deed {
                Deed::Pay { agent, to, micros, .. } | Deed::Withdraw { agent, to, micros } => {
                    (Some(self.agents[*agent].token_account), to, micros)
                }
                Deed::Give { from, to, micros } => (*from, to, micros),
                Deed::Create { .. } | Deed::Pause { .. } | Deed::Forge { .. } => continue,
            };
            let micros = i64::try_from(*micros).expect("small");
            *moves.entry(*to).or_default() += micros;
            if let Some(from) = from {
                *moves.entry(from).or_default() -= micros;
            }
        }
        moves
    }

    /// The balance of a token account after every transaction up to `slot`.
    pub fn balance(&self, token_account: &Address, slot: u64) -> u64 {
        let before = self.transactions.iter().filter(|transaction| transaction.slot <= slot);
        self.sum(token_account, before)
    }

    fn sum<'a>(&self, token_account: &Address, all: impl Iterator<Item = &'a Transaction>) -> u64 {
        let begin = if token_account.bytes()[1] == 4 { WEALTH } else { 0 };
        let moved: i64 = all
            .filter(|transaction| !transaction.failed)
            .filter_map(|transaction| self.moves(transaction).get(token_account).copied())
            .sum();
        begin.checked_add_signed(moved).expect("nobody is overdrawn")
    }

    /// Every address that the transaction names.
    pub fn touched(&self, transaction: &Transaction) -> Vec<Address> {
        let mut touched = Vec::new();
        for deed in &transaction.deeds {
            let (agent, others) = match deed {
                Deed::Pay { agent, to, .. } | Deed::Withdraw { agent, to, .. } => (Some(agent), vec![*to]),
                Deed::Give { from, to, .. } => (None, from.iter().copied().chain([*to]).collect()),
                Deed::Create { agent } | Deed::Pause { agent } | Deed::Forge { agent, .. } => {
                    (Some(agent), vec![])
                }
            };
            touched.extend(others);
            if let Some(agent) = agent {
                let agent = &self.agents[*agent];
                touched.extend([self.operators[agent.operator].address, agent.address, agent.token_account]);
            }
        }
        touched
    }
}
