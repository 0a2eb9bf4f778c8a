//! The program's instructions, written out by hand from its interface: this workspace cannot depend on the program's
//! crate, whose Solana versions differ. An instruction is the first 8 bytes of SHA-256("global:NAME"), then the
//! arguments in borsh (little-endian integers, u32 lengths, one byte for None / Some); accounts go by position.

use sha2::{Digest, Sha256};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use spl_associated_token_account_interface::address::get_associated_token_address_with_program_id;

pub const TOKEN_PROGRAM: Pubkey = spl_token_interface::ID;
pub const SYSTEM_PROGRAM: Pubkey = Pubkey::from_str_const("11111111111111111111111111111111");
const ASSOCIATED_TOKEN_PROGRAM: Pubkey =
    Pubkey::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");

/// The addresses of one operator with one agent.
pub struct Addresses {
    pub program: Pubkey,
    pub mint: Pubkey,
    pub operator: Pubkey,
    pub agent_id: [u8; 16],
    pub agent: Pubkey,
    pub token_account: Pubkey,
    pub draft: Pubkey,
}

/// Whom a policy allows.
pub enum Allowlist<'a> {
    Anyone,
    Only(&'a [Pubkey]),
    Draft,
}

/// A policy as `set_policy` takes it; amounts in micro-USDC.
pub struct Policy<'a> {
    pub max_single_transfer: Option<u64>,
    pub max_daily_spend: Option<u64>,
    pub require_memo: bool,
    pub allowlist: Allowlist<'a>,
}

impl Addresses {
    pub fn new(program: Pubkey, mint: Pubkey, admin: &Pubkey, id: u64, agent_id: [u8; 16]) -> Self {
        let find = |seeds: &[&[u8]]| Pubkey::find_program_address(seeds, &program).0;
        let operator = find(&[b"operator", admin.as_ref(), &id.to_le_bytes()]);
        let agent = find(&[b"agent", operator.as_ref(), &agent_id]);
        let draft = find(&[b"draft", agent.as_ref()]);
        let token_account = get_associated_token_address_with_program_id(&agent, &mint, &TOKEN_PROGRAM);
        Self { program, mint, operator, agent_id, agent, token_account, draft }
    }

    pub fn create_operator(
        &self,
        admin: Pubkey,
        id: u64,
        keys: [Pubkey; 2],
        guardian: Pubkey,
    ) -> Instruction {
        let data = Data::of("create_operator").raw(&id.to_le_bytes()).keys(&keys).some(guardian.as_ref());
        self.call(
            data,
            [payer(admin), writable(self.operator), readable(self.mint), readable(SYSTEM_PROGRAM)],
        )
    }

    /// Keys in the order policy authority, transfer authority, guardian, pending admin.
    pub fn update_operator(&self, admin: Pubkey, keys: [Pubkey; 4]) -> Instruction {
        let data = keys.iter().fold(Data::of("update_operator"), |data, key| data.some(key.as_ref()));
        self.call(data, [signer(admin), writable(self.operator)])
    }

    pub fn accept_admin(&self, pending_admin: Pubkey) -> Instruction {
        self.call(Data::of("accept_admin"), [signer(pending_admin), writable(self.operator)])
    }

    pub fn set_operator_paused(&self, authority: Pubkey, paused: bool) -> Instruction {
        let data = Data::of("set_operator_paused").raw(&[paused.into()]);
        self.call(data, [signer(authority), writable(self.operator)])
    }

    pub fn create_agent(&self, authority: Pubkey) -> Instruction {
        let accounts = [
            payer(authority),
            readable(self.operator),
            writable(self.agent),
            writable(self.token_account),
            readable(self.mint),
            readable(TOKEN_PROGRAM),
            readable(ASSOCIATED_TOKEN_PROGRAM),
            readable(SYSTEM_PROGRAM),
        ];
        self.call(Data::of("create_agent").raw(&self.agent_id), accounts)
    }

    pub fn set_policy(&self, authority: Pubkey, policy: &Policy) -> Instruction {
        let data = Data::of("set_policy")
            .option(policy.max_single_transfer)
            .option(policy.max_daily_spend)
            .raw(&[policy.require_memo.into(), false.into()]);
        // An absent optional account is written as the program's own address.
        let (data, draft) = match policy.allowlist {
            Allowlist::Anyone => (data.raw(&[0]), readable(self.program)),
            Allowlist::Only(entries) => (data.raw(&[1]).list(entries), readable(self.program)),
            Allowlist::Draft => (data.raw(&[2]), writable(self.draft)),
        };
        let operator = readable(self.operator);
        self.call(data, [payer(authority), operator, writable(self.agent), draft, readable(SYSTEM_PROGRAM)])
    }

