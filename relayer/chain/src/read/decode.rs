//! Decodes bytes from the chain into our types: accounts of the program, token accounts, the clock.

use crate::{AddressKind, AgentOnChain, Destination, DraftOnChain, OperatorOnChain};
use purser::state::{Agent, DraftView, Grant, Operator, PolicyDraft, Role};
use purser_client::owned;
use purser_core::{Beyond, Granted, MonthCap, NotWallet};
use purser_model::{Address, HaltedBy};
use purser_policy::{MonthWindow, TransferRequest, UsdcAmount};
use solana_sdk::pubkey::Pubkey;

use purser_rpc::wire::RawAccount;

/// The program that owns wallets.
pub const SYSTEM_PROGRAM: Pubkey = Pubkey::from_str_const("11111111111111111111111111111111");
/// The legacy SPL Token program: we pay only its accounts.
pub const TOKEN_PROGRAM: Pubkey = anchor_spl::token::ID;

/// Length of a legacy token account, and the offsets of its fields.
const TOKEN_ACCOUNT_BYTES: usize = 165;
const TOKEN_MINT: usize = 0;
const TOKEN_OWNER: usize = 32;
const TOKEN_AMOUNT: usize = 64;
const TOKEN_STATE: usize = 108;
const TOKEN_STATE_INITIALIZED: u8 = 1;
const TOKEN_STATE_FROZEN: u8 = 2;

/// The key as the domain's address.
pub fn to_address(key: &Pubkey) -> Address {
    Address::from_bytes(key.to_bytes())
}

/// The address as the Solana crates type it.
pub fn to_pubkey(address: &Address) -> Pubkey {
    Pubkey::new_from_array(address.bytes())
}

/// The associated token account of `owner` for `mint` under the legacy token program.
pub fn associated_token_account(owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    anchor_spl::associated_token::get_associated_token_address(owner, mint)
}

/// An operator of `program`; `None` for anything else.
pub fn operator(program: &Pubkey, address: &Pubkey, account: &RawAccount) -> Option<OperatorOnChain> {
    if account.owner != *program {
        return None;
    }
    let operator = Operator::read(&account.data)?;
    let guardian = operator.guardian;
    Some(OperatorOnChain {
        address: to_address(address),
        admin: to_address(&operator.admin),
        policy_authority: to_address(&operator.policy_authority),
        transfer_authorities: operator.transfer_authorities().iter().map(to_address).collect(),
        guardian: (guardian != Pubkey::default()).then(|| to_address(&guardian)),
        usdc_mint: to_address(&operator.usdc_mint),
        loosening_delay_seconds: operator.loosening_delay_seconds,
        halted_by: halted_by(operator.halted_by),
    })
}

/// An agent of `program` with the balance of its token account; `None` for anything else.
/// A token account that is missing or not the agent's own counts as empty: it could not pay anything.
pub fn agent(
    program: &Pubkey,
    address: &Pubkey,
    account: &RawAccount,
    token_account: (&Pubkey, Option<&RawAccount>),
) -> Option<AgentOnChain> {
    if account.owner != *program {
        return None;
    }
    let view = Agent::read(&account.data)?;
    let (token_address, token_data) = token_account;
    let token_account = token_data.filter(|_| view.agent.token_account == *token_address);
    Some(AgentOnChain {
        address: to_address(address),
        operator: to_address(&view.agent.operator),
        token_account: to_address(&view.agent.token_account),
        halted_by: halted_by(view.agent.halted_by),
        rent_refund: to_address(&view.agent.rent_refund),
        policy: owned(&view.policy()),
        policy_version: u64::from(view.agent.policy_version),
        policy_updated_at: i64::from(view.agent.policy_updated_at),
        window: *view.agent.window(),
        payments: view.agent.payments,
        tags: view.tags()?.0.into(),
        balance: token_account.and_then(balance).unwrap_or(UsdcAmount::ZERO),
        is_frozen: token_account.is_some_and(is_frozen),
        beyond: view.agent.policy.is_bounded().then(|| Beyond {
            needs_grant: view.bounds().by_grant_only,
            grant: None,
            budget: view.bounds().budget.as_ref().map(to_address),
        }),
        month: view.month().map(|month| month_cap(month.cap, *month.window())),
    })
}

/// A cap for 30 days, and what counts against it.
pub fn month_cap(micros: u64, window: MonthWindow) -> MonthCap {
    MonthCap { cap: UsdcAmount::from_micros(micros), window }
}

/// The grant at `address`, if it is in force and covers the payment by these accounts of `program` at Unix second `now`.
pub fn granted(
    program: &Pubkey,
    address: &Pubkey,
    [operator, agent, grant]: [&RawAccount; 3],
    agent_address: &Pubkey,
    payment: &TransferRequest<'_>,
    now: i64,
) -> Option<Granted> {
    if [operator, agent, grant].iter().any(|account| account.owner != *program) {
        return None;
    }
    let (operator, view) = (Operator::read(&operator.data)?, Agent::read(&agent.data)?);
    let now = view.agent.window().effective(now);
    let of = (&operator, &view.agent);
    let waived = Grant::read(&grant.data)?.waives_for(agent_address.as_array(), of, payment, now).ok()?;
    Some(Granted { address: to_address(address), waived })
}

/// A draft of `program`; `None` for anything else.
pub fn draft(program: &Pubkey, account: &RawAccount) -> Option<DraftView> {
    if account.owner != *program {
        return None;
    }
    PolicyDraft::read(&account.data)
}

