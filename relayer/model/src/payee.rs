use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Address, Recipient};

/// Whom a request names as the payee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedPayee {
    /// An account's id, or the address of a token account.
    Text(Recipient),
    /// Written as `{"wallet": ADDRESS}`.
    Wallet(Address),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedWallet {
    wallet: Address,
}

struct Asked;

impl<'de> Visitor<'de> for Asked {
    type Value = AskedPayee;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an object with the field `wallet`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AskedPayee, E> {
        Recipient::parse(text).map(AskedPayee::Text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<AskedPayee, A::Error> {
        let NamedWallet { wallet } = NamedWallet::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(AskedPayee::Wallet(wallet))
    }
}

impl<'de> Deserialize<'de> for AskedPayee {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_body;

    #[derive(Debug, Deserialize)]
    struct Order {
        to: AskedPayee,
    }

    #[test]
    fn payee_is_a_text_or_a_wallet_and_a_mistake_is_named() {
        let asked =
            |to: &str| read_body::<Order>(format!(r#"{{"to":{to}}}"#).as_bytes()).map(|order| order.to);
        let address = "11111111111111111111111111111111";
        let wallet = AskedPayee::Wallet(address.parse().expect("an address"));
        assert_eq!(asked(&format!(r#"{{"wallet":"{address}"}}"#)), Ok(wallet));
        let text = AskedPayee::Text(Recipient::parse(address).expect("valid"));
        assert_eq!(asked(&format!(r#""{address}""#)), Ok(text));
        for (to, param) in [
            ("5", "to"),
            ("null", "to"),
            ("[]", "to"),
            ("{}", "to.wallet"),
            (r#"{"wallet":null}"#, "to.wallet"),
            (r#"{"wallet":"acct_01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#, "to.wallet"),
            (r#"{"token_account":"11111111111111111111111111111111"}"#, "to.token_account"),
            (r#"{"wallet":"11111111111111111111111111111111","x":1}"#, "to.x"),
        ] {
            let wrong = asked(to).expect_err(to);
            assert_eq!(wrong.param(), param, "{to}: {wrong}");
        }
    }
}
