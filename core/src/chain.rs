//! The chain in the words of a payment: what is read for it, what is signed, and how that ends.

use std::fmt;
use std::sync::Arc;

use purser_policy::{
    Allowlist, AsAllowlist, BUCKET_SLOTS, PaidTags, PolicyOver, SpendWindow, TAG_SECONDS, TagBucket,
    UsdcAmount, Waived, tag_of,
};

use super::{AccountId, Address, CapsInUse, Halt, Network, OperatorId, RejectionReason, Timestamp, Transfer};

/// The two addresses of an agent account, derived without asking the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentAddresses {
    /// The PDA: `solana_address` in the API.
    pub agent: Address,
    /// Its associated USDC token account: `usdc_token_account` in the API.
    pub token_account: Address,
}

/// Who pays: an agent account of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer {
    pub network: Network,
    pub operator_id: OperatorId,
    /// The operator's account on chain.
    pub operator: Address,
    pub account_id: AccountId,
    pub addresses: AgentAddresses,
}

/// What is at the address that a transfer pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// An initialised, unfrozen token account of the operator's mint under the legacy token program.
    TokenAccount {
        owner: Address,
    },
    /// Nothing is there, and it cannot be a wallet (it is off the curve).
    Missing,
    /// A key's address, system-owned or absent: pay its USDC token account instead.
    Wallet {
        usdc_token_account: Address,
    },
    /// No key's address (off the curve), and it may own a token account: a vault, such as a multisig's, or an agent's account.
    Vault {
        usdc_token_account: Address,
    },
    /// The payee is a wallet that has no USDC token account.
    NoTokenAccount,
    /// The payee was named as a wallet, and is none.
    NotWallet(NotWallet),
    OtherMint,
    Frozen,
    Uninitialized,
    NotTokenAccount,
}

/// Why an address that was named as a wallet is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWallet {
    /// No key has it, since it is off the curve.
    Vault {
        usdc_token_account: Address,
    },
    TokenAccount,
    Program,
    /// An account that a program owns.
    OfProgram,
}

/// An allowlist in whatever form the chain's reader holds it.
#[derive(Clone)]
pub struct SharedAllowlist(Arc<dyn AsAllowlist + Send + Sync>);

impl SharedAllowlist {
    pub fn new(allowlist: impl AsAllowlist + Send + Sync + 'static) -> Self {
        Self(Arc::new(allowlist))
    }
}

impl AsAllowlist for SharedAllowlist {
    fn as_allowlist(&self) -> Allowlist<'_> {
        self.0.as_allowlist()
    }
}

impl fmt::Debug for SharedAllowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_allowlist())
    }
}

/// Everything needed to decide a transfer, read at one slot.
#[derive(Debug, Clone)]
pub struct ChainView {
    /// The operator's transfer authorities.
    pub transfer_authorities: Vec<Address>,
    pub halt: Option<Halt>,
    pub policy: PolicyOver<SharedAllowlist>,
    /// Grows by one with every policy change.
    pub policy_version: u64,
    /// What the account spent. It may count transfers in flight as made.
    pub window: SpendWindow,
    /// What it pays within beside its policy. Likewise.
    pub caps: CapsInUse,
    /// The tags of its payments of a day, all of them. A view that is known without asking may lack some: the program looks, too.
    pub tags: Arc<[TagBucket]>,
    pub balance: UsdcAmount,
    /// The issuer of USDC has frozen the token account: nothing leaves it.
    pub is_frozen: bool,
    pub destination: Destination,
    /// The grant that covers the payment for which this was read, if one was asked for.
    pub granted: Option<Granted>,
    /// Set where the account is bound by more than its policy, or a grant is used: then it pays by `transfer_extended`.
    pub beyond: Option<Beyond>,
    /// Unix seconds, by the chain's clock at that slot.
    pub now: i64,
}

impl ChainView {
    /// The account's clock: the chain's, and never before its latest payment.
    pub fn account_now(&self) -> i64 {
        self.window.effective(self.now)
    }

    /// When the account has room for this tag again.
    pub fn frees_at(&self, tag: u64) -> Option<Timestamp> {
        let seconds = self.tags.iter().flat_map(seconds_of);
        let mut ends: Vec<i64> = seconds.map(|second| i64::from(second) + TAG_SECONDS).collect();
        ends.sort_unstable();
        let first = ends.into_iter().find(|end| PaidTags(&self.tags).place(tag, *end).is_some());
        first.map(Timestamp::from_unix_seconds)
    }

