//! Runs the chain and the oracle side by side.

use anchor_lang::prelude::Pubkey;

use crate::call::{Args, Call};
use crate::cast::CAST;
use crate::chain::Chain;
use crate::compare::{self, Differences};
use crate::oracle::{Answer, Model, Refusal, SPANS};

/// After this many steps every account is compared, not only those that a call may have changed.
const EVERYTHING: usize = 500;

#[derive(Clone, Debug)]
pub enum Step {
    /// One transaction at a second of the chain's clock.
    Call { at: i64, call: Call },
    /// What outsiders do to the agents' accounts.
    Edit(Edit),
}

#[derive(Clone, Debug)]
pub enum Edit {
    /// USDC from outside; creates the token account if the agent does not exist yet.
    Deposit {
        to: Pubkey,
        amount: u64,
    },
    /// The issuer freezes or thaws a token account.
    Freeze {
        account: Pubkey,
        frozen: bool,
    },
    Donate {
        to: Pubkey,
        lamports: u64,
    },
}

#[derive(Clone)]
pub struct World {
    pub chain: Chain,
    pub model: Model,
    steps: usize,
}

/// The outcome of a step.
pub enum Outcome {
    Accepted,
    Refused(Refusal),
    Edited,
}

impl World {
    pub fn new(program: &[u8]) -> Self {
        let chain = Chain::new(program);
        let model = chain.model();
        Self { chain, model, steps: 0 }
    }

    /// The outcome if both sides agree, or their differences.
    pub fn step(&mut self, step: &Step) -> Result<Outcome, Differences> {
        self.steps += 1;
        let (outcome, mut differences) = match step {
            Step::Call { at, call } => self.call(*at, call),
            Step::Edit(edit) => {
                self.edit(edit);
                (Outcome::Edited, Vec::new())
            }
        };
        if let Some(broken) = self.model.broken.take() {
            differences.push(format!("the rule breaks its own promise: {broken}"));
        }
        if differences.is_empty() && self.steps.is_multiple_of(EVERYTHING) {
            differences = compare::everything(&self.chain, &self.model);
        }
        if differences.is_empty() {
            Ok(outcome)
        } else {
            Err(differences)
        }
    }

    /// Whether `step` is a payment on a day with more different seconds of spends than the window keeps apart.
    pub fn is_beyond_exact(&self, step: &Step) -> bool {
        let Step::Call { call: Call { args, slots, .. }, .. } = step else { return false };
        if !matches!(args, Args::Transfer(_) | Args::TransferChecked(_) | Args::TransferExtended(_)) {
            return false;
        }
        self.model.agents.get(&slots[2]).is_some_and(|agent| agent.window.seconds_of_the_day() > SPANS)
    }

    fn call(&mut self, at: i64, call: &Call) -> (Outcome, Differences) {
        self.chain.set_clock(at);
        self.model.now = at;
        let answer = self.chain.answer(call);
        let expected = self.model.answer(call);
        let mut differences = answers(&answer, &expected);
        match expected {
            Ok(_) => {
                let written = call.written();
                differences.extend(written.flat_map(|key| compare::one(&self.chain, &self.model, &key)));
                (Outcome::Accepted, differences)
            }
            // LiteSVM discards everything of a failed transaction.
            Err(refusal) => (Outcome::Refused(refusal), differences),
        }
    }

    fn edit(&mut self, edit: &Edit) {
        let address = match edit {
            Edit::Deposit { to, .. } | Edit::Donate { to, .. } => to,
            Edit::Freeze { account, .. } => account,
        };
        if let Edit::Donate { lamports, .. } = edit {
            // Only existing accounts: a stranger's lamports do not create one.
            if let (Some(account), Some(known)) =
                (self.chain.account(address), self.model.lamports.get_mut(address))
            {
                let mut account: solana_account::Account = account.clone().into();
                account.lamports += lamports;
                *known += lamports;
                self.chain.put(*address, account);
            }
            return;
        }
        let place = CAST.agents.iter().find(|place| place.source == *address);
        if let (Some(place), None) = (place, self.model.tokens.get(address)) {
            self.model.tokens.insert(*address, Model::empty_token_account(place.address));
            self.model.lamports.insert(*address, self.model.rent(165));
        }
        let rent = self.model.rent(165);
        let Some(token) = self.model.tokens.get_mut(address) else { return };
        match edit {
            Edit::Deposit { amount, .. } => token.amount = token.amount.saturating_add(*amount),
            Edit::Freeze { frozen, .. } => token.frozen = *frozen,
            Edit::Donate { .. } => {}
        }
        let lamports = self.chain.account(address).map_or(rent, solana_account::ReadableAccount::lamports);
        self.chain.put_token(address, token, lamports);
    }
}

fn answers(chain: &Answer, oracle: &Answer) -> Differences {
    match (chain, oracle) {
        (Err(chain), Err(oracle)) if chain == oracle => vec![],
        (Ok(chain), Ok(oracle)) if chain == oracle => vec![],
        (Ok(chain), Ok(oracle)) => {
            let mut differences = Vec::new();
            for at in 0..chain.len().max(oracle.len()) {
                let show = |events: &Vec<Vec<u8>>| {
                    events.get(at).map_or("none".to_owned(), |event| event_text(event))
                };
                if chain.get(at) != oracle.get(at) {
                    let [chain, oracle] = [show(chain), show(oracle)];
                    differences.push(format!("event {at}: the chain has {chain}\n    the oracle {oracle}"));
                }
            }
            differences
        }
        (chain, oracle) => {
            let show = |answer: &Answer| match answer {
                Ok(events) => format!("accepts with {} events", events.len()),
                Err(refusal) => format!("refuses with {refusal:?}"),
            };
            vec![format!("the chain {}, the oracle {}", show(chain), show(oracle))]
        }
    }
}

fn event_text(event: &[u8]) -> String {
    use anchor_lang::{AnchorDeserialize, Discriminator};
    use purser::events::TransferExecuted;
    let transfer = event.strip_prefix(TransferExecuted::DISCRIMINATOR);
    match transfer.and_then(|mut fields| TransferExecuted::deserialize(&mut fields).ok()) {
        Some(TransferExecuted {
            agent,
            number,
            transfer_id,
            amount,
            recipient,
            policy_version,
            spent_in_window,
            ..
        }) => {
            let [.., a, b, c, d, e, f, g, h] = transfer_id;
            let tag = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            format!(
                "payment {number} of {agent}: tag {tag}, {amount} to {recipient}, policy version {policy_version}, \
                 {spent_in_window} in the window"
            )
        }
        None => event.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
