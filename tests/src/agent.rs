//! An agent account, and what agents do: `agent.pays("12.50").to(&other).await`.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::future::join_all;
use purser::error::PurserError;
use purser_client::DraftAccounts;
use purser_client::purser::{GrantPayee, GrantTerms};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use crate::chain::{DirectOutcome, DirectTransfer};
use crate::client::{Answer, Client};
use crate::money::micros;
use crate::operator::Operator;

/// The most buckets that one instruction adds to an account.
const MORE_BUCKETS_MAX: u16 = 53;

/// An agent account as the API described it when it was created.
#[derive(Clone)]
pub struct Agent {
    pub operator: Operator,
    pub id: String,
    /// `solana_address`: the account that the program keeps.
    pub address: Pubkey,
    /// `usdc_token_account`.
    pub token_account: Pubkey,
}

impl Agent {
    /// The account of a creation response.
    pub fn of(operator: &Operator, created: &Answer) -> Agent {
        let address = |field| created.text_of(field).parse().expect("addresses are base58 of 32 bytes");
        Agent {
            operator: operator.clone(),
            id: created.text_of("account_id").to_owned(),
            address: address("solana_address"),
            token_account: address("usdc_token_account"),
        }
    }

    /// Sets the balance to exactly this, by the network's own means.
    pub async fn holds(&self, usdc: &str) {
        let token_account = self.operator.chain.sets_usdc(&self.address, micros(usdc)).await;
        assert_eq!(token_account, self.token_account, "usdc_token_account is the associated token account");
    }

    /// Micro-USDC on the account, read from the chain.
    pub async fn balance_micros(&self) -> u64 {
        self.operator.chain.usdc_micros(&self.token_account).await
    }

    /// A path below this account: `agent.path("/limits")`.
    pub fn path(&self, below: &str) -> String {
        format!("/v1/accounts/{}{below}", self.id)
    }

    /// Replaces the policy with the operator's key; panics when refused.
    pub async fn sets_policy(&self, policy: Value) -> Answer {
        self.operator.client.asks_on(Method::PUT, &self.path("/policy"), &policy).await.has_status(200)
    }

    /// Makes a key for this agent and returns a client that uses it.
    pub async fn new_key(&self) -> Client {
        let created = self.operator.client.post(&self.path("/keys"), &json!({})).await.has_status(201);
        self.operator.client.with_key(created.text_of("key"))
    }

    /// Begins a payment of `usdc`, by default with the operator's key and a new idempotency key.
    pub fn pays(&self, usdc: &str) -> Payment {
        Payment {
            client: self.operator.client.clone(),
            path: "/v1/transfers",
            body: json!({ "from": self.id, "amount": usdc, "idempotency_key": unique_key() }),
        }
    }

    /// A preview of the same payment.
    pub fn previews(&self, usdc: &str) -> Payment {
        Payment { path: "/v1/transfers/preview", ..self.pays(usdc) }
    }

    /// Has the relayer read the chain, with its clock, which it remembers for up to a second: a preview does.
    pub async fn lets_the_relayer_read(&self, client: &Client, payee: &Pubkey) {
        self.previews("0.000001").to(payee).by(client).await.has_status(200);
    }

