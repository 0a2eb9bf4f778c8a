//! The one true chain: slots, transactions that land, expire or are forked away, and the account that pays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use purser_core::{
    Address, Halt, HaltScope, HaltedBy, PaymentMade, REQUEST_AHEAD_SECONDS, REQUEST_SECONDS, Refusal,
    RejectionReason, Room, Timestamp, TransferId, UnsignedTransfer, happened_at,
};
use purser_policy::{
    AccountState, Allowlist, Limit, PaidTags, Policy, SpendWindow, TagBucket, TransferRequest, UsdcAmount,
    Violation, Waived, check_granted, grow, id_with_tag, tag_of,
};

use crate::names::{PAYEE, PAYEE_OWNER, payer};

/// The slot and the Unix second at which a world begins.
pub const FIRST_SLOT: u64 = 10_000;
pub const FIRST_SECOND: i64 = 1_800_000_000;
const SLOT_MS: u64 = 400;
/// For how many slots signed bytes can land.
pub const LIFE: u64 = 150;
/// How many slots deep a block is confirmed, and final.
pub const CONFIRMED: u64 = 2;
pub const FINALIZED: u64 = 32;

/// The account that pays, as the program keeps it.
#[derive(Clone)]
pub struct Account {
    pub tags: Vec<TagBucket>,
    /// How many its operator pays for.
    pub buckets_max: usize,
    pub payments: u64,
    pub window: SpendWindow,
    pub balance: UsdcAmount,
    pub paused: bool,
    pub halted: bool,
    /// Where there is a limit, a person is asked about what exceeds it.
    pub max_single: Limit,
    pub policy_version: u64,
    /// By tag: for one payment each.
    pub grants: BTreeMap<u64, OpenGrant>,
}

/// A grant for one payment.
#[derive(Debug, Clone, Copy)]
pub struct OpenGrant {
    pub amount: u64,
    pub expires_at: i64,
    pub policy_version: u64,
}

impl Account {
    pub fn policy<'a>(&self) -> Policy<'a> {
        let max_single_transfer = self.max_single;
        Policy { paused: self.paused, allowlist: Allowlist::Anyone, max_single_transfer, ..Policy::OPEN }
    }

    /// What a payment may pass by the grant under its tag.
    pub fn granted(&self, tag: u64, amount: UsdcAmount, now: i64) -> Option<Waived> {
        let grant = self.grants.get(&tag)?;
        let is_covered = grant.amount == amount.micros() && now < grant.expires_at;
        (is_covered && grant.policy_version == self.policy_version).then_some(Waived::SINGLE_LIMIT)
    }

    /// One bucket more for tags.
    fn add_bucket(&mut self) {
        let had = self.tags.len();
        self.tags.push(TagBucket::EMPTY);
        grow(&mut self.tags, had);
    }

    /// Grows, if it may.
    pub fn make_room(&mut self, seen_buckets: usize) -> Room {
        if self.tags.len() > seen_buckets {
            return Room::Made;
        }
        if self.tags.len() >= self.buckets_max {
            return Room::None;
        }
        self.add_bucket();
        Room::Made
    }

    pub fn halt(&self) -> Option<Halt> {
        self.halted.then_some(Halt { by: HaltedBy::Guardian, scope: HaltScope::Account })
    }
}

/// Signed bytes.
#[derive(Clone)]
pub struct Transaction {
    pub order: UnsignedTransfer,
    over: Block,
}

/// A block to sign over, as it was known after so many forks.
#[derive(Clone, Copy)]
pub struct Block {
    pub slot: u64,
    forks: usize,
}

impl Transaction {
    const fn last_valid(&self) -> u64 {
        self.over.slot + LIFE
    }
}

/// A transaction in a block.
#[derive(Clone)]
pub struct Landed {
    pub signature: usize,
    pub slot: u64,
    /// The account's clock as it landed.
    pub second: i64,
    /// Its payment, with its number.
    pub result: Result<(u64, PaymentMade), Refusal>,
}

pub struct TrueChain {
    pub transactions: Vec<Transaction>,
    /// By the slot at which each is to land.
    on_the_way: BTreeSet<(u64, usize)>,
    landed: Vec<Landed>,
    found: BTreeMap<usize, usize>,
    /// The account after each change.
    states: Vec<(u64, Account)>,
    /// The newest slot that each fork kept.
    kept: Vec<u64>,
    pub tip: u64,
    leap: Leap,
    swing: Option<Swing>,
}

pub fn slot_at(milliseconds: u64) -> u64 {
    FIRST_SLOT + milliseconds / SLOT_MS
}

