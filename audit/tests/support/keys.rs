//! The operator: its keys, halts, heads of refusals, and what strangers do with its address.

use anchor_lang::Event;
use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::events::{HaltSet, OperatorCreated, OperatorUpdated};
use purser::state::{Operator, Role};
use purser::{OperatorKeys, OperatorUpdate};
use serde_json::json;
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::{MINT, PAYEE, TestChain};

impl TestChain {
    pub(super) fn creates_operator(&mut self, loosening_delay_seconds: u32) {
        let keys = OperatorKeys {
            policy_authority: self.policy_key.pubkey(),
            transfer_authorities: vec![self.transfer_key.pubkey()],
            guardian: None,
            loosening_delay_seconds,
        };
        let admin = self.admin.insecure_clone();
        let call = self.at.create_operator(admin.pubkey(), 1, keys.clone());
        let (creator, id) = (admin.pubkey(), 1_u64.to_le_bytes());
        let seeds: [&[u8]; 3] = [b"operator", creator.as_array(), &id];
        let mut state = Operator {
            version: purser::constants::LAYOUT_VERSION,
            bump: Pubkey::find_program_address(&seeds, &purser::ID).1,
            loosening_delay_seconds,
            id: 1,
            created_by: admin.pubkey(),
            admin: admin.pubkey(),
            policy_authority: keys.policy_authority,
            usdc_mint: MINT,
            ..Operator::zeroed()
        };
        state.transfer_authorities[0] = self.transfer_key.pubkey();
        self.operator_state = state;
        let event =
            OperatorCreated { operator: self.operator, id: 1, usdc_mint: MINT, keys: (&state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// Halts the operator.
    pub fn halts(&mut self) {
        let admin = self.admin.insecure_clone();
        let call = self.at.halt(admin.pubkey(), self.operator, None);
        self.operator_state.halted_by = 1;
        let event = HaltSet {
            operator: self.operator,
            agent: None,
            halted_by: Some(Role::Admin),
            signer: admin.pubkey(),
        };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// Lifts the operator's halt.
    pub fn resumes(&mut self) {
        let admin = self.admin.insecure_clone();
        let call = self.resume_call();
        self.operator_state.halted_by = 0;
        let (operator, signer) = (self.operator, admin.pubkey());
        let event = HaltSet { operator, agent: None, halted_by: None, signer };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// The admin's call that resumes the operator.
    pub fn resume_call(&self) -> Instruction {
        self.at.resume(self.admin.pubkey(), self.operator, None)
    }

    /// The admin gives the policy authority's place to this key.
    pub fn rotates_policy_key(&mut self, key: &Keypair) {
        let admin = self.admin.insecure_clone();
        let update = OperatorUpdate { policy_authority: Some(key.pubkey()), ..OperatorUpdate::default() };
        let call = self.at.update_operator(admin.pubkey(), self.operator, update);
        self.operator_state.policy_authority = key.pubkey();
        self.policy_key = key.insecure_clone();
        let event = OperatorUpdated { operator: self.operator, keys: (&self.operator_state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    pub fn offers_the_admins_place(&mut self, key: &Keypair) {
        let admin = self.admin.insecure_clone();
        let update = OperatorUpdate { pending_admin: Some(key.pubkey()), ..OperatorUpdate::default() };
        let call = self.at.update_operator(admin.pubkey(), self.operator, update);
        self.operator_state.pending_admin = key.pubkey();
        let event = OperatorUpdated { operator: self.operator, keys: (&self.operator_state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// Writes the head of a chain of refusals.
    pub fn writes_head(&mut self, number: usize, sha256: &str) {
        let key = self.policy_key.insecure_clone();
        let accounts = vec![solana_sdk::instruction::AccountMeta::new_readonly(key.pubkey(), true)];
        let data = format!("purser denials v1 {} {number} {sha256}", self.operator).into_bytes();
        let memo = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
        let signature = self.lands(&Instruction { program_id: memo, accounts, data }, &key, &[], None);
        let line = self.line(&signature);
        self.of_keys.entry(key.pubkey()).or_default().push(line);
    }

    /// A stranger's transaction that names the operator, and does nothing with it.
    pub fn mentions_operator(&mut self, stranger: &Keypair) -> String {
        let accounts = vec![solana_sdk::instruction::AccountMeta::new_readonly(self.operator, false)];
        let call = Instruction { program_id: Pubkey::new_from_array([55; 32]), accounts, data: vec![1] };
        let signature = self.lands(&call, stranger, &[], None);
        let line = self.line(&signature);
        self.of_operator.push(line);
        signature
    }

    /// An unsigned gift of SOL to the operator, as local networks answer `requestAirdrop`.
    pub fn gets_an_airdrop(&mut self) -> String {
        let faucet = Keypair::new_from_array([6; 32]);
        let accounts = vec![
            solana_sdk::instruction::AccountMeta::new(faucet.pubkey(), true),
            solana_sdk::instruction::AccountMeta::new(self.operator, false),
        ];
        let data = [&2_u32.to_le_bytes()[..], &5_u64.to_le_bytes()].concat();
        let signature =
            self.lands(&Instruction { program_id: Pubkey::default(), accounts, data }, &faucet, &[], None);
        // Whatever was signed, it was not this.
        self.spoils(&format!("transactions/{signature}"), |transaction| {
            transaction["transaction"]["message"]["recentBlockhash"] = json!(PAYEE.to_string());
        });
        let line = self.line(&signature);
        self.of_operator.push(line);
        signature
    }
}
