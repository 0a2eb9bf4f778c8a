//! What must never stand in an answer, an event or a log: none of these types has a JSON form.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    AnswerKey, Ceremony, HashedKey, Passkey, PlainKey, SealedSecret, SealingKey, Seed, SeededRandom,
    SessionToken, StoredAnswer, StoredBody, WebhookSecret,
};

/// Does not compile if one of the types can be written as JSON or read from it: two implementations then fit, and the
/// compiler cannot choose.
macro_rules! without_json {
    ($($secret:ty)*) => {$(
        const _: fn() = || {
            trait HasJson<Which> {
                fn chosen() {}
            }
            struct Written;
            struct Read;
            impl<T: ?Sized> HasJson<()> for T {}
            impl<T: ?Sized + Serialize> HasJson<Written> for T {}
            impl<T: DeserializeOwned> HasJson<Read> for T {}
            let _ = <$secret as HasJson<_>>::chosen;
        };
    )*};
}

without_json! {
    AnswerKey Ceremony HashedKey Passkey PlainKey SealedSecret SealingKey Seed SeededRandom SessionToken StoredAnswer StoredBody
    WebhookSecret
}
