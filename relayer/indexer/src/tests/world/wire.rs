//! Transactions of the simulated chain in the form that nodes return.

use super::*;

impl World {
    /// As a node returns it, optionally with its log cut after the first line or so.
    pub fn json(&self, transaction: &Transaction, log_is_cut: bool) -> Value {
        let index = self.transactions.iter().position(|known| known.signature == transaction.signature);
        let before = &self.transactions[..index.expect("on the chain")];
        let mut keys: Vec<Address> = self.touched(transaction);
        keys.sort_unstable_by_key(Address::bytes);
        keys.dedup();
        let [ours, other] =
            [purser::ID, OTHER_PROGRAM].map(|program| Address::from_bytes(program.to_bytes()));
        keys.extend([ours, other, Address::from_bytes([0; 32])]);
        let place = |address: &Address| keys.iter().position(|key| key == address).expect("a key");
        let (mut instructions, mut logs) = (Vec::new(), Vec::new());
        for deed in &transaction.deeds {
            let Some((program, accounts, data, events)) = self.called(deed) else { continue };
            let accounts: Vec<usize> = accounts.iter().map(place).collect();
            let data = bs58::encode(data).into_string();
            instructions
                .push(json!({ "programIdIndex": place(&program), "accounts": accounts, "data": data }));
            logs.push(format!("Program {program} invoke [1]"));
            logs.extend(events.iter().map(|event| format!("Program data: {}", STANDARD.encode(event))));
            logs.push(format!("Program {program} success"));
        }
        if log_is_cut && !logs.is_empty() {
            logs.truncate(logs.len() / 2);
            logs.push("Log truncated".into());
        }
        let moves = if transaction.failed { BTreeMap::new() } else { self.moves(transaction) };
        let balance = |address: &Address, micros: u64| {
            json!({ "accountIndex": place(address), "mint": MINT.to_string(), "programId": TOKEN_PROGRAM.to_string(),
                "uiTokenAmount": { "amount": micros.to_string() } })
        };
        let held: Vec<_> = moves
            .iter()
            .map(|(address, change)| (address, self.sum(address, before.iter()), *change))
            .collect();
        let pre: Vec<Value> = held.iter().map(|(address, held, _)| balance(address, *held)).collect();
        let post: Vec<Value> = held
            .iter()
            .map(|(address, held, change)| {
                balance(address, held.checked_add_signed(*change).expect("enough"))
            })
            .collect();
        let keys: Vec<String> = keys.iter().map(Address::to_string).collect();
        let err = if transaction.failed {
            json!({ "InstructionError": [0, { "Custom": 1 }] })
        } else {
            Value::Null
        };
        json!({
            "slot": transaction.slot,
            "blockTime": time_of(transaction.slot),
            "version": 1,
            "transaction": {
                "signatures": [transaction.signature],
                "message": { "accountKeys": keys, "instructions": instructions },
            },
            "meta": {
                "err": err, "logMessages": logs, "innerInstructions": [],
                "preTokenBalances": pre, "postTokenBalances": post,
            },
        })
    }

    fn called(&self, deed: &Deed) -> Option<Called> {
        let [ours, other] =
            [purser::ID, OTHER_PROGRAM].map(|program| Address::from_bytes(program.to_bytes()));
        let nobody = Address::from_bytes([0; 32]);
        let key = |address: &Address| Pubkey::new_from_array(address.bytes());
        let of = |agent: usize| {
            let agent = &self.agents[agent];
            (self.operators[agent.operator].address, agent.address, agent.token_account)
        };
        let paid =
            |agent: usize, to: &Address, amount: u64, transfer_id: [u8; 16]| events::TransferExecuted {
                agent: key(&of(agent).1),
                number: 1,
                transfer_id,
                amount,
                recipient: key(to),
                recipient_owner: key(to),
                policy_version: 1,
                spent_in_window: amount,
                memo: "memo".into(),
            };
        Some(match deed {
            Deed::Give { .. } => return None,
            Deed::Pay { agent, to, micros, transfer_id } => {
                let (operator, address, source) = of(*agent);
                let (transfer_id, amount) = (*transfer_id, *micros);
                let data =
                    purser::instruction::Transfer { transfer_id, asked_at: 0, amount, memo: "memo".into() };
                let event = paid(*agent, to, amount, transfer_id);
                (ours, vec![nobody, operator, address, source, *to], data.data(), vec![event.data()])
            }
            Deed::Withdraw { agent, to, micros } => {
                let (operator, address, source) = of(*agent);
                let event = events::Withdrawn {
                    operator: key(&operator),
                    agent: key(&address),
                    source: key(&source),
                    mint: key(&nobody),
                    amount: *micros,
                    recipient: key(to),
                    recipient_owner: key(to),
                    admin: key(&nobody),
                };
                let data = purser::instruction::Withdraw { amount: *micros };
                (ours, vec![nobody, operator, address, source, nobody, *to], data.data(), vec![event.data()])
            }
            Deed::Create { agent } => {
                let (operator, address, token_account) = of(*agent);
                let agent_id = [self.agents[*agent].number; 16];
                let event = events::AgentCreated {
                    operator: key(&operator),
                    agent: key(&address),
                    agent_id,
                    token_account: key(&token_account),
                };
                let policy = purser_client::args_of(&SpendingPolicy::default());
                let birth = events::PolicySet {
                    operator: key(&operator),
                    agent: key(&address),
                    policy_version: 1,
                    policy: PolicyRecord { rules: purser::Rules::OPEN, allowlist: AllowlistRecord::Anyone },
                    signer: key(&nobody),
                };
                let data = purser::instruction::CreateAgent { agent_id, policy };
                let accounts = vec![nobody, nobody, operator, address, token_account];
                (ours, accounts, data.data(), vec![event.data(), birth.data()])
            }
            Deed::Pause { agent } => {
                let (operator, address, _) = of(*agent);
                let event = events::PausedSet {
                    operator: key(&operator),
                    agent: key(&address),
                    paused: true,
                    policy_version: 2,
                    signer: key(&nobody),
                };
                let data = purser::instruction::SetPaused { paused: true };
                (ours, vec![nobody, operator, address], data.data(), vec![event.data()])
            }
            Deed::Forge { agent, micros } => {
                let (operator, address, source) = of(*agent);
                let event = paid(*agent, &source, *micros, [9; 16]).data();
                (other, vec![nobody, operator, address, source], event.clone(), vec![event])
            }
        })
    }
}