/// The draft in our terms.
pub fn draft_on_chain(view: &DraftView) -> DraftOnChain {
    DraftOnChain {
        hash: view.draft.hash,
        expected_version: u64::from(view.draft.expected_version),
        policy: owned(&view.policy()),
        sealed_at: view.draft.is_sealed().then_some(view.draft.sealed_at),
        sealed_delay_seconds: view.draft.sealed_delay_seconds,
        rent_refund: to_address(&view.draft.rent_refund),
    }
}

fn halted_by(number: u8) -> Option<HaltedBy> {
    Role::of_halt(number).map(halted_by_role)
}

/// The role that halted, in our terms.
pub fn halted_by_role(role: Role) -> HaltedBy {
    match role {
        Role::Admin => HaltedBy::Admin,
        Role::PolicyAuthority => HaltedBy::PolicyAuthority,
        Role::Guardian => HaltedBy::Guardian,
    }
}

/// The kind of address that an allowlist takes this for.
pub fn kind(address: &Pubkey, account: Option<&RawAccount>) -> AddressKind {
    let is_token_account =
        |account: &RawAccount| account.owner == TOKEN_PROGRAM && account.data.len() == TOKEN_ACCOUNT_BYTES;
    match account {
        Some(account) if is_token_account(account) => AddressKind::TokenAccount,
        Some(_) | None if address.is_on_curve() => AddressKind::Wallet,
        Some(_) | None => AddressKind::Unclear,
    }
}

/// Micro-USDC in a token account.
pub fn balance(account: &RawAccount) -> Option<UsdcAmount> {
    if account.owner != TOKEN_PROGRAM || account.data.len() != TOKEN_ACCOUNT_BYTES {
        return None;
    }
    field(&account.data, TOKEN_AMOUNT).map(u64::from_le_bytes).map(UsdcAmount::from_micros)
}

fn is_frozen(account: &RawAccount) -> bool {
    let is_token_account = account.owner == TOKEN_PROGRAM && account.data.len() == TOKEN_ACCOUNT_BYTES;
    is_token_account && field(&account.data, TOKEN_STATE) == Some([TOKEN_STATE_FROZEN])
}

/// What stands at `address`, judged in the program's own order: program, initialised, mint, frozen.
pub fn destination(
    program: &Pubkey,
    usdc_mint: &Pubkey,
    address: &Pubkey,
    account: Option<&RawAccount>,
) -> Destination {
    // A payment to a wallet, a vault or an agent's own address is meant for its token account.
    let owner = || {
        let usdc_token_account = to_address(&associated_token_account(address, usdc_mint));
        if address.is_on_curve() {
            Destination::Wallet { usdc_token_account }
        } else {
            Destination::Vault { usdc_token_account }
        }
    };
    let Some(account) = account else {
        return if address.is_on_curve() { owner() } else { Destination::Missing };
    };
    if account.owner == SYSTEM_PROGRAM {
        return owner();
    }
    if account.owner == *program && Agent::read(&account.data).is_some() {
        return owner();
    }
    if account.owner != TOKEN_PROGRAM || account.data.len() != TOKEN_ACCOUNT_BYTES {
        return Destination::NotTokenAccount;
    }
    token_account(usdc_mint, &account.data).unwrap_or(Destination::NotTokenAccount)
}

/// Whether the address can be a wallet's. Programs derive addresses off the curve for vaults and agents' accounts.
pub fn is_on_curve(address: &Address) -> bool {
    to_pubkey(address).is_on_curve()
}

/// What a payment to `wallet` finds at its associated USDC token account, `paid_at`, if it is a wallet.
pub fn destination_of_wallet(
    program: &Pubkey,
    usdc_mint: &Pubkey,
    (wallet, wallet_account): (&Pubkey, Option<&RawAccount>),
    paid_at: Destination,
) -> Destination {
    let usdc_token_account = to_address(&associated_token_account(wallet, usdc_mint));
    let found = match destination(program, usdc_mint, wallet, wallet_account) {
        Destination::Wallet { .. } => {
            return match paid_at {
                // Lamports alone that somebody sent there are no account.
                Destination::Missing | Destination::Wallet { .. } | Destination::Vault { .. } => {
                    Destination::NoTokenAccount
                }
                Destination::TokenAccount { .. }
                | Destination::NoTokenAccount
                | Destination::NotWallet(_)
                | Destination::OtherMint
                | Destination::Frozen
                | Destination::Uninitialized
                | Destination::NotTokenAccount => paid_at,
            };
        }
        Destination::Vault { .. } | Destination::Missing => NotWallet::Vault { usdc_token_account },
        Destination::TokenAccount { .. }
        | Destination::OtherMint
        | Destination::Frozen
        | Destination::Uninitialized => NotWallet::TokenAccount,
        Destination::NotTokenAccount if wallet_account.is_some_and(|account| account.executable) => {
            NotWallet::Program
        }
        Destination::NotTokenAccount | Destination::NoTokenAccount | Destination::NotWallet(_) => {
            NotWallet::OfProgram
        }
    };
    Destination::NotWallet(found)
}

fn token_account(usdc_mint: &Pubkey, data: &[u8]) -> Option<Destination> {
    let [state] = field(data, TOKEN_STATE)?;
    let mint = Pubkey::new_from_array(field(data, TOKEN_MINT)?);
    let owner = Address::from_bytes(field(data, TOKEN_OWNER)?);
    Some(match state {
        TOKEN_STATE_INITIALIZED | TOKEN_STATE_FROZEN if mint != *usdc_mint => Destination::OtherMint,
        TOKEN_STATE_INITIALIZED => Destination::TokenAccount { owner },
        TOKEN_STATE_FROZEN => Destination::Frozen,
        _ => Destination::Uninitialized,
    })
}

fn field<const N: usize>(data: &[u8], offset: usize) -> Option<[u8; N]> {
    data.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests;