/// Time passes, by every clock that is right: from this slot on it is so many seconds later.
#[derive(Clone, Copy)]
pub struct Leap {
    pub slot: u64,
    pub seconds: i64,
}

impl Leap {
    pub const fn by(self, slot: u64) -> i64 {
        if slot >= self.slot { self.seconds } else { 0 }
    }
}

/// The chain's clock alone is so many seconds ahead, in these slots, and goes back.
#[derive(Clone)]
pub struct Swing {
    pub slots: Range<u64>,
    pub seconds: i64,
}

impl TrueChain {
    pub fn new(
        balance: u64,
        max_single: Limit,
        buckets_max: usize,
        leap: Leap,
        swing: Option<Swing>,
    ) -> Self {
        let account = Account {
            tags: vec![TagBucket::EMPTY],
            buckets_max,
            payments: 0,
            window: SpendWindow::EMPTY,
            balance: UsdcAmount::from_micros(balance),
            paused: false,
            halted: false,
            max_single,
            policy_version: 1,
            grants: BTreeMap::new(),
        };
        Self {
            transactions: Vec::new(),
            on_the_way: BTreeSet::new(),
            landed: Vec::new(),
            found: BTreeMap::new(),
            states: vec![(0, account)],
            kept: Vec::new(),
            tip: FIRST_SLOT,
            leap,
            swing,
        }
    }

    pub fn second_of(&self, slot: u64) -> i64 {
        let passed = (slot.saturating_sub(FIRST_SLOT) * SLOT_MS / 1_000).cast_signed();
        let swings = self.swing.as_ref().filter(|swing| swing.slots.contains(&slot));
        FIRST_SECOND + passed + self.leap.by(slot) + swings.map_or(0, |swing| swing.seconds)
    }

    pub fn advance(&mut self, slot: u64) {
        while let Some((due, signature)) = self.on_the_way.first().copied().filter(|(due, _)| *due <= slot) {
            self.on_the_way.pop_first();
            self.land(signature, due);
        }
        self.tip = slot;
    }

    pub fn block(&self, slot: u64) -> Block {
        Block { slot, forks: self.kept.len() }
    }

    /// Whether a fork dropped it, so that no chain takes what is signed over it any more.
    fn is_gone(&self, block: Block) -> bool {
        self.kept.iter().skip(block.forks).any(|kept| block.slot > *kept)
    }

    /// Signed over a block. Returns the last slot at which it can land, too.
    pub fn sign(&mut self, order: UnsignedTransfer, over: Block) -> (usize, u64) {
        let transaction = Transaction { order, over };
        let last_valid = transaction.last_valid();
        self.transactions.push(transaction);
        (self.transactions.len() - 1, last_valid)
    }

    pub fn send(&mut self, signature: usize, slot: u64) {
        self.on_the_way.insert((slot.max(self.tip + 1), signature));
    }

    fn land(&mut self, signature: usize, slot: u64) {
        let transaction = &self.transactions[signature];
        let cannot = self.is_gone(transaction.over) || slot > transaction.last_valid();
        if cannot || self.found.contains_key(&signature) {
            return;
        }
        let mut account = self.now().clone();
        let second = account.window.effective(self.second_of(slot));
        let result = execute(&mut account, &transaction.order, second);
        let result = result.map(|number| (number, self.payment(signature, slot)));
        if result.is_ok() {
            self.states.push((slot, account));
        }
        self.found.insert(signature, self.landed.len());
        self.landed.push(Landed { signature, slot, second, result });
    }

    /// Somebody else pays out of the account.
    pub fn pay_elsewhere(&mut self, payments: u64, random: u64) {
        for number in 0..payments {
            let tag = random.wrapping_add(number.wrapping_mul(0x9e37_79b9)) | 1;
            let order = UnsignedTransfer {
                operator: payer().operator,
                transfer_authorities: Vec::new(),
                agent: payer().addresses,
                destination: PAYEE,
                transfer_id: id_with_tag([0; 8], tag),
                asked_at: self.second_of(self.tip),
                tag_buckets: 1,
                amount: UsdcAmount::from_micros(1),
                memo: String::new(),
                beyond: None,
                has_expired: false,
            };
            let (signature, _) = self.sign(order, self.block(self.tip));
            self.land(signature, self.tip);
        }
    }

    pub fn change(&mut self, change: impl FnOnce(&mut Account)) {
        let mut account = self.now().clone();
        change(&mut account);
        self.states.push((self.tip, account));
    }

