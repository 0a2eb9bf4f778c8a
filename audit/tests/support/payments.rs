//! Money comes and leaves, whatever policies say.

use anchor_lang::Event;
use anchor_lang::prelude::Pubkey;
use purser::events::{BudgetUsed, GrantUsed, TransferExecuted, Withdrawn};
use purser::state::second;
use purser_client::{TokenSource, TransferOrder};
use purser_policy::{PaidTags, UsdcAmount, id_with_tag, record, tag_of};
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::{MICROS, MINT, PAYEE, TestChain, anchor_spl_token};

/// A payment to be made.
pub struct Paying {
    pub micros: u64,
    pub memo: &'static str,
    pub to: Pubkey,
    pub tag: Option<u64>,
    /// How long ago it was asked for, in seconds.
    pub age: i64,
    /// Whether the log keeps its event.
    pub is_logged: bool,
    /// Whether it names the grant that was opened.
    pub by_grant: bool,
    /// Whether it takes the plain form, which knows neither grants nor bounds.
    pub is_plain: bool,
}

impl Paying {
    pub fn usdc(amount: u64) -> Self {
        Self {
            micros: amount * MICROS,
            memo: "m",
            to: PAYEE,
            tag: None,
            age: 0,
            is_logged: true,
            by_grant: false,
            is_plain: false,
        }
    }
}

impl TestChain {
    /// Money comes, by a wallet's transaction that does not name the operator.
    pub fn deposits(&mut self, micros: u64) {
        let wallet = Keypair::new_from_array([4; 32]);
        let to = self.at.token_account(&self.agent);
        let accounts = vec![solana_sdk::instruction::AccountMeta::new(to, false)];
        let call = Instruction { program_id: anchor_spl_token(), accounts, data: vec![7] };
        let before = self.balance;
        self.balance += micros;
        self.lands(&call, &wallet, &[], Some((before, PAYEE)));
    }

    /// The transaction of the first deposit.
    pub fn deposit(&self) -> String {
        self.of_purse[1].signature.clone()
    }

    /// Pays, whatever the policy says.
    pub fn pays(&mut self, paying: &Paying) -> String {
        let key = self.transfer_key.insecure_clone();
        self.pays_by(paying, &key)
    }

    pub fn pays_by(&mut self, paying: &Paying, key: &Keypair) -> String {
        self.next_tag += 1;
        let transfer_id = id_with_tag([0; 8], paying.tag.unwrap_or(self.next_tag));
        let destination = self.purse_of(&paying.to);
        let order = TransferOrder {
            operator: self.operator,
            agent: self.agent,
            source: self.at.token_account(&self.agent),
            destination,
            transfer_id,
            asked_at: second(self.now - paying.age),
            amount: paying.micros,
            memo: paying.memo,
        };
        let grant = self.at.grant_address(&self.agent, 1);
        let is_bounded = self.agent_state.policy.is_bounded();
        let budget = self.agent_state.budget(&self.tail).map(|key| Pubkey::new_from_array(*key));
        let call = match (paying.by_grant, is_bounded && !paying.is_plain) {
            (false, false) => self.at.transfer(key.pubkey(), &order),
            (by_grant, _) => {
                let grant = by_grant.then_some(grant);
                self.at.transfer_extended(key.pubkey(), &order, grant, budget)
            }
        };
        let (now, amount) = (self.now, UsdcAmount::from_micros(paying.micros));
        let window = self.agent_state.window_mut();
        let spent = window.spent(now).saturating_add(amount);
        window.record(now, amount);
        let (now, tag) = (window.effective(now), tag_of(&transfer_id));
        if let Some(place) = PaidTags(&self.buckets).place(tag, now) {
            record(&mut self.buckets, place, tag, now);
        }
        self.agent_state.payments += 1;
        let _ = self.agent_state.count_month(&mut self.tail, amount, now);
        let event = TransferExecuted {
            agent: self.agent,
            number: self.agent_state.payments,
            transfer_id,
            amount: paying.micros,
            recipient: destination,
            recipient_owner: paying.to,
            policy_version: self.agent_state.policy_version,
            spent_in_window: spent.micros(),
            memo: paying.memo.into(),
        };
        let before = self.balance;
        self.balance -= paying.micros;
        let mut events = vec![event.data()];
        if paying.by_grant {
            let left = self.grant.as_mut().map_or(0, |grant| {
                grant.left = grant.left.saturating_sub(paying.micros);
                grant.left
            });
            let used = GrantUsed { agent: self.agent, number: event.number, grant, left };
            events.push(used.data());
        }
        if let Some(budget) = budget {
            let operator = self.operator_state;
            let _ = self.budget.spend(amount, &operator, now);
            let spent_in_window = self.budget.window().spent(now).micros();
            events
                .push(BudgetUsed { agent: self.agent, number: event.number, budget, spent_in_window }.data());
        }
        if !paying.is_logged {
            events.clear();
        }
        self.lands(&call, key, &events, Some((before, paying.to)))
    }

    /// The admin takes money out, to this wallet.
    pub fn withdraws(&mut self, micros: u64, to: &Pubkey) -> String {
        let admin = self.admin.insecure_clone();
        let (source, recipient) = (self.at.token_account(&self.agent), self.purse_of(to));
        let from = TokenSource { token_account: source, mint: MINT, token_program: anchor_spl_token() };
        let call = self.at.withdraw(admin.pubkey(), self.operator, self.agent, from, recipient, micros);
        let event = Withdrawn {
            operator: self.operator,
            agent: self.agent,
            source,
            mint: MINT,
            amount: micros,
            recipient,
            recipient_owner: *to,
            admin: admin.pubkey(),
        };
        let before = self.balance;
        self.balance -= micros;
        self.lands(&call, &admin, &[event.data()], Some((before, *to)))
    }

    /// The tag of the next payment.
    pub fn next_tag(&self) -> u64 {
        self.next_tag + 1
    }
}
