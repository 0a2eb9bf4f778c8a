use anchor_lang::prelude::*;
use anchor_spl::token::{self, Token};
use core::mem::MaybeUninit;
use pinocchio::cpi::{self, CpiAccount, Seed};
use pinocchio::instruction::{InstructionAccount, InstructionView};
use pinocchio::sysvars::Sysvar;
use pinocchio::{AccountView, Address};
use purser_policy::{
    check_granted, is_timely, tag_of, AccountState, PaidTags, TagBucket, TransferRequest, UsdcAmount, Waived,
};

use crate::constants::{AGENT_SEED, DISCRIMINATOR_BYTES, LAYOUT_VERSION, USDC_DECIMALS};
use crate::error::PurserError;
use crate::events::{BudgetUsed, GrantUsed, TransferExecutedLog, UsedLog};
use crate::state::{existing, Agent, Budget, Grant, Operator};
use crate::token_account::{same, TokenAccount};

/// What the interface says; `process` does the checks.
///
/// Absent on purpose: the mint. The token program refuses to move between accounts of different mints, the destination
/// is checked against the operator's mint, and 32 bytes less let an 800-byte memo fit a transaction.
#[derive(Accounts)]
pub struct Transfer<'info> {
    pub transfer_authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: checked by `TokenAccount::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

/// The same payment, moved by the token program's `TransferChecked`: who looks for that instruction inside a transaction
/// sees what was paid.
#[derive(Accounts)]
pub struct TransferChecked<'info> {
    pub transfer_authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: checked by `TokenAccount::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    /// CHECK: the token program holds it against both token accounts, and its decimals against USDC's.
    pub mint: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

