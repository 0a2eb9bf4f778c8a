//! Callers: each asks for one payment under one key, leaves, comes back, and asks again.

use std::sync::Arc;
use std::time::Duration;

use purser_core::{
    Approval, AskedTransfer, Duplicates, Ended, Fingerprint, IdempotencyKey, KeyId, Order, PaymentEngine,
    PaymentError, PendingLimits, Recipient, Started, Transfer, TransferRequest, TransferState, UsdcAmount,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::names::{PAYEE, amount, payer};
use crate::relayer::DEADLINE;
use crate::world::{Answer, LastAnswer, World};

const PENDING: PendingLimits = PendingLimits { per_account: 100, per_operator: 100 };

pub fn key(number: usize) -> IdempotencyKey {
    IdempotencyKey::parse(format!("key-{number}")).unwrap_or_else(|_| unreachable!("a short text"))
}

fn request(amount: u64) -> TransferRequest {
    TransferRequest {
        from: payer().account_id,
        to: Recipient::TokenAccount(PAYEE),
        amount: UsdcAmount::from_micros(amount),
        memo: None,
    }
}

/// Asks for the key's payment through the storm.
pub async fn call(world: Arc<World>, number: usize, rounds: u64) {
    for _ in 0..rounds {
        world.pause(0, world.with(|state| state.minutes * 60_000).max(30_000)).await;
        let count = world.with(|state| state.relayers.len() as u64);
        let relayer = world.draw(0, count - 1) as usize;
        let leaves = world.goes_wrong(20);
        let patience = if leaves { Duration::from_millis(world.draw(1, 3_000)) } else { DEADLINE * 2 };
        let differs = world.goes_wrong(3);
        let amount = if differs { amount(number) + 1_000 } else { amount(number) };
        let answer = ask(&world, relayer, number, amount, patience).await;
        if let Some(answer) = answer {
            world.with(|state| state.answers.push(answer));
        }
    }
}

/// Asks in calm weather until the answer is final, or for so long that there is none.
pub async fn ask_until_final(world: &Arc<World>, relayer: usize, number: usize) -> Option<Answer> {
    let until = Instant::now() + Duration::from_secs(900);
    let mut last = None;
    while Instant::now() < until {
        let answer = ask(world, relayer, number, amount(number), DEADLINE * 2).await;
        if let Some(answer) = &answer
            && matches!(answer.told, LastAnswer::Settled(_) | LastAnswer::Rejected | LastAnswer::Conflict)
        {
            return Some(answer.clone());
        }
        last = answer.or(last);
        sleep(Duration::from_secs(5)).await;
    }
    last
}

async fn ask(
    world: &Arc<World>,
    relayer: usize,
    number: usize,
    amount: u64,
    patience: Duration,
) -> Option<Answer> {
    let relayer = world.with(|state| state.relayers[relayer].clone())?;
    let (name, database) = (relayer.process.name.clone(), relayer.database);
    world.tell(|| format!("caller of key-{number}: asks {name} for {amount}"));
    let (answered, answer) = oneshot::channel();
    let engine = relayer.engine.clone();
    relayer.tasks.run(async move {
        let done = carry_out(&engine, key(number), request(amount)).await;
        let _ = answered.send(done);
    });
    let done = timeout(patience, answer).await.ok()?.ok()?;
    let answered_at = world.now(0).unix_seconds();
    let (transfer, told) = match done {
        Ok(transfer) => (Some(transfer.id), told(&transfer)),
        Err(PaymentError::KeyTaken | PaymentError::KeyPaidElsewhere) => (None, LastAnswer::Conflict),
        Err(error) => (None, LastAnswer::Error(error.to_string())),
    };
    world.tell(|| format!("caller of key-{number}: hears {told:?} from {name}"));
    Some(Answer { key: number, amount, answered_at, database, transfer, told })
}

async fn carry_out(
    engine: &PaymentEngine,
    key: IdempotencyKey,
    request: TransferRequest,
) -> Result<Transfer, PaymentError> {
    let payer = payer();
    let deadline = Instant::now() + DEADLINE;
    let started = match engine.try_place(payer.operator_id, payer.account_id, &key, PENDING) {
        Some(place) => {
            let key_id = KeyId::from_bytes([7; 16]);
            // Each key is for another amount, so none looks like another.
            let duplicates = Duplicates::default();
            let asked =
                AskedTransfer { idempotency_key: key, request, duplicates, approval: Approval::Request };
            let order = Order { payer, key_id, asked, sent_by: None, deadline };
            engine.begin(order, place).await?
        }
        None => {
            let fingerprint = Fingerprint::of(&request);
            let whose = (payer.network, payer.operator_id);
            engine
                .find_started(whose, &key, fingerprint, Approval::Request)
                .await?
                .ok_or(PaymentError::Gone)?
        }
    };
    let (id, watch) = match started {
        Started::Ours(id, watch) => (id, watch),
        Started::Others(id) => (id, None),
        Started::Over(transfer) => return Ok(*transfer),
    };
    let Ended { transfer, .. } = engine.wait(payer.operator_id, id, watch, deadline).await?;
    Ok(transfer)
}

fn told(transfer: &Transfer) -> LastAnswer {
    match &transfer.state {
        TransferState::Claimed
        | TransferState::PendingApproval(_)
        | TransferState::Signed(_)
        | TransferState::Sent { .. } => LastAnswer::Submitted,
        TransferState::Settled(settlement) => LastAnswer::Settled(settlement.signature.clone()),
        TransferState::Rejected(_) => LastAnswer::Rejected,
        TransferState::Failed(failure) => LastAnswer::Failed(failure.code),
    }
}