    pub fn open_draft(&self, authority: Pubkey, entry_count: u16) -> Instruction {
        let data = Data::of("open_draft").raw(&entry_count.to_le_bytes());
        let (operator, agent) = (readable(self.operator), readable(self.agent));
        self.call(data, [payer(authority), operator, agent, writable(self.draft), readable(SYSTEM_PROGRAM)])
    }

    pub fn write_draft(&self, authority: Pubkey, start: u16, entries: &[Pubkey]) -> Instruction {
        let data = Data::of("write_draft").raw(&start.to_le_bytes()).list(entries);
        let (operator, agent) = (readable(self.operator), readable(self.agent));
        self.call(data, [signer(authority), operator, agent, writable(self.draft)])
    }

    pub fn close_draft(&self, authority: Pubkey) -> Instruction {
        let (operator, agent) = (readable(self.operator), readable(self.agent));
        self.call(Data::of("close_draft"), [payer(authority), operator, agent, writable(self.draft)])
    }

    pub fn set_paused(&self, authority: Pubkey, paused: bool) -> Instruction {
        let data = Data::of("set_paused").raw(&[paused.into()]);
        self.call(data, [signer(authority), readable(self.operator), writable(self.agent)])
    }

    /// The agent's next transfer, after so many.
    pub fn transfer(
        &self,
        authority: Pubkey,
        to: Pubkey,
        after: u32,
        amount: u64,
        memo: &str,
    ) -> Instruction {
        let tag = u64::from(after) + 1;
        let mut transfer_id = [0; 16];
        transfer_id[..8].copy_from_slice(&tag.to_be_bytes());
        let data = Data::of("transfer")
            .half()
            .raw(&transfer_id)
            .raw(&tag.to_le_bytes())
            .raw(&after.to_le_bytes())
            .raw(&amount.to_le_bytes())
            .raw(&(memo.len() as u32).to_le_bytes())
            .raw(memo.as_bytes());
        let accounts = [
            signer(authority),
            readable(self.operator),
            writable(self.agent),
            writable(self.token_account),
            writable(to),
            readable(TOKEN_PROGRAM),
        ];
        self.call(data, accounts)
    }

    pub fn withdraw(&self, admin: Pubkey, to: Pubkey, amount: u64) -> Instruction {
        let accounts = [
            signer(admin),
            readable(self.operator),
            readable(self.agent),
            writable(self.token_account),
            writable(to),
            readable(TOKEN_PROGRAM),
        ];
        self.call(Data::of("withdraw").raw(&amount.to_le_bytes()), accounts)
    }

    pub fn close_agent(&self, admin: Pubkey) -> Instruction {
        let (operator, agent) = (readable(self.operator), writable(self.agent));
        let accounts = [payer(admin), operator, agent, writable(self.token_account), readable(TOKEN_PROGRAM)];
        self.call(Data::of("close_agent"), accounts)
    }

    fn call<const N: usize>(&self, data: Data, accounts: [AccountMeta; N]) -> Instruction {
        Instruction { program_id: self.program, accounts: accounts.to_vec(), data: data.0 }
    }
}

struct Data(Vec<u8>);

impl Data {
    fn of(name: &str) -> Self {
        Self(Sha256::digest(format!("global:{name}"))[..8].to_vec())
    }

    /// Of the discriminator, so that a long memo fits.
    fn half(mut self) -> Self {
        self.0.truncate(4);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn some(self, bytes: &[u8]) -> Self {
        self.raw(&[1]).raw(bytes)
    }

    fn option(self, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.some(&value.to_le_bytes()),
            None => self.raw(&[0]),
        }
    }

    fn keys(self, keys: &[Pubkey]) -> Self {
        keys.iter().fold(self, |data, key| data.raw(key.as_ref()))
    }

    fn list(self, keys: &[Pubkey]) -> Self {
        self.raw(&(keys.len() as u32).to_le_bytes()).keys(keys)
    }
}

fn signer(key: Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(key, true)
}

fn payer(key: Pubkey) -> AccountMeta {
    AccountMeta::new(key, true)
}

fn writable(key: Pubkey) -> AccountMeta {
    AccountMeta::new(key, false)
}

fn readable(key: Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(key, false)
}
