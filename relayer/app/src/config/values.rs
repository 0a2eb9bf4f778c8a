//! How values are read, from the file and from the environment, where everything is text.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use secrecy::SecretString;
use serde::de::{self, Deserialize, Deserializer};

use purser_model::{Address, read_range};

pub(super) fn secret<'de, D: Deserializer<'de>>(value: D) -> Result<SecretString, D::Error> {
    String::deserialize(value).map(SecretString::from)
}

pub(super) fn optional_secret<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SecretString>, D::Error> {
    secret(value).map(Some)
}

pub(super) fn secrets<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<SecretString>, D::Error> {
    Ok(texts(value)?.into_iter().map(SecretString::from).collect())
}

pub(super) fn addresses<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Address>, D::Error> {
    texts(value)?.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}

/// A list, or one text with commas, as the environment has it.
pub fn texts<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(value)? {
        Texts::One(text) if text.trim().is_empty() => Vec::new(),
        Texts::One(text) => text.split(',').map(|text| text.trim().to_owned()).collect(),
        Texts::Many(texts) => texts,
    })
}

/// The same for numbers.
pub(super) fn numbers<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<u16>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Numbers {
        Many(Vec<u16>),
        One(String),
    }
    let wrong =
        |_| de::Error::custom("must be numbers from 0 to 65535, in a list or with commas between them");
    match Numbers::deserialize(value).map_err(wrong)? {
        Numbers::Many(numbers) => Ok(numbers),
        Numbers::One(text) if text.trim().is_empty() => Ok(Vec::new()),
        Numbers::One(text) => text
            .split(',')
            .map(|number| {
                number.trim().parse().map_err(|_| de::Error::custom(format_args!("`{number}` is not a port")))
            })
            .collect(),
    }
}

/// Ranges and addresses; IPv4 written as IPv6 becomes IPv4.
pub(super) fn ranges<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<IpNet>, D::Error> {
    let read = |text: &String| {
        read_range(text).map_err(|problem| de::Error::custom(format_args!("`{text}` {problem}")))
    };
    texts(value)?.iter().filter(|text| !text.is_empty()).map(read).collect()
}

pub(super) fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    value: D,
) -> Result<T, D::Error> {
    String::deserialize(value)?.parse().map_err(de::Error::custom)
}

pub(super) fn optional_from_text<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    from_text(value).map(Some)
}