    /// The last `depth` blocks are gone, and with them every transaction that is signed over one of them. The other
    /// transactions may land again, some of them.
    pub fn fork(&mut self, depth: u64, mut lands_again: impl FnMut() -> Option<u64>) -> usize {
        let kept = self.tip.saturating_sub(depth.min(FINALIZED - 2));
        let dropped: Vec<Landed> = self.landed.extract_if(.., |landed| landed.slot > kept).collect();
        while self.states.last().is_some_and(|(slot, _)| *slot > kept) && self.states.len() > 1 {
            self.states.pop();
        }
        self.kept.push(kept);
        self.found = self.landed.iter().enumerate().map(|(at, landed)| (landed.signature, at)).collect();
        for landed in &dropped {
            if let Some(after) = lands_again() {
                self.send(landed.signature, self.tip + after);
            }
        }
        dropped.len()
    }

    pub fn now(&self) -> &Account {
        &self.states[self.states.len() - 1].1
    }

    pub fn at(&self, slot: u64) -> &Account {
        let state = self.states.iter().rev().find(|(since, _)| *since <= slot);
        &state.unwrap_or(&self.states[0]).1
    }

    /// A transaction that is at least `depth` slots deep.
    pub fn status(&self, signature: usize, depth: u64) -> Option<&Landed> {
        self.found
            .get(&signature)
            .map(|at| &self.landed[*at])
            .filter(|landed| landed.slot + depth <= self.tip)
    }

    /// All payments that are at least `depth` slots deep, in order.
    pub fn payments(&self, depth: u64) -> impl Iterator<Item = &(u64, PaymentMade)> + '_ {
        let deep = self.landed.iter().filter(move |landed| landed.slot + depth <= self.tip);
        deep.filter_map(|landed| landed.result.as_ref().ok())
    }

    /// The account's clock at a payment.
    pub fn second_of_payment(&self, payment: &PaymentMade) -> Option<i64> {
        let landed = self.found.get(&payment.signature.parse().ok()?)?;
        Some(self.landed[*landed].second)
    }

    /// The second that a payment's bytes name.
    pub fn asked_at(&self, payment: &PaymentMade) -> i64 {
        payment.signature.parse::<usize>().map_or(0, |signature| self.transactions[signature].order.asked_at)
    }

    fn payment(&self, signature: usize, slot: u64) -> PaymentMade {
        let order = &self.transactions[signature].order;
        let transfer_id = TransferId::from_bytes(order.transfer_id);
        PaymentMade {
            transfer_id,
            account_id: payer().account_id,
            signature: signature.to_string(),
            slot,
            made_at: happened_at(Timestamp::from_unix_seconds(self.second_of(slot)), Some(transfer_id)),
            amount: order.amount,
            recipient: order.destination,
            memo: order.memo.clone(),
        }
    }
}

/// What the program does with a transfer, at this second of the account's clock.
fn execute(account: &mut Account, order: &UnsignedTransfer, now: i64) -> Result<u64, Refusal> {
    if !(-REQUEST_AHEAD_SECONDS..REQUEST_SECONDS).contains(&(now - order.asked_at)) {
        return Err(Refusal::TooOld);
    }
    let tag = tag_of(&order.transfer_id);
    let recipient: Address = order.destination;
    let request = TransferRequest {
        tag,
        asked_at: order.asked_at,
        amount: order.amount,
        memo: order.memo.as_bytes(),
        recipient: recipient.as_bytes(),
        recipient_owner: PAYEE_OWNER.as_bytes(),
    };
    let by_grant = order.beyond.is_some_and(|beyond| beyond.grant.is_some());
    let waived = match account.granted(tag, order.amount, now) {
        _ if !by_grant => Ok(Waived::NOTHING),
        Some(waived) => Ok(waived),
        None => Err(Refusal::GrantVoid),
    };
    let policy = account.policy();
    let tags = PaidTags(&account.tags);
    let state = AccountState { halted: account.halted, policy, window: &account.window, tags };
    let cleared = check_granted(&state, &request, now, |_| waived.map_err(Refused))
        .map_err(|Refused(refusal)| refusal)?;
    if account.balance < order.amount {
        return Err(Refusal::InsufficientBalance);
    }
    cleared.record(&mut account.window, &mut account.tags);
    if by_grant {
        account.grants.remove(&tag);
    }
    account.balance = account.balance.saturating_sub(order.amount);
    account.payments += 1;
    Ok(account.payments)
}

struct Refused(Refusal);

impl From<Violation> for Refused {
    fn from(violation: Violation) -> Self {
        Self(refusal(&violation))
    }
}

fn refusal(violation: &Violation) -> Refusal {
    match violation {
        Violation::PaidTagsFull => Refusal::TagsFull,
        violation => RejectionReason::of(violation, None)
            .map_or(Refusal::DuplicateTransfer, |(reason, _)| Refusal::Rule(reason)),
    }
}
