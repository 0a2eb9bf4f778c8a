//! What the chain itself says and does, without going through the relayer.

use std::sync::Arc;
use std::time::Duration;

use purser::OperatorUpdate;
use purser::state::{Agent as AgentState, AgentView};
use purser_client::{Deployment, TransferOrder};
use purser_policy::id_with_tag;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client::rpc_client::SerializableTransaction;
use solana_rpc_client_api::config::RpcSendTransactionConfig;
use solana_rpc_client_api::request::RpcRequest;
use solana_sdk::hash::Hash;
use solana_sdk::instruction::{AccountMeta, Instruction, InstructionError};
use solana_sdk::message::{AddressLookupTableAccount, VersionedMessage, v0};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use solana_sdk::transaction::{Transaction, TransactionError, VersionedTransaction};

/// The SPL Token program, the legacy one that USDC uses.
pub const TOKEN_PROGRAM: Pubkey = solana_sdk::pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// The program that derives and creates associated token accounts.
pub const ASSOCIATED_TOKEN_PROGRAM: Pubkey =
    solana_sdk::pubkey!("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
const LOOKUP_TABLE_PROGRAM: Pubkey = solana_sdk::pubkey!("AddressLookupTab1e1111111111111111111111111");
const CLOCK_SYSVAR: Pubkey = solana_sdk::pubkey!("SysvarC1ock11111111111111111111111111111111");

/// How a transaction that was sent straight to the chain ended.
#[derive(Debug, PartialEq, Eq)]
pub enum DirectOutcome {
    Settled(Signature),
    /// The program answered with this error code.
    Refused(u32),
    /// Any other failure: not an error of the program.
    Failed(String),
}

/// One transfer for the program, as the transfer authority would order it.
pub struct DirectTransfer<'a> {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub destination: Pubkey,
    pub amount_micros: u64,
    pub memo: &'a str,
    pub tag: u64,
}

/// The chain as one test sees it.
#[derive(Clone)]
pub struct Chain {
    rpc: Arc<RpcClient>,
    program_id: Pubkey,
    pub usdc_mint: Pubkey,
}

impl Chain {
    /// The chain behind a JSON-RPC address.
    pub fn at(rpc_url: &str, program_id: Pubkey, usdc_mint: Pubkey) -> Chain {
        let rpc = RpcClient::new_with_timeout_and_commitment(
            rpc_url.to_owned(),
            Duration::from_secs(30),
            CommitmentConfig::confirmed(),
        );
        Chain { rpc: Arc::new(rpc), program_id, usdc_mint }
    }

    /// The chain's clock in Unix seconds; the program reads the same clock.
    pub async fn now(&self) -> i64 {
        let data = self.data(&CLOCK_SYSVAR).await.expect("the clock sysvar exists");
        i64::from_le_bytes(data[32..40].try_into().expect("the clock has 40 bytes"))
    }

    /// Stops the chain's clock at a Unix second while blocks go on. The clock only moves forward.
    pub async fn stands_at(&self, unix_seconds: i64) {
        self.call("surfnet_pauseClock", json!([])).await;
        self.call("surfnet_timeTravel", json!([{ "absoluteTimestamp": unix_seconds * 1_000 }])).await;
        assert_eq!(self.now().await, unix_seconds, "the network's clock stands");
        // The notices of this slot may tell of the time before.
        self.next_slot().await;
    }

    /// Moves the chain's clock on by this many seconds; it goes on from there.
    pub async fn moves_on(&self, seconds: i64) {
        let target = self.now().await + seconds;
        self.call("surfnet_timeTravel", json!([{ "absoluteTimestamp": target * 1_000 }])).await;
        self.next_slot().await;
    }

    /// The account's data, `None` when there is no such account.
    pub async fn data(&self, address: &Pubkey) -> Option<Vec<u8>> {
        let answer = self.rpc.get_account_with_commitment(address, CommitmentConfig::confirmed()).await;
        answer.expect("the network answers").value.map(|account| account.data)
    }

