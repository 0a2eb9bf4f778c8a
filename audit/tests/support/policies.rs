//! An account is created, and its policy replaced, whatever delays say.

use anchor_lang::Event;
use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::events::{AgentClosed, AgentCreated, AllowlistRecord, PolicyRecord, PolicySet, TagBucketsSet};
use purser::state::{Agent, ClosedAgent, StoredPolicy, second};
use purser::{AllowlistArg, PolicyArgs};
use purser_client::{OnChainPolicy, RentRefunds, args_of};
use purser_policy::{SpendWindow, TagBucket, grow};
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::TestChain;

impl TestChain {
    /// Creates the account, or creates it anew, whoever signs.
    pub fn creates_agent(&mut self, policy: &OnChainPolicy, key: &Keypair) {
        let (call, events) = self.create_call(policy, key);
        let begin = self.of_operator.len();
        self.lands(&call, key, &events, None);
        // It makes the token account too.
        self.of_purse.extend_from_slice(&self.of_operator[begin..]);
    }

    fn create_call(&mut self, policy: &OnChainPolicy, key: &Keypair) -> (Instruction, Vec<Vec<u8>>) {
        let call =
            self.at.create_agent(key.pubkey(), key.pubkey(), key.pubkey(), self.operator, [9; 16], policy);
        let token_account = self.at.token_account(&self.agent);
        let seeds: [&[u8]; 3] = [b"agent", self.operator.as_array(), &[9; 16]];
        self.agent_state = Agent {
            version: purser::constants::LAYOUT_VERSION,
            bump: Pubkey::find_program_address(&seeds, &purser::ID).1,
            policy_version: 1,
            operator: self.operator,
            agent_id: [9; 16],
            token_account,
            rent_refund: key.pubkey(),
            policy_updated_at: second(self.now),
            policy: StoredPolicy { tag_buckets: 1, ..StoredPolicy::from(&policy.as_policy()) },
            ..Agent::zeroed()
        };
        self.agent_state.set_policy(&policy.as_policy());
        self.buckets = vec![TagBucket::EMPTY];
        if let Some(closed) = self.closed.take() {
            self.agent_state.voided_at = closed.second;
            *self.agent_state.window_mut() = SpendWindow::beginning(closed.second.into());
        }
        self.tail = tail(policy);
        let created =
            AgentCreated { operator: self.operator, agent: self.agent, agent_id: [9; 16], token_account };
        let set = self.policy_set(policy, key);
        (call, vec![created.data(), set])
    }

    /// The admin closes the account; what it holds goes to this wallet.
    pub fn closes_agent(&mut self, to: &Pubkey) -> String {
        let (admin, held) = (self.admin.insecure_clone(), self.balance);
        let (call, event) = self.close_call(to);
        self.lands(&call, &admin, &[event], Some((held, *to)))
    }

    /// The same, and creates it anew in the same transaction.
    pub fn recreates_agent(&mut self, policy: &OnChainPolicy, to: &Pubkey) -> String {
        let (admin, held) = (self.admin.insecure_clone(), self.balance);
        let (closes, closed) = self.close_call(to);
        let (creates, created) = self.create_call(policy, &admin);
        self.all_land(&[closes, creates], &admin, &[vec![closed], created].concat(), Some((held, *to)))
    }

    fn close_call(&mut self, to: &Pubkey) -> (Instruction, Vec<u8>) {
        let admin = self.admin.insecure_clone();
        let Agent { rent_refund, voided_at, .. } = self.agent_state;
        let second = second(self.agent_state.clock(self.now)).max(voided_at);
        let refunds = RentRefunds { agent: rent_refund, draft: rent_refund };
        let recipient = self.purse_of(to);
        let call = self.at.close_agent(admin.pubkey(), self.operator, self.agent, recipient, refunds);
        let swept = std::mem::take(&mut self.balance);
        let event = AgentClosed {
            operator: self.operator,
            agent: self.agent,
            agent_id: [9; 16],
            payments: self.agent_state.payments,
            swept,
            recipient,
            admin: admin.pubkey(),
        };
        let version = purser::constants::LAYOUT_VERSION;
        self.closed = Some(ClosedAgent { version, reserved: [0; 3], second, rent_refund: admin.pubkey() });
        (call, event.data())
    }

    /// Replaces the policy, whatever delays say.
    pub fn sets_policy(&mut self, policy: &OnChainPolicy, key: &Keypair) -> String {
        let version = self.agent_state.policy_version;
        let at = purser_client::DraftAccounts {
            authority: key.pubkey(),
            operator: self.operator,
            agent: self.agent,
        };
        let call = self.at.set_policy(at, key.pubkey(), self.policy_key.pubkey(), version, policy);
        self.agent_state.policy_version += 1;
        self.agent_state.policy_updated_at = second(self.now);
        self.agent_state.set_policy(&policy.as_policy());
        self.tail.truncate(self.agent_state.list_at());
        self.tail.extend(tail(policy));
        let event = self.policy_set(policy, key);
        self.lands(&call, key, &[event], None)
    }

    pub(super) fn policy_set(&self, policy: &OnChainPolicy, key: &Keypair) -> Vec<u8> {
        let PolicyArgs { rules, allowlist } = args_of(policy);
        let allowlist = match allowlist {
            AllowlistArg::Anyone => AllowlistRecord::Anyone,
            AllowlistArg::Only { wallets, token_accounts } => {
                AllowlistRecord::Only { wallets, token_accounts }
            }
        };
        let policy = PolicyRecord { rules, allowlist };
        let (operator, agent) = (self.operator, self.agent);
        let policy_version = self.agent_state.policy_version;
        PolicySet { operator, agent, policy_version, policy, signer: key.pubkey() }.data()
    }

    /// Gives the account this many buckets of tags.
    pub fn sets_tag_buckets(&mut self, buckets: u16, key: &Keypair) -> String {
        let (authority, operator, agent) = (key.pubkey(), self.operator, self.agent);
        let at = purser_client::DraftAccounts { authority, operator, agent };
        let call = self.at.set_tag_buckets(at, authority, self.policy_key.pubkey(), buckets);
        let had = self.buckets.len();
        self.buckets.resize(buckets.into(), TagBucket::EMPTY);
        grow(&mut self.buckets, had);
        self.agent_state.policy.tag_buckets = buckets;
        let event = TagBucketsSet { operator, agent, buckets };
        self.lands(&call, key, &[event.data()], None)
    }

    pub fn policy_version(&self) -> u32 {
        self.agent_state.policy_version
    }
}

fn tail(policy: &OnChainPolicy) -> Vec<u8> {
    let policy = policy.as_policy();
    let (wallets, token_accounts) = policy.allowlist.entries();
    wallets.iter().chain(token_accounts).flatten().copied().collect()
}
