use std::fmt;
use std::str::FromStr;

use purser_policy::tag_of;
use ulid::Ulid;

use super::{ParseError, Timestamp};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal $(, $schema:literal: $what:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// The prefix of every id of this kind.
            pub const PREFIX: &'static str = $prefix;

            /// The id with these 16 bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }

            /// The 16 bytes after the prefix, as on the chain.
            pub const fn bytes(&self) -> [u8; 16] {
                self.0.to_bytes()
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse(text, $prefix).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        as_text! { $name }
        described! { $name, $prefix $(, $schema: $what)? }
    };
}

id!(
    /// An agent account. It derives from the chain: see `Chain::account_id_of`.
    AccountId, "acct_", "AccountId": "an account");
id!(
    /// One try of a transfer: a retry under the same idempotency key has its own.
    TransferId, "txn_", "TransferId": "a transfer");
id!(
    /// An operator on one network.
    OperatorId, "op_");
id!(
    /// An API key; not a secret.
    KeyId, "key_", "KeyId": "an API key");
id!(
    /// An announced event.
    EventId, "evt_", "EventId": "an event");
id!(
    /// A registered webhook endpoint.
    WebhookId, "whk_", "WebhookId": "a webhook");
id!(
    /// A change that somebody made through the service.
    ActionId, "act_", "ActionId": "an action");
id!(
    /// What a person's device signs in with, in place of a key.
    PasskeyId, "psk_");
id!(
    /// A line of an account's history. It derives from the chain, so it survives the loss of the database.
    EntryId, "ent_", "EntryId": "a line of an account's history");

/// The random bits of an id that is made anew.
const RANDOM_BITS: u32 = 70;

macro_rules! made_anew {
    ($($name:ident)*) => {$(
        impl $name {
            /// A new id made at `at`: the milliseconds in 48 bits and the microseconds after them in ten, so that ids sort as
            /// they were made, then 70 bits of `random`.
            pub fn new(at: Timestamp, random: u128) -> Self {
                Self(made_at(at, random))
            }
        }
    )*};
}

made_anew!(OperatorId KeyId EventId WebhookId ActionId PasskeyId);

/// The bytes from which the address of a new account is derived. They sort as they were made, too.
pub fn new_agent_id(at: Timestamp, random: u128) -> [u8; 16] {
    made_at(at, random).to_bytes()
}

fn made_at(at: Timestamp, random: u128) -> Ulid {
    let microseconds = u128::from(at.unix_micros().rem_euclid(1_000).unsigned_abs());
    ulid(at, microseconds << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1))
}

impl TransferId {
    /// A new id made at `at` for a payment with `tag`, its last eight bytes. Between them are 16 bits of `random`:
    /// tries of one payment differ by these and by their milliseconds.
    pub fn with_tag(at: Timestamp, random: u128, tag: u64) -> Self {
        Self(ulid(at, random << 64 | u128::from(tag.swap_bytes())))
    }

    /// What makes its payment unique on the chain: all its tries share it. See [`super::transfer_tag`].
    pub fn tag(&self) -> u64 {
        tag_of(&self.bytes())
    }

    /// The end of the millisecond in which it claims to be made. The signer of a payment can put any time there.
    pub fn made_by(&self) -> Timestamp {
        let milliseconds = i64::try_from(self.0.timestamp_ms()).unwrap_or(i64::MAX);
        Timestamp::from_unix_micros(milliseconds.saturating_add(1).saturating_mul(1_000))
    }
}

fn ulid(at: Timestamp, random: u128) -> Ulid {
    Ulid::from_parts(at.unix_milliseconds().max(0) as u64, random)
}

fn parse(text: &str, prefix: &'static str) -> Result<Ulid, ParseError> {
    let digits = text.strip_prefix(prefix);
    let ulid = digits.and_then(|digits| Ulid::from_string(digits).ok());
    // The decoder accepts lower case and overlong values, but one id has one text.
    let mut canonical = [0u8; ulid::ULID_LEN];
    let ulid = ulid.filter(|ulid| Some(&*ulid.array_to_str(&mut canonical)) == digits);
    let must_be = || format!("must be `{prefix}` followed by 26 upper-case Crockford base32 characters");
    ulid.ok_or_else(|| must_be().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn id_text_comes_back(bytes: [u8; 16]) {
            let id = AccountId::from_bytes(bytes);
            prop_assert_eq!(id.to_string().parse::<AccountId>(), Ok(id));
            prop_assert_eq!(id.to_string().len(), 31);
        }

        #[test]
        fn any_text_that_parses_is_the_canonical_text(digits in "[0-9A-Za-z]{26}") {
            let text = format!("txn_{digits}");
            if let Ok(id) = text.parse::<TransferId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "acct_",
            "txn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "acct_01arz3ndektsv4rrffq69g5fav",
            "acct_01ARZ3NDEKTSV4RRFFQ69G5FA",
            "acct_01ARZ3NDEKTSV4RRFFQ69G5FAVV",
            "acct_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "acct_01ARZ3NDEKTSV4RRFFQ69G5FAU",
            " acct_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            assert!(text.parse::<AccountId>().is_err(), "{text:?}");
        }
        assert!("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<AccountId>().is_ok());
    }

    #[test]
    fn a_later_id_sorts_after_an_earlier_one() {
        for (early, late) in [(1_000_000, 2_000_000), (1_999, 2_000), (1_000, 1_001), (1_998, 1_999)] {
            let (early, late) = (Timestamp::from_unix_micros(early), Timestamp::from_unix_micros(late));
            assert!(EventId::new(early, u128::MAX).to_string() < EventId::new(late, 0).to_string());
        }
        let (early, late) = (Timestamp::from_unix_seconds(1), Timestamp::from_unix_seconds(2));
        let (first, second) = (TransferId::with_tag(early, 0, u64::MAX), TransferId::with_tag(late, 0, 1));
        assert!(first.to_string() < second.to_string());
    }

    #[test]
    fn a_transfers_id_ends_in_its_tag_and_tries_of_one_payment_differ() {
        let (tag, at) = (0x0123_4567_89ab_cdef_u64, Timestamp::from_unix_seconds(1_800_000_000));
        let id = TransferId::with_tag(at, u128::MAX, tag);
        assert_eq!((id.tag(), &id.bytes()[8..]), (tag, &tag.to_le_bytes()[..]));
        assert_eq!(id.to_string().parse::<TransferId>().map(|id| id.tag()), Ok(tag));
        // Random bits that do not fit change nothing.
        assert_eq!(id, TransferId::with_tag(at, 0xffff, tag));
        assert_ne!(id, TransferId::with_tag(at, 0xfffe, tag));
        let milliseconds = at.after(std::time::Duration::from_millis(1));
        assert_ne!(id, TransferId::with_tag(milliseconds, u128::MAX, tag));
    }
}
