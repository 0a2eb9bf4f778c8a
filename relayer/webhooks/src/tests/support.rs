use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{Clock, Deliverer, Dispatcher, Payload, Post};
use purser_base::lookup::NoRoom;
use purser_base::metrics::Metrics;
use purser_base::shares::Outgoing;
use purser_base::tasks::Tasks;
use purser_core::{ClaimClock, Duplicates, NewTransfer, RefusalLimits};
use purser_model::*;
use purser_store::Store;

/// Seconds after the start of a test, by the test's own clock.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000 + seconds)
}

/// What a receiver answers: by its host name, 200 by default.
#[derive(Default)]
pub struct Receiver {
    answers: Mutex<HashMap<String, AttemptOutcome>>,
    pub received: Mutex<Vec<Received>>,
    hanging: Mutex<Vec<String>>,
    now: Arc<AtomicI64>,
    /// How long every answer takes.
    pub takes: Mutex<Duration>,
    /// Nobody is asked, because too many lookups are in flight.
    pub has_no_room: Mutex<bool>,
}

/// One attempt as the receiver saw it.
#[derive(Debug, Clone)]
pub struct Received {
    pub host: String,
    /// Seconds after the start.
    pub second: i64,
    pub payload: Payload,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.payload.headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn event_id(&self) -> &str {
        self.header("webhook-id").expect("every delivery names its event")
    }
}

impl Receiver {
    pub fn answers(&self, host: &str, status: u16) {
        let outcome = AttemptOutcome::Answered { status, body: "body".into() };
        self.answers.lock().insert(host.to_owned(), outcome);
    }

    pub fn hangs(&self, host: &str) {
        self.hanging.lock().push(host.to_owned());
    }

    pub fn seconds(&self) -> Vec<i64> {
        self.received.lock().iter().map(|received| received.second).collect()
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }
}

#[async_trait]
impl Post for Receiver {
    async fn post(&self, url: &WebhookUrl, payload: Payload) -> Result<AttemptOutcome, NoRoom> {
        let host = url.host_name().unwrap_or_default().to_owned();
        if *self.has_no_room.lock() {
            return Err(NoRoom);
        }
        if self.hanging.lock().contains(&host) {
            std::future::pending::<()>().await;
        }
        let takes = *self.takes.lock();
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        let second = self.now.load(Ordering::SeqCst);
        let answer = self.answers.lock().get(&host).cloned();
        self.received.lock().push(Received { host, second, payload });
        Ok(answer.unwrap_or(AttemptOutcome::Answered { status: 200, body: String::new() }))
    }
}

/// One operator with one account over its own database, and a dispatcher whose clock stands still.
pub struct Scene {
    pub store: Store,
    pub operator: Operator,
    pub account: Account,
    pub receiver: Arc<Receiver>,
    pub dispatcher: Dispatcher,
    pub sealing_key: Arc<SealingKey>,
    pub tasks: Tasks,
    pub stop: CancellationToken,
    key: ApiKey,
    transfers: Mutex<u8>,
    pub now: Arc<AtomicI64>,
    folder: TempDir,
}