/// The same as [`TransferChecked`], past the rules that the grant waives. An agent with bounds pays by this form alone.
#[derive(Accounts)]
pub struct TransferExtended<'info> {
    pub transfer_authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: checked by `TokenAccount::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    /// CHECK: the token program holds it against both token accounts, and its decimals against USDC's.
    pub mint: UncheckedAccount<'info>,
    #[account(mut)]
    pub grant: Option<AccountLoader<'info, Grant>>,
    #[account(mut)]
    pub budget: Option<AccountLoader<'info, Budget>>,
    pub token_program: Program<'info, Token>,
}

/// What moves the money, and whether bounds and a grant are looked at; the other checks and the records are the same.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Plain,
    Checked,
    Extended,
}

impl Form {
    /// Accounts of [`Transfer`], [`TransferChecked`] and [`TransferExtended`]. One that the latter has none of is this program.
    pub(crate) const fn accounts(self) -> usize {
        match self {
            Self::Plain => 6,
            Self::Checked => 7,
            Self::Extended => 9,
        }
    }
}

/// Room for the accounts of every form.
pub(crate) type Views = [MaybeUninit<AccountView>; Form::Extended.accounts()];

/// `TokenInstruction`, SPL Token interface.
const TOKEN_TRANSFER: u8 = 3;
const TOKEN_TRANSFER_CHECKED: u8 = 12;

type Outcome<T> = core::result::Result<T, PurserError>;

/// One function for all forms, with one caller: what has two of them is not inlined, and costs a fifth more.
///
/// # Safety
/// As many of `views` are written as `form` has accounts.
#[cfg_attr(hot_path, optimize(speed))]
pub(crate) unsafe fn process(views: &mut Views, form: Form, arguments: &[u8]) -> Outcome<()> {
    // Last comes the mint of a checked transfer, or the token program, whose own account is looked at nowhere: the payment
    // calls it by its constant id.
    let [authority, operator_view, agent_view, source_view, destination_view, mint, grant_view, budget_view, _] =
        views;
    // SAFETY: every form has these, and the caller says that they are written.
    let (authority, operator_view, agent_view, source_view, destination_view, mint) = unsafe {
        (
            authority.assume_init_ref(),
            operator_view.assume_init_ref(),
            agent_view.assume_init_mut(),
            source_view.assume_init_ref(),
            destination_view.assume_init_ref(),
            mint.assume_init_ref(),
        )
    };
    let Arguments { transfer_id, asked_at, amount, memo } = Arguments::parse(arguments)?;

    // SAFETY: `Operator`, `Agent` and the token accounts cannot be one account: discriminators and owners differ.
    let operator = operator(operator_view, unsafe { operator_view.borrow_unchecked() })?;
    // No one signs with the default key, which stands in free places.
    let signer = authority.address().as_array();
    if !authority.is_signer() || !operator.transfer_authorities.iter().any(|key| same(key.as_array(), signer))
    {
        return Err(PurserError::Unauthorized);
    }
    let agent_address = agent_view.clone();
    // SAFETY: as above.
    let (agent, tail, buckets) = agent(&agent_address, unsafe { agent_view.borrow_unchecked_mut() })?;
    if !same(agent.operator.as_array(), operator_view.address().as_array()) {
        return Err(PurserError::WrongOperator);
    }
    if !same(agent.token_account.as_array(), source_view.address().as_array()) {
        return Err(PurserError::WrongSource);
    }
    let destination = token_account(destination_view);
    let recipient_owner = destination.recipient(&token::ID, &operator.usdc_mint)?;
    // Its own account: the source, or another one that nobody but the admin could get the money out of.
    if same(recipient_owner, agent_address.address().as_array()) {
        return Err(PurserError::RecipientIsSource);
    }

    // The runtime always knows the time.
    let now = match pinocchio::sysvars::clock::Clock::get() {
        Ok(clock) => agent.clock(clock.unix_timestamp),
        Err(_) => return Err(PurserError::MalformedInstruction),
    };
    if !is_timely(asked_at, now) {
        return Err(PurserError::RequestTooOld);
    }
    // Bounds stand before the list; of an agent that has any, the other forms go no further than its tags.
    let list = match form {
        Form::Plain | Form::Checked => &*tail,
        Form::Extended => agent.list(tail),
    };
    let state = AccountState {
        halted: operator.halted_by | agent.halted_by != 0,
        policy: agent.policy.with(list),
        window: agent.window(),
        tags: PaidTags(buckets),
    };
    let request = TransferRequest {
        tag: tag_of(transfer_id),
        asked_at: asked_at.into(),
        amount: UsdcAmount::from_micros(amount),
        memo,
        recipient: destination.address,
        recipient_owner,
    };
    let mut granted = None;
    let cleared = check_granted(&state, &request, now, |now| {
        let Form::Extended = form else {
            return if agent.policy.is_bounded() {
                Err(PurserError::ExtendedTransferRequired)
            } else {
                Ok(Waived::NOTHING)
            };
        };
        // SAFETY: this form has it, and the caller says that it is written.
        let view = unsafe { grant_view.assume_init_mut() };
        let address = agent_address.address().as_array();
        let (waived, grant) = waived_by_grant(view, address, (operator, &*agent), &request, now)?;
        granted = grant;
        Ok::<_, PurserError>(waived)
    })?;
    // The last of the rules. A refusal from here on leaves nothing behind.
    let mut used = None;
    if let Form::Extended = form {
        // SAFETY: this form has it, and the caller says that it is written.
        let view = unsafe { budget_view.assume_init_mut() };
        used = count_in_bounds(view, (operator, &*agent), tail, request.amount, now)?;
    }
    if token_account(source_view).balance() < Some(amount) {
        return Err(PurserError::InsufficientBalance);
    }

    let spent_in_window = cleared.spent_after().micros();
    // No account that this program wrote counts so far.
    let number = agent.payments.checked_add(1).ok_or(PurserError::UnknownLayout)?;
    agent.payments = number;
    cleared.record(agent.window_mut(), buckets);
    TransferExecutedLog {
        agent: agent_address.address().as_array(),
        number,
        transfer_id,
        amount,
        recipient: destination.address,
        recipient_owner,
        policy_version: agent.policy_version,
        spent_in_window,
        memo,
    }
    .write();
    if let Form::Extended = form {
        log_used(agent_address.address().as_array(), number, amount, granted, used);
    }
    match form {
        Form::Plain => pay(agent, [source_view, destination_view, &agent_address], amount),
        Form::Checked | Form::Extended => {
            pay_checked(agent, [source_view, mint, destination_view, &agent_address], amount)
        }
    }
    Ok(())
}

/// The rules that a payment may pass by the grant at `view`, and that grant; the program's own address stands for none.
#[inline(never)]
#[cfg_attr(hot_path, optimize(speed))]
fn waived_by_grant<'a>(
    view: &'a mut AccountView,
    agent_address: &[u8; 32],
    (operator, agent): (&Operator, &Agent),
    request: &TransferRequest,
    now: i64,
) -> Outcome<(Waived, Option<(&'a mut Grant, AccountView)>)> {
    let address = view.clone();
    if same(address.address().as_array(), crate::ID.as_array()) {
        return if agent.pays_by_grant_only() {
            Err(PurserError::GrantRequired)
        } else {
            Ok((Waived::NOTHING, None))
        };
    }
    // SAFETY: no other account can be the grant: discriminators and owners differ.
    let grant = own::<Grant>(&address, unsafe { view.borrow_unchecked_mut() })?;
    let waived = grant.waives_for(agent_address, (operator, agent), request, now)?;
    Ok((waived, Some((grant, address))))
}

/// Counts a payment against the agent's cap for 30 days, and in the budget at `view`; the program's own address stands for
/// none. Returns what counts in that budget in 24 hours.
#[inline(never)]
#[cfg_attr(hot_path, optimize(speed))]
fn count_in_bounds(
    view: &mut AccountView,
    (operator, agent): (&Operator, &Agent),
    tail: &mut [u8],
    amount: UsdcAmount,
    now: i64,
) -> Outcome<Option<(UsdcAmount, AccountView)>> {
    agent.count_month(tail, amount, now)?;
    let address = view.clone();
    let named = agent.budget(tail);
    if !same(address.address().as_array(), named.unwrap_or(crate::ID.as_array())) {
        return Err(PurserError::BudgetMismatch);
    }
    if named.is_none() {
        return Ok(None);
    }
    // SAFETY: no other account can be the budget: discriminators and owners differ.
    let budget = own::<Budget>(&address, unsafe { view.borrow_unchecked_mut() })?;
    if !same(budget.operator.as_array(), agent.operator.as_array()) {
        return Err(PurserError::WrongOperator);
    }
    Ok(Some((budget.spend(amount, operator, now)?, address)))
}

/// Takes a payment off its grant, and logs by which grant and budget it was made.
#[inline(never)]
#[cfg_attr(hot_path, optimize(speed))]
fn log_used(
    agent: &[u8; 32],
    number: u64,
    amount: u64,
    granted: Option<(&mut Grant, AccountView)>,
    used: Option<(UsdcAmount, AccountView)>,
) {
    if let Some((grant, address)) = granted {
        // Never less than 0: the grant covers the amount.
        grant.left = grant.left.saturating_sub(amount);
        UsedLog::of::<GrantUsed>(agent, number, address.address().as_array(), grant.left).write();
    }
    if let Some((spent, address)) = used {
        UsedLog::of::<BudgetUsed>(agent, number, address.address().as_array(), spent.micros()).write();
    }
}

/// What the instruction's data says after its discriminator, in Borsh: nothing less, nothing more.
struct Arguments<'a> {
    /// Its end is the tag, so a payment that is tried again cannot come with another one than its id has.
    transfer_id: &'a [u8; 16],
    /// Unix second, the same for every try.
    asked_at: u32,
    amount: u64,
    memo: &'a [u8],
}

impl<'a> Arguments<'a> {
    #[inline(always)]
    fn parse(data: &'a [u8]) -> Outcome<Self> {
        let malformed = PurserError::MalformedInstruction;
        let (transfer_id, rest) = data.split_first_chunk().ok_or(malformed)?;
        let (asked_at, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let asked_at = u32::from_le_bytes(*asked_at);
        let (amount, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let (memo_bytes, memo) = rest.split_first_chunk().ok_or(malformed)?;
        if memo.len() != u32::from_le_bytes(*memo_bytes) as usize {
            return Err(malformed);
        }
        let amount = u64::from_le_bytes(*amount);
        match (tag_of(transfer_id), amount) {
            (0, _) => Err(PurserError::TagZero),
            (_, 0) => Err(PurserError::AmountZero),
            _ => Ok(Self { transfer_id, asked_at, amount, memo }),
        }
    }
}

#[inline(always)]
fn operator<'a>(view: &AccountView, data: &'a [u8]) -> Outcome<&'a Operator> {
    let unknown = PurserError::UnknownLayout;
    let (discriminator, body) = data.split_first_chunk::<DISCRIMINATOR_BYTES>().ok_or(unknown)?;
    let operator: &Operator = bytemuck::try_from_bytes(body).map_err(|_| unknown)?;
    let known = is_own::<Operator>(view, discriminator) && operator.version == LAYOUT_VERSION;
    if known {
        Ok(operator)
    } else {
        Err(unknown)
    }
}

/// The agent, the tail that holds its bounds and its allowlist, and its tags.
#[inline(always)]
fn agent<'a>(
    view: &AccountView,
    data: &'a mut [u8],
) -> Outcome<(&'a mut Agent, &'a mut [u8], &'a mut [TagBucket])> {
    let unknown = PurserError::UnknownLayout;
    let (discriminator, rest) = data.split_first_chunk_mut::<DISCRIMINATOR_BYTES>().ok_or(unknown)?;
    let (body, tail) = rest.split_at_mut_checked(size_of::<Agent>()).ok_or(unknown)?;
    let agent: &mut Agent = bytemuck::try_from_bytes_mut(body).map_err(|_| unknown)?;
    let known = is_own::<Agent>(view, discriminator) && agent.version == LAYOUT_VERSION;
    let tags_at = tail.len().checked_sub(agent.tags_bytes()).ok_or(unknown)?;
    let (tail, tags) = tail.split_at_mut_checked(tags_at).ok_or(unknown)?;
    let buckets = bytemuck::try_cast_slice_mut(tags).map_err(|_| unknown)?;
    if known {
        Ok((agent, tail, buckets))
    } else {
        Err(unknown)
    }
}

/// The grant or budget that a [`TransferExtended`] names.
#[inline(never)]
fn own<'a, T: Discriminator + bytemuck::Pod>(view: &AccountView, data: &'a mut [u8]) -> Outcome<&'a mut T> {
    let is_ours = same(view.owner().as_array(), crate::ID.as_array());
    existing(data).filter(|_| is_ours).ok_or(PurserError::UnknownLayout)
}

/// Whether this program owns the account and wrote it as a `T`.
#[inline(always)]
fn is_own<T: Discriminator>(view: &AccountView, discriminator: &[u8; DISCRIMINATOR_BYTES]) -> bool {
    same(view.owner().as_array(), crate::ID.as_array()) && discriminator == T::DISCRIMINATOR
}

#[inline(always)]
fn token_account(view: &AccountView) -> TokenAccount<'_> {
    // SAFETY: `program` points into the runtime's input, and nothing here assigns accounts to other programs.
    let program = unsafe { &(*view.account_ptr()).owner };
    // SAFETY: nothing borrows token accounts mutably.
    let data = unsafe { view.borrow_unchecked() };
    TokenAccount { address: view.address().as_array(), program: program.as_array(), data }
}

/// Moves `amount` micro-USDC from the source to the destination, signed by the agent's own address.
#[inline(always)]
fn pay(agent: &Agent, [source, destination, owner]: [&AccountView; 3], amount: u64) {
    let mut data = [TOKEN_TRANSFER; 9];
    data[1..].copy_from_slice(&amount.to_le_bytes());
    let accounts = [
        InstructionAccount::writable(source.address()),
        InstructionAccount::writable(destination.address()),
        InstructionAccount::readonly_signer(owner.address()),
    ];
    call_token_program(agent, &data, &accounts, &[source.into(), destination.into(), owner.into()]);
}

/// The same, naming the mint and its decimals, which were those of USDC when the operator was made.
#[inline(never)]
fn pay_checked(agent: &Agent, [source, mint, destination, owner]: [&AccountView; 4], amount: u64) {
    let mut data = [TOKEN_TRANSFER_CHECKED; 10];
    data[1..9].copy_from_slice(&amount.to_le_bytes());
    data[9] = USDC_DECIMALS;
    let accounts = [
        InstructionAccount::writable(source.address()),
        InstructionAccount::readonly(mint.address()),
        InstructionAccount::writable(destination.address()),
        InstructionAccount::readonly_signer(owner.address()),
    ];
    let infos = [source.into(), mint.into(), destination.into(), owner.into()];
    call_token_program(agent, &data, &accounts, &infos);
}

#[inline(always)]
fn call_token_program(agent: &Agent, data: &[u8], accounts: &[InstructionAccount], infos: &[CpiAccount]) {
    let program_id = Address::new_from_array(token::ID.to_bytes());
    let instruction = InstructionView { program_id: &program_id, data, accounts };
    let bump = [agent.bump];
    let seeds: [Seed; 4] =
        [AGENT_SEED.into(), agent.operator.as_array().into(), (&agent.agent_id).into(), (&bump).into()];
    // SAFETY: the token program changes the two token accounts' balances, to which no reference is left.
    // A refusal there ends the whole transaction, so there is nothing to return.
    unsafe { cpi::invoke_signed_unchecked(&instruction, infos, &[(&seeds).into()]) };
}