    /// Has the admin open a grant for an hour, past list and single limit, and returns its id.
    pub async fn opens_grant(&self, usdc: &str, payee: &Pubkey) -> String {
        let (chain, admin, number) = (&self.operator.chain, self.operator.app().admin(), random_tag());
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(*payee),
            amount: micros(usdc),
            expires_at: chain.now().await + 3_600,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: None,
            memo_hash: None,
            policy_version: None,
        };
        let (wallet, at) = (admin.pubkey(), (self.operator.address, self.address));
        let open = chain.program().open_grant(wallet, wallet, wallet, at, number, terms);
        let mut landing = chain.lands(open.clone(), admin).await;
        // In the second of a revocation none can be opened.
        let too_early = u32::from(PurserError::GrantTooEarly);
        while matches!(landing, DirectOutcome::Refused(code) if code == too_early) {
            tokio::time::sleep(Duration::from_millis(500)).await;
            landing = chain.lands(open.clone(), admin).await;
        }
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        format!("grt_{}", chain.program().grant_address(&self.address, number))
    }

    /// Has the admin give the account this many buckets, for 16 payments of a day each.
    pub async fn gets_room(&self, buckets: u16) {
        let (chain, admin) = (&self.operator.chain, self.operator.app().admin());
        let wallet = admin.pubkey();
        let at = DraftAccounts { authority: wallet, operator: self.operator.address, agent: self.address };
        let refund = chain.agent(&self.address).await.agent.rent_refund;
        let steps = (1..=buckets / MORE_BUCKETS_MAX).map(|step| step * MORE_BUCKETS_MAX);
        for count in steps.chain(Some(buckets).filter(|last| last % MORE_BUCKETS_MAX > 0)) {
            let landing =
                chain.lands(chain.program().set_tag_buckets(at, wallet, refund, count), admin).await;
            assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        }
    }

    /// Sends a transfer straight to the program with the transfer authority's key, bypassing the relayer.
    pub async fn pays_directly(&self, usdc: &str, destination: &Pubkey, memo: &str) -> DirectOutcome {
        self.pays_directly_tagged(usdc, destination, memo, random_tag()).await
    }

    /// As `pays_directly`, by the token program's `TransferChecked`.
    pub async fn pays_directly_checked(&self, usdc: &str, destination: &Pubkey, memo: &str) -> DirectOutcome {
        let order = self.order(usdc, destination, memo, random_tag());
        self.operator.chain.transfers_checked(&order, self.operator.app().transfer_authority()).await
    }

    /// As `pays_directly`, with this tag.
    pub async fn pays_directly_tagged(
        &self,
        usdc: &str,
        destination: &Pubkey,
        memo: &str,
        tag: u64,
    ) -> DirectOutcome {
        let order = self.order(usdc, destination, memo, tag);
        self.operator.chain.transfers(&order, self.operator.app().transfer_authority()).await
    }

    /// A direct transfer out of this account.
    pub fn order<'a>(&self, usdc: &str, destination: &Pubkey, memo: &'a str, tag: u64) -> DirectTransfer<'a> {
        DirectTransfer {
            operator: self.operator.address,
            agent: self.address,
            destination: *destination,
            amount_micros: micros(usdc),
            memo,
            tag,
        }
    }
}

/// A transfer that is being built; awaiting it sends it.
#[derive(Clone)]
pub struct Payment {
    client: Client,
    path: &'static str,
    body: Value,
}

impl Payment {
    /// Sets the recipient: an account, an address or any text.
    pub fn to(self, recipient: &impl Recipient) -> Payment {
        self.field("to", json!(recipient.text()))
    }

    /// Adds a memo.
    pub fn memo(self, memo: &str) -> Payment {
        self.field("memo", json!(memo))
    }

    /// Sets the idempotency key.
    pub fn key(self, key: &str) -> Payment {
        self.field("idempotency_key", json!(key))
    }

    /// Sets any field of the body.
    pub fn field(mut self, name: &str, value: Value) -> Payment {
        self.body[name] = value;
        self
    }

    /// Leaves a field out.
    pub fn without(mut self, name: &str) -> Payment {
        if let Some(fields) = self.body.as_object_mut() {
            fields.remove(name);
        }
        self
    }

    /// Retries as a client does that needs the outcome, until it has settled; panics after a minute.
    pub async fn insists(self) -> Answer {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let answer = self.clone().await;
            if answer.status == 200 {
                return answer.is_settled();
            }
            assert!(matches!(answer.status, 202 | 503), "{}", answer.text);
            assert!(Instant::now() < deadline, "the payment does not settle: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Sends it with another client's key.
    pub fn by(mut self, client: &Client) -> Payment {
        self.client = client.clone();
        self
    }

    /// True if it is a preview.
    pub fn is_preview(&self) -> bool {
        self.path.ends_with("/preview")
    }

    /// The body that would be sent.
    pub fn body(&self) -> &Value {
        &self.body
    }
}

impl IntoFuture for Payment {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.client.post(self.path, &self.body).await })
    }
}

/// Sends the payments at the same time and returns the answers in their order.
pub async fn all_at_once(payments: impl IntoIterator<Item = Payment>) -> Vec<Answer> {
    join_all(payments.into_iter().map(IntoFuture::into_future)).await
}

/// Anything that `to` accepts as a recipient.
pub trait Recipient {
    fn text(&self) -> String;
}

impl Recipient for Agent {
    fn text(&self) -> String {
        self.id.clone()
    }
}

impl Recipient for Pubkey {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Recipient for &str {
    fn text(&self) -> String {
        (*self).to_owned()
    }
}

impl Recipient for String {
    fn text(&self) -> String {
        self.clone()
    }
}

/// An idempotency key that nobody used before.
pub fn unique_key() -> String {
    ulid::Ulid::generate().to_string()
}

/// A transfer tag that nobody used before.
pub fn random_tag() -> u64 {
    ulid::Ulid::generate().random() as u64 | 1
}