    /// Micro-USDC on a token account.
    pub async fn usdc_micros(&self, token_account: &Pubkey) -> u64 {
        let data =
            self.data(token_account).await.unwrap_or_else(|| panic!("no token account {token_account}"));
        u64::from_le_bytes(data[64..72].try_into().expect("a token account has 165 bytes"))
    }

    /// The agent's state as the program keeps it.
    pub async fn agent(&self, agent: &Pubkey) -> AgentView {
        let data = self.data(agent).await.unwrap_or_else(|| panic!("no agent account {agent}"));
        AgentState::read(&data).unwrap_or_else(|| panic!("{agent} is not an agent account"))
    }

    /// The associated token account of `owner` for USDC.
    pub fn usdc_account_of(&self, owner: &Pubkey) -> Pubkey {
        self.program().token_account(owner)
    }

    /// Gives `owner` a USDC token account with exactly this balance, and returns it.
    pub async fn sets_usdc(&self, owner: &Pubkey, micros: u64) -> Pubkey {
        self.sets_token(owner, &self.usdc_mint, json!({ "amount": micros })).await
    }

    /// A new wallet and its empty USDC token account.
    pub async fn new_payee(&self) -> (Pubkey, Keypair) {
        let wallet = Keypair::new();
        let token_account = self.sets_usdc(&wallet.pubkey(), 0).await;
        (token_account, wallet)
    }

    /// A token account of a new wallet in the given state: `initialized`, `frozen` or `uninitialized`.
    pub async fn new_payee_in_state(&self, state: &str) -> Pubkey {
        let owner = Keypair::new().pubkey();
        self.sets_token(&owner, &self.usdc_mint, json!({ "amount": 0, "state": state })).await
    }

    /// Has the issuer of USDC freeze the token account of `owner`, or thaw it.
    pub async fn freezes(&self, owner: &Pubkey, is_frozen: bool) {
        let state = if is_frozen { "frozen" } else { "initialized" };
        self.sets_token(owner, &self.usdc_mint, json!({ "state": state })).await;
    }

    /// A token account of a mint that is not USDC.
    pub async fn new_payee_of_other_mint(&self) -> Pubkey {
        let mint = Keypair::new().pubkey();
        let usdc = self.data(&self.usdc_mint).await.expect("the USDC mint exists");
        self.sets_account(&mint, &TOKEN_PROGRAM, &usdc).await;
        self.sets_token(&Keypair::new().pubkey(), &mint, json!({ "amount": 0 })).await
    }

    async fn sets_token(&self, owner: &Pubkey, mint: &Pubkey, update: Value) -> Pubkey {
        let params = json!([owner.to_string(), mint.to_string(), update, TOKEN_PROGRAM.to_string()]);
        self.call("surfnet_setTokenAccount", params).await;
        associated_token_account(owner, mint)
    }

    /// Puts an account with this content on the chain.
    pub async fn sets_account(&self, address: &Pubkey, owner: &Pubkey, data: &[u8]) {
        let account = json!({ "lamports": 10_000_000u64, "owner": owner.to_string(), "data": hex_of(data) });
        self.call("surfnet_setAccount", json!([address.to_string(), account])).await;
    }