impl Scene {
    pub async fn set() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = open(&folder).await;
        let operator = Operator {
            id: OperatorId::from_bytes([1; 16]),
            network: Network::Test,
            name: Label::parse("Acme").expect("valid"),
            address: Address::from_bytes([1; 32]),
            requires_reason: false,
            created_at: at(0),
        };
        store.operators.insert_operator(&operator).await.expect("inserted");
        let account = Account {
            id: AccountId::from_bytes([2; 16]),
            operator_id: operator.id,
            name: Label::parse("Buyer").expect("valid"),
            metadata: None,
            tags: Tags::default(),
            address: Address::from_bytes([2; 32]),
            token_account: Address::from_bytes([3; 32]),
            status: AccountStatus::Active,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            created_at: at(0),
        };
        store.accounts.insert_account(&account).await.expect("inserted");
        let plain = PlainKey::new(KeyRole::Operator, Network::Test, None, [4; 32]);
        let key = ApiKey {
            id: KeyId::from_bytes([4; 16]),
            operator_id: operator.id,
            holder: KeyHolder::Operator,
            scopes: Scopes::ALL,
            made_by: None,
            name: None,
            hint: plain.hint(),
            created_at: at(0),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            allowed_cidrs: None,
        };
        store.keys.insert_key(&key, &plain.hash()).await.expect("inserted");
        let now = Arc::new(AtomicI64::new(0));
        let receiver = Arc::new(Receiver { now: now.clone(), ..Receiver::default() });
        let sealing_key = Arc::new(SealingKey::parse(&hex::encode([7; 32])).expect("a key"));
        let tasks = Tasks::default();
        let stop = tasks.stop.clone();
        let dispatcher = dispatcher(&store, &sealing_key, &receiver, &now, &tasks);
        Self {
            store,
            operator,
            account,
            receiver,
            dispatcher,
            sealing_key,
            tasks,
            stop,
            key,
            transfers: Mutex::new(0),
            now,
            folder,
        }
    }

    /// The same database as the next process opens it after this one was killed.
    pub async fn after_a_crash(&self) -> (Store, Dispatcher) {
        let store = open(&self.folder).await;
        let dispatcher = dispatcher(&store, &self.sealing_key, &self.receiver, &self.now, &self.tasks);
        (store, dispatcher)
    }

    pub fn sets_clock(&self, second: i64) {
        self.now.store(second, Ordering::SeqCst);
    }

    /// A webhook at `https://HOST/` for these events, with a threshold in whole USDC if it is not 0.
    pub async fn webhook(
        &self,
        number: u8,
        host: &str,
        events: &[EventType],
        threshold: u64,
    ) -> (Webhook, WebhookSecret) {
        let url =
            WebhookUrl::parse(&format!("https://{host}/hook"), &DestinationRules::default()).expect("public");
        let threshold = (threshold > 0).then(|| UsdcAmount::from_micros(threshold * 1_000_000));
        let now = at(self.now.load(Ordering::SeqCst));
        let webhook = Webhook {
            id: WebhookId::from_bytes([number; 16]),
            operator_id: self.operator.id,
            url,
            subscription: Subscription::new(events.to_vec(), Vec::new(), threshold).expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth::default(),
            previous_secret_until: None,
            watches_since: now,
            created_at: now,
            updated_at: now,
        };
        let secret = WebhookSecret::new(&[number; 32]);
        let sealed = self.sealing_key.seal(webhook.id, &secret, &[number; 24]);
        self.store.webhooks.insert_webhook(&webhook, &sealed, WEBHOOKS_MAX).await.expect("inserted");
        (webhook, secret)
    }

    /// A transfer that is claimed and nothing more.
    pub async fn claims(&self) -> Transfer {
        let number = {
            let mut transfers = self.transfers.lock();
            *transfers += 1;
            *transfers
        };
        let idempotency_key = IdempotencyKey::parse(format!("key {number}")).expect("valid");
        let now = at(self.now.load(Ordering::SeqCst));
        let transfer = Transfer {
            id: TransferId::from_bytes([number; 16]),
            operator_id: self.operator.id,
            network: Network::Test,
            key_id: self.key.id,
            idempotency_key,
            request: TransferRequest {
                from: self.account.id,
                to: Recipient::TokenAccount(Address::from_bytes([9; 32])),
                amount: UsdcAmount::from_micros(1_500_000),
                memo: None,
            },
            fee_payer: None,
            refusal: None,
            approval: purser_core::Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state: TransferState::Claimed,
            created_at: now,
            updated_at: now,
        };
        let new = NewTransfer {
            next: TransferState::Claimed,
            transfer,
            fingerprint: None,
            duplicates: Duplicates::default(),
            refusals: RefusalLimits { per_account: 1_000, per_operator: 1_000 },
        };
        let clock = ClaimClock {
            now,
            lease_expires_at: now.after(Duration::from_secs(60)),
            agreed: Some(now.unix_seconds()),
        };
        match self.store.transfers.claim_transfer(&new, clock).await.expect("claimed") {
            Claim::New(transfer) => transfer,
            other => panic!("not new: {other:?}"),
        }
    }

    /// A transfer that the policy refuses: one event.
    pub async fn rejects(&self) -> Transfer {
        let transfer = self.claims().await;
        let now = at(self.now.load(Ordering::SeqCst));
        let rejection = Rejection {
            reason: RejectionReason::Paused,
            message: "paused".into(),
            checks: Checks::default(),
            policy_version: Some(1),
            retry_at: None,
            rejected_at: now,
        };
        self.store.transfers.mark_rejected(&transfer, rejection, now).await.expect("rejected")
    }

    pub async fn delivers(&self) {
        self.store.events.place_waiting(at(self.now.load(Ordering::SeqCst))).await.expect("placed");
        self.dispatcher.deliver_due().await.expect("delivered");
    }

    pub async fn deliveries(&self, webhook: &Webhook) -> Vec<Delivery> {
        self.store
            .deliveries
            .list_deliveries(self.operator.id, webhook.id, None, None, 100)
            .await
            .expect("listed")
    }

    pub async fn events(&self) -> Vec<Event> {
        let mut events =
            self.store.events.list_events(self.operator.id, None, None, None, 100).await.expect("listed");
        events.reverse();
        events
    }
}

async fn open(folder: &TempDir) -> Store {
    let path = folder.path().join("purser.db");
    Store::open(&format!("sqlite://{}", path.display())).await.expect("opened")
}

fn dispatcher(
    store: &Store,
    sealing_key: &Arc<SealingKey>,
    receiver: &Arc<Receiver>,
    now: &Arc<AtomicI64>,
    tasks: &Tasks,
) -> Dispatcher {
    let now = now.clone();
    let clock: Clock = Arc::new(move || at(now.load(Ordering::SeqCst)));
    let deliverer = Deliverer::new(
        (store.webhooks.clone(), store.deliveries.clone()),
        sealing_key.clone(),
        receiver.clone(),
        clock,
        tasks,
        (Outgoing::of_files(65_536), Metrics::default()),
    );
    Dispatcher::new(deliverer, store.events.clone(), tasks.clone())
}