    /// When the payment with the transfer's tag was made that the account shows, if that is later than 24 hours before its claim. By the
    /// second of the claim alone: a node may be wrong about the present one.
    pub fn paid_at(&self, transfer: &Transfer) -> Option<i64> {
        let tags = PaidTags(&self.tags);
        let shown = tags.entries().filter(|(tag, _)| *tag == transfer.id.tag());
        shown.map(|(_, second)| i64::from(second)).max().filter(|second| *second > transfer.paid_after())
    }
}

/// When the payments were made whose tags stand in a bucket.
fn seconds_of(bucket: &TagBucket) -> impl Iterator<Item = u32> + '_ {
    let seconds = bucket.as_bytes().get(BUCKET_SLOTS * size_of::<u64>()..).unwrap_or_default();
    seconds.as_chunks().0.iter().map(|second| u32::from_le_bytes(*second))
}

/// A grant that is in force and covers a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    pub address: Address,
    /// The rules that the payment may pass.
    pub waived: Waived,
}

/// What a payment names beyond the policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beyond {
    /// The account pays by grants alone.
    pub needs_grant: bool,
    pub grant: Option<Address>,
    /// The budget that the account pays through.
    pub budget: Option<Address>,
}

/// A decided transfer, ready to sign.
#[derive(Debug, Clone)]
pub struct UnsignedTransfer {
    pub operator: Address,
    /// The operator's transfer authorities as read; one that is ours signs.
    pub transfer_authorities: Vec<Address>,
    pub agent: AgentAddresses,
    /// The token account to pay.
    pub destination: Address,
    /// Ends with the tag, which the program refuses twice within 24 h.
    pub transfer_id: [u8; 16],
    /// See [`super::Transfer::asked_at`].
    pub asked_at: i64,
    /// How many buckets of tags the account has: the more, the more its transaction loads.
    pub tag_buckets: u16,
    pub amount: UsdcAmount,
    /// Empty when there is none.
    pub memo: String,
    /// Set for a payment in the extended form.
    pub beyond: Option<Beyond>,
    /// An earlier signature of it has expired, so it now pays the highest priority fee allowed.
    pub has_expired: bool,
}

impl UnsignedTransfer {
    /// Derived from the idempotency key.
    pub fn tag(&self) -> u64 {
        tag_of(&self.transfer_id)
    }
}

/// Why the program refused a transfer, without numbers (the program's codes carry none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// By a rule.
    Rule(RejectionReason),
    /// The tag was paid within 24 hours.
    DuplicateTransfer,
    InsufficientBalance,
    /// The issuer of USDC has frozen the paying token account.
    SourceFrozen,
    /// The destination was payable when checked, and no longer was on chain.
    InvalidRecipient,
    /// The grant does not cover it any more, or not yet.
    GrantVoid,
    /// It was asked for more than an hour ago, or the account's clock is behind it by more than five minutes.
    TooOld,
    /// The account has no room to remember it. Make room, and sign anew.
    TagsFull,
    /// The operator's admin has named other transfer authorities since. Look again, and sign anew.
    AuthorityRotated,
    /// The account is bound by something else since. Look again, and sign anew.
    BoundsChanged,
    /// An account that it names is not there: of those, only a budget goes while a payment may be under way.
    AccountGone,
}

/// How a signed transfer ended. Every variant is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Landed without error, at the configured commitment.
    Settled { slot: u64 },
    /// Landed, and the program refused.
    Refused(Refusal),
    /// Landed, and failed for another reason; `code` is the program's custom code when there is one.
    Failed { code: Option<u32>, message: String },
    /// Never landed and never can. A new signature with the same tag is safe.
    Expired,
}

/// Why the chain could not be asked, or nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// Nothing is known: ask again later.
    #[error("{0}")]
    Unavailable(String),
    /// The operator's admin has named keys other than ours. Nothing was signed.
    #[error("the operator names no key of this relayer")]
    AuthorityRotated,
    /// No wallet of ours can pay the fee. Nothing was signed.
    #[error("no wallet can pay the fee")]
    FeePayerEmpty,
    /// The holder of our key did not sign.
    #[error("the signer did not sign")]
    SignerUnavailable,
    /// What is on chain is not what should be there, or the chain will refuse this again.
    #[error("{0}")]
    Refused(String),
}

/// How far apart two clocks may be and still agree, in seconds.
const CLOCKS_DIFFER_SECONDS: u64 = 300;

pub fn clocks_agree(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= CLOCKS_DIFFER_SECONDS
}