    /// Gives an address SOL, for fees and rent.
    pub async fn funds(&self, address: &Pubkey, sol: u64) {
        let params = json!([address.to_string(), sol * 1_000_000_000]);
        self.call("requestAirdrop", params).await;
        for _ in 0..1_200 {
            if self.rpc.get_balance(address).await.expect("the network answers") > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the airdrop to {address} did not arrive");
    }

    /// Lamports at an address; 0 if the account does not exist.
    pub async fn lamports(&self, address: &Pubkey) -> u64 {
        self.rpc.get_balance(address).await.expect("the network answers")
    }

    /// Sets a wallet's lamports to exactly this value, by the network's own means.
    pub async fn sets_lamports(&self, wallet: &Pubkey, lamports: u64) {
        self.call("surfnet_setAccount", json!([wallet.to_string(), { "lamports": lamports }])).await;
        assert_eq!(self.lamports(wallet).await, lamports);
    }

    /// Has the admin change an operator's keys; panics when refused.
    pub async fn updates_operator(&self, operator: Pubkey, update: OperatorUpdate, admin: &Keypair) {
        let call = self.program().update_operator(admin.pubkey(), operator, update);
        let landing = self.lands(call, admin).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    }

    /// How many transactions name this address, failed ones included.
    pub async fn transactions_of(&self, address: &Pubkey) -> usize {
        self.rpc.get_signatures_for_address(address).await.expect("the network answers").len()
    }

    /// True when the transaction is on the chain and succeeded.
    pub async fn has_settled(&self, signature: &str) -> bool {
        let signature = signature.parse().expect("a transaction signature is base58 of 64 bytes");
        let statuses = self.rpc.get_signature_statuses_with_history(&[signature]).await;
        let status = statuses.expect("the network answers").value.remove(0);
        status.is_some_and(|status| status.err.is_none())
    }

    /// True when the transaction succeeded and its block is finalized.
    pub async fn is_finalized(&self, signature: &str) -> bool {
        let signature = signature.parse().expect("a transaction signature is base58 of 64 bytes");
        let finalized = CommitmentConfig::finalized();
        let status = self.rpc.get_signature_status_with_commitment(&signature, finalized).await;
        matches!(status.expect("the network answers"), Some(Ok(())))
    }

    /// Sends a transfer straight to the program, signed and paid by `authority`, bypassing the checks of relayer and node.
    pub async fn transfers(&self, order: &DirectTransfer<'_>, authority: &Keypair) -> DirectOutcome {
        let order = self.order(order).await;
        self.lands(self.program().transfer(authority.pubkey(), &order), authority).await
    }

    /// The same by the token program's `TransferChecked`.
    pub async fn transfers_checked(&self, order: &DirectTransfer<'_>, authority: &Keypair) -> DirectOutcome {
        let order = self.order(order).await;
        self.lands(self.program().transfer_checked(authority.pubkey(), &order), authority).await
    }

    /// Completes the order for signing: with the agent's current state.
    pub async fn order<'a>(&self, order: &DirectTransfer<'a>) -> TransferOrder<'a> {
        TransferOrder {
            operator: order.operator,
            agent: order.agent,
            source: self.usdc_account_of(&order.agent),
            destination: order.destination,
            transfer_id: id_with_tag([0; 8], order.tag),
            asked_at: self.now().await as u32,
            amount: order.amount_micros,
            memo: order.memo,
        }
    }

    /// Halts an operator, or one agent of it, with a key that may.
    pub async fn halts(&self, operator: Pubkey, agent: Option<Pubkey>, by: &Keypair) -> DirectOutcome {
        self.lands(self.program().halt(by.pubkey(), operator, agent), by).await
    }

    /// Lifts a halt, as the admin.
    pub async fn resumes(&self, operator: Pubkey, agent: Option<Pubkey>, admin: &Keypair) -> DirectOutcome {
        self.lands(self.program().resume(admin.pubkey(), operator, agent), admin).await
    }

    /// The program on this chain: its addresses and instructions.
    pub fn program(&self) -> Deployment {
        Deployment { program: self.program_id, usdc_mint: self.usdc_mint }
    }

    /// Signs, sends without preflight and waits for the outcome.
    pub async fn lands(&self, instruction: Instruction, payer: &Keypair) -> DirectOutcome {
        self.all_land(&[instruction], &[payer]).await
    }

    /// As `lands`, several instructions in one transaction; the first signer pays.
    pub async fn all_land(&self, instructions: &[Instruction], signers: &[&Keypair]) -> DirectOutcome {
        let blockhash = self.latest_blockhash().await;
        let payer_key = signers.first().map(|payer| payer.pubkey());
        let transaction = Transaction::new_signed_with_payer(
            instructions,
            payer_key.as_ref(),
            &signers.to_vec(),
            blockhash,
        );
        self.lands_signed(&transaction).await
    }

    /// As `lands`, in a transaction of version 0 that takes addresses out of a lookup table.
    pub async fn all_land_by_lookup(
        &self,
        instructions: &[Instruction],
        payer: &Keypair,
        table: AddressLookupTableAccount,
    ) -> DirectOutcome {
        let blockhash = self.latest_blockhash().await;
        let message = v0::Message::try_compile(&payer.pubkey(), instructions, &[table], blockhash)
            .expect("the instructions fit");
        assert!(!message.address_table_lookups.is_empty(), "nothing is looked up");
        let transaction = VersionedTransaction::try_new(VersionedMessage::V0(message), &[payer]);
        self.lands_signed(&transaction.expect("the payer alone signs")).await
    }

    /// Makes a lookup table that holds `addresses`, ready to be used.
    pub async fn makes_lookup_table(
        &self,
        payer: &Keypair,
        addresses: &[Pubkey],
    ) -> AddressLookupTableAccount {
        let slot = self.rpc.get_slot().await.expect("the network has a slot");
        let owner = payer.pubkey();
        let (key, bump) =
            Pubkey::find_program_address(&[owner.as_ref(), &slot.to_le_bytes()], &LOOKUP_TABLE_PROGRAM);
        let accounts = || {
            vec![
                AccountMeta::new(key, false),
                AccountMeta::new_readonly(owner, true),
                AccountMeta::new(owner, true),
                AccountMeta::new_readonly(Pubkey::default(), false),
            ]
        };
        let create = [&0_u32.to_le_bytes()[..], &slot.to_le_bytes(), &[bump]].concat();
        let count = (addresses.len() as u64).to_le_bytes();
        let listed: Vec<u8> = addresses.iter().flat_map(|address| address.to_bytes()).collect();
        let extend = [&2_u32.to_le_bytes()[..], &count, &listed].concat();
        let instructions = [create, extend].map(|data| Instruction {
            program_id: LOOKUP_TABLE_PROGRAM,
            accounts: accounts(),
            data,
        });
        let landing = self.all_land(&instructions, &[payer]).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "no lookup table: {landing:?}");
        // The lookup table's new entries are usable from the next slot on.
        self.next_slot().await;
        AddressLookupTableAccount { key, addresses: addresses.to_vec() }
    }

    async fn next_slot(&self) {
        let now = self.rpc.get_slot().await.expect("the network has a slot");
        while self.rpc.get_slot().await.expect("the network has a slot") <= now {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// A recent blockhash to sign transactions with.
    pub async fn latest_blockhash(&self) -> Hash {
        self.rpc.get_latest_blockhash().await.expect("the network has a blockhash")
    }

    /// Waits until no transaction signed with this blockhash can land any more.
    pub async fn outlives(&self, blockhash: &Hash) {
        for _ in 0..600 {
            let valid = self.rpc.is_blockhash_valid(blockhash, CommitmentConfig::processed()).await;
            if !valid.expect("the network answers") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{blockhash} does not expire");
    }

    async fn lands_signed(&self, transaction: &impl SerializableTransaction) -> DirectOutcome {
        let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
        let signature = match self.rpc.send_transaction_with_config(transaction, config).await {
            Ok(signature) => signature,
            Err(error) => return outcome_of_send(error),
        };
        for _ in 0..600 {
            let statuses = self.rpc.get_signature_statuses(&[signature]).await.expect("the network answers");
            if let Some(status) = statuses.value.into_iter().next().flatten() {
                return match status.err {
                    None => DirectOutcome::Settled(signature),
                    Some(error) => outcome_of(error),
                };
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        DirectOutcome::Failed(format!("{signature} never landed"))
    }

    async fn call(&self, method: &'static str, params: Value) -> Value {
        let answer = self.rpc.send(RpcRequest::Custom { method }, params).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }
}

/// The associated token account of `owner` for `mint`, under the legacy token program.
pub fn associated_token_account(owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    let seeds = [owner.as_ref(), TOKEN_PROGRAM.as_ref(), mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN_PROGRAM).0
}

fn outcome_of(error: TransactionError) -> DirectOutcome {
    match error {
        TransactionError::InstructionError(_, InstructionError::Custom(code)) => DirectOutcome::Refused(code),
        other => DirectOutcome::Failed(other.to_string()),
    }
}

fn outcome_of_send(error: solana_rpc_client_api::client_error::Error) -> DirectOutcome {
    match error.get_transaction_error() {
        Some(error) => outcome_of(error),
        None => DirectOutcome::Failed(error.to_string()),
    }
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
